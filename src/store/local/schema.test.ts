import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { afterwards, Home, scratch } from "../../../test/fixtures/home.ts";
import { Fault } from "../../base/fault.ts";
import type { SessionKey } from "../../routing/key.ts";
import { answered } from "../contract/samples.ts";
import { climb, LADDER, versionOf } from "./schema.ts";

/** A ladder of our own: the second step changes what the first one made. */
const LADDER_OF_TWO = [
  "CREATE TABLE words (word TEXT); INSERT INTO words VALUES ('as it was');",
  "ALTER TABLE words ADD COLUMN length INTEGER; UPDATE words SET length = length(word);",
];

function made(t: TestContext, ladder: readonly string[]): { path: string; database: DatabaseSync } {
  const path = join(scratch(t), "state.sqlite");
  const database = new DatabaseSync(path);
  afterwards(t, () => database.isOpen && database.close());
  climb(database, ladder, path);
  return { path, database };
}

/** The copies that were made beside a database. */
function copiesOf(path: string): string[] {
  return readdirSync(join(path, "..")).filter((name) => name.includes(".version-"));
}

describe("the ladder of the state", () => {
  test("an older state climbs to the top, after a copy of it was made", (t) => {
    const { path, database } = made(t, LADDER_OF_TWO.slice(0, 1));
    climb(database, LADDER_OF_TWO, path);
    assert.equal(versionOf(database), 2);
    assert.deepEqual({ ...database.prepare("SELECT * FROM words").get() }, { word: "as it was", length: 9 });

    const [copy, ...others] = copiesOf(path);
    assert.match(copy ?? "", /^state\.sqlite\.version-1-\d+$/);
    assert.deepEqual(others, []);
    const old = new DatabaseSync(join(path, "..", copy ?? ""));
    assert.equal(versionOf(old), 1);
    assert.deepEqual({ ...old.prepare("SELECT * FROM words").get() }, { word: "as it was" });
    assert.equal(old.prepare("PRAGMA integrity_check").get()?.["integrity_check"], "ok");
    old.close();
  });

  test("a state at the top stays as it is, without a copy", (t) => {
    const { path, database } = made(t, LADDER_OF_TWO);
    climb(database, LADDER_OF_TWO, path);
    assert.deepEqual(copiesOf(path), []);
  });

  test("a step that fails leaves the old version as it was, and the database usable", (t) => {
    const { path, database } = made(t, LADDER_OF_TWO.slice(0, 1));
    const failing = [...LADDER_OF_TWO, "DELETE FROM words; INSERT INTO nowhere VALUES (1);"];
    assert.throws(() => climb(database, failing, path), /no such table: nowhere/);
    assert.equal(database.isTransaction, false);
    assert.equal(versionOf(database), 1);
    assert.deepEqual({ ...database.prepare("SELECT * FROM words").get() }, { word: "as it was" });
    climb(database, LADDER_OF_TWO, path);
    assert.equal(versionOf(database), 2);
  });

  test("a newer state is refused, and nothing is touched", (t) => {
    const { path, database } = made(t, LADDER_OF_TWO);
    assert.throws(() => climb(database, LADDER_OF_TWO.slice(0, 1), path), {
      code: "state_too_new",
      message: /version 2; this program knows up to 1/,
    });
    assert.deepEqual([versionOf(database), copiesOf(path)], [2, []]);
  });
});

