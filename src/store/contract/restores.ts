// Archives that come back, as they were.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { textOf } from "./blobs.ts";
import { refused, withoutTrace, type Corner } from "./corner.ts";
import { everyRange, rotate } from "./generations.ts";
import { named, said } from "./samples.ts";
import { find } from "./search.ts";

export function restoreContract(corner: () => Corner): void {
  describe("restore", () => {
    back(corner);
    refusals(corner);
  });
}

function back(corner: () => Corner): void {
  test("a session comes back as it was: its row, its history, its blobs, and search", async () => {
    const at = corner();
    const key = await at.open("a", { settings: { label: "Mine", pinned: true } });
    const blob = await at.store.putBlob(Buffer.from(at.id("result")));
    await at.append(key, [said("first words"), named(blob), said("third")]);
    await at.rewind(key, 2, ["a haystack"]);
    await at.append(key, [said("4")], { contextSeq: 2 });
    await at.store.commit([
      { do: "reroute", key, fence: 0, route: { channel: "c", to: "t", thread: null }, origin: null },
      { do: "charge", key, usage: { input: 7 } },
    ]);
    const [before, row] = [await everyRange(at, key), await at.row(key)];
    for (const between of [async () => {}, pass, (id: string) => repack(at, id), () => at.reopen()]) {
      const id = await at.archive(key);
      await between(id);
      at.world.pass(3_000);
      const cursor = await at.now();
      await at.restore(id);
      const { lastSeq } = row.transcript;
      assert.deepEqual((await at.feed(cursor)).changes, [{ key, lastSeq, deleted: false }]);
      assert.deepEqual(await at.row(key), { ...row, updatedAtMs: at.world.nowMs() });
      assert.deepEqual(await everyRange(at, key), before);
      assert.equal(await textOf(at, blob), at.id("result"));
      assert.equal((await find(at, { text: "haystack", key })).hits.length, 1);
      assert.deepEqual(await at.archives(), []);
    }
    await at.append(key, [said("it goes on")]);
    assert.deepEqual((await at.seqs(key, { since: 0 })).at(-1), row.transcript.lastSeq + 1);
    await at.reopen();
    assert.deepEqual((await at.seqs(key, { since: 0 })).at(-1), row.transcript.lastSeq + 1);

    async function pass(): Promise<void> {
      await at.sweep();
    }
  });

  test("last words in the commit that archives it are kept, with and without a restart", async () => {
    const at = corner();
    const key = await at.talk("a", ["1"]);
    for (const between of [async () => {}, at.reopen.bind(at), at.sweep.bind(at)]) {
      const append = await at.appending(key, [said("last words")]);
      const lastSeq = append.after + 1;
      const expect = { transcript: await at.transcript(key), lastSeq };
      await at.store.commit([append, { do: "archive", key, expect, why: "asked" }]);
      await between();
      await at.restore(expect.transcript);
      assert.equal((await at.entries(key, { since: 0 })).length, lastSeq);
    }
    // Out and in again at once is nothing but a later time.
    const row = await at.row(key);
    const again = { do: "restore", archive: row.transcript.id, over: null } as const;
    await at.store.commit([await at.archiving(key), again]);
    assert.deepEqual(await at.row(key), { ...row, updatedAtMs: at.world.nowMs() });
  });

  test("a history in several files goes and comes as one", async () => {
    const at = corner();
    const key = await at.talk("a", ["1", "2", "3"]);
    const first = await at.transcript(key);
    await at.append(key, [said("4")], { contextSeq: 3 });
    const lengths = [(await at.row(key)).transcript.bytes];
    await rotate(at, key);
    await at.append(key, [said("5")]);
    lengths.push((await at.row(key)).transcript.bytes);
    const before = await everyRange(at, key);
    const id = await at.archive(key);
    const [archive] = await at.archives();
    assert.equal(archive?.bytes, (lengths[0] ?? 0) + (lengths[1] ?? 0));
    const read = Array.fromAsync(at.store.entries(first, { since: 0 }));
    await assert.rejects(read, { code: "not_found", message: new RegExp(id) });
    await repack(at, id);
    await at.reopen();
    await at.restore(id);
    assert.deepEqual(await everyRange(at, key), before);
  });

  test("what a session was before it began anew takes its place again when that one goes", async () => {
    const at = corner();
    const key = await at.talk("a", ["old"]);
    const old = await at.row(key);
    await rotate(at, key, { keep: "nothing" });
    await at.append(key, [said("new")]);
    const { id } = (await at.archives())[0] ?? { id: "" };
    assert.equal(id, old.transcript.id);
    await withoutTrace(at, "exists", [{ do: "restore", archive: id, over: null }]);
    await at.store.commit([await at.archiving(key), { do: "restore", archive: id, over: null }]);
    assert.deepEqual(await at.row(key), { ...old, updatedAtMs: at.world.nowMs() });
    assert.equal((await find(at, { text: "old", key })).hits.length, 1);
    assert.deepEqual(
      (await at.archives()).map(({ session }) => session.title),
      ["new"],
    );
    await at.append(key, [said("older goes on")]);
    await at.reopen();
    assert.equal((await at.entries(key, { since: 0 })).length, 2);
  });
}

function refusals(corner: () => Corner): void {
  test("what is not there, is packed, or has a successor is not restored", async () => {
    const at = corner();
    const key = await at.talk("a", ["1"]);
    await withoutTrace(at, "not_found", [{ do: "restore", archive: "nothing", over: null }]);
    await withoutTrace(at, "not_found", [{ do: "restore", archive: await at.transcript(key), over: null }]);
    const id = await at.archive(key);
    await at.store.pack(id);
    await withoutTrace(at, "busy", [{ do: "restore", archive: id, over: null }]);
    await at.store.unpack(id);
    await at.open("a");
    await withoutTrace(at, "exists", [{ do: "restore", archive: id, over: null }]);
    await at.store.commit([await at.archiving(key), { do: "restore", archive: id, over: null }]);
    await withoutTrace(at, "not_found", [{ do: "restore", archive: id, over: null }]);
  });

  test("an archive is packed and unpacked as often as anybody likes, and only if it is there", async () => {
    const at = corner();
    const id = await at.archive(await at.talk("a", ["1"]));
    for (const packed of [true, true, false, false, true]) {
      await (packed ? at.store.pack(id) : at.store.unpack(id));
      assert.equal((await at.archives())[0]?.packedBytes !== null, packed);
    }
    await Promise.all([at.store.unpack(id), at.store.pack(id), at.store.unpack(id)]);
    assert.equal((await at.archives())[0]?.packedBytes, null);
    for (const way of ["pack", "unpack"] as const) {
      await refused("not_found", at.store[way]("nothing"));
      await refused("not_found", at.store[way]("../../state"));
    }
  });
}

async function repack(at: Corner, id: string): Promise<void> {
  await at.store.pack(id);
  await at.store.unpack(id);
}
