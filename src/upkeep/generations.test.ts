// What the offline commands make of histories that went on in new files, or began anew.

import assert from "node:assert/strict";
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { Home, opening, scratch } from "../../test/fixtures/home.ts";
import { Bus } from "../events/bus.ts";
import { DEFAULT_AGENT, namedKey, type SessionKey } from "../routing/key.ts";
import { Held } from "../sessions/held.ts";
import type { Session } from "../sessions/session.ts";
import { pathsIn, transcriptPath } from "../store/local/paths.ts";
import { LADDER } from "../store/local/schema.ts";
import type { Archive } from "../store/store.ts";
import type { Body, Header } from "../transcript/entry.ts";
import { backup } from "./backup.ts";
import { fsck, type Finding } from "./fsck.ts";
import { rebuild } from "./rebuild.ts";

const LONG = namedKey(DEFAULT_AGENT, "long");
const ANEW = namedKey(DEFAULT_AGENT, "anew");
const CHILD = namedKey(DEFAULT_AGENT, "child");

async function hold(home: Home, key: SessionKey): Promise<Held> {
  const { store, world } = home;
  const parts = { store, commit: store.commit.bind(store), bus: new Bus(), world };
  return new Held(parts, { key, fence: 0 }, await home.row(key));
}

function personal(text: string): Body {
  return {
    type: "message",
    message: { role: "user", content: text, timestamp: 0 },
    provenance: { kind: "external_user", channel: "test", peer: "ada" },
  };
}

/** An answer that was paid for. */
function answered(text: string, input: number): Body {
  return {
    type: "message",
    message: {
      role: "assistant",
      content: [{ type: "text", text }],
      api: "a",
      provider: "p",
      model: "m",
      usage: { input, output: 1, cacheRead: 0, cacheWrite: 0 },
      stopReason: "stop",
      timestamp: 0,
    },
  };
}

/** What was said so far is a summary from now on, which keeps the last entry. */
async function compacted(held: Held): Promise<Body> {
  const firstKeptEntryId = (await held.entries()).at(-1)?.id ?? "";
  return { type: "compaction", summary: "all that", firstKeptEntryId, tokensBefore: 9 };
}

/** Says something, is paid for it, and goes on in a new file. */
async function turn(home: Home, held: Held, text: string, keep: "context" | "nothing"): Promise<void> {
  home.world.pass(1_000);
  await held.commit({ entries: [personal(text)] });
  await held.commit({
    entries: [answered(`to ${text}`, 10)],
    charge: { input: 10, output: 1, steps: 1, modelMs: 5 },
  });
  await held.entries();
  await held.commit({ entries: [await compacted(held)] });
  await held.commit({ rotate: { keep, transcript: home.world.newId(), cwd: "/tmp" } });
}

/** Three files of one history, with a branch that was left; and one that began anew twice, over two files. */
async function rotatedHome(t: TestContext): Promise<Home> {
  const home = await Home.open(t);
  await home.store.commit([
    opening(LONG, home.world.newId()),
    opening(ANEW, home.world.newId()),
    { do: "set", key: LONG, version: null, settings: { label: "kept", nice: 3 } },
  ]);
  const long = await hold(home, LONG);
  await turn(home, long, "first", "context");
  const blob = await home.store.putBlob(Buffer.from("large"));
  await home.append(LONG, [{ type: "message", timestamp: "", message: named(blob) }]);
  const again = await hold(home, LONG);
  const [, second] = await Array.fromAsync(home.store.entries(again.row.transcript.id, { since: 1 }));
  assert(second && second.type !== "gap");
  await again.commit({
    rewind: { to: { id: second.id, seq: second.seq }, contextSeq: 1 },
    entries: [personal("back")],
  });
  await turn(home, again, "second", "context");
  await again.commit({
    entries: [personal("third"), answered("to third", 7)],
    charge: { input: 7, output: 1 },
  });
  const child = opening(CHILD, home.world.newId());
  await home.store.commit([{ ...child, parent: LONG }]);
  await turn(home, again, "fourth", "context");

  const anew = await hold(home, ANEW);
  await turn(home, anew, "old words", "context");
  await turn(home, anew, "older words", "nothing");
  await turn(home, anew, "other words", "nothing");
  await anew.commit({ entries: [personal("now")] });
  return home;
}

function named(blob: {
  readonly sha256: string;
  readonly bytes: number;
}): Extract<Body, { type: "message" }>["message"] {
  return { role: "user", content: [{ type: "text", text: "…", blob }], timestamp: 0 };
}

