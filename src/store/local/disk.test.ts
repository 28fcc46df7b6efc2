// What the disk may do to a store: it may be full, and that ends nothing; or it may fail, and that is final.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { judge } from "../../../test/crash/judge.ts";
import { Ledger, type Said } from "../../../test/crash/ledger.ts";
import { look } from "../../../test/crash/look.ts";
import { appending, cannotMount, Home, mount, said, scratch } from "../../../test/fixtures/home.ts";
import { Program, type Ended } from "../../../test/fixtures/program.ts";
import { canTrace } from "../../../test/powercut/trace.ts";
import { failingSync, type Failing } from "../../../test/fixtures/failing.ts";
import { openLog } from "../../base/log.ts";
import { RealWorld } from "../../base/world.ts";
import type { SessionKey } from "../../routing/key.ts";
import { fsck } from "../../upkeep/fsck.ts";

/** What was acknowledged, by session. */
type Acknowledged = ReadonlyMap<SessionKey, string[]>;

/** A disk of six mebibytes with a free part, and a way to make room on it. */
function smallDisk(t: TestContext, at: string, freeKibibytes: number): () => void {
  mount(t, at, ["-t", "tmpfs", "-o", "size=6m", "tmpfs"]);
  const filler = join(at, "filler");
  writeFileSync(filler, Buffer.alloc((6 * 1024 - freeKibibytes) * 1024));
  return () => rmSync(filler);
}

async function openSome(home: Home): Promise<Acknowledged> {
  const names = ["a", "b", "c", "d"];
  const keys = await Promise.all(names.map((name) => home.talk(name, "first")));
  return new Map(keys.map((key) => [key, ["first"]]));
}

/** Commits to all sessions at once until nothing is taken any more, and waits: what happens by itself has happened. */
async function fill(home: Home, acknowledged: Acknowledged): Promise<void> {
  for (let round = 0, refusals = 0; refusals < 20; round += 1) {
    assert.ok(round < 2_000, "the disk is full at some time");
    const results = await Promise.allSettled(
      [...acknowledged].map((session) => sayOne(home, session, round)),
    );
    const faults = results
      .filter((result) => result.status === "rejected")
      .map(({ reason }) => reason as Error);
    assert.deepEqual(
      [...new Set(faults.map((fault) => "code" in fault && fault.code))],
      faults.length > 0 ? ["disk_full"] : [],
    );
    refusals = faults.length === results.length ? refusals + 1 : 0;
    if (refusals === 10) await new RealWorld().sleep(1_500, AbortSignal.any([])); // more than a checkpoint apart
  }
}

async function sayOne(home: Home, [key, texts]: [SessionKey, string[]], round: number): Promise<void> {
  const text = `${round} ${"x".repeat(5_000)}`;
  await home.store.commit([appending(key, texts.length, [said(text)])]);
  texts.push(text);
}

async function allThere(home: Home, acknowledged: Acknowledged): Promise<void> {
  for (const [key, texts] of acknowledged) assert.deepEqual(await home.read(key), texts);
  assert.deepEqual(home.deaths, []);
}

async function allInFiles(home: Home, acknowledged: Acknowledged): Promise<void> {
  await home.store.checkpoint();
  for (const [key, texts] of acknowledged) {
    const lines = readFileSync(await home.file(key), "utf8")
      .split("\n")
      .slice(1, -1);
    assert.deepEqual(lines.map((line) => JSON.parse(line) as ReturnType<typeof said>).map(wordsOf), texts);
  }
}

function wordsOf(draft: ReturnType<typeof said>): string {
  const block = draft.type === "message" ? draft.message.content[0] : undefined;
  return typeof block === "object" && block.type === "text" ? block.text : "";
}

/** On room. While a disk fills up there may be none, then a little, then none again. */
function lastWord(home: Home): string | undefined {
  return home.heard.findLast(({ what }) => what === "disk_full" || what === "disk_free")?.what;
}

async function isSound(home: Home): Promise<void> {
  await home.close();
  assert.deepEqual((await fsck(home.path, home.world.nowMs(), () => {})).findings, []);
}

