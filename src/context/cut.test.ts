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
import type { OpenTurn } from "../turns/where.ts";
import type { Body, Entry, Message } from "../transcript/entry.ts";
import { assemble } from "./assemble.ts";
import { cutOf, type Cut } from "./cut.ts";
import { bytesOf } from "./weight.ts";

function weight(part: readonly Entry[]): number {
  const shown = part.filter(({ type }) => type !== "compaction");
  return assemble(shown, true).reduce((bytes, message) => bytes + bytesOf(message), 0);
}

/** What is shown in place of what is missing: the summary is there, and says nothing. */
function keptOf(all: readonly Entry[], { at }: Cut): Entry[] {
  return all.slice(at).filter(({ type }) => type !== "compaction");
}

const TURN = [STARTED, user("please look"), calls("1"), result("1"), said("it is fine"), ENDED];
const LONG = "x".repeat(4_000);

// ── Turns ───────────────────────────────────────────────────────────────────────────────────────────────────

test("T2: as many whole turns as fit are kept", () => {
  const all = entries(...TURN, ...TURN, ...TURN);
  const two = weight(all.slice(6));
  assert.deepEqual(cutOf(all, two), { at: 6, isInsideTurn: false });
  assert.deepEqual(cutOf(all, two - 1), { at: 12, isInsideTurn: false });
});

test("where everything fits, the first turn goes: who asks for a cut gets one", () => {
  assert.deepEqual(cutOf(entries(...TURN, ...TURN, ...TURN), 1e6), { at: 6, isInsideTurn: false });
});

test("in a transcript of others a turn begins with what is said after a last answer, and not with what is said meanwhile", () => {
  const turn = [user("look"), calls("1"), result("1"), user("and there"), said("yes")];
  const all = entries(...turn, ...turn, ...turn);
  assert.deepEqual(cutOf(all, weight(all.slice(5))), { at: 5, isInsideTurn: false });
  assert.deepEqual(cutOf(all, weight(all.slice(6))), { at: 10, isInsideTurn: false });
});

test("T2: a last turn that is too large is cut before one of its steps", () => {
  const steps = ["1", "2", "3"].flatMap((id) => [calls(id), result(id, LONG)]);
  const all = entries(...TURN, STARTED, user("all three"), ...steps);
  assert.deepEqual(cutOf(all, weight(all.slice(10))), { at: 10, isInsideTurn: true });
  assert.deepEqual(cutOf(all, weight(all.slice(10)) - 1), { at: 12, isInsideTurn: true });
});

test("T3: a last step that is larger than what fits is kept", () => {
  const all = entries(STARTED, user("look"), calls("1"), result("1"), calls("2"), result("2", LONG));
  assert.deepEqual(cutOf(all, 10), { at: 4, isInsideTurn: true });
});

test("T3: what somebody has just said is kept, with the note that its turn began", () => {
  const all = entries(...TURN, STARTED, user(LONG));
  assert.deepEqual(cutOf(all, 10), { at: 6, isInsideTurn: false });
  const steered = entries(STARTED, user("look"), calls("1"), result("1"), user(LONG));
  assert.deepEqual(cutOf(steered, 10), { at: 4, isInsideTurn: true });
});

// ── Calls and results ───────────────────────────────────────────────────────────────────────────────────────

test("T1: results that were written late hold their answer, and all between", () => {
  const all = entries(
    STARTED,
    user("look"),
    calls("1", "2"),
    result("2"),
    user("hurry"),
    result("1"),
    calls("3"),
    result("3", LONG),
  );
  assert.deepEqual(cutOf(all, weight(all.slice(4))), { at: 6, isInsideTurn: true });
  assert.deepEqual(cutOf(all, weight(all.slice(2))), { at: 2, isInsideTurn: true });
});

test("T1: calls that still run are kept: their results are to come", () => {
  const all = entries(
    STARTED,
    user("look"),
    calls("1"),
    result("1"),
    calls("2", "3"),
    result("3"),
    user(LONG),
  );
  assert.deepEqual(cutOf(all, 10), { at: 4, isInsideTurn: true });
});

test("calls that were given up hold nobody", () => {
  const all = entries(STARTED, user("look"), calls("1"), ENDED, STARTED, user("again"), said("yes"));
  assert.deepEqual(cutOf(all, weight(all.slice(4))), { at: 4, isInsideTurn: false });
});

// ── Older compactions ───────────────────────────────────────────────────────────────────────────────────────

test("what an older compaction cut off is not there to be cut again", () => {
  const all = entries(...TURN, ...TURN, compaction(6), ...TURN);
  assert.deepEqual(cutOf(all, 1e6), { at: 13, isInsideTurn: false });
  assert.equal(cutOf(entries(...TURN, STARTED, user("go on"), compaction(6)), 1e6), null);
});

