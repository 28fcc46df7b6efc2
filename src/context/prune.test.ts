import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { PRUNED_BYTES_MIN } from "../limits.ts";
import type { Block, Body, Entry } from "../transcript/entry.ts";
import {
  answered,
  asked,
  call,
  compacted,
  entriesOf,
  returned,
  text,
  wordsOf,
} from "../../test/fixtures/conversation.ts";
import { assemble } from "./assemble.ts";
import { prunePlan, type Pruned } from "./prune.ts";

const LONG = "a line of output\n".repeat(100);
const ROOM = { fresh: 1_000, batch: 500 };
const PER_BYTE = 1 / 4;

/** A question, and answers with one call each, whose result is this. */
function steps(count: number, output: string | readonly Block[] = LONG): Body[] {
  return [asked("go"), ...Array.from({ length: count }, (_, at) => step(`${at}`, output)).flat()];
}

function step(id: string, output: string | readonly Block[]): Body[] {
  return [answered([call(id)]), returned(id, output)];
}

/** With the note, if one is made. */
function pruned(entries: readonly Entry[], pins: readonly string[] = []): Entry[] {
  const note = prunePlan(entries, ROOM, PER_BYTE, new Set(pins));
  return note === null ? [...entries] : [...entries, ...entriesOf([note], entries.length)];
}

/** Ids of calls whose result is shown as a marker. */
function markers(entries: readonly Entry[]): string[] {
  return assemble(entries, false).flatMap((message) =>
    message.role === "toolResult" && wordsOf(message).startsWith("[compacted: tool output removed]")
      ? [message.toolCallId]
      : [],
  );
}

test("old results are shown as markers that say how much there was and where, and newer ones stay", () => {
  const all = pruned(entriesOf(steps(6)));
  assert.deepEqual(markers(all), ["0", "1", "2"], "three of 1,700 bytes are the newest 1,000 tokens");
  const [, , first] = assemble(all, false);
  assert.ok(first);
  assert.equal(wordsOf(first), `[compacted: tool output removed] (${LONG.length} bytes, ref e-3)`);
  assert.equal((first as { isError?: boolean }).isError, false);
  const note = all.at(-1) as { data?: Pruned };
  assert.deepEqual({ ...note.data, bytes: 0 }, { through: "e-7", results: 3, bytes: 0, except: [] });
});

test("P3: what would save less than a batch is left, and what is pruned already does not count again", () => {
  const all = pruned(entriesOf(steps(6)));
  assert.equal(prunePlan(all, ROOM, PER_BYTE), null);
  const more = [...all, ...entriesOf(step("6", LONG), all.length)];
  assert.equal(prunePlan(more, ROOM, PER_BYTE), null, "one result is no batch");
  const enough = pruned([...more, ...entriesOf(step("7", LONG), more.length)]);
  assert.deepEqual(markers(enough), ["0", "1", "2", "3", "4"]);
});

test("P2: results that no answer has seen are not pruned, however many they are", () => {
  const calls = ["1", "2", "3", "4", "5", "6"];
  const all = entriesOf([
    asked("go"),
    answered(calls.map((id) => call(id))),
    ...calls.map((id) => returned(id, LONG)),
    asked("by the way"),
  ]);
  assert.equal(prunePlan(all, { fresh: 0, batch: 0 }, PER_BYTE), null);
  const seen = [...all, ...entriesOf([answered([text("done")])], all.length)];
  assert.notEqual(prunePlan(seen, { fresh: 0, batch: 0 }, PER_BYTE), null);
});

test("P2: small results stay whole", () => {
  const all = entriesOf(steps(50, "x".repeat(PRUNED_BYTES_MIN)));
  assert.equal(prunePlan(all, ROOM, PER_BYTE), null);
});

test("P2: pinned results stay whole, and their pins may change with the next note", () => {
  const all = pruned(entriesOf(steps(8)), ["e-3", "e-1", "e-99"]);
  assert.deepEqual((all.at(-1) as { data?: Pruned }).data?.except, ["e-3"]);
  assert.deepEqual(markers(all), ["1", "2", "3", "4"]);
  const later = [...all, ...entriesOf([...step("8", LONG), ...step("9", LONG)], all.length)];
  assert.deepEqual(markers(later), ["1", "2", "3", "4"]);
  assert.deepEqual(markers(pruned(later, ["e-5"])), ["0", "2", "3", "4", "5", "6"]);
});

test("a result with pictures, or one whose whole is a blob, is told by its whole size", () => {
  const blob = { sha256: "a".repeat(64), bytes: 70_000 };
  const picture = { type: "text", text: "[a picture]", blob, mimeType: "image/png" } as Block;
  const all = pruned(entriesOf(steps(6, [{ type: "text", text: LONG, blob }, picture])));
  const shown = assemble(all, false)[2];
  assert.ok(shown);
  assert.match(wordsOf(shown), /\(140000 bytes, ref e-3\)$/);
  assert.equal(shown.content.length, 1);
});