describe("a full disk", { skip: cannotMount() }, () => {
  test("refuses new commits, loses none, is read as before, and takes commits again when there is room", async (t) => {
    const disk = join(scratch(t), "disk");
    const makeRoom = smallDisk(t, disk, 3 * 1024);
    const home = await Home.open(t, join(disk, "home"));
    const acknowledged = await openSome(home);
    await fill(home, acknowledged);
    await allThere(home, acknowledged);
    assert.equal((await home.store.sessions({})).rows.length, 4);
    assert.equal(lastWord(home), "disk_full");

    makeRoom();
    for (const session of acknowledged) await sayOne(home, session, -1);
    await allThere(home, acknowledged);
    await allInFiles(home, acknowledged);
    assert.equal(lastWord(home), "disk_free");
    await home.reopen();
    await allThere(home, acknowledged);
    await isSound(home);
  });

  test("that has room for the database and none for transcripts keeps their lines in the journal", async (t) => {
    const path = join(scratch(t), "home");
    const makeRoom = smallDisk(t, join(path, "agents"), 512);
    const home = await Home.open(t, path);
    const acknowledged = await openSome(home);
    await fill(home, acknowledged);
    await allThere(home, acknowledged);
    const rows = await Promise.all([...acknowledged.keys()].map((key) => home.row(key)));
    const files = await Promise.all([...acknowledged.keys()].map((key) => home.file(key)));
    const written = files.map((file) => (existsSync(file) ? readFileSync(file).length : 0));
    assert.ok(
      rows.some(({ transcript }, at) => (written[at] ?? 0) < transcript.bytes),
      "some lines are not in their files",
    );
    assert.equal(lastWord(home), "disk_full");

    makeRoom();
    for (const session of acknowledged) await sayOne(home, session, -1);
    await allInFiles(home, acknowledged);
    assert.equal(lastWord(home), "disk_free");
    await isSound(home);
  });

  test("that refuses a deletion leaves the owner its lease", async (t) => {
    const disk = join(scratch(t), "disk");
    const makeRoom = smallDisk(t, disk, 3 * 1024);
    const home = await Home.open(t, join(disk, "home"));
    const key = await home.talk("owned", "first");
    await home.store.commit([{ do: "run", key, fence: 0, state: { kind: "queued", sinceMs: 1 } }]);
    const claims = await home.store.claim("one", 60_000, 1);
    await fill(home, await openSome(home));
    const deleted = home.store.commit([{ do: "delete", key, expect: null }]);
    await assert.rejects(deleted, { code: "disk_full" });
    assert.deepEqual(await home.store.renew(claims, 60_000), claims);
    makeRoom();
    const append = appending(key, 1, [said("second")]);
    await assert.rejects(home.store.commit([append]), { code: "stale_writer" });
    await home.store.commit([{ ...append, fence: claims[0]?.fence ?? 0 }]);
    await isSound(home);
  });

  test("can be closed; it is not opened again before there is room, and then everything is there", async (t) => {
    const path = join(scratch(t), "home");
    const makeRoom = smallDisk(t, join(path, "agents"), 512);
    const home = await Home.open(t, path);
    const acknowledged = await openSome(home);
    await fill(home, acknowledged);
    await assert.rejects(home.close(), { code: "disk_full" });
    await assert.rejects(home.reopen(), { code: "disk_full" });
    makeRoom();
    await home.reopen();
    await allThere(home, acknowledged);
    await allInFiles(home, acknowledged);
    await isSound(home);
  });

  test("refuses a blob, and leaves no half of it", async (t) => {
    const path = join(scratch(t), "home");
    const makeRoom = smallDisk(t, join(path, "blobs"), 512);
    const home = await Home.open(t, path);
    const large = Buffer.alloc(900 * 1024, "large");
    await assert.rejects(home.store.putBlob(large), { name: "Fault", code: "disk_full" });
    assert.deepEqual(blobFiles(home), []);
    const small = await home.store.putBlob(Buffer.from("small"));
    await home.talk("one", "the store goes on");
    makeRoom();
    const { sha256, bytes } = await home.store.putBlob(large);
    assert.deepEqual(blobFiles(home), [sha256, small.sha256].toSorted());
    assert.deepEqual(await home.store.readBlob(sha256, { from: 0, bytes }), large);
    assert.deepEqual(home.deaths, []);
  });
});

