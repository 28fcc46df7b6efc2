import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { filledHome, KEYS, rowsOf } from "../../test/fixtures/content.ts";
import { Home, opening, scratch } from "../../test/fixtures/home.ts";
import { Program } from "../../test/fixtures/program.ts";
import { blobPath, transcriptPath } from "../store/local/paths.ts";
import { specOf } from "../../test/timers/specs.ts";
import { DEFAULT_AGENT, mainKey } from "../routing/key.ts";
import { LADDER } from "../store/local/schema.ts";
import { addJob } from "../timers/jobs.ts";
import { fsck, type Finding } from "./fsck.ts";

async function findingsIn(home: Home): Promise<readonly Finding[]> {
  return (await fsck(home.path, home.world.nowMs(), () => {})).findings;
}

test("fsck is silent on a home with some of everything, and changes nothing in it", async (t) => {
  const home = await filledHome(t);
  const sessions = Object.keys(KEYS).length;
  const before = prints(home.path);
  const seen: number[] = [];
  const checked = await fsck(home.path, home.world.nowMs(), (done) => seen.push(done));
  assert.deepEqual(checked, { sessions, findings: [] });
  assert.deepEqual(
    seen,
    Array.from({ length: sessions }, (_, at) => at + 1),
  );
  assert.deepEqual(prints(home.path), before);
  await home.reopen();
  assert.equal((await rowsOf(home.store)).size, sessions);
});

function prints(path: string): Record<string, string> {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files
    .map((file) => join(file.parentPath, file.name))
    .filter((file) => !file.includes("owner.sqlite"));
  return Object.fromEntries(
    paths.map((file) => [file, createHash("sha256").update(readFileSync(file)).digest("hex")]),
  );
}

test("fsck is silent after a kill, when lines are still in the journal", async (t) => {
  const home = join(scratch(t), "home");
  const source = `
    const store = await open();
    const key = namedKey(DEFAULT_AGENT, "one");
    await store.commit([opening(key, world.newId()), appending(key, 0, [said("a"), said("b")])]);
    say("ready");
    await forever();
  `;
  const program = new Program(t, { home, source });
  await program.hear();
  await program.kill();
  assert.deepEqual(await fsck(home, 0, () => {}), { sessions: 1, findings: [] });
});

interface Wrong {
  readonly what: string;
  readonly hurt: (home: Home, file: string) => void;
  readonly finding: { readonly grade: Finding["grade"]; readonly where: RegExp; readonly message: RegExp };
}

const sql =
  (text: string): Wrong["hurt"] =>
  (home) =>
    alter(home, text);

/** Changes main's row in the same way as its JSON is kept. */
const tail = (name: string, value: string): Wrong["hurt"] =>
  sql(`UPDATE sessions SET body = json_set(body, '$.tail.${name}', ${value}) WHERE key = '${KEYS.main}'`);

