import assert from "node:assert/strict";
import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { filledHome, KEYS, rowsOf, USAGE, WAITING } from "../../test/fixtures/content.ts";
import { Home, opening, scratch } from "../../test/fixtures/home.ts";
import { Program } from "../../test/fixtures/program.ts";
import { RealWorld } from "../base/world.ts";
import { specOf } from "../../test/timers/specs.ts";
import { DEFAULT_AGENT, mainKey, namedKey, type SessionKey } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
import { pathsIn } from "../store/local/paths.ts";
import { LADDER } from "../store/local/schema.ts";
import { DEFAULT_SETTINGS, NO_USAGE } from "../store/opened.ts";
import type { Change } from "../store/change.ts";
import { addJob, alarmOf, runNow } from "../timers/jobs.ts";
import type { Draft } from "../transcript/entry.ts";
import { fsck } from "./fsck.ts";
import { rebuild, type Rebuilt } from "./rebuild.ts";

function rebuilt(home: Home): Rebuilt {
  return rebuild(home.path, home.world.nowMs(), () => {});
}

/** What a rebuilt row says: all that the transcript says, and of the rest what a session begins with. */
async function restored(home: Home, row: Session): Promise<Session> {
  const once = row.state.kind === "ended";
  const [last] = await Array.fromAsync(
    home.store.entries(row.transcript.id, { since: row.transcript.lastSeq }),
  );
  const answers = row.key === KEYS.main ? 2 : row.key === KEYS.fork ? 1 : 0; // of its own: a fork's copied ones were paid for elsewhere
  return {
    ...row,
    // Only the old state knew these.
    state: once ? row.state : { kind: "idle" },
    route: null,
    signal: "none",
    settingsVersion: 1,
    updatedAtMs: last === undefined || last.type === "gap" ? row.bornAtMs : Date.parse(last.timestamp),
    // Of these it knew more.
    settings: row.key === KEYS.running ? { ...DEFAULT_SETTINGS, label: "busy", nice: 5 } : DEFAULT_SETTINGS,
    usage: {
      ...NO_USAGE,
      input: answers === 2 ? 2 * USAGE.input : answers * 50,
      output: answers * USAGE.output,
      cacheRead: answers * USAGE.cacheRead,
      cacheWrite: answers * USAGE.cacheWrite,
      cost: answers * (USAGE.cost?.total ?? 0),
    },
  };
}

/** What is said whenever the state is not there, since nobody knows what it knew. */
const NO_STATE =
  "there is no old state: waiting letters, timers, jobs, answers to deliver, and entries of the last seconds before it broke, if there were any";

test("from the transcripts alone every row is as it was, but for what only the old state knew", async (t) => {
  const home = await filledHome(t);
  await home.reopen();
  const rows = await rowsOf(home.store);
  const expected = new Map<SessionKey, Session>();
  for (const [key, row] of rows) expected.set(key, await restored(home, row));
  assert.equal(rows.size, Object.keys(KEYS).length);
  assert.notDeepEqual(expected.get(KEYS.running), rows.get(KEYS.running));
  assert.deepEqual(
    expected.get(KEYS.grandchild),
    rows.get(KEYS.grandchild),
    "of most sessions it knew nothing more",
  );
  const before = await everyEntry(home, rows);
  await home.close();

  home.loseDatabases();
  assert.deepEqual(rebuilt(home), { sessions: rows.size, lost: [NO_STATE], keptAs: null });
  assert.deepEqual((await fsck(home.path, 0, () => {})).findings, []);

  await home.reopen();
  const after = await rowsOf(home.store);
  assert.deepEqual(after, expected);
  assert.deepEqual(await everyEntry(home, after), before);
  const { parent, root, depth } = after.get(KEYS.grandchild) ?? {};
  assert.deepEqual({ parent, root, depth }, { parent: KEYS.child, root: KEYS.main, depth: 2 });
  await isSearched(home, "what is the answer", [KEYS.fork, KEYS.main]);
  await takesCommits(home);
});

