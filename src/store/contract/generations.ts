// A history that goes on in a new file, and one that begins anew.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { READ_ENTRIES_MAX } from "../../limits.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Entry } from "../../transcript/entry.ts";
import type { Of } from "../rules.ts";
import type { Range } from "../store.ts";
import { entriesOf, refused, withoutTrace, type Corner } from "./corner.ts";
import { answered, headerOf, named, noted, said } from "./samples.ts";

export function generationContract(corner: () => Corner): void {
  describe("generations", () => {
    test("a new file begins with the context, and every range reads what it read before", async () => {
      const at = corner();
      const key = await at.talk("long", ["1", "2", "3", "4", "5"]);
      await at.rewind(key, 3, ["6", "7"]);
      await at.append(key, [said("8")], { contextSeq: 4 });
      const before = await everyRange(at, key);
      const row = await at.row(key);

      const rotated = await rotate(at, key);
      assert.deepEqual(await everyRange(at, key), before);
      const { transcript, ...rest } = await at.row(key);
      const { transcript: old, ...others } = row;
      assert.deepEqual(rest, others);
      const lines = (await at.entries(key, { since: 4 })).map((entry) => `${JSON.stringify(entry)}\n`);
      const more = { previous: `${old.id}.jsonl`, firstSeq: 4 };
      const header = Buffer.byteLength(headerOf(rotated, at.world.nowMs(), more));
      const bytes = header + Buffer.byteLength(lines.join(""));
      assert.deepEqual(transcript, { ...old, id: rotated.transcript, firstSeq: 4, bytes });
      await at.reopen();
      assert.deepEqual(await everyRange(at, key), before);
    });

    test("the history is read under the ids of its older files too, and goes on under them", async () => {
      const at = corner();
      const key = await at.talk("long", ["1", "2", "3"]);
      const ids = [await at.transcript(key)];
      for (const contextSeq of [2, 4]) {
        await at.append(key, [said("more")], { contextSeq });
        ids.push((await rotate(at, key)).transcript);
      }
      await at.append(key, [said("end")]);
      for (const id of ids)
        for (const range of [{ since: 0 }, { from: 1 }, { from: "context" }, { before: 5 }] as const)
          assert.deepEqual(await entriesOf(at.store, id, range), await at.entries(key, range));
      assert.deepEqual(await at.seqs(key, { since: 0 }), [1, 2, 3, 4, 5, 6]);
    });

    test("the numbers go on, and an entry has the name of the file that it was written to", async () => {
      const at = corner();
      const key = await at.talk("long", ["1", "2", "3"]);
      const old = await at.transcript(key);
      await at.append(key, [said("4")], { contextSeq: 3 });
      const rotated = await rotate(at, key);
      const receipt = await at.append(key, [said("5")]);
      assert.deepEqual(receipt.seqs, { [key]: 5 });
      const [fourth, fifth] = await at.entries(key, { from: 4 });
      assert.deepEqual([fourth?.id, fifth?.id], [`${old.slice(-8)}-4`, `${rotated.transcript.slice(-8)}-5`]);
      assert.equal(fifth?.parentId, fourth?.id);
    });

    test("a conversation goes back over the end of a file, and its context is read over it", async () => {
      const at = corner();
      const key = await at.talk("long", ["1", "2", "3", "4"]);
      await at.append(key, [said("5")], { contextSeq: 3 });
      await rotate(at, key);
      await at.append(key, [said("6")], { contextSeq: 5 });
      await rotate(at, key);
      const [, second] = await at.entries(key, { since: 0 });
      const rewindTo = { id: second?.id ?? "", seq: 2 };
      await at.append(key, [said("7"), said("8")], { rewindTo, contextSeq: 1 });
      assert.deepEqual(await at.seqs(key, { from: "context" }), [1, 2, 7, 8]);
      assert.deepEqual(await at.seqs(key, { before: null }), [8, 7, 2, 1]);
      assert.deepEqual(await at.seqs(key, { since: 0 }), [1, 2, 3, 4, 5, 6, 7, 8]);
      // All that is shown stands before this file: a new one would have to hold more than this one.
      await withoutTrace(at, "bad_input", [await rotating(at, key)]);
      await at.append(key, [said("9")], { contextSeq: 8 });
      const before = await everyRange(at, key);
      await rotate(at, key);
      assert.deepEqual(await everyRange(at, key), before);
    });

    test("a new file and the first entry in it are one commit", async () => {
      const at = corner();
      const key = await at.talk("long", ["1", "2"]);
      await at.append(key, [said("3")], { contextSeq: 2 });
      const rotated = await rotating(at, key);
      await at.store.commit([rotated, await at.appending(key, [noted("4")])]);
      const last = (await at.entries(key, { from: 4 }))[0];
      assert.equal(last?.id, `${rotated.transcript.slice(-8)}-4`);
      assert.deepEqual(await at.seqs(key, { from: 1 }), [1, 2, 3, 4]);
    });

    test("whoever is not the owner, or knows another history, begins no new file", async () => {
      const at = corner();
      const key = await at.talk("long", ["1", "2", "3"]);
      await at.append(key, [said("4")], { contextSeq: 2 });
      const right = await rotating(at, key);
      const wrong: readonly Partial<Of<"rotate">>[] = [{ fence: 1 }, { after: 3 }, { after: 5 }];
      for (const keep of ["context", "nothing"] as const) {
        for (const each of wrong) await withoutTrace(at, "stale_writer", [{ ...right, keep, ...each }]);
        // What is copied is of the history as it was before the commit: so nothing may be added before it.
        const appended = await at.appending(key, [said("5")]);
        await withoutTrace(at, "stale_writer", [appended, { ...right, keep, after: 5 }]);
        await withoutTrace(at, "exists", [{ ...right, keep, transcript: await at.transcript(key) }]);
        await withoutTrace(at, "bad_input", [{ ...right, keep, transcript: "../else" }]);
        await withoutTrace(at, "not_found", [{ ...right, keep, key: at.key("nobody") }]);
      }
      const old = await at.transcript(key);
      await at.store.commit([right]);
      await withoutTrace(at, "exists", [at.opening(at.key("other"), { transcript: old })]);
    });

    test("a new file that would be no shorter is not begun", async () => {
      const at = corner();
      const empty = await at.open("empty");
      for (const keep of ["context", "nothing"] as const)
        await withoutTrace(at, "bad_input", [await rotating(at, empty, { keep })]);
      const key = await at.talk("long", ["1", "2", "3"]);
      await withoutTrace(at, "bad_input", [await rotating(at, key)]);
      await at.append(key, [said("4")], { contextSeq: 3 });
      await rotate(at, key);
      await withoutTrace(at, "bad_input", [await rotating(at, key)]);
    });

    test("a fork copies over the end of a file, and keeps nothing of where it was", async () => {
      const at = corner();
      const key = await at.talk("long", ["1", "2", "3"]);
      await at.append(key, [said("4")], { contextSeq: 3 });
      await rotate(at, key);
      await at.append(key, [said("5")]);
      const fork = await at.open("fork", { copy: { of: key, fromSeq: 2, throughSeq: 5 } });
      const { firstSeq, copied, lastSeq } = (await at.row(fork)).transcript;
      assert.deepEqual([firstSeq, copied, lastSeq], [1, 4, 4]);
      assert.deepEqual(await texts(at, fork, { from: 1 }), ["2", "3", "4", "5"]);
      // It was read before its source went on in another file: the same history, so it is copied all the same.
      await at.append(key, [said("6")], { contextSeq: 5 });
      const opening = at.opening(at.key("again"), { copy: { of: key, fromSeq: 1, throughSeq: 6 } });
      await at.store.commit([await rotating(at, key), opening]);
      assert.deepEqual(await texts(at, opening.key, { from: 1 }), ["1", "2", "3", "4", "5", "6"]);
    });

    test("what a fork copied stays copied in a new file", async () => {
      const at = corner();
      const source = await at.talk("source", ["1", "2", "3"]);
      const fork = await at.open("fork", { copy: { of: source, fromSeq: 1, throughSeq: 3 } });
      await at.append(fork, [said("4")], { contextSeq: 2 });
      await rotate(at, fork);
      assert.equal((await at.row(fork)).transcript.copied, 3);
    });

    test("a long history is read page by page over its files, also while it goes on in another", async () => {
      const at = corner();
      const key = await at.open("long");
      const many = Array.from({ length: READ_ENTRIES_MAX }, (_, n) => noted(n));
      let last = 0;
      for (const round of [1, 2, 3]) {
        await at.append(key, many);
        last = round * many.length + round;
        await at.append(key, [said(`end ${round}`)], { contextSeq: last - 5 });
        if (round < 3) await rotate(at, key);
      }
      const id = await at.transcript(key);
      const all = Array.from({ length: last }, (_, n) => n + 1);
      assert.deepEqual(await at.seqs(key, { from: 1 }), all);
      const [down, up]: [number[], number[]] = [[], []];
      for await (const entry of at.store.entries(id, { since: 0 })) {
        assert.notEqual(entry.type, "gap");
        down.push((entry as Entry).seq);
        if (down.length === 10) await rotate(at, key);
      }
      assert.deepEqual(down, all);
      for await (const entry of at.store.entries(id, { before: null })) up.push((entry as Entry).seq);
      assert.deepEqual(up, all.toReversed());
    });

    test("a deleted session leaves nothing of any of its files, and their ids are not used again", async () => {
      const at = corner();
      const key = await at.open("chat");
      const [early, late] = [await blobOf(at, "early"), await blobOf(at, "late")];
      await at.append(key, [named(early), said("2"), named(late)]);
      await at.append(key, [said("4")], { contextSeq: 3 });
      const ids = [await at.transcript(key), (await rotate(at, key)).transcript];
      for (const { sha256 } of [early, late])
        assert.notEqual(await at.store.readBlob(sha256, { from: 0, bytes: 1 }), null);
      await at.store.commit([{ do: "delete", key, expect: null }]);
      await at.sweep();
      for (const { sha256 } of [early, late])
        assert.equal(await at.store.readBlob(sha256, { from: 0, bytes: 1 }), null);
      for (const transcript of ids) {
        await refused("not_found", entriesOf(at.store, transcript, { since: 0 }));
        await refused("exists", at.open("other", { transcript }));
      }
    });

    test("a search finds each entry once, whatever file it is in, and nothing of what began anew", async () => {
      const at = corner();
      const key = await at.talk("chat", ["walnut", "hazel", "walnut again"]);
      const hits = async (text: string): Promise<unknown[]> => {
        for (;;) {
          const { hits: found, behind } = await at.store.search({ text, agent: at.agent });
          if (behind === 0) return found.map(({ seq, transcript }) => [seq, transcript]);
          await new Promise(setImmediate);
        }
      };
      assert.deepEqual((await hits("walnut")).length, 2);
      await at.append(key, [said("4")], { contextSeq: 2 });
      const { transcript } = await rotate(at, key);
      await at.append(key, [said("hazel")]);
      assert.deepEqual(await hits("walnut"), [
        [3, transcript],
        [1, transcript],
      ]);
      assert.deepEqual(await hits("hazel"), [
        [5, transcript],
        [2, transcript],
      ]);
      const anew = (await rotate(at, key, { keep: "nothing" })).transcript;
      assert.deepEqual(await hits("walnut"), []);
      await at.append(key, [said("a walnut")]);
      assert.deepEqual(await hits("walnut"), [[6, anew]]);
    });

    test("any history reads the same, whether and wherever it went on in new files", async () => {
      const at = corner();
      let runs = 0;
      const property = fc.asyncProperty(
        fc.array(deed, { minLength: 1, maxLength: 14, size: "max" }),
        async (deeds) => {
          runs += 1;
          const plain = await at.talk(`plain ${runs}`, ["1", "2"]);
          const rotated = await at.talk(`rotated ${runs}`, ["1", "2"]);
          for (const each of deeds) {
            await act(at, plain, { ...each, rotate: false });
            await act(at, rotated, each);
          }
          assert.deepEqual(await shape(at, rotated), await shape(at, plain));
        },
      );
      await fc.assert(property, { numRuns: 25 });
    });
  });
}