const WRONGS: readonly Wrong[] = [
  {
    what: "a last seq that the file does not have",
    hurt: tail("lastSeq", "99"),
    finding: inFile(/last seq: the file says 7, the row 99/),
  },
  {
    what: "a last entry that is not the file's",
    hurt: tail("leafId", "'x'"),
    finding: inFile(/last entry: .*the row "x"/),
  },
  {
    what: "another start of the context",
    hurt: tail("contextSeq", "1"),
    finding: inFile(/start of the context: the file says 3, the row 1/),
  },
  {
    what: "another size of the context",
    hurt: tail("contextTokens", "5"),
    finding: inFile(/tokens of the context: the file says 40, the row 5/),
  },
  {
    what: "another last jump",
    hurt: tail("jumpSeq", "2"),
    finding: inFile(/last jump: the file says 0, the row 2/),
  },
  {
    what: "another number of copied entries",
    hurt: tail("copied", "2"),
    finding: inFile(/copied entries: the file says 0, the row 2/),
  },
  {
    what: "another title",
    hurt: sql(
      `UPDATE sessions SET title = 'x', body = json_set(body, '$.title', 'x') WHERE key = '${KEYS.silent}'`,
    ),
    finding: inFile(/title: .*the row "x"/),
  },
  {
    what: "a column that is not what the record says",
    hurt: sql(`UPDATE sessions SET ready = 1 WHERE key = '${KEYS.main}'`),
    finding: inState(/agent:main:main: column ready is 1, by the record 0/),
  },
  {
    what: "a row under another key than the file says",
    hurt: sql(`UPDATE sessions SET key = 'agent:main:thread:x' WHERE key = '${KEYS.silent}'`),
    finding: {
      grade: "damage",
      where: /\.jsonl$/,
      message: /key: the file says "agent:main:thread:silent", the row "agent:main:thread:x"/,
    },
  },
  {
    what: "a letter that waits for nobody",
    hurt: sql(
      "INSERT INTO mail (id, recipient, others, capped, posted_ms, print, body) VALUES ('ext:x', 'agent:main:thread:x', '[]', 1, 0, '', '{}')",
    ),
    finding: inState(/a waiting letter for agent:main:thread:x, which does not exist: ext:x/),
  },
  {
    what: "a timer of nobody",
    hurt: sql("INSERT INTO timers VALUES ('timer-x', 'agent:main:thread:x', 0, 'null')"),
    finding: inState(/a timer of agent:main:thread:x, which does not exist: timer-x/),
  },
  {
    what: "an answer of nobody",
    hurt: sql(
      "INSERT INTO outbox (id, key, posted_ms, body) VALUES ('answer-x', 'agent:main:thread:x', 0, '{}')",
    ),
    finding: inState(/an answer of agent:main:thread:x, which does not exist: answer-x/),
  },
  {
    what: "journalled lines of nobody",
    hurt: sql("INSERT INTO journal_b (session, offset, lines) VALUES (999, 0, x'7b7d0a')"),
    finding: inState(/journalled lines of 999, which does not exist/),
  },
  {
    what: "a child whose parent never was",
    hurt: sql(`UPDATE sessions SET parent = 'agent:main:thread:x' WHERE key = '${KEYS.named}'`),
    finding: inState(/a child of agent:main:thread:x, which does not exist: agent:main:thread:named/),
  },
  {
    what: "a blob that the state does not know to be named",
    hurt: sql("DELETE FROM blobs WHERE transcript = (SELECT min(transcript) FROM blobs)"),
    finding: { grade: "damage", where: /\.jsonl$/, message: /the state does not know that it names blob/ },
  },
  {
    what: "a journal that goes on beyond the row",
    hurt: sql(
      `INSERT INTO journal_a (session, offset, lines) SELECT n, json_extract(body, '$.tail.bytes'), x'7b7d0a' FROM sessions WHERE key = '${KEYS.main}'`,
    ),
    finding: inFile(/journal and file end at byte \d+, the row says \d+/),
  },
  {
    what: "a missing blob",
    hurt: (home) => rmSync(oneBlob(home)),
    finding: { grade: "damage", where: /blobs/, message: /^missing; .*\.jsonl names it$/ },
  },
  {
    what: "an altered blob",
    hurt: (home) => appendFileSync(oneBlob(home), "x"),
    finding: {
      grade: "damage",
      where: /blobs/,
      message: /its bytes have the hash [0-9a-f]{64}; .* names it/,
    },
  },
  {
    what: "a transcript of no session",
    hurt: (_home, file) => writeFileSync(join(file, "../unknown.jsonl"), readFileSync(file)),
    finding: { grade: "note", where: /unknown\.jsonl$/, message: /no session has this transcript/ },
  },
  {
    what: "a bad line",
    hurt: (_home, file) => writeFileSync(file, readFileSync(file, "utf8").replace('"42"', "'42'")),
    finding: inFile(/line 3 is not JSON/),
  },
  {
    what: "a short file",
    hurt: (_home, file) => truncateSync(file, 400),
    finding: inFile(/line \d is not JSON/),
  },
  { what: "a missing file", hurt: (_home, file) => rmSync(file), finding: inFile(/line 1 is missing/) },
  {
    what: "bytes of a stranger",
    hurt: (_home, file) => appendFileSync(file, "theirs\n"),
    finding: { ...inFile(/another program added 7 bytes/), grade: "note" },
  },
];

function inFile(message: RegExp): Wrong["finding"] {
  return { grade: "damage", where: /\.jsonl$/, message };
}

function inState(message: RegExp): Wrong["finding"] {
  return { grade: "damage", where: /state\.sqlite$/, message };
}

