import assert from "node:assert/strict";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Disk } from "./disk.ts";
import { saidBefore, type Operation, type Tree } from "./operation.ts";
import { play, scratch, type Played } from "./stage.ts";
import { canTrace, record } from "./trace.ts";
import { readTree } from "./tree.ts";

const skip = (await canTrace()) ?? false;

/** Plays the program, and checks that its operations give exactly what it left on the disk. */
async function playExactly(t: TestContext, source: string, initial: Tree = new Map()): Promise<Played> {
  const played = await play(t, source, initial);
  const { recording, root } = played;
  const rebuilt = new Disk(recording).running(recording.operations.length);
  assert.deepEqual(plain(rebuilt), plain(await readTree(root)));
  return played;
}

function plain(tree: Tree): Map<string, string | null> {
  return new Map([...tree].map(([path, bytes]) => [path, bytes && Buffer.from(bytes).toString("latin1")]));
}

/** One line for each operation; writes with their first bytes. */
function brief(operations: readonly Operation[]): string[] {
  return operations.map((operation) => {
    if (operation.op === "said") return `said ${Buffer.from(operation.bytes).toString().trim()}`;
    if (operation.op === "truncate") return `truncate ${operation.path} ${operation.size}`;
    if (operation.op !== "write") return `${operation.op} ${operation.path}`;
    const bytes = Buffer.from(operation.bytes).toString().slice(0, 10);
    return `write ${operation.path} ${operation.offset} ${bytes}`;
  });
}

test("synchronous calls are recorded in order, with offsets that calls leave out", { skip }, async (t) => {
  const { recording } = await playExactly(
    t,
    `
      fs.writeFileSync(root + "/a", "hello");
      fs.appendFileSync(root + "/a", " world");
      fs.mkdirSync(root + "/d/e", { recursive: true });
      const fd = fs.openSync(root + "/a", "r+");
      fs.readSync(fd, Buffer.alloc(3));       // moves the offset
      fs.writeSync(fd, "LO");
      fs.writeSync(fd, "H", 0);               // does not
      fs.writeSync(fd, "_");
      fs.ftruncateSync(fd, 8);
      fs.fsyncSync(fd);
      fs.closeSync(fd);
      say("one");
      fs.renameSync(root + "/a", root + "/d/e/b");
      syncDirectory(root + "/d/e");
      try { fs.unlinkSync(root + "/a"); } catch { say("failed"); }
    `,
  );
  assert.deepEqual(brief(recording.operations), [
    "create a",
    "write a 0 hello",
    "write a 5  world",
    "mkdir d",
    "mkdir d/e",
    "write a 3 LO",
    "write a 0 H",
    "write a 5 _",
    "truncate a 8",
    "sync a",
    "said one",
    "rename a -> d/e/b",
    "sync d/e",
    "said failed",
  ]);
  assert.equal(saidBefore(recording.operations, 12), "one\n");
});

test("a file keeps its contents through renames, links and removals", { skip }, async (t) => {
  await playExactly(
    t,
    `
      fs.writeFileSync(root + "/f.tmp", "new");
      fs.renameSync(root + "/f.tmp", root + "/f");                   // over an old one
      fs.linkSync(root + "/f", root + "/g");
      fs.unlinkSync(root + "/f");
      fs.writeFileSync(root + "/f", "another");                      // a new file with the old name
      const fd = fs.openSync(root + "/gone", "w+");
      fs.unlinkSync(root + "/gone");
      fs.writeSync(fd, "into a file without a name");
      fs.writeFileSync(root + "/gone", "back");
      fs.appendFileSync(root + "/old/log", "more");
      fs.writeFileSync(root + "/old/cut", "x");                      // truncated first
      fs.copyFileSync(root + "/old/log", root + "/copy");
      fs.renameSync(root + "/old", root + "/newer");
      fs.appendFileSync(root + "/newer/log", "!");
      fs.rmSync(root + "/newer/below", { recursive: true });
      fs.truncateSync(root + "/copy", 20);
      process.chdir(root);
      fs.mkdirSync("relative");
      fs.writeFileSync("relative/x", "x");
    `,
    new Map<string, Uint8Array | null>([
      ["f", Buffer.from("old")],
      ["old", null],
      ["old/below", null],
      ["old/below/x", Buffer.from("x")],
      ["old/cut", Buffer.from("a longer text")],
      ["old/log", Buffer.from("first")],
    ]),
  );
});