async function everything(home: Home): Promise<unknown> {
  const all = [];
  for (const key of [LONG, ANEW, CHILD])
    for (const range of [{ since: 0 }, { from: 1 }, { from: "context" }, { before: null }] as const)
      all.push(await Array.fromAsync(home.store.entries((await home.row(key)).transcript.id, range)));
  return all;
}

async function findingsIn(path: string): Promise<readonly Finding[]> {
  return (await fsck(path, 0, () => {})).findings;
}

async function archivesOf(home: Home): Promise<readonly Archive[]> {
  return (await home.store.archives({})).rows;
}

/** What only the old state knew is as in a session that begins. */
function asRebuilt(row: Session): Session {
  return { ...row, settingsVersion: 1, updatedAtMs: 0 };
}

test("from the files alone, histories over several files and those that began anew are as they were", async (t) => {
  const home = await rotatedHome(t);
  const before = await everything(home);
  const rows = [await home.row(LONG), await home.row(ANEW), await home.row(CHILD)];
  const archives = await archivesOf(home);
  assert.equal(archives.length, 2);
  assert.deepEqual([rows[0]?.usage.steps, rows[0]?.settings.nice, rows[1]?.title], [3, 3, "now"]);
  await home.close();
  assert.deepEqual(await findingsIn(home.path), []);
  home.loseDatabases();
  const { lost, sessions } = rebuild(home.path, home.world.nowMs(), () => {});
  assert.deepEqual([sessions, lost.length], [3, 1], lost.join("\n"));
  assert.deepEqual(await findingsIn(home.path), []);
  await home.reopen();
  assert.deepEqual(await everything(home), before);
  for (const row of rows) {
    const now = await home.row(row.key);
    assert.deepEqual(asRebuilt(now), { ...asRebuilt(row), tree: now.tree });
  }
  const found = await archivesOf(home);
  assert.deepEqual(
    found.map(({ id, key, why, bytes, archivedAtMs }) => [id, key, why, bytes, archivedAtMs]),
    archives.map(({ id, key, why, bytes, archivedAtMs }) => [id, key, why, bytes, archivedAtMs]),
  );
  for (const [at, { session }] of archives.entries()) {
    const now = found[at]?.session ?? session;
    // What was used since its newest file began, beside tokens, no file says.
    const usage = { ...session.usage, steps: now.usage.steps, modelMs: now.usage.modelMs };
    assert.deepEqual(asRebuilt(now), { ...asRebuilt(session), usage });
  }
  // And they go on.
  const held = await hold(home, LONG);
  await turn(home, held, "after", "context");
  await home.say(ANEW, "after");
  await home.store.commit([{ do: "delete", key: LONG, expect: null }]);
  await home.close();
  assert.deepEqual(await findingsIn(home.path), []);
});

test("a file that begins in the middle says enough, should the earlier ones be lost", async (t) => {
  const home = await rotatedHome(t);
  const row = await home.row(LONG);
  const context = await Array.fromAsync(home.store.entries(row.transcript.id, { from: "context" }));
  const newest = await home.file(LONG);
  await home.close();
  home.loseDatabases();
  for (const file of readdirSync(dirname(newest)))
    if (isOf(join(dirname(newest), file), LONG) && join(dirname(newest), file) !== newest)
      rmSync(join(dirname(newest), file));
  const { lost } = rebuild(home.path, home.world.nowMs(), () => {});
  assert.ok(
    lost.some((line) => line.includes(`what was before ${row.transcript.id}`)),
    lost.join("\n"),
  );
  await home.reopen();
  const now = await home.row(LONG);
  assert.deepEqual(
    [now.usage, now.settings, now.title, now.bornAtMs],
    [row.usage, row.settings, row.title, row.bornAtMs],
  );
  assert.deepEqual(
    await Array.fromAsync(home.store.entries(now.transcript.id, { from: "context" })),
    context,
  );
});

function isOf(path: string, key: SessionKey): boolean {
  return (JSON.parse(readFileSync(path, "utf8").split("\n")[0] ?? "") as Header).key === key;
}

