// Writing history.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LINE_BYTES_MAX } from "../../limits.ts";
import type { Draft } from "../../transcript/entry.ts";
import { entriesOf, refused, withoutTrace, type Corner } from "./corner.ts";
import { noted, said } from "./samples.ts";

export function appendContract(corner: () => Corner): void {
  describe("append", () => {
    test("entries are numbered without gaps, have ids of their own, and each continues the one before", async () => {
      const at = corner();
      const key = await at.open("a");
      for (const count of [1, 3, 2]) {
        await at.append(
          key,
          Array.from({ length: count }, (_, n) => said(`${n}`)),
        );
      }
      const entries = await at.entries(key, { since: 0 });
      assert.deepEqual(
        entries.map(({ seq }) => seq),
        [1, 2, 3, 4, 5, 6],
      );
      assert.equal(new Set(entries.map(({ id }) => id)).size, 6);
      assert.deepEqual(
        entries.map(({ parentId }) => parentId),
        [null, ...entries.slice(0, -1).map(({ id }) => id)],
      );
      const { transcript } = await at.row(key);
      assert.deepEqual([transcript.lastSeq, transcript.leafId], [6, entries.at(-1)?.id]);
    });

    test("the receipt says where each history ends", async () => {
      const at = corner();
      const [a, b] = [await at.open("a"), await at.talk("b", ["1"])];
      const receipt = await at.store.commit([
        await at.appending(a, [said("1"), said("2")]),
        await at.appending(b, [said("2")]),
      ]);
      assert.deepEqual(receipt.seqs, { [a]: 2, [b]: 2 });
    });

    test("entries come back as they went in, field by field", async () => {
      const at = corner();
      const key = await at.open("a");
      await at.append(key, STRANGE);
      const check = async (): Promise<void> => {
        const entries = await at.entries(key, { since: 0 });
        const bare = entries.map(({ id: _id, parentId: _parentId, seq: _seq, ...draft }) => draft);
        assert.deepEqual(bare, JSON.parse(JSON.stringify(STRANGE)));
      };
      await check();
      await at.reopen();
      await check();
    });

    test("an entry that is handed in again gets a stamp of its own", async () => {
      const at = corner();
      const key = await at.talk("a", ["1", "2"]);
      const [first] = await at.entries(key, { since: 0 });
      assert(first);
      await at.append(key, [first]);
      const entries = await at.entries(key, { from: 1 });
      assert.deepEqual(
        entries.map(({ seq }) => seq),
        [1, 2, 3],
      );
      assert.notEqual(entries[2]?.id, first.id);
    });

    test("the row knows how many bytes the lines take", async () => {
      const at = corner();
      const key = await at.open("a");
      const bare = (await at.row(key)).transcript.bytes;
      await at.append(key, STRANGE);
      await at.append(key, [said("more")]);
      const lines = (await at.entries(key, { since: 0 })).map((entry) => `${JSON.stringify(entry)}\n`);
      assert.equal((await at.row(key)).transcript.bytes, bare + Buffer.byteLength(lines.join("")));
    });

    test("a writer that knows another history than there is, or is not the owner, is refused", async () => {
      const at = corner();
      const key = await at.talk("a", ["1", "2"]);
      for (const after of [0, 1, 3, -1, 1.5]) {
        await withoutTrace(at, "stale_writer", [await at.appending(key, [said("x")], { after })]);
      }
      for (const fence of [1, -1]) {
        await withoutTrace(at, "stale_writer", [await at.appending(key, [said("x")], { fence })]);
      }
      await refused("not_found", at.append(key, [said("x")], { key: at.key("nobody"), after: 0 }));
    });

    test("the title is the first text of a person, on one line, and stays", async () => {
      const at = corner();
      const key = await at.open("a");
      const title = async (): Promise<string> => (await at.row(key)).title;
      await at.append(key, [noted("not said"), said("  \n ")]);
      assert.equal(await title(), "");
      await at.append(key, [noted("x"), said("  How\n\tdo I…  "), said("other")]);
      assert.equal(await title(), "How do I…");
      await at.append(key, [said("later")]);
      assert.equal(await title(), "How do I…");
      const long = await at.talk("b", [`${"🎉".repeat(90)}`]);
      assert.equal((await at.row(long)).title, `${"🎉".repeat(79)}…`);
    });

    test("an append is a change of the session at its time, and of nothing else", async () => {
      const at = corner();
      const key = await at.open("a");
      const before = await at.row(key);
      at.world.pass(1_234);
      await at.append(key, [noted(1)]);
      const after = await at.row(key);
      assert.equal(after.updatedAtMs, before.updatedAtMs + 1_234);
      const { transcript, updatedAtMs } = after;
      assert.deepEqual(after, { ...before, transcript, updatedAtMs });
    });

    test("the context starts where the last append that spoke of it said", async () => {
      const at = corner();
      const key = await at.talk("a", ["1", "2"]);
      await at.append(key, [said("3")], { contextSeq: 2 });
      assert.deepEqual(await at.seqs(key, { from: "context" }), [2, 3]);
      await at.append(key, [said("4")]);
      assert.deepEqual(await at.seqs(key, { from: "context" }), [2, 3, 4]);
      await at.append(key, [said("5")], { contextSeq: 5 });
      assert.deepEqual(await at.seqs(key, { from: "context" }), [5]);
    });

    test("whoever compacts, or goes back to before the context, says where it starts now", async () => {
      const at = corner();
      const key = await at.talk("a", ["1", "2", "3"]);
      const [, second] = await at.entries(key, { since: 0 });
      assert(second);
      const compaction: Draft = {
        type: "compaction",
        timestamp: "2026-01-01T00:00:00.000Z",
        summary: "so far",
        firstKeptEntryId: second.id,
        tokensBefore: 1,
      };
      await withoutTrace(at, "bad_input", [await at.appending(key, [said("x"), compaction])]);
      await at.append(key, [compaction], { contextSeq: 3 });
      const rewindTo = { id: second.id, seq: second.seq };
      await withoutTrace(at, "bad_input", [await at.appending(key, [said("x")], { rewindTo })]);
      await at.append(key, [said("4")], { rewindTo, contextSeq: 1 });
      assert.deepEqual(await at.seqs(key, { from: "context" }), [1, 2, 5]);
    });

    test("a rewind goes on from an older entry; what it leaves is off the path, and still there", async () => {
      const at = corner();
      const key = await at.talk("a", ["1", "2", "3", "4"]);
      await at.rewind(key, 2, ["5", "6"]);
      const entries = await at.entries(key, { since: 0 });
      assert.equal(entries[4]?.parentId, entries[1]?.id);
      assert.deepEqual(await at.seqs(key, { from: 1 }), [1, 2, 5, 6]);
      assert.deepEqual(await at.seqs(key, { since: 1 }), [1, 2, 3, 4, 5, 6]);
      const { transcript } = await at.row(key);
      assert.deepEqual([transcript.leafId, transcript.jumpSeq], [entries[5]?.id, 5]);

      await at.rewind(key, 4, ["7"]); // back onto the branch that was left
      assert.deepEqual(await at.seqs(key, { from: 1 }), [1, 2, 3, 4, 7]);
      await at.rewind(key, 7, ["8"]); // to the last entry: nothing is left
      assert.deepEqual(await at.seqs(key, { from: 1 }), [1, 2, 3, 4, 7, 8]);
      assert.equal((await at.row(key)).transcript.jumpSeq, 7);
    });

    test("a rewind names an entry by id and seq, or is refused", async () => {
      const at = corner();
      const key = await at.talk("a", ["1", "2"]);
      const other = await at.talk("b", ["1", "2"]);
      const [first, second] = await at.entries(key, { since: 0 });
      const [foreign] = await at.entries(other, { since: 0 });
      assert(first && second && foreign);
      const wrong = [
        { id: first.id, seq: 2 },
        { id: second.id, seq: 1 },
        { id: first.id, seq: 0 },
        { id: first.id, seq: 0.5 },
        { id: foreign.id, seq: 1 },
        { id: "", seq: 1 },
        { id: second.id, seq: 3 },
        { id: first.id, seq: -1 },
      ];
      for (const rewindTo of wrong) {
        await withoutTrace(at, "not_found", [await at.appending(key, [said("x")], { rewindTo })]);
      }
      // Whoever has no right to write learns that first.
      const rewindTo = { id: "", seq: 1 };
      await withoutTrace(at, "stale_writer", [await at.appending(key, [said("x")], { rewindTo, after: 0 })]);
    });

    test("what would be too long to be read is not written", async () => {
      const at = corner();
      const key = await at.open("a");
      const bare = JSON.stringify(said("")).length;
      // With the few bytes that the store adds, the line would be longer than any line that is read.
      for (const text of ["x".repeat(LINE_BYTES_MAX - bare), "€".repeat(LINE_BYTES_MAX / 3)]) {
        await refused("bad_input", at.append(key, [said(text)]));
      }
      assert.equal((await at.row(key)).transcript.lastSeq, 0);
    });

    test("a large entry, and many in one commit, are kept whole", async () => {
      const at = corner();
      const key = await at.open("a");
      const large = "é".repeat(1_000_000);
      await at.append(key, [said(large)]);
      await at.append(
        key,
        Array.from({ length: 2_000 }, (_, n) => noted(n)),
      );
      const entries = await entriesOf(at.store, await at.transcript(key), { since: 1 });
      assert.equal(entries.length, 2_001);
      assert.deepEqual(entries[0], { ...said(large), id: entries[0]?.id, parentId: null, seq: 1 });
    });
  });
}

/** What a careless encoding would change. */
const STRANGE: readonly Draft[] = [
  said(""),
  said('\n\r\t\0\u2028\u2029\u{1f389}é e\u0301 \ud800 \\ " \u202e'),
  noted({ nested: { deep: [[], {}, [[null]], { "": "" }] }, list: [1, 2.5, -0.1, 1e21, 1e-7, 2 ** 53] }),
  noted(null),
  noted(JSON.parse('{"__proto__": {"x": 1}, "constructor": 1, "10": 1, "9": 2}')),
  {
    type: "message",
    timestamp: "2026-01-01T00:00:00.000Z",
    message: {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "" },
        { type: "toolCall", id: "1", name: "read", arguments: { path: "a\\b", n: 0, none: null } },
      ],
      api: "a",
      provider: "p",
      model: "m",
      usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, cost: { total: 0.000_001 } },
      stopReason: "toolUse",
      timestamp: 1_700_000_000_000,
    },
  },
  // A type that we do not know, and fields that no type of ours has.
  { type: "strange", timestamp: "", extra: { a: [true, false] }, message: 7 } as unknown as Draft,
  { type: "label", timestamp: "", targetId: "x", "a b": "" } as Draft,
];
