// Sessions that go out of the way, and that are gone for good.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { textOf } from "./blobs.ts";
import { refused, withoutTrace, type Corner } from "./corner.ts";
import { rotate } from "./generations.ts";
import { ended, named, said } from "./samples.ts";
import { find } from "./search.ts";

export function archiveContract(corner: () => Corner): void {
  describe("archive", () => {
    outOfTheWay(corner);
    atRest(corner);
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
          ...{ archivedAtMs: at.world.nowMs(), session: row, bytes, packedBytes: null, firstSeq: 1 },
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
      assert.deepEqual([await textOf(at, own), await textOf(at, shared)], [null, at.id("shared")]);
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
    await rotate(at, key, { keep: "nothing" });
    await at.append(key, [said("two")]);
    await rotate(at, key, { keep: "nothing" });
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