test("calls on the thread pool are recorded, many at once", { skip }, async (t) => {
  const { recording } = await playExactly(
    t,
    `
      const handle = await fsp.open(root + "/wide", "w+");
      await Promise.all(Array.from({ length: 64 }, (_, i) => handle.write(Buffer.alloc(1000, i), 0, 1000, i * 1000)));
      await handle.datasync();
      say("wide");
      await handle.writev([Buffer.from("ab"), Buffer.from("cd")], 100);
      await handle.close();
      await Promise.all(Array.from({ length: 16 }, (_, i) => fsp.appendFile(root + "/many" + i, "x".repeat(i))));
      const stream = fs.createWriteStream(root + "/stream");
      for (let i = 0; i < 50; i++) stream.write("line " + i + "\\n");
      await new Promise((done) => stream.end(done));
      await fsp.copyFile(root + "/wide", root + "/wide2");
      await fsp.rm(root + "/many3");
    `,
  );
  const said = recording.operations.findIndex((operation) => operation.op === "said");
  const sync = recording.operations.findIndex((operation) => operation.op === "sync");
  assert.ok(sync < said);
  const synced = recording.operations[sync];
  assert.ok(synced !== undefined);
  const covered = recording.operations.filter((one) => one.op === "write" && one.done <= synced.begun);
  assert.equal(covered.length, 64);
});

test("a SQLite database in a worker thread is recorded, checkpoints included", { skip }, async (t) => {
  const { recording } = await playExactly(
    t,
    `
      import { Worker, isMainThread } from "node:worker_threads";
      import { DatabaseSync } from "node:sqlite";
      if (isMainThread) {
        const worker = new Worker(new URL(import.meta.url), { argv: [root] });
        const reader = new DatabaseSync(root + "/main.sqlite");
        reader.exec("create table t (a)");
        await new Promise((done) => worker.on("exit", done));
      } else {
        const db = new DatabaseSync(root + "/x.sqlite");
        db.exec("pragma journal_mode=wal; pragma wal_autocheckpoint=20; create table t (a)");
        const insert = db.prepare("insert into t values (?)");
        for (let i = 0; i < 60; i++) {
          insert.run("v".repeat(i * 50));
          say("row " + i);
        }
      }
    `,
  );
  const paths = new Set(recording.operations.map(({ path }) => path));
  assert.ok(paths.has("x.sqlite-wal") && paths.has("main.sqlite-journal"));
  assert.ok(![...paths].some((path) => path.endsWith("-shm")));
  assert.equal(saidBefore(recording.operations, recording.operations.length).split("\n").length, 61);
});

test(
  "a child process shares the offset of a descriptor it was given, and says what it says",
  { skip },
  async (t) => {
    const { recording } = await playExactly(
      t,
      `
      import { spawnSync } from "node:child_process";
      const fd = fs.openSync(root + "/log", "w");
      fs.writeSync(fd, "parent ");
      const stdio = ["ignore", "inherit", "inherit", fd];
      spawnSync("sh", ["-c", "printf 'child ' >&3; cd $0; echo own > file; echo heard", root], { stdio });
      fs.writeSync(fd, "again");
    `,
    );
    assert.ok(brief(recording.operations).includes("write log 13 again"));
    assert.ok(brief(recording.operations).includes("said heard"));
  },
);

test("a program that does what no trace shows, or fails, is refused", { skip }, async (t) => {
  const refused: readonly (readonly [string, RegExp])[] = [
    [`fs.symlinkSync("a", root + "/b");`, /symlink/],
    [`fs.writeFileSync(root + "/../out", "x"); fs.renameSync(root + "/../out", root + "/in");`, /border/],
    [`fs.openSync(root + "/s", "as");`, /opened like this/],
    [`fs.copyFileSync(process.argv[1], root + "/copy");`, /bytes come from/],
    [`process.exitCode = 3; console.error("no luck");`, /ended with 3.*no luck/s],
  ];
  for (const [source, message] of refused) await assert.rejects(play(t, source), message);
  const program = { command: "/does/not/exist", args: [], env: {}, root: await scratch(t) };
  await assert.rejects(record(program), /failed/);
});

test("nothing of a run stays behind", { skip }, async (t) => {
  const before = process.env["TMPDIR"];
  const own = await scratch(t);
  t.after(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  });
  process.env["TMPDIR"] = own;
  const root = join(own, "root");
  await mkdir(root);
  await record({ command: "true", args: [], env: {}, root });
  await assert.rejects(record({ command: "false", args: [], env: {}, root }), /ended with 1/);
  assert.equal(await canTrace(), null);
  assert.deepEqual(await readdir(own), ["root"]);
});