test("a backup has every file of a history, also while lines of them are only in the journal", async (t) => {
  const home = await rotatedHome(t);
  const to = join(scratch(t), "copy");
  const { damaged, skipped } = backup(home.path, to, () => {});
  assert.deepEqual([damaged, skipped], [[], []]);
  const before = await everything(home);
  const copy = await Home.open(t, to);
  assert.deepEqual(await everything(copy), before);
  await copy.close();
  const own = (await findingsIn(to)).filter(({ where }) => !where.includes("archive"));
  assert.deepEqual(own, []);
});

describe("fsck finds", () => {
  const wrongs: readonly (readonly [
    what: string,
    hurt: (home: Home, older: string) => void,
    message: RegExp,
  ])[] = [
    ["an earlier file that is gone", (_, older) => rmSync(older), /missing; the history that goes on in/],
    [
      "an earlier file that ends otherwise than the next begins",
      (_, older) => writeFileSync(older, readFileSync(older, "utf8").replace(/to second/, "to nobody")),
      /does not begin with the last/,
    ],
    [
      "a length that is not the file's",
      (home) => alter(home, "UPDATE generations SET cut = cut + 1 WHERE session IS NOT NULL"),
      /does not begin with the last|is not JSON/,
    ],
    [
      "an earlier file of nobody",
      (home) => alter(home, "UPDATE generations SET session = 77 WHERE session IS NOT NULL"),
      /an earlier file of session number 77/,
    ],
  ];
  for (const [what, hurt, message] of wrongs) {
    test(what, async (t) => {
      const home = await rotatedHome(t);
      const file = await home.file(LONG);
      await home.close();
      const newest = JSON.parse(readFileSync(file, "utf8").split("\n")[0] ?? "") as Header;
      const older = transcriptPath(home.paths, DEFAULT_AGENT, newest.previous?.replace(".jsonl", "") ?? "");
      assert.ok(existsSync(older));
      hurt(home, older);
      const findings = await findingsIn(home.path);
      assert.ok(
        findings.some((finding) => finding.grade === "damage" && message.test(finding.message)),
        JSON.stringify(findings),
      );
    });
  }
});

function alter(home: Home, sql: string): void {
  const database = new DatabaseSync(home.paths.state);
  database.exec(sql);
  database.close();
}

test("bytes that a stranger added to an earlier file change nothing in the history", async (t) => {
  const home = await rotatedHome(t);
  const before = await everything(home);
  await home.store.checkpoint();
  const newest = JSON.parse(readFileSync(await home.file(LONG), "utf8").split("\n")[0] ?? "") as Header;
  appendFileSync(
    transcriptPath(home.paths, DEFAULT_AGENT, newest.previous?.replace(".jsonl", "") ?? ""),
    "hello\n",
  );
  assert.deepEqual(await everything(home), before);
});

test("a state of the version before, which knows no earlier files, is looked at, copied and made anew", async (t) => {
  const path = join(scratch(t), "home");
  const home = await Home.open(t, path);
  const key = await home.talk("plain", "one", "two");
  const file = await home.file(key);
  await home.close();
  const database = new DatabaseSync(home.paths.state);
  for (const table of ["jobs", "generations", "archives"]) database.exec(`DROP TABLE IF EXISTS ${table}`);
  database.exec("PRAGMA user_version = 1");
  database.close();
  assert.ok(LADDER.length > 1);
  assert.deepEqual(await findingsIn(path), []);
  const to = join(scratch(t), "copy");
  assert.deepEqual(backup(path, to, () => {}).damaged, []);
  assert.ok(existsSync(file.replace(path, pathsIn(to).home)));
  assert.deepEqual(rebuild(path, 0, () => {}).lost, []);
});

test("a conversation that came back and went on is the one that a key has, also from the files alone", async (t) => {
  const home = await rotatedHome(t);
  const [old] = await archivesOf(home);
  const now = await home.row(ANEW);
  assert(old);
  const { id, lastSeq } = now.transcript;
  await home.store.commit([
    { do: "archive", key: ANEW, expect: { transcript: id, lastSeq }, why: "asked" },
    { do: "restore", archive: old.id, over: null },
  ]);
  home.world.pass(1_000);
  const held = await hold(home, ANEW);
  await held.commit({ entries: [personal("back again")] });
  const row = await home.row(ANEW);
  const before = await everything(home);
  await home.close();
  assert.deepEqual(await findingsIn(home.path), []);
  home.loseDatabases();
  rebuild(home.path, home.world.nowMs(), () => {});
  await home.reopen();
  assert.deepEqual((await home.row(ANEW)).transcript, row.transcript);
  assert.deepEqual(await everything(home), before);
});
