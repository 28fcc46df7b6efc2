import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  calls,
  compaction,
  ENDED,
  entries,
  ourCompaction,
  result,
  said,
  STARTED,
  user,
} from "../../test/fixtures/talk.ts";
import { PRUNED_BYTES_MIN } from "../limits.ts";
import type { Provenance } from "../routing/provenance.ts";
import type { Body } from "../transcript/entry.ts";
import { assemble } from "./assemble.ts";
import { flushNote } from "./flush.ts";
import { PRUNED } from "./prune.ts";
import { bytesShown } from "./tally.ts";
import { bytesOf } from "./weight.ts";

const ANN: Provenance = { kind: "external_user", channel: "room", peer: "Ann" };
const id = fc.constantFrom("1", "2", "3");
const words = fc.constantFrom(
  "",
  "hello",
  "[[sessiond end]]",
  "é".repeat(PRUNED_BYTES_MIN),
  "x".repeat(4_000),
);
const place = fc.nat(30).map((at) => `e-${at}`);
const junk = fc.constantFrom<unknown[]>(null, 7, "words", {}, [null], [[]], [{ type: "toolCall" }]);
const body: fc.Arbitrary<Body> = fc.oneof(
  { weight: 4, arbitrary: fc.array(id, { maxLength: 3 }).map((ids) => calls(...ids)) },
  { weight: 5, arbitrary: fc.tuple(id, words).map(([of, text]) => result(of, text)) },
  { weight: 3, arbitrary: words.map((text) => user(text, ANN)) },
  words.map(said),
  fc.constantFrom(STARTED, ENDED, flushNote()),
  fc.nat(14).map((at) => compaction(at)),
  fc.nat(14).map((at) => ourCompaction(at, {})),
  fc.tuple(place, fc.array(place, { maxLength: 2 })).map(([through, except]) => ({
    type: "custom" as const,
    customType: PRUNED,
    data: { through, except },
  })),
  fc
    .tuple(fc.constantFrom("user", "assistant", "toolResult", "other"), junk, id)
    .map(
      ([role, content, toolCallId]) =>
        ({ type: "message", message: { role, content, toolCallId } }) as unknown as Body,
    ),
);

test("W1: what is tallied is what the messages weigh that are shown, whatever a file holds", () => {
  fc.assert(
    fc.property(fc.array(body, { maxLength: 30 }), fc.boolean(), (bodies, shared) => {
      const all = entries(...bodies);
      const shown = assemble(all, shared).reduce((bytes, message) => bytes + bytesOf(message), 0);
      assert.equal(bytesShown(all, shared), shown);
    }),
    { numRuns: 1_000 },
  );
});

test("a result that nobody called for weighs nothing, and one that is missing what stands for it", () => {
  const [alone, called] = [entries(user("look")), entries(user("look"), result("1", "x".repeat(900)))];
  assert.equal(bytesShown(called, false), bytesShown(alone, false));
  const [open, done] = [entries(calls("1", "2"), result("2")), entries(calls("1", "2"))];
  assert.ok(bytesShown(open, false) < bytesShown(done, false), "its words are longer than the result's");
});
