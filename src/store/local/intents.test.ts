// What is left to do when sessions are gone: a little at a time, and whatever is left by whoever stops is done by the next start.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { setImmediate as next } from "node:timers/promises";
import { afterwards, AT, Home, scratch } from "../../../test/fixtures/home.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { BlobName, Draft } from "../../transcript/entry.ts";
import { collectBlobs } from "./collect.ts";
import { ALONE, finishIntents, finishSome, Leftovers, type Finishing } from "./intents.ts";
import { blobPath } from "./paths.ts";
import { climb, LADDER, openState } from "./schema.ts";
import { Tables } from "./tables.ts";
import type { Notice } from "./wire.ts";

function naming(blob: BlobName): Draft {
  const content = [{ type: "text", text: "see", blob }] as const;
  return { type: "message", timestamp: AT, message: { role: "user", content, timestamp: 0 } };
}

/** The state of a closed home, in which these sessions have been deleted and nothing else has been done. */
function deleted(t: TestContext, home: Home, keys: readonly SessionKey[]): DatabaseSync {
  const database = openState(home.paths);
  afterwards(t, () => database.isOpen && database.close());
  const tables = new Tables(database);
  for (const key of keys) {
    const found = tables.find(key);
    if (found !== null) tables.erase(found, 0);
  }
  return database;
}

function files(home: Home, folder: "agents" | "blobs"): string[] {
  const all = readdirSync(home.paths[folder], { recursive: true, encoding: "utf8" });
  return all.filter((name) => /\.jsonl$|[0-9a-f]{64}$/.test(name));
}

function left(database: DatabaseSync): number {
  return Number(database.prepare("SELECT count(*) AS n FROM intents").get()?.["n"]);
}

async function many(t: TestContext, count: number): Promise<{ home: Home; keys: SessionKey[] }> {
  const home = await Home.open(t);
  const keys = await Promise.all(Array.from({ length: count }, (_, n) => home.talk(`${n}`, "words")));
  await home.close();
  return { home, keys };
}

describe("sessions that are gone", () => {
  test("have their files removed a few at a time, and commits come in between", async (t) => {
    const { home, keys } = await many(t, 40);
    const database = deleted(t, home, keys);
    const leftovers = new Leftovers(database, home.paths, ALONE, (work) => work());
    leftovers.finishSoon();
    const lefts = [left(database)];
    while (left(database) > 0) {
      await next();
      lefts.push(left(database));
    }
    assert.deepEqual(lefts, [24, 8, 0]);
    assert.deepEqual(files(home, "agents"), []);
  });

  test("have them all removed by the next start, wherever the last one stopped", async (t) => {
    const { home, keys } = await many(t, 40);
    const database = deleted(t, home, keys);
    assert.equal(finishSome(database, home.paths, ALONE, 0).count, 16);
    assert.equal(files(home, "agents").length, 24);
    database.close();
    await home.reopen();
    assert.match(home.heardOf("recovered")[0]?.msg ?? "", /deletions and moves finished: 24/);
    assert.deepEqual(files(home, "agents"), []);
  });

  test("leave nothing for the next start when the store is closed", async (t) => {
    const home = await Home.open(t);
    const keys = await Promise.all(Array.from({ length: 60 }, (_, n) => home.talk(`${n}`, "words")));
    await home.store.checkpoint();
    await home.store.commit(keys.map((key) => ({ do: "delete", key, expect: null })));
    await home.close();
    assert.deepEqual(files(home, "agents"), []);
    await home.reopen();
    assert.deepEqual(home.heardOf("recovered"), []);
  });

  test("take their blobs along, a few at a time, also when one names very many", async (t) => {
    const home = await Home.open(t);
    const key = await home.talk("many", "words");
    const blobs = await Promise.all(
      Array.from({ length: 40 }, (_, n) => home.store.putBlob(Buffer.from(`${n}`))),
    );
    await home.append(key, blobs.map(naming));
    await home.close();
    const database = deleted(t, home, [key]);
    const lefts: number[] = [];
    for (let after: number | null = 0; after !== null;) {
      after = finishSome(database, home.paths, ALONE, after).next;
      lefts.push(files(home, "blobs").length);
    }
    assert.deepEqual(lefts, [24, 8, 0]);
    assert.deepEqual(files(home, "agents"), []);
    assert.equal(left(database), 0);
  });

  test("take along what several of them named, and nobody else; what a letter names stays", async (t) => {
    const home = await Home.open(t);
    const [a, b, c] = [await home.talk("a", "1"), await home.talk("b", "1"), await home.talk("c", "1")];
    const put = (text: string): Promise<BlobName> => home.store.putBlob(Buffer.from(text));
    const [shared, waiting, kept] = [await put("shared"), await put("waiting"), await put("kept")];
    for (const key of [a, b]) await home.append(key, [shared, waiting, kept].map(naming));
    await home.append(c, [naming(kept)]);
    const content = [{ type: "text", text: "see", blob: waiting }] as const;
    const from = { kind: "internal_system", cause: "x" } as const;
    const letter = { id: "cause:x", from, class: "background", mode: "followup", content } as const;
    await home.store.commit([
      { do: "post", to: [c], letter: { ...letter, replyTo: null, origin: null } as never },
    ]);
    await home.close();
    const database = deleted(t, home, [a, b]);
    finishIntents(database, home.paths, ALONE);
    const there = ({ sha256 }: BlobName): boolean => existsSync(blobPath(home.paths, sha256));
    assert.deepEqual([there(shared), there(waiting), there(kept)], [false, true, true]);
    database.close();
    // Taken, it is nobody's.
    await home.reopen();
    await home.store.commit([{ do: "take", key: c, fence: 0, ids: ["cause:x"] }]);
    home.world.pass(2 * 3_600_000);
    for (let cursor: string | null = null; ;) {
      const part = await home.store.collect({ cursor, isDry: false });
      if (part.next === null) break;
      cursor = part.next;
    }
    assert.deepEqual([there(waiting), there(kept)], [false, true]);
  });
});

