import assert from "node:assert/strict";
import { test } from "node:test";
import { planWords, reportWords, stepsOf, wantedOf, whyWords } from "./words.ts";

const NOTHING = { purge: 0, archive: 0, rotate: 0, pack: 0, collect: 0 };

test("a plan is a sentence of what is not nothing", () => {
  assert.equal(planWords(NOTHING), "");
  assert.equal(planWords({ ...NOTHING, pack: 1 }), "pack 1 archive");
  const all = { archive: 12, purge: 3, rotate: 1, pack: 4, collect: 1_200 };
  assert.equal(
    planWords(all),
    "archive 12 sessions, erase 3 archives for good, ask 1 session to go on in a new file, pack 4 archives and remove 1,200 blobs that nobody names",
  );
  assert.equal(stepsOf(all), 1_220);
});

test("a report tells also of what was not done", () => {
  const report = {
    ...{ archived: 2, purged: 0, rotated: 0, packed: 2, packedBytes: 5_000, collected: 0 },
    ...{ freedBytes: 0, skipped: 0, failed: 0, stopped: null },
  };
  assert.deepEqual(reportWords(report), ["Done: archived 2 sessions and packed 2 archives of 5.0 kB."]);
  assert.deepEqual(reportWords({ ...report, archived: 0, packed: 0 }), ["There was nothing to do."]);
  assert.deepEqual(reportWords({ ...report, skipped: 1, failed: 2, stopped: "disk_full" }).slice(1), [
    "1 step left alone: something had changed meanwhile.",
    "2 steps failed; the daemon's log says why.",
    "The disk is full: free some space; the rest is done by the next run.",
  ]);
});

test("a step says its rule, also one that is new", () => {
  assert.match(whyWords({ do: "archive", why: "stale" }), /staleDays/);
  assert.match(whyWords({ do: "rotate", why: null }), /rotateMiB/);
  assert.equal(whyWords({ do: "archive", why: "moon" }), "moon");
});

test("archives are sought by key, by the beginning of an id, or by agent", () => {
  assert.deepEqual(wantedOf("  "), {});
  assert.deepEqual(wantedOf("agent:main:thread:talk"), { sessionKey: "agent:main:thread:talk" });
  assert.deepEqual(wantedOf("thread:talk"), { sessionKey: "agent:main:thread:talk" });
  assert.deepEqual(wantedOf("01a1e48d-d6"), { id: "01a1e48d-d6" });
  assert.deepEqual(wantedOf("work"), { agent: "work" });
});
