// Whether the model is worth anything: SQLite, set up as it should be, must survive every cut, and set up
// carelessly it must not. Both from real recordings.

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { mkdir, rm } from "node:fs/promises";
import { test, type TestContext } from "node:test";
import { SimulatedWorld } from "../../src/base/world.ts";
import { Disk, type Cut } from "./disk.ts";
import { saidBefore } from "./operation.ts";
import { play, scratch } from "./stage.ts";
import { canTrace } from "./trace.ts";
import { materialise } from "./tree.ts";

const skip = (await canTrace()) ?? false;
const CUTS = 200;

/**
 * Inserts rows and says each when it is committed. SQLite syncs the directory it works in for its journals only, and
 * never the one above, so the program has to (or forgets it). Few pages between checkpoints: the log is emptied and
 * begun anew many times.
 */
function inserts(synchronous: string, above: "synced" | "forgotten" = "synced", journal = "wal"): string {
  return `
    import { Worker, isMainThread } from "node:worker_threads";
    import { DatabaseSync } from "node:sqlite";
    if (isMainThread) new Worker(new URL(import.meta.url), { argv: [root] });
    else {
      fs.mkdirSync(root + "/state");
      const db = new DatabaseSync(root + "/state/x.sqlite");
      db.exec("pragma journal_mode=${journal}; pragma synchronous=${synchronous}; pragma wal_autocheckpoint=12");
      db.exec("create table t (id integer primary key, body text)");
      syncDirectory(root + "/state");
      if (${above === "synced"}) syncDirectory(root);
      const insert = db.prepare("insert into t (body) values (?)");
      for (let i = 1; i <= 60; i++) {
        insert.run("v".repeat((i * 397) % 5000));
        say("row " + i);
      }
      db.close();
    }
  `;
}

/** For each of many cuts, the rows that were promised and are not there; null where the database is damaged. */
async function missing(
  t: TestContext,
  source: string,
): Promise<{ readonly cut: Cut; readonly rows: number[] | null }[]> {
  const { recording } = await play(t, source);
  const { operations } = recording;
  const world = new SimulatedWorld(1);
  const places = Array.from({ length: CUTS }, () => Math.floor(world.random() * (operations.length + 1)));
  const disk = new Disk(recording);
  const found = [];
  for (const place of places.toSorted((a, b) => a - b)) {
    const cut = disk.cut(place, () => world.random());
    const promised = [...saidBefore(operations, place).matchAll(/row (\d+)\n/g)].map(([, row]) =>
      Number(row),
    );
    const there = await rowsOf(t, cut);
    found.push({ cut, rows: there && promised.filter((row) => !there.has(row)) });
  }
  return found;
}

/** What SQLite finds after the power is back. */
async function rowsOf(t: TestContext, cut: Cut): Promise<Set<number> | null> {
  const directory = await scratch(t);
  await materialise(cut.tree, directory);
  await mkdir(join(directory, "state"), { recursive: true });
  const db = new DatabaseSync(join(directory, "state/x.sqlite"));
  try {
    if (db.prepare("pragma integrity_check").get()?.["integrity_check"] !== "ok") return null;
    if (db.prepare("select 1 from sqlite_schema where name = 't'").get() === undefined) return new Set();
    return new Set(
      db
        .prepare("select id from t")
        .all()
        .map((row) => Number(row["id"])),
    );
  } catch {
    return null; // so damaged that it cannot be asked
  } finally {
    db.close();
    await rm(directory, { recursive: true });
  }
}

test(`SQLite with synchronous=FULL has every row it promised after ${CUTS} cuts`, { skip }, async (t) => {
  for (const { cut, rows } of await missing(t, inserts("full")))
    assert.deepEqual(rows, [], `cut at ${cut.at}, ${cut.style}`);
});

test("SQLite with synchronous=OFF loses a row it promised", { skip }, async (t) => {
  const found = await missing(t, inserts("off"));
  assert.ok(found.some(({ rows }) => rows === null || rows.length > 0));
});

test("SQLite with synchronous=NORMAL loses rows, and is never damaged", { skip }, async (t) => {
  const found = await missing(t, inserts("normal"));
  assert.ok(found.some(({ rows }) => rows !== null && rows.length > 0));
  assert.ok(found.every(({ rows }) => rows !== null));
});

test("a database in a directory whose name nobody synced can be gone, rows and all", { skip }, async (t) => {
  const found = await missing(t, inserts("full", "forgotten"));
  assert.ok(found.some(({ cut, rows }) => cut.tree.size === 0 && rows !== null && rows.length > 0));
});

// The manual: "EXTRA is like FULL with the addition that the directory containing a rollback journal is synced after
// that journal is unlinked", or else the journal comes back and takes the transaction back.
test("with a rollback journal, FULL loses rows and EXTRA does not", { skip }, async (t) => {
  const full = await missing(t, inserts("full", "synced", "delete"));
  assert.ok(full.some(({ rows }) => rows !== null && rows.length > 0));
  const extra = await missing(t, inserts("extra", "synced", "delete"));
  for (const { cut, rows } of extra) assert.deepEqual(rows, [], `cut at ${cut.at}, ${cut.style}`);
});