/** Search catches up in the background. */
async function isSearched(home: Home, text: string, where: readonly SessionKey[]): Promise<void> {
  let { hits, behind } = await home.store.search({ text });
  for (let tries = 0; behind > 0 && tries < 2_000; tries += 1) {
    await new RealWorld().sleep(5, AbortSignal.any([]));
    ({ hits, behind } = await home.store.search({ text }));
  }
  assert.equal(behind, 0);
  assert.deepEqual(hits.map(({ key }) => key).toSorted(), where.toSorted());
}

async function everyEntry(home: Home, rows: ReadonlyMap<SessionKey, Session>): Promise<unknown> {
  const all = [];
  for (const { key, transcript } of rows.values())
    for (const range of [{ since: 0 }, { from: 1 }, { from: "context" }, { before: null }] as const)
      all.push({ key, range, items: await Array.fromAsync(home.store.entries(transcript.id, range)) });
  return all;
}

/** Appends, forks, children, letters, deletions: as in a home that was never rebuilt. */
async function takesCommits(home: Home): Promise<void> {
  for (const key of [KEYS.main, KEYS.rewound, KEYS.undone, KEYS.fork]) {
    const before = await home.read(key);
    await home.say(key, "after the rebuild");
    assert.deepEqual(await home.read(key), [...before, "after the rebuild"]);
  }
  const fork = namedKey(DEFAULT_AGENT, "new fork");
  await home.store.commit([
    opening(fork, home.world.newId(), { copy: { of: KEYS.rewound, fromSeq: 1, throughSeq: 8 } }),
    { do: "revive", key: KEYS.grandchild }, // Who has ended has no more children.
    opening(namedKey(DEFAULT_AGENT, "new child"), home.world.newId(), { parent: KEYS.grandchild }),
    { do: "delete", key: KEYS.blobs, expect: null },
  ]);
  assert.deepEqual(await home.read(fork), ["1", "2", "5, after 2", "6", "8, after 6"]);
  assert.equal((await home.row(namedKey(DEFAULT_AGENT, "new child"))).root, KEYS.main);
  await home.close();
  assert.deepEqual((await fsck(home.path, 0, () => {})).findings, []); // also: main's blob is still there
}

test("a late repeat of a letter is known after a rebuild, because its entry names it", async (t) => {
  const home = await Home.open(t);
  const key = await home.talk("one", "hello");
  const letter = (id: string): Change => ({
    do: "post",
    to: [key],
    letter: {
      id,
      from: { kind: "external_user", channel: "shop", peer: "ada" },
      class: "interactive",
      mode: "steer",
      content: [{ type: "text", text: "an order" }],
      replyTo: null,
      origin: null,
    },
  });
  const [taken, waiting, forked] = ["ext:shop:1", "ext:shop:2", "cause:3"];
  await home.store.commit([letter(taken), letter(forked)]);
  await home.store.commit([{ do: "take", key, fence: 0, ids: [taken, forked] }]);
  const entry = (mailId: string): Draft => ({
    type: "message",
    timestamp: new Date(home.world.nowMs()).toISOString(),
    mailId,
    message: { role: "user", content: "an order", timestamp: 0 },
  });
  await home.append(key, [entry(taken), entry(forked)]);
  await home.store.commit([letter(waiting)]);
  const fork = namedKey(DEFAULT_AGENT, "fork"); // has the entries too, and took nothing
  await home.store.commit([
    opening(fork, home.world.newId(), { copy: { of: key, fromSeq: 1, throughSeq: 3 } }),
  ]);
  await home.close();
  rebuilt(home);
  await home.reopen();
  const { posts } = await home.store.commit([letter(taken), letter(waiting), letter(forked)]);
  assert.deepEqual(
    posts.map(({ to, repeated }) => [to, repeated]),
    [
      [key, true],
      [key, false],
      [key, true],
    ],
  );
  await home.close();
  assert.deepEqual((await fsck(home.path, 0, () => {})).findings, []);
});