describe("a home whose state", () => {
  test("was written by a newer version is not opened, and no byte of it changes", async (t) => {
    const home = await Home.open(t);
    await home.talk("one", "hello");
    await home.close();
    alter(home, `PRAGMA user_version = ${LADDER.length + 1}`);
    const before = prints(home.path);
    await assert.rejects(home.reopen(), { name: "Fault", code: "state_too_new" });
    assert.deepEqual(prints(home.path), before);
    alter(home, `PRAGMA user_version = ${LADDER.length}`);
    await home.reopen();
    assert.equal((await home.store.sessions({})).rows.length, 1);
  });

  test("did not know whom archives were born below, or where their numbers begin, finds that out", async (t) => {
    const home = await Home.open(t);
    const top = await home.talk("top", "hello");
    const child = await home.talk("child", "1", "2");
    const { id, lastSeq: after } = (await home.row(child)).transcript;
    const away = { cwd: "/", fence: 0, keep: "nothing", transcript: home.world.newId() } as const;
    await home.store.commit([{ do: "rotate", key: child, after, ...away }]);
    await home.say(child, "3");
    const expect = { transcript: away.transcript, lastSeq: 3 };
    await home.store.commit([{ do: "archive", key: child, expect, why: "ended" }]);
    await home.close();
    alter(
      home,
      `DROP INDEX archives_parent;
       ALTER TABLE archives DROP COLUMN parent;
       ALTER TABLE generations DROP COLUMN first_seq;
       UPDATE archives SET session = json_set(session, '$.parent', '${top}') WHERE id = '${away.transcript}';
       INSERT INTO archives (id, key, agent, why, archived_ms, bytes, session) VALUES ('torn', 'torn', 'main', 'asked', 0, 0, '{');
       INSERT INTO generations (transcript, agent, archive, bytes, cut, skip) VALUES ('torn', 'main', 'torn', 0, 0, 0);
       PRAGMA user_version = 2`,
    );
    await home.reopen();
    const { rows } = await home.store.archives({ parent: top });
    assert.deepEqual(
      rows.map((archive) => [archive.id, archive.firstSeq]),
      [[away.transcript, 3]],
    );
    assert.equal((await home.store.archives({ id })).rows[0]?.firstSeq, 1);
    const plan = new DatabaseSync(home.paths.state, { readOnly: true });
    const [step] = plan
      .prepare("EXPLAIN QUERY PLAN SELECT id FROM archives WHERE parent = ? ORDER BY archived_ms, id")
      .all("x");
    plan.close();
    assert.match(String(step?.["detail"]), /archives_parent/);
  });

  test("was written before rows knew how large a context is, does not know it until the next answer", async (t) => {
    const home = await Home.open(t);
    const key = await home.talk("one", "hello");
    await home.append(key, [answered(50)]);
    const other = await home.talk("other", "hello");
    await home.append(other, [answered(60)]);
    const { id: transcript, lastSeq } = (await home.row(other)).transcript;
    await home.store.commit([{ do: "archive", key: other, expect: { transcript, lastSeq }, why: "asked" }]);
    await home.close();
    alter(
      home,
      `UPDATE sessions SET body = json_remove(body, '$.tail.contextTokens');
       UPDATE archives SET session = json_remove(session, '$.transcript.contextTokens')`,
    );
    await home.reopen();
    const tokens = async (of: SessionKey): Promise<number> => (await home.row(of)).transcript.contextTokens;
    const { rows } = await home.store.archives({ key: other });
    assert.deepEqual([await tokens(key), rows[0]?.session.transcript.contextTokens], [0, 0]);
    await home.store.commit([{ do: "restore", archive: transcript, over: null }]);
    for (const each of [key, other]) {
      await home.say(each, "on");
      assert.equal(await tokens(each), 0);
      await home.append(each, [answered(70)]);
      assert.equal(await tokens(each), 70);
    }
  });

  for (const [what, hurt] of [
    ["is no database", (path: string) => writeFileSync(path, "this is something else ".repeat(1_000))],
    ["was cut in the middle", (path: string) => truncateSync(path, 8 * 1024)],
    ["was emptied", (path: string) => truncateSync(path, 0)],
    ["is missing, though there are transcripts", (path: string) => rmSync(path)],
  ] as const) {
    test(`${what} is refused as damaged, with words that lead to rebuild`, async (t) => {
      const home = await Home.open(t);
      await home.talk("one", "hello");
      await home.close();
      hurt(home.paths.state);
      const before = prints(home.path);
      await assert.rejects(home.reopen(), (fault) => {
        assert.ok(fault instanceof Fault);
        assert.equal(fault.code, "damaged");
        assert.match(fault.message, /state\.sqlite is damaged: .*`rebuild` makes it anew/);
        return true;
      });
      assert.deepEqual(prints(home.path), before);
    });
  }

  test("was never finished is made anew, and what was left of it is ignored", async (t) => {
    const path = join(scratch(t), "home");
    mkdirSync(path);
    for (const suffix of ["", "-wal", "-shm", "-journal"])
      writeFileSync(join(path, `state.sqlite.unfinished${suffix}`), "what a power cut left ".repeat(500));
    const home = await Home.open(t, path);
    const key = await home.talk("one", "hello");
    assert.deepEqual(await home.read(key), ["hello"]);
    assert.deepEqual(
      readdirSync(path).filter((name) => name.includes("unfinished")),
      [],
    );
  });
});

function alter(home: Home, sql: string): void {
  const database = new DatabaseSync(home.paths.state);
  database.exec(sql);
  database.close();
}

/** The hash of every file below a home that nobody has open, except who had it last. */
function prints(path: string): Record<string, string> {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files
    .map((file) => join(file.parentPath, file.name))
    .filter((file) => !file.includes("owner.sqlite"));
  return Object.fromEntries(
    paths.map((file) => [file, createHash("sha256").update(readFileSync(file)).digest("hex")]),
  );
}