function blobFiles(home: Home): string[] {
  const names = readdirSync(home.paths.blobs, { recursive: true, encoding: "utf8" });
  return names.flatMap((name) => name.split("/").slice(1)).toSorted();
}

/** Eight writers, each with a session of its own, until the store dies; it does long before they have had enough. */
const WORK = `
  const store = await open();
  const key = (n) => namedKey(DEFAULT_AGENT, String(n));
  const commit = async (name, changes) => {
    say({ attempt: { name, changes, fate: "accepted" } });
    try {
      await store.commit(changes);
      say({ done: name });
      return true;
    } catch (error) {
      say({ refused: name, why: error.code });
      return false;
    }
  };
  const lane = async (n) => {
    let goesOn = await commit("open " + n, [opening(key(n), world.newId())]);
    for (let done = 0; goesOn && done < 10_000; done += 1) {
      const name = n + "." + done;
      const letter = { id: "cause:" + name, from: { kind: "internal_system", cause: "test" }, class: "background", mode: "followup", content: [], replyTo: null, origin: null };
      goesOn = await commit(name, [appending(key(n), done, [said(name)]), { do: "post", to: [key(n)], letter }]);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, n) => lane(n)));
`;

const FAILING: readonly (Failing & { readonly what: string })[] = [
  { what: "the database's log", call: "fsync", path: "state.sqlite-wal", when: 3 },
  { what: "the database's log, after many commits,", call: "fsync", path: "state.sqlite-wal", when: 40 },
  { what: "the database", call: "fsync", path: "state.sqlite", when: 1 },
  { what: "a transcript", call: "fdatasync", path: null, when: 1 },
  { what: "the directory of the transcripts", call: "fsync", path: "agents/main/sessions", when: 1 },
];

function failing(t: TestContext, home: string, source: string, how: Failing): Program {
  return new Program(t, { home, source, ...failingSync(home, how) });
}

describe("a disk that fails", { skip: (await canTrace()) ?? false }, () => {
  for (const { what, ...how } of FAILING) {
    test(`when ${what} cannot be synced, callers hear outcome_unknown, and a restart has all that was acknowledged`, async (t) => {
      const home = join(scratch(t), "home");
      const ended = await failing(t, home, WORK, how).ended;
      assert.equal(ended.code, 3, ended.complaint);
      const ledger = heardFrom(ended);
      const seen = await look(home, { world: new RealWorld(), log: openLog("silent") });
      assert.deepEqual(judge(ledger, seen).problems, []);
      assert.deepEqual((await fsck(home, 0, () => {})).findings, []);
    });
  }

  test("when a blob cannot be synced, its caller alone hears of it, and the store goes on", async (t) => {
    const home = join(scratch(t), "home");
    const source = `
      const store = await open();
      await store.putBlob(Buffer.from("never synced")).catch((error) => say({ name: error.name, code: error.code }));
      const { sha256 } = await store.putBlob(Buffer.from("synced"));
      say(Buffer.from(await store.readBlob(sha256, { from: 0, bytes: 100 })).toString());
      await store.close();
    `;
    const ended = await failing(t, home, source, { call: "fsync", path: "blobs", when: 1 }).ended;
    assert.deepEqual(ended.said, [{ name: "Fault", code: "disk_failed" }, "synced"], ended.complaint);
    assert.equal(ended.code, 0, ended.complaint);
  });
});

/** Nothing is refused but by `outcome_unknown`, and those are nobody's problem: they happened whole or not at all. */
function heardFrom(ended: Ended): Ledger {
  const ledger = new Ledger();
  const refusals = new Set<string>();
  const deaths: unknown[] = [];
  for (const each of ended.said as Said[]) {
    if ("refused" in each) refusals.add(each.why);
    else if ("died" in each) deaths.push(each.died);
    else ledger.hear(each);
  }
  assert.deepEqual([[...refusals], deaths], [["outcome_unknown"], ["disk_failed"]]);
  return ledger;
}
