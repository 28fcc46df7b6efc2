import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { filledHome, KEYS, rowsOf } from "../../test/fixtures/content.ts";
import { Home, scratch } from "../../test/fixtures/home.ts";
import { Program } from "../../test/fixtures/program.ts";
import { DEFAULT_AGENT, namedKey, type SessionKey } from "../routing/key.ts";
import { blobPath } from "../store/local/paths.ts";
import { backup } from "./backup.ts";
import { fsck } from "./fsck.ts";

async function isSound(path: string): Promise<void> {
  assert.deepEqual((await fsck(path, 0, () => {})).findings, []);
}

const named = (name: string): SessionKey => namedKey(DEFAULT_AGENT, name);

test("the copy of a home at rest is equal to it in everything", async (t) => {
  const home = await filledHome(t);
  const to = join(scratch(t), "some", "where", "copy");
  const done: number[] = [];
  const sessions = Object.keys(KEYS).length;
  const backedUp = backup(home.path, to, (count) => done.push(count));
  assert.deepEqual(backedUp, { sessions, blobs: 2, skipped: [], damaged: [] });
  assert.deepEqual(
    done,
    Array.from({ length: sessions }, (_, at) => at + 1),
  );
  await isSound(to);
  const copy = await Home.open(t, to);
  await home.reopen();
  assert.deepEqual(await everything(copy), await everything(home));
  await copy.say(KEYS.main, "only in the copy");
  assert.notDeepEqual(await copy.read(KEYS.main), await home.read(KEYS.main));
});

test("a copy has the pictures of letters that wait, and what other programs had left in transcripts", async (t) => {
  const home = await Home.open(t);
  const key = await home.talk("one", "1");
  const picture = await home.store.putBlob(Buffer.from("a picture"));
  const content = [{ type: "text", text: "see", blob: picture }] as const;
  const from = { kind: "internal_system", cause: "test" } as const;
  const letter = {
    id: "cause:x",
    from,
    class: "background",
    mode: "followup",
    content,
    replyTo: null,
    origin: null,
  } as const;
  await home.store.commit([{ do: "post", to: [key], letter }]);
  await home.store.checkpoint();
  writeFileSync(await home.file(key), "theirs\n", { flag: "a" });
  await home.say(key, "2");
  await home.close();
  const foreign = readdirSync(home.paths.foreign);
  assert.equal(foreign.length, 1);
  const to = join(scratch(t), "copy");
  assert.equal(backup(home.path, to, () => {}).blobs, 1);
  await isSound(to);
  const copy = await Home.open(t, to);
  assert.deepEqual(readdirSync(copy.paths.foreign), foreign);
  const bytes = await copy.store.readBlob(picture.sha256, { from: 0, bytes: picture.bytes });
  assert.equal(Buffer.from(bytes ?? []).toString(), "a picture");
});

test("whoever followed the feed of a home starts over with that of the copy", async (t) => {
  const home = await Home.open(t);
  await home.talk("one", "1");
  const { cursor } = await home.store.changesSince(null);
  await home.close();
  const to = join(scratch(t), "copy");
  backup(home.path, to, () => {});
  const copy = await Home.open(t, to);
  await assert.rejects(copy.store.changesSince(cursor), { code: "cursor_expired" });
  await home.reopen();
  assert.deepEqual(await home.store.changesSince(cursor), { changes: [], cursor });
});

async function everything(home: Home): Promise<unknown> {
  const rows = await rowsOf(home.store);
  const sessions = [];
  for (const [key, row] of rows) {
    const entries = await Array.fromAsync(home.store.entries(row.transcript.id, { since: 0 }));
    sessions.push({ row, entries, mail: await home.store.mail(key, {}) });
  }
  const timers = await home.store.timers({ dueByMs: Number.MAX_SAFE_INTEGER });
  const outbox = [await home.store.outbox({ refused: false }), await home.store.outbox({ refused: true })];
  return { sessions, timers, outbox };
}

/** One commit after the other, each to all of its sessions and with a letter, for as long as it lives. */
const COMMITS = `
  const store = await open();
  const keys = ["a", "b", "c"].map((name) => namedKey(DEFAULT_AGENT, name));
  await store.commit(keys.map((key) => opening(key, world.newId())));
  for (let n = 0; ; n += 1) {
    const letter = { id: "cause:" + n, from: { kind: "internal_system", cause: "test" }, class: "background", mode: "followup", content: [], replyTo: null, origin: null };
    const appends = keys.map((key) => appending(key, n, [said(n + " " + "x".repeat(1_000))]));
    await store.commit([...appends, { do: "post", to: [keys[n % 3]], letter }]);
    say(n + 1);
  }
`;

test("a copy made while commits go on is one moment: all that was acknowledged before, and of every commit all or nothing", async (t) => {
  const path = join(scratch(t), "home");
  const program = new Program(t, { home: path, source: COMMITS });
  for (let round = 0; round < 3; round += 1) {
    let acknowledged = 0;
    while (acknowledged < 150 * (round + 1)) acknowledged = Number(await program.hear());
    const to = join(scratch(t), "copy");
    assert.deepEqual(
      backup(path, to, () => {}),
      { sessions: 3, blobs: 0, skipped: [], damaged: [] },
    );
    await isSound(to);
    const copy = await Home.open(t, to);
    const texts = await Promise.all(["a", "b", "c"].map((name) => copy.read(named(name))));
    const [count = 0, ...others] = texts.map((each) => each.length);
    assert.ok(count >= acknowledged, `${count} commits, of which ${acknowledged} had been acknowledged`);
    assert.deepEqual(others, [count, count]);
    for (const each of texts)
      assert.deepEqual(
        each.map((text) => text.split(" ")[0]),
        [...each.keys()].map(String),
      );
    const letters = await Promise.all(["a", "b", "c"].map((name) => allMail(copy, named(name))));
    assert.equal(letters.flat().length, count);
    assert.deepEqual(
      [copy.deaths, copy.heardOf("foreign_bytes"), copy.heardOf("missing_bytes")],
      [[], [], []],
    );
    await copy.close();
    await isSound(to);
  }
});