test("P1: a note whose entry is not there, or that says nonsense, does nothing", () => {
  const all = entriesOf(steps(6));
  for (const data of [{ through: "e-99" }, { through: 3 }, {}, null, "e-7", { through: "e-14", except: 5 }]) {
    const note: Body = { type: "custom", customType: "sessiond/pruned", data };
    assert.deepEqual(markers([...all, ...entriesOf([note], all.length)]), []);
  }
});

test("P1: after a compaction that cut off what was pruned, nothing is, and pruning goes on from there", () => {
  const all = pruned(entriesOf(steps(6)));
  const after = [...all, ...entriesOf([compacted("so far", "e-8"), ...steps(6).slice(1)], all.length)];
  assert.deepEqual(markers(after), []);
  const again = pruned(after);
  assert.notDeepEqual(markers(again), []);
  const kept = again.slice(again.findIndex(({ id }) => id === "e-8"));
  assert.deepEqual(
    assemble(kept, false),
    assemble(again, false),
    "and whoever reads only the window sees the same",
  );
});

// ── The prefix ──────────────────────────────────────────────────────────────────────────────────────────────

const size = fc.integer({ min: 0, max: 3_000 });
const exchange: fc.Arbitrary<readonly Body[]> = fc.oneof(
  { weight: 2, arbitrary: size.map((length) => [asked("u".repeat(length))]) },
  { weight: 1, arbitrary: fc.constant([answered([text("done")])]) },
  {
    weight: 6,
    arbitrary: fc
      .array(fc.tuple(fc.constantFrom("1", "2", "3", "4"), size), { minLength: 1, maxLength: 4 })
      .map((calls) => [
        answered(calls.map(([id]) => call(id))),
        ...calls.map(([id, length]) => returned(id, "r".repeat(length))),
      ]),
  },
  {
    weight: 1,
    arbitrary: fc.constant([
      { type: "custom", customType: "sessiond/turn-ended", data: { outcome: "failed" } } as const,
    ]),
  },
);

test("C4: a prompt begins with the one before it, unless something was pruned or compacted; and a restart changes no byte", () => {
  let notes = 0;
  fc.assert(
    fc.property(fc.array(fc.tuple(exchange, fc.nat(40), fc.nat(3)), { maxLength: 40 }), (exchanges) => {
      const entries: Entry[] = [];
      const add = (...bodies: readonly Body[]): void => {
        entries.push(...entriesOf(bodies, entries.length));
      };
      let before: string[] = [];
      for (const [bodies, dice, pin] of exchanges) {
        add(...bodies);
        const shown = assemble(entries, false).map((message) => JSON.stringify(message));
        assert.deepEqual(shown.slice(0, before.length), before);
        const note = prunePlan(entries, { fresh: 500, batch: 300 }, PER_BYTE, new Set([`e-${pin * 3}`]));
        if (note !== null) {
          add(note);
          notes += 1;
        }
        if (dice === 0) add(compacted("so far", `e-${entries.length - 3}`));
        before = assemble(entries, false).map((message) => JSON.stringify(message));
        const again = JSON.parse(JSON.stringify(entries)) as Entry[];
        assert.deepEqual(
          assemble(again, false).map((message) => JSON.stringify(message)),
          before,
        );
      }
    }),
    { numRuns: 200 },
  );
  assert.ok(notes > 100, "there was something to prune");
});

test("P2, P3: for any conversation a note saves what it says, and takes nothing that must stay", () => {
  fc.assert(
    fc.property(fc.array(exchange, { maxLength: 30 }), (exchanges) => {
      const entries = entriesOf(exchanges.flat());
      const note = prunePlan(entries, ROOM, PER_BYTE);
      if (note === null) return;
      const { bytes, results } = (note as { data?: unknown }).data as Pruned;
      assert.ok(results > 0 && bytes * PER_BYTE >= ROOM.batch);
      const [whole, less] = [entries, [...entries, ...entriesOf([note], entries.length)]].map((each) =>
        assemble(each, false),
      );
      assert.ok(whole && less);
      assert.equal(less.length, whole.length);
      const lastAnswer = whole.findLastIndex(({ role }) => role === "assistant");
      for (const [at, message] of less.entries())
        if (message !== whole[at] && JSON.stringify(message) !== JSON.stringify(whole[at]))
          assert.ok(at < lastAnswer && message.role === "toolResult");
    }),
    { numRuns: 300 },
  );
});