test("the cut may stand before an older compaction, in what that one kept", () => {
  const all = entries(...TURN, ...TURN, ...TURN, compaction(6));
  assert.deepEqual(cutOf(all, weight(all.slice(12))), { at: 12, isInsideTurn: false });
});

test("T4: a summary alone is not summed up again, unless it is itself too large", () => {
  assert.equal(cutOf(entries(...TURN, compaction(99)), 1_000), null);
  assert.deepEqual(cutOf(entries(...TURN, compaction(99, LONG)), 1_000), { at: 7, isInsideTurn: false });
  const one = entries(...TURN, compaction(99, LONG), STARTED, user("go on"));
  assert.deepEqual(cutOf(one, 1_000), { at: 7, isInsideTurn: false });
});

test("what is said into a turn whose beginning was cut off begins none", () => {
  const cutBefore = ourCompaction(2, { turn: { turn: "t", class: "interactive", steps: 1 } as OpenTurn });
  const all = entries(
    STARTED,
    user("look"),
    user("there"),
    said("I look"),
    cutBefore,
    user("and here"),
    said("yes"),
  );
  assert.deepEqual(cutOf(all, weight(all.slice(5))), { at: 5, isInsideTurn: true });
});

test("where nothing could be cut off, there is no cut", () => {
  for (const all of [
    [],
    [user("hello")],
    [STARTED, user("hello")],
    [STARTED],
    [result("1"), result("2")],
    [calls("1"), result("1", LONG)],
  ])
    assert.equal(cutOf(entries(...all), 10), null);
});

// ── Whatever a file holds ───────────────────────────────────────────────────────────────────────────────────

const id = fc.constantFrom("1", "2", "3");
const words = fc.constantFrom("hello", "x".repeat(200), LONG);
const junk = fc.constantFrom<unknown[]>(null, undefined, 7, "words", {}, [null], [{}], [[]]);
const body: fc.Arbitrary<Body> = fc.oneof(
  { weight: 4, arbitrary: fc.array(id, { maxLength: 3 }).map((ids) => calls(...ids)) },
  { weight: 5, arbitrary: fc.tuple(id, words).map(([of, text]) => result(of, text)) },
  { weight: 3, arbitrary: words.map(user) },
  { weight: 2, arbitrary: words.map(said) },
  { weight: 2, arbitrary: fc.constantFrom(STARTED, ENDED) },
  fc.nat(14).map((at) => compaction(at)),
  fc
    .tuple(fc.constantFrom("user", "assistant", "toolResult", "other"), junk, id)
    .map(
      ([role, content, toolCallId]) =>
        ({ type: "message", message: { role, content, toolCallId } }) as unknown as Body,
    ),
  fc.constantFrom<Body[]>(
    { type: "custom_message", customType: "sessiond/x", content: "a note", display: true },
    { type: "custom", customType: "sessiond/x" },
    { type: "theirs" } as unknown as Body,
  ),
);
const file = fc.array(body, { maxLength: 20 }).map((bodies) => entries(...bodies));
const keep = fc.constantFrom(0, 100, 500, 2_000, 7_000, 1e6);

/** Everything that is shown, as text: a part of it is shown the same way. */
function shape(messages: readonly Message[]): string[] {
  return messages.map((message) => JSON.stringify(message));
}

test("T1: what is kept, and what is cut off, are shown as they were in the whole", () => {
  fc.assert(
    fc.property(file, keep, (all, bytes) => {
      const cut = cutOf(all, bytes);
      if (cut === null) return;
      const whole = assemble(all, false);
      const older = all.findLastIndex(({ type }) => type === "compaction");
      const summary = older < 0 ? 0 : 1;
      const kept = assemble(keptOf(all, cut), false);
      assert.deepEqual(shape(whole.slice(whole.length - kept.length)), shape(kept));
      const rest = whole.slice(summary, whole.length - kept.length);
      const open: string[] = [];
      for (const message of rest) {
        if (message.role === "toolResult") assert.equal(message.toolCallId, open.shift());
        else if (message.role === "assistant")
          open.push(...message.content.flatMap((each) => (each.type === "toolCall" ? [each.id] : [])));
      }
      assert.equal(open.length, 0);
    }),
    { numRuns: 1_000 },
  );
});

test("T3, T4: something is cut off, and what is kept fits unless no smaller part could be kept", () => {
  fc.assert(
    fc.property(file, keep, (all, bytes) => {
      const cut = cutOf(all, bytes);
      assert.deepEqual(cutOf(all, bytes), cut, "the same entries are cut at the same place");
      if (cut === null) return;
      const [whole, kept] = [assemble(all, false), assemble(keptOf(all, cut), false)];
      assert.ok(kept.length < whole.length);
      if (weight(keptOf(all, cut)) <= bytes) return;
      assert.equal(cutOf(keptOf(all, cut), bytes), null, "it is one step, which cannot be cut");
    }),
    { numRuns: 1_000 },
  );
});