describe("a file that cannot be removed", () => {
  /** Not even root can. */
  function wall(path: string): void {
    mkdirSync(dirname(path), { recursive: true });
    mkdirSync(path);
    writeFileSync(join(path, "x"), "x");
  }

  test("keeps its intent, is told of, and the others go", async (t) => {
    const { home, keys } = await many(t, 3);
    const database = deleted(t, home, keys);
    const [, second] = files(home, "agents");
    const path = join(home.paths.agents, second ?? "");
    rmSync(path);
    wall(path);
    const notices: Notice[] = [];
    const how: Finishing = { ...ALONE, notify: (notice) => notices.push(notice) };
    assert.equal(finishIntents(database, home.paths, how), 2);
    assert.equal(left(database), 1);
    assert.deepEqual(
      notices.map(({ what, count }) => [what, count]),
      [["not_removed", 1]],
    );
    rmSync(path, { recursive: true });
    assert.equal(finishIntents(database, home.paths, how), 1);
  });

  test("is passed over when blobs are collected, and the store goes on", async (t) => {
    const home = await Home.open(t);
    await home.close();
    const database = openState(home.paths);
    afterwards(t, () => database.close());
    const [stays, goes] = ["a".repeat(64), "b".repeat(64)];
    wall(blobPath(home.paths, stays));
    mkdirSync(dirname(blobPath(home.paths, goes)));
    writeFileSync(blobPath(home.paths, goes), "x");
    const notices: Notice[] = [];
    const how = { isHeld: () => false, notify: (notice: Notice) => void notices.push(notice) };
    assert.deepEqual(collectBlobs(database, home.paths, [stays, goes], how), [goes]);
    assert.equal(existsSync(blobPath(home.paths, goes)), false);
    assert.match(notices[0]?.message ?? "", /could not be removed/);
  });
});

test("an older state learns which blobs waiting letters and answers name, and forgets them with those", (t) => {
  const path = join(scratch(t), "state.sqlite");
  const database = new DatabaseSync(path);
  afterwards(t, () => database.close());
  climb(database, LADDER.slice(0, 1), path);
  const body = (digit: string): string =>
    JSON.stringify({ content: [{ type: "text", blob: { sha256: digit.repeat(64), bytes: 1 } }] });
  const post =
    "INSERT INTO mail (id, recipient, others, capped, posted_ms, body, taken_ms) VALUES (?,'k','[]',0,0,?,?)";
  database.prepare(post).run("waits", body("1"), null);
  database.prepare(post).run("goes", body("2"), null);
  database.prepare(post).run("taken", null, 1);
  database.prepare("INSERT INTO outbox (id, key, posted_ms, body) VALUES ('answer','k',0,?)").run(body("3"));
  climb(database, LADDER, path);
  const named = (): string[] =>
    database
      .prepare("SELECT sha256, transcript FROM blobs ORDER BY sha256")
      .all()
      .map(({ sha256, transcript }) => `${String(sha256)[0]} ${String(transcript)}`);
  assert.deepEqual(named(), ["1 mail:waits", "2 mail:goes", "3 outbox:answer"]);
  database.exec("UPDATE mail SET recipient = 'other' WHERE id = 'waits'");
  database.exec("DELETE FROM mail WHERE id = 'goes'");
  assert.deepEqual(named(), ["1 mail:waits", "3 outbox:answer"]);
  database.exec("UPDATE mail SET body = NULL, taken_ms = 1 WHERE id = 'waits'");
  database.exec("UPDATE outbox SET refused = 'no' WHERE id = 'answer'");
  assert.deepEqual(named(), ["3 outbox:answer"]);
  database.exec("DELETE FROM outbox");
  assert.deepEqual(named(), []);
});
