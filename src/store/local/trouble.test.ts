import assert from "node:assert/strict";
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "../../base/fault.ts";
import { scratch } from "../../../test/fixtures/home.ts";
import { Thread } from "./thread.ts";
import { isDamaged, isMissing, wordsOf } from "./trouble.ts";
import type { FromWriter, ToWriter } from "./wire.ts";

/** What really is thrown. */
function thrown(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

test("what the system and SQLite say has the code of its kind, and what is neither is our bug", () => {
  const folder = mkdtempSync(join(tmpdir(), "sessiond-trouble-"));
  try {
    const missing = thrown(() => openSync(join(folder, "none"), "r"));
    assert.ok(isMissing(missing));
    assert.equal(wordsOf(missing).code, "disk_failed");
    writeFileSync(join(folder, "no.sqlite"), "not a database, but long enough to be looked at".repeat(100));
    const database = new DatabaseSync(join(folder, "no.sqlite"));
    const damaged = thrown(() => database.exec("SELECT * FROM sqlite_schema"));
    database.close();
    assert.ok(isDamaged(damaged));
    assert.equal(wordsOf(damaged).code, "damaged");
    assert.equal(wordsOf(thrown(() => (null as unknown as { x: number }).x)).code, "bug");
    assert.equal(wordsOf("a text").code, "bug");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("an index of the log that cannot grow is a full disk, as SQLite says; any other failed read or write is not", () => {
  const said = (errcode: number): Error => Object.assign(new Error("disk I/O error"), { errcode });
  assert.equal(wordsOf(said(4_874)).code, "disk_full");
  assert.equal(wordsOf(said(13)).code, "disk_full");
  for (const errcode of [10, 266, 4_618, 5_130]) assert.equal(wordsOf(said(errcode)).code, "disk_failed");
});

test("a fault keeps its words, and an error tells its cause", () => {
  assert.deepEqual(wordsOf(new Fault("ended", "it is over", { cause: new Error("x") })), {
    code: "ended",
    message: "it is over",
  });
  const cause = Object.assign(new Error("EIO: i/o error"), { code: "EIO", syscall: "fsync" });
  assert.deepEqual(wordsOf(new Error("a could not be synced", { cause })), {
    code: "disk_failed",
    message: "a could not be synced: EIO: i/o error",
  });
});

test("a thread that dies of a bug says so, and whoever waits for it hears it", async (t) => {
  const { promise: death, resolve: died } = Promise.withResolvers<Fault>();
  const thread = new Thread<unknown, unknown>("reader", scratch(t), { hear: () => {}, died });
  t.after(() => thread.stop());
  await assert.rejects(
    thread.ask(() => null), // no message that it knows
    { code: "bug", message: /^the reader thread died: / },
  );
  assert.deepEqual([(await death).code, (await death).exit], ["bug", 70]);
});

test("a thread that cannot begin says why, and that it ends then is no death", async (t) => {
  const home = join(scratch(t), "home");
  writeFileSync(home, "no directory");
  const deaths: Fault[] = [];
  const thread: Thread<ToWriter, FromWriter> = new Thread("writer", home, {
    hear: (message) => message.say === "answer" && thread.settle(message.id, message.answer),
    died: (fault) => deaths.push(fault),
  });
  t.after(() => thread.stop());
  const ready = thread.ready();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500); // Meanwhile it has said so, and ended.
  await assert.rejects(ready, { code: "disk_failed" });
  await sleep(200);
  assert.deepEqual(deaths, []);
});
