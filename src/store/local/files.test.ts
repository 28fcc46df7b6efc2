// What other programs may do to transcript files, and what becomes of it. Committed entries that a file still has
// stay readable and in order, bytes of a stranger are moved aside, nothing is thrown away, and people hear of it.

import assert from "node:assert/strict";
import {
  appendFileSync,
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
import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { Home, scratch } from "../../../test/fixtures/home.ts";
import { Program } from "../../../test/fixtures/program.ts";
import { OPEN_FILES_MAX } from "../../limits.ts";
import { DEFAULT_AGENT, namedKey, type SessionKey } from "../../routing/key.ts";
import { fsck } from "../../upkeep/fsck.ts";

const STRANGERS: readonly (readonly [what: string, bytes: string])[] = [
  ["a whole line", '{"type":"message","id":"theirs","parentId":null}\n'],
  ["part of a line", '{"type":"theirs'],
  ["more than we write", `${"theirs ".repeat(200)}\n`],
];

describe("bytes that another program appends to a transcript", () => {
  for (const [what, bytes] of STRANGERS) {
    test(`${what}, while the store is open: they go to foreign/ with the next entry`, async (t) => {
      const home = await Home.open(t);
      const key = await home.talk("one", "a", "b");
      await home.store.checkpoint();
      appendFileSync(await home.file(key), bytes);
      assert.deepEqual(await home.read(key), ["a", "b"]);
      await home.say(key, "c");
      await movedAside(home, key, bytes);
      assert.deepEqual(await home.read(key), ["a", "b", "c"]);
    });

    test(`${what}, while it is closed: they go to foreign/ with the next entry`, async (t) => {
      const home = await Home.open(t);
      const key = await home.talk("one", "a", "b");
      const file = await home.file(key);
      await home.close();
      appendFileSync(file, bytes);
      await home.reopen();
      assert.deepEqual(await home.read(key), ["a", "b"]);
      await home.say(key, "c");
      await movedAside(home, key, bytes);
      assert.deepEqual(await home.read(key), ["a", "b", "c"]);
    });

    test(`${what}, after our lines and before a crash: they go to foreign/, and only they`, async (t) => {
      const path = join(scratch(t), "home");
      await crashed(new Program(t, { home: path, source: TALK }), (file) => appendFileSync(file, bytes));
      const home = await Home.open(t, path);
      const key = namedKey(DEFAULT_AGENT, "one");
      assert.deepEqual(await home.read(key), ["a", "b"]);
      await home.say(key, "c"); // The journal may have been emptied before the crash; then nothing was looked at yet.
      await movedAside(home, key, bytes);
      assert.deepEqual(await home.read(key), ["a", "b", "c"]);
    });

    test(`${what}, where our lines were to go when it crashed: they go to foreign/, and ours take their place`, async (t) => {
      const path = join(scratch(t), "home");
      await crashed(new Program(t, { home: path, source: TALK }), (file) => {
        truncateSync(file, readFileSync(file).indexOf("\n") + 1);
        appendFileSync(file, bytes);
      });
      assert.ok(journalled(path) > 0, "the lines are in the journal");
      const home = await Home.open(t, path);
      const key = namedKey(DEFAULT_AGENT, "one");
      await movedAside(home, key, bytes);
      assert.deepEqual(await home.read(key), ["a", "b"]);
    });
  }
});

/** Says where the file is once the lines are in it, and stays. */
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

/** Kills it, and then does to its file what somebody else did at that moment. */
async function crashed(program: Program, alter: (file: string) => void): Promise<void> {
  const file = String(await program.hear());
  await program.kill();
  alter(file);
}

/** Looked at in a copy: a start would empty it. */
function journalled(home: string): number {
  cpSync(home, `${home}.copy`, { recursive: true });
  const database = new DatabaseSync(join(`${home}.copy`, "state.sqlite"));
  const row = database.prepare("SELECT count(*) AS n FROM journal_a").get();
  database.close();
  return Number(row?.["n"]);
}

async function movedAside(home: Home, key: SessionKey, bytes: string): Promise<void> {
  await home.store.checkpoint();
  const row = await home.row(key);
  const lines = readFileSync(await home.file(key), "utf8");
  assert.equal(Buffer.byteLength(lines), row.transcript.bytes);
  assert.equal(lines.split("\n").length, 1 + row.transcript.lastSeq + 1);
  const aside = readdirSync(home.paths.foreign);
  assert.deepEqual(
    aside.map((name) => readFileSync(join(home.paths.foreign, name), "utf8")),
    [bytes],
  );
  const [notice, ...others] = home.heardOf("foreign_bytes");
  assert.deepEqual([notice?.count, others], [bytes.length, []]);
  assert.ok(notice?.msg.includes(aside[0] ?? "?"), notice?.msg);
  assert.deepEqual(home.deaths, []);
}

interface Hurt {
  readonly what: string;
  readonly hurt: (file: string) => void;
  /** What is read of the entries 1 to 5. */
  readonly left: readonly string[];
  /** What is read beside it when the next entry's number shows that more is missing than a bad line; null: nothing. */
  readonly more: string | null;
  /** Part of what fsck says of it. */
  readonly finding: RegExp;
}

const HURTS: readonly Hurt[] = [
  {
    what: "cut short in the middle of a line",
    hurt: (file) => truncateSync(file, lineStart(file, 3) + 10),
    left: ["1", "2", "[not_json]"],
    more: "[missing]",
    finding: /line 4 is not JSON/,
  },
  {
    what: "cut short between two lines",
    hurt: (file) => truncateSync(file, lineStart(file, 3)),
    left: ["1", "2", "[missing]"],
    more: null,
    finding: /line 4 is missing/,
  },
  {
    what: "emptied",
    hurt: (file) => truncateSync(file, 0),
    left: ["[missing]"],
    more: null,
    finding: /line 1 is missing/,
  },
  {
    what: "removed",
    hurt: (file) => rmSync(file),
    left: ["[missing]"],
    more: null,
    finding: /line 1 is missing/,
  },
  {
    what: "replaced by a shorter one, and kept under another name",
    hurt: (file) => {
      const lines = readFileSync(file, "utf8").split("\n");
      renameSync(file, `${file}~`);
      writeFileSync(file, `${lines.slice(0, 3).join("\n")}\n`);
    },
    left: ["1", "2", "[missing]"],
    more: null,
    finding: /line 4 is missing/,
  },
  {
    what: "overwritten in one line",
    hurt: (file) => overwrite(file, 3, "x"),
    left: ["1", "2", "[not_json]", "4", "5"],
    more: null,
    finding: /line 4 is not JSON/,
  },
  {
    what: "overwritten in one line with something that is JSON",
    hurt: (file) => overwrite(file, 3, " ", "[1,2,3]"),
    left: ["1", "2", "[wrong_shape]", "4", "5"],
    more: null,
    finding: /line 4 is not an entry/,
  },
];

describe("a transcript file that was", () => {
  for (const hurt of HURTS) {
    test(`${hurt.what} while the store was open shows a gap; what is left is read, and entries are added`, async (t) => {
      const home = await Home.open(t);
      const key = await home.talk("one", "1", "2", "3", "4", "5");
      await home.store.checkpoint();
      await goesOn(home, key, hurt);
    });

    test(`${hurt.what} while the store was closed shows a gap; what is left is read, and entries are added`, async (t) => {
      const home = await Home.open(t);
      const key = await home.talk("one", "1", "2", "3", "4", "5");
      await home.reopen();
      await goesOn(home, key, hurt);
    });
  }
});

test("of damage in a transcript only what was asked for is told: nothing that comes after the last of it", async (t) => {
  const home = await Home.open(t);
  const key = await home.talk("one", "1", "2", "3", "4", "5", "6");
  await home.reopen();
  const file = await home.file(key);
  for (const seq of [4, 5]) overwrite(file, seq, "x");
  const { id } = (await home.row(key)).transcript;
  const told = async (since: number, through: number): Promise<readonly (number | string)[]> =>
    (await Array.fromAsync(home.store.entries(id, { since, through }))).map((item) =>
      item.type === "gap" ? item.reason : item.seq,
    );
  assert.deepEqual(await told(2, 3), [2, 3]);
  // Nobody knows which of the lines that cannot be read it was.
  assert.deepEqual(await told(4, 4), ["not_json", "not_json"]);
  assert.deepEqual(await told(4, 6), ["not_json", "not_json", 6]);
  assert.deepEqual([await told(6, 6), await told(7, 7)], [[6], []]);
});

/** A session whose transcript is only in the journal any more. */
async function vanished(t: TestContext): Promise<{ home: Home; key: SessionKey; file: string }> {
  const home = await Home.open(t);
  const key = await home.talk("one", "1", "2");
  const file = await home.file(key);
  await written(file, (await home.row(key)).transcript.bytes);
  rmSync(file);
  return { home, key, file };
}

describe("a transcript file that disappears before the next checkpoint", () => {
  test("is written again from the journal", async (t) => {
    const { home, key } = await vanished(t);
    await home.store.checkpoint();
    assert.equal(home.heardOf("missing_bytes").length, 1);
    await isWhole(home, key, ["1", "2"]);
  });

  test("is written again from the journal when more is said", async (t) => {
    const { home, key, file } = await vanished(t);
    await home.say(key, "3");
    await written(file, (await home.row(key)).transcript.bytes);
    await home.store.checkpoint();
    await isWhole(home, key, ["1", "2", "3"]);
  });
});

async function written(file: string, bytes: number): Promise<void> {
  while (statSync(file, { throwIfNoEntry: false })?.size !== bytes) await sleep(1);
}

async function isWhole(home: Home, key: SessionKey, texts: readonly string[]): Promise<void> {
  await home.reopen();
  assert.deepEqual(await home.read(key), texts);
  assert.deepEqual(home.deaths, []);
  await home.close();
  assert.deepEqual((await fsck(home.path, home.world.nowMs(), () => {})).findings, []);
}

async function goesOn(home: Home, key: SessionKey, { hurt, left, more, finding }: Hurt): Promise<void> {
  const file = await home.file(key);
  hurt(file);
  const before = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
  assert.deepEqual(await home.read(key), left);
  assert.deepEqual(await home.read(key, { before: null }), left.toReversed());

  await home.say(key, "6");
  await home.say(key, "7");
  await home.store.checkpoint();
  await home.say(key, "8");
  await home.reopen();
  assert.deepEqual(await home.read(key), [...left, ...(more === null ? [] : [more]), "6", "7", "8"]);
  assert.deepEqual(await home.read(key, { before: null }), [...left, "6", "7", "8"].toReversed());
  assert.deepEqual(home.deaths, []);

  const { transcript } = await home.row(key);
  const after = readFileSync(file);
  assert.equal(after.length, transcript.bytes);
  assert.deepEqual(after.subarray(0, before.length), before, "nothing that was there is gone");

  await home.close();
  const { findings } = await fsck(home.path, home.world.nowMs(), () => {});
  assert.deepEqual(
    new Set(findings.map(({ grade, where }) => `${grade} ${where}`)),
    new Set([`damage ${file}`]),
  );
  assert.match(findings[0]?.message ?? "", finding);
}

/** Where entry number `seq` begins. */
function lineStart(file: string, seq: number): number {
  const bytes = readFileSync(file);
  let at = 0;
  for (let line = 0; line < seq; line += 1) at = bytes.indexOf("\n", at) + 1;
  return at;
}

function overwrite(file: string, seq: number, filler: string, text = ""): void {
  const bytes = readFileSync(file);
  const [start, end] = [lineStart(file, seq), lineStart(file, seq + 1) - 1];
  bytes.write(text.padEnd(end - start, filler), start);
  writeFileSync(file, bytes);
}

test("more transcripts than files are kept open are written without losing a line", async (t) => {
  const home = await Home.open(t);
  const names = Array.from({ length: OPEN_FILES_MAX + 88 }, (_, n) => `number-${n}`);
  const keys = await Promise.all(names.map((name) => home.talk(name, `${name} a`)));
  for (const again of ["b", "c"]) {
    await Promise.all(keys.map((key, at) => home.say(key, `${names[at]} ${again}`)));
    await home.store.checkpoint();
  }
  const descriptors = existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0;
  assert.ok(descriptors < OPEN_FILES_MAX + 100, `${descriptors} files are open`);
  await home.reopen();
  for (const [at, key] of keys.entries()) {
    const name = names[at];
    assert.deepEqual(await home.read(key), [`${name} a`, `${name} b`, `${name} c`]);
    assert.equal(readFileSync(await home.file(key)).length, (await home.row(key)).transcript.bytes);
  }
  assert.deepEqual([home.heard, home.deaths], [[], []]);
});

test("folders that two threads make at the same time are there for both", async (t) => {
  const home = scratch(t);
  const { href } = new URL("../../base/directory.ts", import.meta.url);
  const script = `
    const { workerData, threadId } = require("node:worker_threads");
    import(workerData.href).then(({ makeDirectory }) => {
      for (let n = 0; n < 300; n += 1) makeDirectory(workerData.home + "/" + n + "/a/b/" + threadId);
    });`;
  const both = [1, 2].map(() => new Worker(script, { eval: true, workerData: { href, home } }));
  const ends = await Promise.all(both.map((worker) => once(worker, "exit")));
  assert.deepEqual(ends, [[0], [0]]);
  assert.equal(readdirSync(join(home, "299", "a", "b")).length, 2);
});