describe("fsck finds", () => {
  for (const { what, hurt, finding } of WRONGS) {
    test(what, async (t) => {
      const home = await filledHome(t);
      hurt(home, mainFile(home));
      const findings = await findingsIn(home);
      const found = findings.filter(
        ({ grade, where, message }) =>
          grade === finding.grade && finding.where.test(where) && finding.message.test(message),
      );
      assert.ok(found.length > 0, `among ${JSON.stringify(findings, null, 2)}`);
      assert.ok(
        findings.every(({ where }) => where === found[0]?.where),
        "nothing else is wrong",
      );
    });
  }

  for (const [what, hurt] of [
    ["is no database", (path: string) => writeFileSync(path, "something else ".repeat(1_000))],
    ["lost its second half", (path: string) => truncateSync(path, 32 * 1024)],
    ["is empty", (path: string) => truncateSync(path, 0)],
    ["is missing", (path: string) => rmSync(path)],
  ] as const) {
    test(`a state that ${what}, and says that rebuild helps`, async (t) => {
      const home = await filledHome(t);
      hurt(home.paths.state);
      const findings = await findingsIn(home);
      const said = findings.filter(({ where, grade }) => where === home.paths.state && grade === "damage");
      assert.match(said.at(-1)?.message ?? "", /rebuild/);
    });
  }
});

test("J1: fsck finds jobs without their alarm, and alarms without their job", async (t) => {
  const home = await filledHome(t);
  await home.reopen();
  const main = mainKey(DEFAULT_AGENT);
  const add = (id: string) => addJob(specOf(), { id, agent: DEFAULT_AGENT, nowMs: 0 }).changes;
  await home.store.commit([
    opening(main, home.world.newId(), { ifExists: "keep" }),
    ...["right", "none", "late", "broken"].flatMap(add),
  ]);
  await home.close();
  assert.deepEqual(await findingsIn(home), []);
  alter(
    home,
    `DELETE FROM timers WHERE id = 'job:none'; UPDATE timers SET due_ms = 7 WHERE id = 'job:late';
     UPDATE jobs SET body = '{' WHERE id = 'broken';
     INSERT INTO timers VALUES ('job:ghost', '${main}', 0, 'null')`,
  );
  const found = (await findingsIn(home)).map(({ grade, message }) => `${grade}: ${message}`);
  const set = `by the record of ${main} at 1970-01-01T00:01:00.000Z; the next start sets it`;
  assert.match(found[0] ?? "", /^damage: job broken: its record cannot be read/);
  assert.deepEqual(found.slice(1), [
    `damage: job late: its alarm is of ${main} at 1970-01-01T00:00:00.007Z, ${set}`,
    `damage: job none: its alarm is not set, ${set}`,
    "note: timer job:ghost is of no job; it comes to nothing",
  ]);
});

test("fsck refuses a state of a newer version", async (t) => {
  const home = await Home.open(t);
  await home.close();
  alter(home, `PRAGMA user_version = ${LADDER.length + 1}`);
  await assert.rejects(findingsIn(home), { code: "state_too_new" });
});

test("fsck refuses a home that is in use, and one that is not there, which it does not make", async (t) => {
  const home = await Home.open(t);
  await assert.rejects(
    fsck(home.path, 0, () => {}),
    { code: "in_use" },
  );
  const nowhere = join(scratch(t), "nowhere");
  await assert.rejects(
    fsck(nowhere, 0, () => {}),
    { code: "not_found" },
  );
  assert.equal(existsSync(nowhere), false);
});

function alter(home: Home, text: string): void {
  const database = new DatabaseSync(home.paths.state);
  database.exec(text);
  database.close();
}

function mainFile(home: Home): string {
  const database = new DatabaseSync(home.paths.state);
  const row = database.prepare("SELECT transcript FROM sessions WHERE key = ?").get(KEYS.main);
  database.close();
  return transcriptPath(home.paths, "main", String(row?.["transcript"]));
}

function oneBlob(home: Home): string {
  const names = readdirSync(home.paths.blobs, { recursive: true, encoding: "utf8" });
  const name = names.find((path) => path.includes("/")) ?? "";
  return blobPath(home.paths, name.split("/")[1] ?? "");
}