describe("with the old state at hand", () => {
  test("rebuild lists what waited and is lost, and keeps the old state", async (t) => {
    const home = await filledHome(t);
    const { sessions, lost, keptAs } = rebuilt(home);
    assert.equal(sessions, Object.keys(KEYS).length);
    const key = KEYS.running;
    assert.deepEqual(
      new Set(lost),
      new Set([
        ...WAITING.letters.map((id) => `a letter that waited for ${key}: ${id}`),
        ...[KEYS.child, KEYS.grandchild].map(
          (child) => `a letter that waited for ${KEYS.main}: cause:end of ${child}`,
        ),
        ...WAITING.timers.map((id) => `a timer for ${key}: ${id}`),
        ...WAITING.outgoing.map((id) => `an answer that was to be delivered for ${key}: ${id}`),
      ]),
    );
    const old = new DatabaseSync(keptAs ?? "");
    assert.equal(old.prepare("SELECT count(*) AS n FROM mail WHERE taken_ms IS NULL").get()?.["n"], 4);
    old.close();
    assert.deepEqual((await fsck(home.path, 0, () => {})).findings, []);
  });

  test("jobs are taken over with their alarms; one whose record cannot be read is named", async (t) => {
    const home = await filledHome(t);
    await home.reopen();
    const nowMs = home.world.nowMs();
    const made = (["a", "b", "broken"] as const).map((id) =>
      addJob(specOf({ name: `the ${id}` }), { id, agent: DEFAULT_AGENT, nowMs }),
    );
    await home.store.commit([
      opening(mainKey(DEFAULT_AGENT), home.world.newId(), { ifExists: "keep" }),
      ...made.flatMap(({ changes }) => changes),
    ]);
    const [running] = made.map(({ job }) => runNow(job, { runId: "r", nowMs }, () => []));
    await home.store.commit(running?.changes ?? []);
    const { rows: before } = await home.store.jobs({});
    await home.close();
    alter(home, "UPDATE jobs SET body = substr(body, 1, 200) WHERE id = 'broken'");
    const { lost } = rebuilt(home);
    assert.deepEqual(
      lost.filter((line) => line.includes("job")),
      ['job broken ("the broken"): its record cannot be read'],
    );
    assert.deepEqual((await fsck(home.path, 0, () => {})).findings, []);
    await home.reopen();
    const { rows: after } = await home.store.jobs({});
    assert.deepEqual(
      after,
      before.filter(({ id }) => id !== "broken"),
    );
    const { rows: timers } = await home.store.timers({ dueByMs: Infinity });
    assert.deepEqual(new Set(timers), new Set(after.map(alarmOf)));
  });

  test("of an older version, without jobs, there are none", async (t) => {
    const home = await filledHome(t);
    alter(home, "DROP TABLE jobs; DROP TABLE generations; DROP TABLE archives; PRAGMA user_version = 1");
    assert.deepEqual(
      rebuilt(home).lost.filter((line) => line.includes("job")),
      [],
    );
    assert.deepEqual((await fsck(home.path, 0, () => {})).findings, []);
  });

  test("a damaged table of jobs is named, and keeps nothing else from being brought", async (t) => {
    const home = await filledHome(t);
    alter(home, "DROP TABLE jobs");
    const { lost } = rebuilt(home);
    assert.match(lost[0] ?? "", /^jobs, if there were any: they cannot be read \(.*\)$/);
    assert.ok(lost.some((line) => line.startsWith("a letter that waited")));
  });

  test("a deletion that a crash cut off is finished: the deleted session does not come back", async (t) => {
    const home = await Home.open(t);
    const key = await home.talk("doomed", "a secret");
    const file = await home.file(key);
    const transcript = (await home.row(key)).transcript.id;
    await home.store.checkpoint();
    copyFileSync(file, `${file}.kept`);
    await home.store.commit([{ do: "delete", key, expect: null }]);
    await home.close();
    renameSync(`${file}.kept`, file);
    const intent = JSON.stringify({ do: "erase", agent: "main", transcript });
    alter(home, `INSERT INTO intents (body) VALUES ('${intent}')`);
    assert.equal(rebuilt(home).sessions, 0);
    assert.equal(existsSync(file), false);
  });

  for (const [what, hurt] of [
    ["is no database", (path: string) => writeFileSync(path, "something else ".repeat(1_000))],
    ["lost its second half", (path: string) => truncateSync(path, 32 * 1024)],
  ] as const) {
    test(`that ${what}, rebuild says so, keeps it, and restores the sessions`, async (t) => {
      const home = await filledHome(t);
      hurt(home.paths.state);
      const bytes = readFileSync(home.paths.state);
      const { sessions, lost, keptAs } = rebuilt(home);
      assert.equal(sessions, Object.keys(KEYS).length);
      assert.equal(lost.length, 1);
      assert.match(lost[0] ?? "", /^the old state cannot be read \(.*\): waiting letters, timers, jobs/);
      assert.deepEqual(readFileSync(keptAs ?? ""), bytes);
      assert.deepEqual((await fsck(home.path, 0, () => {})).findings, []);
    });
  }

  test("that is of a newer version, rebuild refuses and changes nothing", async (t) => {
    const home = await filledHome(t);
    alter(home, `PRAGMA user_version = ${LADDER.length + 1}`);
    const before = readdirSync(home.path);
    assert.throws(() => rebuilt(home), { code: "state_too_new" });
    assert.deepEqual(readdirSync(home.path), before);
  });
});

