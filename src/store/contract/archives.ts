// Sessions that go out of the way, and come back or are gone for good.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SessionKey } from "../../routing/key.ts";
import type { BlobName } from "../../transcript/entry.ts";
import { ended, named, refused, said, withoutTrace, type Corner } from "./corner.ts";
import { find } from "./search.ts";

export function archiveContract(corner: () => Corner): void {
  describe("archive", () => {
    outOfTheWay(corner);
    atRest(corner);
  });
  describe("restore", () => {
    back(corner);
    refusals(corner);
  });
  describe("purge", () => forGood(corner));
}

function outOfTheWay(corner: () => Corner): void {
  test("what is archived is in no list and no search, and is kept as it was", async () => {
    const at = corner();
    const [gone, stays] = [await at.talk("gone", ["a needle"]), await at.talk("stays", ["a needle"])];
    const row = await at.row(gone);
    await find(at, { text: "needle" });
    const cursor = await at.now();
    at.world.pass(5);
    const id = await at.archive(gone, "stale");

    assert.equal(await at.store.session(gone), null);
    const { rows } = await at.store.sessions({ agent: at.agent });
    assert.deepEqual(
      rows.map(({ key }) => key),
      [stays],
    );
    const { hits } = await find(at, { text: "needle", agent: at.agent });
    assert.deepEqual(
      hits.map(({ key }) => key),
      [stays],
    );
    assert.deepEqual((await at.feed(cursor)).changes, [{ key: gone, lastSeq: 0, deleted: true }]);
    const { bytes } = row.transcript;
    for (const look of [async () => {}, at.reopen.bind(at)]) {
      await look();
      assert.deepEqual(await at.archives(), [
        {
          ...{ id: row.transcript.id, key: gone, agent: at.agent, why: "stale" },
          ...{ archivedAtMs: at.world.nowMs(), session: row, bytes, packedBytes: null },
        },
      ]);
    }
    assert.equal(id, row.transcript.id);
  });

  test("whoever asks for the entries of an archive is told how to get it back", async () => {
    const at = corner();
    const key = await at.talk("a", ["1"]);
    const id = await at.archive(key);
    const read = Array.fromAsync(at.store.entries(id, { since: 0 }));
    await assert.rejects(read, { code: "not_found", message: new RegExp(`restore archive ${id}`) });
  });

  test("nobody writes to what is archived, and its owner's claim is over", async () => {
    const at = corner();
    const key = await at.talk("a", ["1"]);
    await at.post(key, "work");
    const fence = (await at.claim("owner")).get(key) ?? 0;
    await at.store.commit([{ do: "take", key, fence, ids: [`ext:${at.id("work")}`] }]);
    const append = await at.appending(key, [said("2")], { fence });
    const id = await at.archive(key);
    await withoutTrace(at, "not_found", [append]);
    await withoutTrace(at, "not_found", [at.posting(key, "late")]);
    await withoutTrace(at, "not_found", [{ do: "setTimer", timer: at.timer("t", key), expectDueAtMs: null }]);
    await at.restore(id);
    await refused("stale_writer", at.store.commit([append]));
    await at.append(key, [said("2")]);
  });

  test("its key can be opened anew, and its transcript's id cannot", async () => {
    const at = corner();
    const key = await at.talk("a", ["old"]);
    const id = await at.archive(key);
    await withoutTrace(at, "exists", [at.opening(key, { transcript: id })]);
    await at.open("a");
    assert.equal((await at.row(key)).transcript.lastSeq, 0);
    assert.deepEqual((await find(at, { text: "old", key })).hits, []);
  });

  test("a letter that it took is known while it is archived, and when it is back", async () => {
    const at = corner();
    const [key, other] = [await at.talk("a", ["1"]), await at.open("b")];
    const id = `cause:${at.id("x")}`;
    await at.post(key, "x", { id });
    await at.store.commit([{ do: "take", key, fence: 0, ids: [id] }, await at.appending(key, [said("x")])]);
    const archive = await at.archive(key);
    const repeat = { id, to: key, repeated: true };
    await at.sweep();
    assert.deepEqual(await at.post([key, other], "x", { id }), repeat);
    await at.open("a"); // another under the same key
    assert.deepEqual(await at.post([key, other], "x", { id }), repeat);
    await at.store.commit([await at.archiving(key), { do: "restore", archive, over: null }]);
    await at.reopen();
    assert.deepEqual(await at.post([key, other], "x", { id }), repeat);
  });
}

