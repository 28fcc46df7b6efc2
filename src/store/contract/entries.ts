// Reading history.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { READ_BYTES_MAX, READ_ENTRIES_MAX } from "../../limits.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Range } from "../store.ts";
import { refused, type Corner } from "./corner.ts";
import { noted, said } from "./samples.ts";

export function entriesContract(corner: () => Corner): void {
  describe("entries", () => {
    test("a history is read from its context, from a seq, from its end, or with all that was left behind", async () => {
      const at = corner();
      const key = await at.talk("a", ["1", "2", "3", "4", "5"]);
      await at.append(key, [said("6")], { contextSeq: 4 });
      const check = async (): Promise<void> => {
        assert.deepEqual(await at.seqs(key, { from: "context" }), [4, 5, 6]);
        assert.deepEqual(await at.seqs(key, { from: 5 }), [5, 6]);
        assert.deepEqual(await at.seqs(key, { from: 0 }), [1, 2, 3, 4, 5, 6]);
        assert.deepEqual(await at.seqs(key, { from: 7 }), []);
        assert.deepEqual(await at.seqs(key, { since: 5 }), [5, 6]);
        assert.deepEqual(await at.seqs(key, { since: 7 }), []);
        assert.deepEqual(await at.seqs(key, { since: 2, through: 2 }), [2]);
        assert.deepEqual(await at.seqs(key, { since: 2, through: 4 }), [2, 3, 4]);
        assert.deepEqual(await at.seqs(key, { since: 5, through: 100 }), [5, 6]);
        assert.deepEqual(await at.seqs(key, { since: 5, through: 4 }), []);
        assert.deepEqual(await at.seqs(key, { before: null }), [6, 5, 4, 3, 2, 1]);
        assert.deepEqual(await at.seqs(key, { before: 3 }), [2, 1]);
        assert.deepEqual(await at.seqs(key, { before: 100 }), [6, 5, 4, 3, 2, 1]);
        assert.deepEqual(await at.seqs(key, { before: 1 }), []);
        assert.deepEqual(await at.seqs(key, { before: 0 }), []);
      };
      await check();
      await at.reopen();
      await check();
    });

    test("a transcript that is not there is not_found", async () => {
      const at = corner();
      const key = await at.talk("a", ["1"]);
      const transcript = await at.transcript(key);
      for (const range of [{ from: 1 }, { from: "context" }, { since: 0 }, { before: null }] as const) {
        await refused("not_found", Array.fromAsync(at.store.entries("nothing", range)));
        await refused("not_found", Array.fromAsync(at.store.entries("", range)));
        await refused("not_found", Array.fromAsync(at.store.entries(transcript.slice(1), range)));
      }
    });

    test("more entries than one page holds come in one reading, each once", async () => {
      const at = corner();
      const key = await at.open("a");
      const count = 2 * READ_ENTRIES_MAX + 7;
      await at.append(
        key,
        Array.from({ length: count }, (_, n) => noted(n)),
      );
      await checkRanges(at, key, [1, 2, READ_ENTRIES_MAX, READ_ENTRIES_MAX + 1, count, count + 1]);
    });

    test("entries larger than a page come one by one", async () => {
      const at = corner();
      const key = await at.open("a");
      const large = said("x".repeat(READ_BYTES_MAX + 1));
      await at.append(key, [large, noted(1), large, large, noted(2)]);
      await at.rewind(key, 3, ["6"]);
      await at.append(key, [large, noted(3)]);
      await checkRanges(at, key, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    });

    test("with any rewinds, every range gives what following the parents gives", async () => {
      let names = 0;
      const at = corner();
      const steps = fc.array(fc.record({ count: fc.integer({ min: 1, max: 4 }), back: fc.nat(12) }), {
        minLength: 1,
        maxLength: 8,
      });
      const property = fc.asyncProperty(steps, async (taken) => {
        names += 1;
        const key = await at.open(`${names}`);
        let last = 0;
        for (const { count, back } of taken) {
          const entries = Array.from({ length: count }, (_, n) => noted(n));
          const all = last === 0 ? [] : await at.entries(key, { since: 1 });
          const to = all[last - 1 - (back % Math.max(last, 1))];
          await at.append(key, entries, { rewindTo: to ? { id: to.id, seq: to.seq } : null });
          last += count;
        }
        await checkRanges(
          at,
          key,
          Array.from({ length: last + 1 }, (_, seq) => seq + 1),
        );
      });
      await fc.assert(property, { numRuns: 20 });
    });

    test("rewinds far apart are found across pages", async () => {
      const at = corner();
      const key = await at.open("a");
      const many = (): ReturnType<typeof noted>[] =>
        Array.from({ length: READ_ENTRIES_MAX - 5 }, (_, n) => noted(n));
      for (const back of [200, 10, 500]) {
        await at.append(key, many());
        await at.rewind(key, back % (await at.row(key)).transcript.lastSeq, ["again"]);
        await checkRanges(at, key, [1, 12, 253]); // What was read before a rewind says nothing of what is read after.
      }
      await at.append(key, many());
      const { lastSeq, jumpSeq } = (await at.row(key)).transcript;
      await checkRanges(at, key, [1, 10, 11, 12, 200, 252, 253, 254, 500, jumpSeq - 1, jumpSeq, lastSeq]);
      await at.reopen();
      await checkRanges(at, key, [1, 11, 253, jumpSeq, jumpSeq + 1, lastSeq]);
    });

    test("a reading that has begun is not disturbed by what is written after", async () => {
      const at = corner();
      const count = 2 * READ_ENTRIES_MAX + 10;
      const ranges: readonly Range[] = [{ from: "context" }, { from: 1 }, { since: 1 }, { before: null }];
      for (const [number, range] of ranges.entries()) {
        const key = await at.open(`${number}`);
        await at.append(
          key,
          Array.from({ length: count }, (_, n) => noted(n)),
        );
        const expected = await at.seqs(key, range);
        const read: number[] = [];
        for await (const entry of at.store.entries(await at.transcript(key), range)) {
          if (read.length === 0) await at.rewind(key, 3, ["elsewhere"]);
          if (read.length === READ_ENTRIES_MAX + 1)
            await at.append(key, [noted("more")], { contextSeq: 600 });
          assert(entry.type !== "gap");
          read.push(entry.seq);
        }
        same(read, expected, JSON.stringify(range));
      }
    });
  });
}

/** Compares every kind of range with what the lines themselves say. */
async function checkRanges(at: Corner, key: SessionKey, seqs: readonly number[]): Promise<void> {
  const lines = await at.entries(key, { since: 0 });
  const { lastSeq, leafId } = (await at.row(key)).transcript;
  const all = Array.from({ length: lastSeq }, (_, n) => n + 1);
  same(
    lines.map(({ seq }) => seq),
    all,
    "everything",
  );
  const path: number[] = [];
  for (let id = leafId, line = lines.length - 1; line >= 0; line -= 1) {
    const entry = lines[line];
    if (entry?.id !== id) continue;
    path.unshift(entry.seq);
    id = entry.parentId;
  }
  for (const seq of seqs) {
    const from = path.filter((each) => each >= seq);
    same(await at.seqs(key, { from: seq }), from, `from ${seq}`);
    const before = path.filter((each) => each < seq).toReversed();
    same(await at.seqs(key, { before: seq }), before, `before ${seq}`);
    const since = lines.filter((each) => each.seq >= seq).map((each) => each.seq);
    same(await at.seqs(key, { since: seq }), since, `since ${seq}`);
  }
  same(await at.seqs(key, { before: null }), path.toReversed(), "from the end");
}

/** On one line, because a list of hundreds of numbers is no message. */
function same(actual: readonly number[], expected: readonly number[], range: string): void {
  assert.equal(actual.join(" "), expected.join(" "), range);
}