export const RANGES: readonly Range[] = [
  { from: "context" },
  ...[0, 1, 2, 3, 4, 5, 6, 7].flatMap((seq): Range[] => [{ from: seq }, { since: seq }, { before: seq }]),
  { before: null },
  { since: 100 },
  { before: 100 },
];

export async function everyRange(at: Corner, key: SessionKey): Promise<unknown> {
  const read: unknown[] = [];
  for (const range of RANGES) read.push(await at.entries(key, range));
  return read;
}

async function rotating(
  at: Corner,
  key: SessionKey,
  more: Partial<Of<"rotate">> = {},
): Promise<Of<"rotate">> {
  const after = (await at.row(key)).transcript.lastSeq;
  const transcript = at.world.newId();
  return { do: "rotate", key, fence: 0, after, transcript, cwd: "/tmp", keep: "context", ...more };
}

export async function rotate(
  at: Corner,
  key: SessionKey,
  more: Partial<Of<"rotate">> = {},
): Promise<Of<"rotate">> {
  const change = await rotating(at, key, more);
  await at.store.commit([change]);
  return change;
}

async function texts(at: Corner, key: SessionKey, range: Range): Promise<unknown[]> {
  return (await at.entries(key, range)).map((entry) =>
    entry.type === "message" ? entry.message.content : null,
  );
}