function atRest(corner: () => Corner): void {
  test("whoever found that a session may go is refused when something has happened to it since", async () => {
    const at = corner();
    const key = await at.talk("a", ["1"]);
    const change = await at.archiving(key);
    await withoutTrace(at, "not_found", [{ ...change, key: at.key("nobody") }]);
    await withoutTrace(at, "stale_writer", [
      { ...change, expect: { ...change.expect, transcript: "other" } },
    ]);
    await at.append(key, [said("2")]);
    await withoutTrace(at, "stale_writer", [change]);
    const { id } = await at.post(key, "x");
    await withoutTrace(at, "stale_writer", [await at.archiving(key)]);
    await at.store.commit([{ do: "take", key, fence: 0, ids: [id] }]);
    const child = await at.open("child", { parent: key });
    await withoutTrace(at, "stale_writer", [await at.archiving(key)]);
    // One that goes with it goes first.
    await at.store.commit([await at.archiving(child), await at.archiving(key)]);
    assert.deepEqual(
      (await at.archives()).map(({ session }) => session.key).toSorted(),
      [key, child].toSorted(),
    );
  });

  test("what is at work, or what something waits for, is busy", async () => {
    const at = corner();
    const key = await at.talk("a", ["1"]);
    const since = { sinceMs: 1 };
    for (const state of [
      { ...since, kind: "queued" },
      { ...since, kind: "running", turn: "t", step: 1 },
      { ...since, kind: "waiting", for: "person" },
      { ...since, kind: "paused" },
    ] as const) {
      await at.run(key, state);
      await withoutTrace(at, "busy", [await at.archiving(key)]);
    }
    await at.run(key, { kind: "idle" });
    await at.store.commit([{ do: "signal", key, signal: "pause" }]);
    await withoutTrace(at, "busy", [await at.archiving(key)]);
    await at.store.commit([{ do: "signal", key, signal: "none" }]);
    const timer = at.timer("t", key);
    await at.store.commit([{ do: "setTimer", timer, expectDueAtMs: null }]);
    await withoutTrace(at, "busy", [await at.archiving(key)]);
    await at.store.commit([{ do: "clearTimer", id: timer.id, expectDueAtMs: timer.dueAtMs }]);
    await at.store.commit([at.sending("answer", key)]);
    await withoutTrace(at, "busy", [await at.archiving(key)]);
    await at.store.commit([{ do: "settle", id: at.id("answer"), refused: "no such chat" }]);
    await at.store.commit([
      { do: "signal", key, signal: "kill" },
      { do: "run", key, fence: 0, state: ended(1) },
    ]);
    const id = await at.archive(key, "ended");
    // What was refused for good is still there to be seen, and goes when it is settled.
    assert.deepEqual(
      (await at.outbox(true)).map((answer) => answer.id),
      [at.id("answer")],
    );
    await at.restore(id);
    assert.deepEqual((await at.row(key)).state, ended(1));
    assert.equal((await at.row(key)).signal, "kill");
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
      assert.equal(await text(at, blob), at.id("result"));
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
    await at.store.commit([await rotating(at, key, "context")]);
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
    await at.store.commit([await rotating(at, key, "nothing")]);
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

function forGood(corner: () => Corner): void {
  test("everything of an archive goes, packed or not, and nothing of another", async () => {
    const at = corner();
    const kept = await at.talk("kept", ["1"]);
    const [shared, own] = await Promise.all(
      ["shared", "own"].map((name) => at.store.putBlob(Buffer.from(at.id(name)))),
    );
    assert(shared && own);
    await at.append(kept, [named(shared)]);
    for (const packed of [true, false]) {
      const key = await at.talk("a", ["1"]);
      if (!packed) await at.store.putBlob(Buffer.from(at.id("own"))); // it went with the first
      await at.append(key, [named(shared), named(own)]);
      await at.store.commit([
        at.sending("answer", key),
        { do: "settle", id: at.id("answer"), refused: "no" },
      ]);
      const id = await at.archive(key);
      if (packed) await at.store.pack(id);
      await at.store.commit([{ do: "purge", archive: id }]);
      await at.sweep();
      assert.deepEqual([await at.archives(), await at.outbox(true)], [[], []]);
      assert.deepEqual([await text(at, own), await text(at, shared)], [null, at.id("shared")]);
      await withoutTrace(at, "not_found", [{ do: "purge", archive: id }]);
      await withoutTrace(at, "not_found", [{ do: "restore", archive: id, over: null }]);
      await withoutTrace(at, "exists", [at.opening(key, { transcript: id })]);
      await refused("not_found", at.store.pack(id));
    }
  });

  test("a letter is known no longer than the archive that took it, whoever has the key now", async () => {
    const at = corner();
    const key = await at.talk("a", ["1"]);
    const id = `cause:${at.id("x")}`;
    await at.post(key, "x", { id });
    await at.store.commit([{ do: "take", key, fence: 0, ids: [id] }]);
    const archive = await at.archive(key);
    await at.open("a");
    await at.store.commit([{ do: "purge", archive }]);
    assert.equal((await at.post(key, "x", { id })).repeated, false);
  });

  test("deleting a session deletes what it was before, in the same commit; a purge leaves the session", async () => {
    const at = corner();
    const key = await at.talk("a", ["one"]);
    await at.store.commit([await rotating(at, key, "nothing")]);
    await at.append(key, [said("two")]);
    await at.store.commit([await rotating(at, key, "nothing")]);
    const [first, second] = await at.archives();
    assert(first && second);
    await at.store.commit([{ do: "purge", archive: first.id }]);
    assert.deepEqual(
      (await at.archives()).map(({ id }) => id),
      [second.id],
    );
    await at.store.pack(second.id);
    await at.append(key, [said("three")]);
    await at.store.commit([{ do: "delete", key, expect: null }]);
    assert.deepEqual(await at.archives(), []);
    await at.reopen();
    assert.deepEqual(await at.archives(), []);
    await withoutTrace(at, "exists", [at.opening(key, { transcript: second.id })]);
  });
}

/** Every way of reading a history. */
async function everyRange(at: Corner, key: SessionKey): Promise<unknown> {
  const ranges = [{ since: 0 }, { from: 1 }, { from: "context" }, { before: null }] as const;
  return await Promise.all(ranges.map((range) => at.entries(key, range)));
}

async function repack(at: Corner, id: string): Promise<void> {
  await at.store.pack(id);
  await at.store.unpack(id);
}

async function rotating(
  at: Corner,
  key: SessionKey,
  keep: "context" | "nothing",
): Promise<Parameters<Corner["store"]["commit"]>[0][number]> {
  const after = (await at.row(key)).transcript.lastSeq;
  return { do: "rotate", key, fence: 0, after, transcript: at.world.newId(), cwd: "/tmp", keep };
}

async function text(at: Corner, blob: BlobName): Promise<string | null> {
  const bytes = await at.store.readBlob(blob.sha256, { from: 0, bytes: blob.bytes });
  return bytes === null ? null : Buffer.from(bytes).toString();
}
