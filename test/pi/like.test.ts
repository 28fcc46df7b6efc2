import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import type { Draft } from "../../src/transcript/entry.ts";
import { contextStart } from "../../src/transcript/fold.ts";
import { AT, chain, fileOf, HEADER, pathOf, said, written } from "../fixtures/transcripts.ts";
import { readLikePi, type PiSees } from "./like.ts";

test("what pi sees of a transcript of ours is its active path, rewinds and all", (t) => {
  const see = reader(t);
  const steps = fc.array(fc.option(fc.nat(1_000)), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(steps, (backs) => {
      const lines = written(
        backs.map((back, at) => ({
          draft: said(`entry ${at + 1}`),
          continues: back === null || at === 0 ? null : back % at,
        })),
      );
      const seen = see(fileOf(lines));
      assert.deepEqual(seen?.branch, pathOf(lines.map(({ entry }) => entry)));
      assert.equal(seen?.messages.length, seen?.branch.length);
    }),
  );
});

test("what pi would send begins with the newest summary and what it kept, where our context starts", (t) => {
  const lines = chain([said("a"), said("b"), summary("old", 2), said("c"), summary("new", 2), said("d")]);
  const seen = reader(t)(fileOf(lines));
  assert.deepEqual(
    seen?.messages.map((message) => message["summary"] ?? message["content"]),
    ["new", "b", "c", "d"],
  );
  assert.equal(contextStart(lines.map(({ entry }) => entry)), 2);
});

test("a summary that kept nothing is followed by what came after it", (t) => {
  const lines = chain([said("a"), summary("all", 99), said("b")]);
  const seen = reader(t)(fileOf(lines));
  assert.deepEqual(
    seen?.messages.map((message) => message["summary"] ?? message["content"]),
    ["all", "b"],
  );
});

test("pi does not see what stands before a bad line of the path, and is not told", (t) => {
  const lines = chain([said("a"), said("b"), said("c"), said("d")]).map(({ line }) => line);
  for (const bad of ["garbage\n", "\n", "null\n"]) {
    const seen = reader(t)(fileOf(lines.with(1, bad)));
    assert.deepEqual(
      seen?.branch.map((entry) => entry["seq"]),
      [3, 4],
    );
  }
});

test("a torn end hides only itself", (t) => {
  const file = fileOf(chain([said("a"), said("b")]));
  const seen = reader(t)(file.slice(0, -5));
  assert.deepEqual(
    seen?.branch.map((entry) => entry["seq"]),
    [1],
  );
  assert.equal(seen?.id, HEADER.id);
});

test("a file that does not begin with a header is no session to pi, and one of only a header is empty", (t) => {
  const see = reader(t);
  assert.equal(see(fileOf(chain([said("a")]), null)), null);
  assert.equal(see(""), null);
  assert.deepEqual(see(fileOf([])), { id: HEADER.id, branch: [], messages: [] });
});

test("a circle of parents comes to an end", (t) => {
  const line = JSON.stringify({ ...said("a"), id: "x", parentId: "x", seq: 1 });
  assert.equal(reader(t)(fileOf([`${line}\n`]))?.branch.length, 1);
});

function summary(words: string, keptSeq: number): Draft {
  const firstKeptEntryId = `feedbeef-${keptSeq}`;
  return { type: "compaction", summary: words, firstKeptEntryId, tokensBefore: 1, timestamp: AT };
}

/** Reads a text as a file in a folder of its own, which goes when the test does. */
function reader(t: TestContext): (text: string) => PiSees | null {
  const folder = mkdtempSync(join(tmpdir(), "sessiond-like-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return (text) => {
    const path = join(folder, "transcript.jsonl");
    writeFileSync(path, text);
    return readLikePi(path);
  };
}