async function blobOf(at: Corner, name: string): ReturnType<Corner["store"]["putBlob"]> {
  return await at.store.putBlob(Buffer.from(at.id(name)));
}

/** What happens to a history: words, perhaps from an earlier entry on, perhaps a context that starts later. */
const deed = fc.record({
  words: fc.integer({ min: 1, max: 4 }),
  back: fc.option(fc.nat(12), { freq: 3 }),
  context: fc.option(fc.nat(5), { freq: 2 }),
  rotate: fc.boolean(),
});
type Deed = typeof deed extends fc.Arbitrary<infer Value> ? Value : never;

async function act(
  at: Corner,
  key: SessionKey,
  { words, back, context, rotate: wanted }: Deed,
): Promise<void> {
  const { lastSeq, contextSeq } = (await at.row(key)).transcript;
  const entries = Array.from({ length: words }, (_, n) =>
    n === 1 ? answered(lastSeq + 1 + n) : said(`${lastSeq + 1 + n}`),
  );
  const seq = Math.max(1, lastSeq - (back ?? 0));
  const [to] = back === null ? [] : await at.entries(key, { since: seq });
  // Where the context starts is on the path: with it, or at the entry that is gone back to.
  const start = to !== undefined && to.seq < contextSeq ? to.seq : null;
  const moved = context === null || to !== undefined ? start : Math.max(1, lastSeq - context);
  const rewindTo = to === undefined ? null : { id: to.id, seq: to.seq };
  await at.append(key, entries, { rewindTo, contextSeq: moved });
  const { firstSeq, contextSeq: now } = (await at.row(key)).transcript;
  if (wanted && now > firstSeq) await rotate(at, key);
}

/** Everything that can be read of it, but for the names of files. */
async function shape(at: Corner, key: SessionKey): Promise<unknown> {
  const all = await at.entries(key, { since: 0 });
  const seqOf = new Map(all.map(({ id, seq }) => [id, seq]));
  const { lastSeq, leafId, contextSeq, contextTokens, jumpSeq, copied } = (await at.row(key)).transcript;
  const read: unknown[] = [[lastSeq, seqOf.get(leafId ?? ""), contextSeq, contextTokens, jumpSeq, copied]];
  const some = [1, 2, 3, 5, 8, 13, lastSeq - 3, lastSeq - 1, lastSeq];
  const ranges = some.flatMap((seq): Range[] => [{ from: seq }, { since: seq }, { before: seq }]);
  for (const range of [...ranges, { from: "context" }, { before: null }] as const)
    for (const { id: _id, parentId, ...entry } of await at.entries(key, range))
      read.push({ ...entry, parent: parentId === null ? 0 : seqOf.get(parentId) });
  return read;
}
