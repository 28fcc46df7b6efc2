import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { compaction, entries, OPEN, ourCompaction, said, user, verbatim } from "../../test/fixtures/talk.ts";
import { DEFAULT_AGENT, mainKey } from "../routing/key.ts";
import type { Body } from "../transcript/entry.ts";
import { restsOn, tasksIn, tasksLeft } from "../turns/tasks.ts";
import { openTurn } from "../turns/where.ts";
import { detailsOf, type CompactionDetails } from "./compaction.ts";
import { materialOf } from "./material.ts";
import { summaryText } from "./summary.ts";

const KEY = mainKey(DEFAULT_AGENT);

function read(details: unknown): CompactionDetails | null {
  return detailsOf({ ...compaction(0, "so far"), details } as Body);
}

test("what a compaction of ours keeps is read as it was written, also from a file", () => {
  const known: Partial<CompactionDetails> = {
    sections: "## Goal",
    truncated: "busy",
    pinned: [{ ...verbatim("e-1", "keep"), isCut: true }],
    asked: [verbatim("e-2", "do it")],
    turn: {
      ...OPEN,
      letters: ["m"],
      routes: [{ channel: "c", to: "t", thread: null }],
      startedAtMs: 5,
      spent: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, cost: 5 },
    },
    awaits: ["1"],
    tasks: [{ id: "1", key: KEY, givenAtMs: Number.NaN, isTold: true }],
    order: "o",
  };
  const body = ourCompaction(0, known);
  assert.deepEqual(detailsOf(JSON.parse(JSON.stringify(body))), (body as { details?: unknown }).details);
  assert.equal(detailsOf(body), detailsOf(body), "it is looked at once");
});

test("what another program wrote is not ours", () => {
  for (const details of [undefined, null, 5, "sessiond", ["sessiond"], {}, { by: "somebody" }])
    assert.equal(read(details), null);
  assert.equal(detailsOf(user("x")), null);
  assert.equal(detailsOf(undefined), null);
});

test("what is not of its kind is left out, and the rest stays", () => {
  const task = { id: "1", key: KEY, givenAtMs: 1, isTold: true };
  const details = read({
    by: "sessiond",
    occasion: "moon",
    sections: 5,
    pinned: [null, verbatim("e-1", "keep"), { id: 1, from: "User", text: "x" }, { id: "e-2" }],
    asked: "x",
    awaits: ["1", 2, null],
    tasks: [null, 5, task, { ...task, key: {} }, { ...task, id: "2", givenAtMs: 1e300 }],
    tokensAfter: "many",
    turn: { ...OPEN, letters: ["m", 1], routes: [null, { channel: "c" }], spent: 5, unsettled: { calls: 5 } },
  });
  assert.deepEqual(details, {
    by: "sessiond",
    occasion: "size",
    sections: "so far",
    truncated: null,
    pinned: [verbatim("e-1", "keep")],
    asked: [],
    turn: { ...OPEN, letters: ["m"] },
    awaits: ["1"],
    tasks: [task],
    tokensAfter: 0,
    model: "",
    order: null,
  });
});

test("a turn that says neither which it is nor how it stands is none", () => {
  for (const turn of [{}, 5, [], { ...OPEN, turn: 1 }, { ...OPEN, class: "king" }, { ...OPEN, steps: "2" }])
    assert.equal(read({ by: "sessiond", turn })?.turn, null);
});

/** As often as not of the right kind, so that what is inside of it is looked at too. */
const junk = fc.oneof(
  fc.constantFrom<unknown>(null, 5, "x", [], {}, [null], { length: 1 }, ["1"]),
  fc.jsonValue(),
  fc.array(
    fc.record({ id: fc.constantFrom<unknown>("1", 1), key: fc.jsonValue(), text: fc.jsonValue() }, {}),
  ),
);
const names = ["sections", "truncated", "pinned", "asked", "awaits", "tasks", "tokensAfter", "usage", "turn"];
const details = fc
  .record(Object.fromEntries(names.map((name) => [name, junk])), { requiredKeys: [] })
  .map((known) => ({ ...known, by: "sessiond" }));

test("whatever a file holds in its place, nothing that reads it fails", () => {
  fc.assert(
    fc.property(details, (each) => {
      const all = entries(user("a"), said("b"), { ...compaction(0), details: each } as Body, user("c"));
      openTurn(all);
      restsOn(all, 0);
      tasksLeft(all, 0);
      const pins = new Set(["1", "e-0"]);
      const { pinned, asked } = materialOf(all, { at: 3, isInsideTurn: true }, { pins, shared: true });
      summaryText({ sections: "", pinned, asked, tasks: tasksIn(all, 0), pinnedBytesMax: 100 });
    }),
    { numRuns: 1_000 },
  );
});