/** Stops with lines in the journal. */
const TALK = `
  const store = await open();
  const key = namedKey(DEFAULT_AGENT, "one");
  await store.commit([opening(key, world.newId()), appending(key, 0, [said("a"), said("b")])]);
  const { transcript } = await store.session(key);
  const file = home + "/agents/main/sessions/" + transcript.id + ".jsonl";
  while (!existsSync(file) || statSync(file).size < transcript.bytes) await world.sleep(1, AbortSignal.any([]));
  say(file);
  await forever();
`;

describe("after a kill", () => {
  test("rebuild brings the lines that only the journal has", async (t) => {
    const path = join(scratch(t), "home");
    const program = new Program(t, { home: path, source: TALK });
    const file = String(await program.hear());
    await program.kill();
    const lines = readFileSync(file);
    truncateSync(file, lines.indexOf("\n") + 11); // as if the kill had come in the middle of the write
    assert.deepEqual(rebuild(path, 0, () => {}).lost, []);
    assert.deepEqual(readFileSync(file), lines);
    const home = await Home.open(t, path);
    assert.deepEqual(await home.read(namedKey(DEFAULT_AGENT, "one")), ["a", "b"]);
  });

  test("rebuild without a state does not take its log for the new one's", async (t) => {
    const path = join(scratch(t), "home");
    const program = new Program(t, { home: path, source: TALK });
    await program.hear();
    await program.kill();
    const { state } = pathsIn(path);
    assert.ok(statSync(`${state}-wal`).size > 0);
    rmSync(state);
    await assert.rejects(Home.open(t, path), { code: "damaged" });
    assert.deepEqual(rebuild(path, 7, () => {}).lost, [NO_STATE]);
    assert.ok(existsSync(`${state}.before-rebuild-7-wal`));
    assert.deepEqual((await fsck(path, 0, () => {})).findings, []);
    const home = await Home.open(t, path);
    assert.deepEqual(await home.read(namedKey(DEFAULT_AGENT, "one")), ["a", "b"]);
  });

  test("rebuild with a state that is older than the transcripts takes nothing from them", async (t) => {
    const path = join(scratch(t), "home");
    const program = new Program(t, { home: path, source: TALK });
    const file = String(await program.hear());
    await program.kill();
    cpSync(path, `${path}.old`, { recursive: true });
    const home = await Home.open(t, path);
    const key = namedKey(DEFAULT_AGENT, "one");
    await home.say(key, "c", "d");
    await home.close();
    const lines = readFileSync(file);
    home.loseDatabases();
    for (const suffix of ["", "-wal"])
      copyFileSync(join(`${path}.old`, `state.sqlite${suffix}`), `${home.paths.state}${suffix}`);
    assert.deepEqual(rebuilt(home).lost, []);
    assert.deepEqual(readFileSync(file), lines);
    assert.equal(existsSync(home.paths.foreign), false);
    await home.reopen();
    assert.deepEqual(await home.read(key), ["a", "b", "c", "d"]);
  });
});

function alter(home: Home, text: string): void {
  const database = new DatabaseSync(home.paths.state);
  database.exec(text);
  database.close();
}
