// An archive that comes back over the session that has its key now; what stays whoever looked before; and the order of archives.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { mainKey, type SessionKey } from "../../routing/key.ts";
import type { Draft } from "../../transcript/entry.ts";
import type { Of } from "../rules.ts";
import { pages, refused, withoutTrace, type Corner } from "./corner.ts";
import { jobOf } from "./jobs.ts";
import { ended, said } from "./samples.ts";
import { find } from "./search.ts";

export function swapContract(corner: () => Corner): void {
  describe("restore over the session that has the key", () => {
    inItsPlace(corner);
    refusals(corner);
  });
  describe("what nobody asked for", () => kept(corner));
  describe("archives", () => inOrder(corner));
}

/** What somebody would commit who has just looked. */
async function swapping(at: Corner, archive: string, key: SessionKey): Promise<Of<"restore">> {
  const { id: transcript, lastSeq } = (await at.row(key)).transcript;
  return { do: "restore", archive, over: { key, transcript, lastSeq } };
}

async function anew(at: Corner, key: SessionKey): Promise<string> {
  const { id, lastSeq: after } = (await at.row(key)).transcript;
  const transcript = at.world.newId();
  await at.store.commit([
    { do: "rotate", key, fence: 0, after, transcript, cwd: "/tmp", keep: "nothing" },
    { ...(await at.appending(key, [said("new words")])), after },
  ]);
  return id;
}

function byPerson(text: string): Draft {
  const provenance = { kind: "external_user", channel: null, peer: null } as const;
  return { ...said(text), provenance } as Draft;
}

