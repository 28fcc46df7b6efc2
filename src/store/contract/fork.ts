// A copy of another's history.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Fault } from "../../base/fault.ts";
import { READ_ENTRIES_MAX } from "../../limits.ts";
import type { SessionKey } from "../../routing/key.ts";
import { unstamped, type Draft } from "../../transcript/entry.ts";
import { NO_USAGE } from "../opened.ts";
import { refused, withoutTrace, type Corner } from "./corner.ts";
import { headerOf, noted, said } from "./samples.ts";

export function forkContract(corner: () => Corner): void {
  describe("fork", () => {
    test("a fork has the entries of the path up to the chosen one, under their ids, numbered from 1", async () => {
      const at = corner();
      const source = await at.talk("source", ["one", "two", "three"]);
      await at.rewind(source, 2, ["four", "five"]);
      await at.store.commit([{ do: "charge", key: source, usage: { input: 7 } }]);
      const before = await at.row(source);
      const fork = await copy(at, "fork", { of: source, fromSeq: 1, throughSeq: 4 });

      const path = (await at.entries(source, { from: 1 })).filter(({ seq }) => seq <= 4);
      assert.deepEqual(
        path.map(({ seq }) => seq),
        [1, 2, 4],
      );
      const copied = await at.entries(fork, { since: 0 });
      assert.deepEqual(copied.map(unstamped), path.map(unstamped));
      assert.deepEqual(
        copied.map(({ seq }) => seq),
        [1, 2, 3],
      );
      assert.deepEqual(
        copied.map(({ parentId }) => parentId),
        [null, copied[0]?.id, copied[1]?.id],
      );
      const row = await at.row(fork);
      const { lastSeq, leafId, contextSeq, jumpSeq, copied: count } = row.transcript;
      assert.deepEqual([lastSeq, leafId, contextSeq, jumpSeq, count], [3, path[2]?.id, 1, 0, 3]);
      // It was paid for elsewhere, and it is nobody's child.
      assert.deepEqual([row.title, row.usage, row.parent, row.depth], ["one", NO_USAGE, null, 0]);
      assert.deepEqual(await at.row(source), before);
      assert.deepEqual(await at.seqs(source, { since: 0 }), [1, 2, 3, 4, 5]);
    });

    test("the receipt and the row say how long the copy is", async () => {
      const at = corner();
      const source = await at.talk("source", ["1", "2", "3"]);
      const opening = at.opening(at.key("fork"), { copy: { of: source, fromSeq: 1, throughSeq: 2 } });
      const receipt = await at.store.commit([opening]);
      assert.deepEqual(receipt.seqs, { [opening.key]: 2 });
      const lines = (await at.entries(opening.key, { since: 0 })).map(
        (entry) => `${JSON.stringify(entry)}\n`,
      );
      const { bytes } = (await at.row(opening.key)).transcript;
      const parentSession = `${await at.transcript(source)}.jsonl`; // the first line says it too
      const line = headerOf(opening, at.world.nowMs(), { parentSession, copied: 2 });
      const header = Buffer.byteLength(line);
      assert.equal(bytes, header + Buffer.byteLength(lines.join("")));
    });

    test("a fork may begin in the middle", async () => {
      const at = corner();
      const source = await at.talk("source", ["1", "2", "3", "4"]);
      const fork = await copy(at, "fork", { of: source, fromSeq: 2, throughSeq: 3 });
      const entries = await at.entries(fork, { from: 1 });
      const ids = (await at.entries(source, { from: 2 })).map(({ id }) => id);
      assert.deepEqual(
        entries.map(({ id, parentId, seq }) => [id, parentId, seq]),
        [
          [ids[0], null, 1],
          [ids[1], ids[0], 2],
        ],
      );
      assert.equal((await at.row(fork)).title, "2");
    });

    test("the context of a fork starts where its newest compaction says", async () => {
      const at = corner();
      const source = await at.talk("source", ["1", "2", "3", "4"]);
      await at.rewind(source, 3, ["5"]);
      const ids = (await at.entries(source, { since: 0 })).map(({ id }) => id);
      const compaction = (firstKeptEntryId: string): Draft => ({
        type: "compaction",
        timestamp: "",
        summary: "all that",
        firstKeptEntryId,
        tokensBefore: 9,
      });
      await at.append(source, [compaction(ids[2] ?? ""), said("7")], { contextSeq: 3 });
      const start = async (name: string, fromSeq: number, throughSeq: number): Promise<number> =>
        (await at.row(await copy(at, name, { of: source, fromSeq, throughSeq }))).transcript.contextSeq;
      assert.equal(await start("all", 1, 7), 3); //      1 2 3 5 6 7, from 3
      assert.equal(await start("before it", 1, 5), 1); // 1 2 3 5: no compaction yet
      assert.equal(await start("from 2", 2, 7), 2); //    2 3 5 6 7: what was 3 is 2
      assert.equal(await start("from 5", 5, 7), 2); //    5 6 7: what it kept is not here, so it stands alone
      assert.deepEqual(await at.seqs(at.key("all"), { from: "context" }), [3, 4, 5, 6]);
    });

    test("a fork goes on by itself, and no two entries of a history ever have the same id", async () => {
      const at = corner();
      const source = await at.talk("source", ["1", "2", "3"]);
      const fork = await copy(at, "fork", { of: source, fromSeq: 1, throughSeq: 2 });
      await at.append(fork, [said("a"), said("b")]);
      await at.append(source, [said("4"), said("5")]);
      const again = await copy(at, "again", { of: fork, fromSeq: 1, throughSeq: 4 });
      await at.append(again, [said("c")]);
      await at.rewind(again, 2, ["d"]); // into what was copied
      for (const [key, lastSeq] of [
        [source, 5],
        [fork, 4],
        [again, 6],
      ] as const) {
        const entries = await at.entries(key, { since: 0 });
        assert.deepEqual([entries.length, new Set(entries.map(({ id }) => id)).size], [lastSeq, lastSeq]);
      }
      assert.deepEqual(await at.seqs(again, { from: 1 }), [1, 2, 6]);
      assert.deepEqual(await texts(at, again), ["1", "2", "d"]);
      assert.deepEqual(await texts(at, fork), ["1", "2", "a", "b"]);
    });

    test("a long history is copied whole, and stays when its source is deleted", async () => {
      const at = corner();
      const source = await at.open("source");
      const count = READ_ENTRIES_MAX + 10;
      await at.append(
        source,
        Array.from({ length: count }, (_, n) => noted(n)),
      );
      await at.rewind(source, count - 1, ["end"]);
      const fork = await copy(at, "fork", { of: source, fromSeq: 1, throughSeq: count + 1 });
      await at.store.commit([{ do: "delete", key: source, expect: null }]);
      await at.reopen();
      const entries = await at.entries(fork, { from: 1 });
      assert.equal(entries.length, count);
      assert.deepEqual(entries.at(-1)?.seq, count);
    });

    test("a fork of a session that is deleted and opened anew meanwhile is whole, or is refused", async () => {
      const at = corner();
      const source = at.key("source");
      for (let turn = 0; turn < 40; turn += 1) {
        const blob = await at.store.putBlob(Buffer.from(at.id(`blob ${turn}`)));
        const content = [{ type: "text", text: "see", blob }] as const;
        const entry: Draft = {
          type: "message",
          timestamp: "2026-01-01T00:00:00.000Z",
          message: { role: "user", content, timestamp: 0 },
        };
        await at.store.commit([at.opening(source)]);
        await at.append(source, [entry]);
        const forking = copy(at, `fork ${turn}`, { of: source, fromSeq: 1, throughSeq: 1 }).then(
          (fork) => fork,
          (error: unknown) => (error instanceof Fault ? error : Promise.reject(error)),
        );
        for (let wait = 0; wait < turn % 8; wait += 1) await new Promise(setImmediate);
        await at.store.commit([{ do: "delete", key: source, expect: null }, at.opening(source)]);
        const fork = await forking;
        await at.sweep();
        await at.store.commit([{ do: "delete", key: source, expect: null }]);
        if (fork instanceof Fault) {
          assert.ok(["stale_writer", "not_found"].includes(fork.code), fork.message);
          continue;
        }
        assert.deepEqual(await at.seqs(fork, { from: 1 }), [1]);
        assert.notEqual(await at.store.readBlob(blob.sha256, { from: 0, bytes: 1 }), null);
      }
    });

    test("a child may begin with a copy", async () => {
      const at = corner();
      const source = await at.talk("source", ["1"]);
      const child = await at.open("child", {
        parent: source,
        copy: { of: source, fromSeq: 1, throughSeq: 1 },
      });
      const row = await at.row(child);
      assert.deepEqual([row.parent, row.depth, row.transcript.copied], [source, 1, 1]);
    });

    test("what is not on the path cannot be copied up to", async () => {
      const at = corner();
      const source = await at.talk("source", ["1", "2", "3"]);
      await at.rewind(source, 1, ["4"]);
      const empty = await at.open("empty");
      const wrong = [
        { of: source, fromSeq: 1, throughSeq: 5 }, // beyond the end
        { of: source, fromSeq: 1, throughSeq: 3 }, // left behind
        { of: source, fromSeq: 1, throughSeq: 0 },
        { of: source, fromSeq: 4, throughSeq: 1 },
        { of: source, fromSeq: 5, throughSeq: 5 },
        { of: empty, fromSeq: 1, throughSeq: 1 },
        { of: at.key("nobody"), fromSeq: 1, throughSeq: 1 },
        { of: at.key("fork"), fromSeq: 1, throughSeq: 1 }, // itself
      ];
      for (const each of wrong) {
        await withoutTrace(at, "not_found", [at.opening(at.key("fork"), { copy: each })]);
      }
      await at.store.commit([{ do: "delete", key: source, expect: null }]);
      await refused("not_found", copy(at, "fork", { of: source, fromSeq: 1, throughSeq: 1 }));
    });
  });
}

async function copy(
  at: Corner,
  name: string,
  of: { readonly of: SessionKey; readonly fromSeq: number; readonly throughSeq: number },
): Promise<SessionKey> {
  return await at.open(name, { copy: of });
}

async function texts(at: Corner, key: SessionKey): Promise<unknown[]> {
  const entries = await at.entries(key, { from: 1 });
  return entries.map((entry) => (entry.type === "message" ? entry.message.content : null));
}