async function allMail(home: Home, key: SessionKey): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = null; ;) {
    const page: Awaited<ReturnType<typeof home.store.mail>> = await home.store.mail(key, { cursor });
    ids.push(...page.rows.map(({ id }) => id));
    if (page.next === null) return ids;
    cursor = page.next;
  }
}

/** Deletes the first and the third session when it is told to; all have files, journalled lines, blobs and mail. */
const DELETES = `
  const store = await open();
  const keys = ["first", "second", "third"].map((name) => namedKey(DEFAULT_AGENT, name));
  for (const key of keys) {
    const blob = await store.putBlob(Buffer.from("the blob of " + key));
    const draft = { type: "message", timestamp: "", message: { role: "user", content: [{ type: "text", text: "a", blob }], timestamp: 0 } };
    await store.commit([opening(key, world.newId()), appending(key, 0, [draft])]);
    const letter = { id: "cause:" + key, from: { kind: "internal_system", cause: "test" }, class: "background", mode: "followup", content: [], replyTo: null, origin: null };
    await store.commit([{ do: "post", to: [key], letter }, { do: "setTimer", timer: { id: key, key, dueAtMs: 1, body: null }, expectDueAtMs: null }]);
  }
  await store.checkpoint();
  for (const key of keys) await store.commit([appending(key, 1, [said("b")])]);
  say("ready");
  while (!existsSync(home + ".go")) await world.sleep(1, AbortSignal.any([]));
  await store.commit([{ do: "delete", key: keys[0], expect: null }, { do: "delete", key: keys[2], expect: null }]);
  await store.checkpoint(); // the answer comes before the files are gone; this comes after
  appendFileSync(home + ".gone", "");
  await forever();
`;

test("a session that is deleted during the backup is in the copy whole, or not at all and named", async (t) => {
  const path = join(scratch(t), "home");
  const program = new Program(t, { home: path, source: DELETES });
  assert.equal(await program.hear(), "ready");
  const to = join(scratch(t), "copy");
  const backedUp = backup(path, to, (done) => {
    if (done !== 1) return;
    writeFileSync(`${path}.go`, "");
    while (!existsSync(`${path}.gone`)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  });
  assert.deepEqual(backedUp, { sessions: 2, blobs: 2, skipped: [named("third")], damaged: [] });
  await isSound(to);
  const copy = await Home.open(t, to);
  assert.deepEqual([...(await rowsOf(copy.store)).keys()], [named("first"), named("second")]);
  assert.deepEqual(await copy.read(named("first")), ["a", "b"]);
  assert.equal((await copy.store.timers({ dueByMs: 1 })).rows.length, 2);
  await copy.close();
  await isSound(to);
});

test("what is missing in the home is missing in the copy, and named; nothing else of the session is lost", async (t) => {
  const home = await Home.open(t);
  const [lost, kept] = [await home.talk("lost", "a"), await home.talk("kept", "a")];
  const blob = await home.store.putBlob(Buffer.from("blob"));
  const content = [{ type: "text", text: "b", blob }] as const;
  await home.append(kept, [
    { type: "message", timestamp: "", message: { role: "user", content, timestamp: 0 } },
  ]);
  await home.store.checkpoint();
  rmSync(await home.file(lost));
  rmSync(blobPath(home.paths, blob.sha256));
  const to = join(scratch(t), "copy");
  assert.deepEqual(
    backup(home.path, to, () => {}),
    { sessions: 2, blobs: 0, skipped: [], damaged: [lost, kept] },
  );
  const copy = await Home.open(t, to);
  assert.deepEqual([await copy.read(lost), await copy.read(kept)], [["[missing]"], ["a", "b"]]);
});

describe("a backup is refused", () => {
  test("into the home that it is a copy of", async (t) => {
    const home = await filledHome(t);
    for (const to of [join(home.path, "copy"), join(home.path, "agents", "..", "copy")])
      assert.throws(() => backup(home.path, to, () => {}), { code: "bad_input", message: /inside the home/ });
    assert.equal(existsSync(join(home.path, "copy")), false);
    backup(home.path, `${home.path}-copy`, () => {}); // a name that only begins like it is another place
    rmSync(`${home.path}-copy`, { recursive: true });
  });

  test("into a directory that is not empty, which it leaves as it is", async (t) => {
    const home = await filledHome(t);
    const to = scratch(t);
    writeFileSync(join(to, "something"), "");
    assert.throws(() => backup(home.path, to, () => {}), { code: "exists" });
    assert.deepEqual(readdirSync(to), ["something"]);
  });

  test("of a home without a state", (t) => {
    const [home, to] = [scratch(t), join(scratch(t), "copy")];
    assert.throws(() => backup(home, to, () => {}), { code: "not_found" });
    assert.equal(existsSync(to), false);
  });
});

test("a backup goes into a directory that is empty", async (t) => {
  const home = await filledHome(t);
  const to = join(scratch(t), "copy");
  mkdirSync(to);
  backup(home.path, to, () => {});
  await isSound(to);
});