function inItsPlace(corner: () => Corner): void {
  test("timers, jobs, answers and children stay with the key, and the two change places", async () => {
    const at = corner();
    const key = await at.open("a", { settings: { label: "Old" } });
    await at.append(key, [said("old words")]);
    await at.store.commit([{ do: "charge", key, usage: { input: 5, steps: 1 } }]);
    const id = await anew(at, key);
    const child = await at.open("child", { parent: key });
    const timer = at.timer("t", key);
    const job = { ...jobOf(at, "j"), target: { kind: "session", key } as const };
    await at.store.commit([
      { do: "set", key, version: null, settings: { label: "New" } },
      { do: "charge", key, usage: { input: 2 } },
      { do: "charge", key: child, usage: { input: 10 } },
      { do: "setTimer", timer, expectDueAtMs: null },
      { do: "setJob", job, expectVersion: null },
      at.sending("answer", key),
    ]);
    const present = await at.row(key);
    const was = (await at.archives())[0]?.session;
    assert.ok(was);
    at.world.pass(2_000);
    const cursor = await at.now();
    await at.store.commit([await swapping(at, id, key)]);

    const row = await at.row(key);
    assert.deepEqual(row, {
      ...was,
      updatedAtMs: at.world.nowMs(),
      settingsVersion: present.settingsVersion + 1,
      usage: { ...present.usage, input: 7, steps: 1 },
      tree: { ...present.usage, input: 17, steps: 1 },
    });
    assert.equal(row.settings.label, "Old");
    const { lastSeq } = row.transcript;
    assert.deepEqual((await at.feed(cursor)).changes, [
      { key, lastSeq: 0, deleted: true },
      { key, lastSeq, deleted: false },
    ]);
    for (const look of [async () => {}, at.reopen.bind(at)]) {
      await look();
      const archives = await at.archives();
      assert.deepEqual(
        archives.map(({ why, session }) => [why, session]),
        [["asked", present]],
      );
      assert.equal((await at.row(child)).parent, key);
      assert.deepEqual(await at.timers(), [timer]);
      assert.equal((await at.outbox(false)).length, 1);
      assert.deepEqual((await at.store.jobs({ id: job.id })).rows, [job]);
      assert.deepEqual((await at.entries(key, { since: 0 })).length, 1);
      assert.equal((await find(at, { text: "old words", key })).hits.length, 1);
      assert.deepEqual((await find(at, { text: "new words", key })).hits, []);
    }
    // And back: what was used is neither lost nor counted twice.
    await at.append(key, [said("older goes on")]);
    await at.store.commit([{ do: "charge", key, usage: { input: 1 } }]);
    await at.store.commit([await swapping(at, present.transcript.id, key)]);
    const again = await at.row(key);
    assert.deepEqual([again.usage.input, again.tree?.input, again.settings.label], [8, 18, "New"]);
    await at.append(key, [said("newer goes on")]);
    await at.reopen();
    assert.equal((await at.entries(key, { since: 0 })).length, 2);
    assert.equal((await at.archives())[0]?.id, id);
  });

  test("its owner's claim is over, and its answers are found by the next", async () => {
    const at = corner();
    const key = await at.talk("a", ["old"]);
    const id = await anew(at, key);
    const { id: letter } = await at.post(key, "work");
    const fence = (await at.claim("owner")).get(key) ?? 0;
    assert.notEqual(fence, 0);
    await at.store.commit([{ do: "take", key, fence, ids: [letter] }, at.sending("answer", key)]);
    const append = await at.appending(key, [said("too late")], { fence });
    await at.store.commit([await swapping(at, id, key)]);
    const { lastSeq: after } = (await at.row(key)).transcript;
    await refused("stale_writer", at.store.commit([{ ...append, after }]));
    assert.ok((await at.claim("another")).has(key));
    assert.equal((await at.post(key, "work")).repeated, true, "the letter is known all the same");
  });

  test("a letter that was taken before it began anew, or since, is known whichever of the two is erased", async () => {
    const at = corner();
    const key = await at.talk("a", ["old"]);
    const ids = ["before", "since"].map((name) => `cause:${at.id(name)}`);
    const taken = async (id: string | undefined): Promise<void> => {
      assert.ok(id);
      await at.post(key, "x", { id });
      await at.store.commit([{ do: "take", key, fence: 0, ids: [id] }]);
    };
    await taken(ids[0]);
    const first = await anew(at, key);
    await taken(ids[1]);
    const second = await at.transcript(key);
    await at.store.commit([await swapping(at, first, key)]);
    await at.store.commit([{ do: "purge", archive: second }]);
    await at.reopen();
    await at.sweep();
    for (const id of ids) assert.equal((await at.post(key, "x", { id })).repeated, true);
  });

  test("a place below a parent is the key's, so nobody is above itself", async () => {
    const at = corner();
    const top = await at.open("top");
    const key = await at.open("a", { parent: top });
    await at.append(key, [said("below top")]);
    const id = await at.archive(key);
    await at.store.commit([{ do: "delete", key: top, expect: null }]);
    await at.open("a");
    await at.open("top", { parent: key });
    await at.store.commit([await swapping(at, id, key)]);
    const { parent, root, depth } = await at.row(key);
    assert.deepEqual([parent, root, depth], [null, key, 0]);
  });

  test("what a person wrote in it counts as written now; where nobody did, nothing does", async () => {
    const at = corner();
    const [talked, quiet] = [await at.open("talked"), await at.talk("quiet", ["1"])];
    await at.append(talked, [byPerson("hello")]);
    assert.notEqual((await at.row(talked)).interactedAtMs, 0);
    const ids = [await at.archive(talked), await at.archive(quiet)];
    at.world.pass(90_000);
    for (const id of ids) await at.restore(id);
    assert.equal((await at.row(talked)).interactedAtMs, at.world.nowMs());
    assert.equal((await at.row(quiet)).interactedAtMs, 0);
  });
}

function refusals(corner: () => Corner): void {
  test("whoever has the key must be as it was seen, and at rest", async () => {
    const at = corner();
    const key = await at.talk("a", ["1"]);
    const id = await anew(at, key);
    const change = await swapping(at, id, key);
    assert.ok(change.over);
    await withoutTrace(at, "exists", [{ ...change, over: null }]);
    const other = { ...change.over, key: await at.open("other") };
    await withoutTrace(at, "bad_input", [{ ...change, over: other }]);
    await withoutTrace(at, "stale_writer", [{ ...change, over: { ...change.over, transcript: id } }]);
    await at.append(key, [said("2")]);
    await withoutTrace(at, "stale_writer", [change]);
    await at.run(key, { kind: "queued", sinceMs: 1 });
    await withoutTrace(at, "busy", [await swapping(at, id, key)]);
    await at.run(key, { kind: "idle" });
    await at.store.commit([{ do: "signal", key, signal: "pause" }]);
    await withoutTrace(at, "busy", [await swapping(at, id, key)]);
    await at.store.commit([{ do: "signal", key, signal: "none" }]);
    await at.store.pack(id);
    await withoutTrace(at, "busy", [await swapping(at, id, key)]);
    await at.store.unpack(id);
    const { id: letter } = await at.post(key, "x");
    await withoutTrace(at, "stale_writer", [await swapping(at, id, key)]);
    await at.store.commit([{ do: "take", key, fence: 0, ids: [letter] }]);
    // One that is refused for what comes after it leaves the owner its claim.
    await at.post(key, "y");
    const fence = (await at.claim("owner")).get(key) ?? 0;
    await at.store.commit([{ do: "take", key, fence, ids: [`ext:${at.id("y")}`] }]);
    const late = { do: "settle", id: "nothing", refused: null } as const;
    await withoutTrace(at, "not_found", [await swapping(at, id, key), late]);
    await at.run(key, ended(1), fence);
    await at.store.commit([await swapping(at, id, key)]);
    const gone = await at.archive(key);
    assert.equal(gone, id);
    await withoutTrace(at, "not_found", [{ ...change, archive: change.over.transcript }]);
  });
}

function kept(corner: () => Corner): void {
  test("does not take what is pinned, what a job writes to, or a main session", async () => {
    const at = corner();
    const key = await at.talk("a", ["1"]);
    await at.store.commit([{ do: "set", key, version: null, settings: { pinned: true } }]);
    for (const why of ["stale", "cap", "ended", "budget"] as const)
      await withoutTrace(at, "stale_writer", [await at.archiving(key, why)]);
    await at.store.commit([{ do: "set", key, version: null, settings: { pinned: false } }]);
    const job = { ...jobOf(at, "j"), target: { kind: "session", key } as const };
    await at.store.commit([{ do: "setJob", job, expectVersion: null }]);
    await at.reopen();
    await withoutTrace(at, "stale_writer", [await at.archiving(key, "stale")]);
    const fresh = { ...jobOf(at, "j"), version: 2 };
    await at.store.commit([{ do: "setJob", job: fresh, expectVersion: 1 }]);
    const main = await at.open("main", { key: mainKey(at.agent) });
    await withoutTrace(at, "stale_writer", [await at.archiving(main, "cap")]);
    await at.archive(key, "stale");
    assert.equal(await at.store.session(key), null);
  });

  test("is another matter when somebody asked", async () => {
    const at = corner();
    const key = await at.open("a", { settings: { pinned: true } });
    const job = { ...jobOf(at, "j"), target: { kind: "session", key } as const };
    await at.store.commit([{ do: "setJob", job, expectVersion: null }]);
    await at.archive(key);
    assert.equal(await at.store.session(key), null);
  });
}

function inOrder(corner: () => Corner): void {
  test("come oldest first, or newest first, in pages", async () => {
    const at = corner();
    const ids: string[] = [];
    for (const name of ["a", "b", "c", "d", "e"]) {
      if (name !== "c") at.world.pass(10); // two of the same moment
      ids.push(await at.archive(await at.talk(name, ["1"])));
    }
    const listed = async (newest: boolean | undefined, limit: number): Promise<readonly string[]> => {
      const order = newest === undefined ? {} : { newest };
      const rows = await pages((page) => at.store.archives({ ...page, ...order, agent: at.agent }), limit);
      return rows.map(({ id }) => id);
    };
    const oldest = await listed(undefined, 2);
    assert.deepEqual(oldest.toSorted(), ids.toSorted());
    assert.deepEqual([oldest[0], oldest[3], oldest[4]], [ids[0], ids[3], ids[4]]);
    for (const limit of [1, 2, 5, 100]) {
      assert.deepEqual(await listed(true, limit), oldest.toReversed());
      assert.deepEqual(await listed(false, limit), oldest);
    }
    const [last] = (await at.store.archives({ key: at.key("e"), newest: true })).rows;
    assert.equal(last?.id, ids[4]);
  });
}
