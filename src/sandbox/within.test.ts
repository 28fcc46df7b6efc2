import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { inTurn, look, openFile, replaceFile, type Place } from "./place.ts";
import { folderWithin, within, withinFolder } from "./within.ts";

const never = new AbortController().signal;
const folder = realpathSync(mkdtempSync(join(tmpdir(), "within-")));
after(() => rmSync(folder, { recursive: true, maxRetries: 3 }));

/** A new workspace with a folder beside it that is none of its business. */
function beside(): { readonly workspace: string; readonly outside: string } {
  const parent = mkdtempSync(join(folder, "case-"));
  const [workspace, outside] = [join(parent, "workspace"), join(parent, "outside")];
  mkdirSync(join(workspace, "a/b"), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(workspace, "a/b/file"), "inside");
  writeFileSync(join(outside, "file"), "OUTSIDE");
  return { workspace, outside };
}

function read(workspace: string, path: string): Promise<string> {
  return within({ workspace, path }, { make: false }, async (place) => {
    await using file = await openFile(place);
    return file.readFile("utf8");
  });
}

function put(place: Place, text: string): Promise<string> {
  const bytes = Buffer.from(text);
  return inTurn(place, () => replaceFile(place, { bytes, cause: "test", signal: never, known: null }));
}

function write(workspace: string, path: string, text: string): Promise<string> {
  return within({ workspace, path }, { make: true }, (place) => put(place, text));
}

function names(workspace: string, path: string): Promise<string[]> {
  return withinFolder({ workspace, path }, async ({ path }) => readdirSync(path));
}

test("paths inside lead to their file, however they are written", async () => {
  const { workspace } = beside();
  for (const path of [
    "a/b/file",
    "./a//b/./file",
    "a/../a/b/file",
    "a/b/../b/file",
    join(workspace, "a/b/file"),
  ])
    assert.equal(await read(workspace, path), "inside", path);
  assert.deepEqual(await names(workspace, "."), ["a"]);
  assert.deepEqual(await names(workspace, "a/b/"), ["file"]);
  writeFileSync(join(workspace, "back\\slash"), "a name like others");
  assert.equal(await read(workspace, "back\\slash"), "a name like others");
});

test("paths that lead outside are refused, and so are paths that are none", async () => {
  const { workspace, outside } = beside();
  const out = /leads outside of the workspace; only files below it can be used/;
  for (const path of [
    "..",
    "../outside/file",
    "a/../../outside/file",
    "/etc/passwd",
    join(outside, "file"),
    "/",
  ])
    await assert.rejects(read(workspace, path), out, path);
  for (const path of [`${workspace}/../outside/file`, `${workspace}-other/file`, `${workspace}x`])
    await assert.rejects(read(workspace, path), out, path);
  await assert.rejects(write(workspace, "../outside/new", "x"), out);
  await assert.rejects(read(workspace, ""), /the path is empty/);
  await assert.rejects(read(workspace, "a\0b"), /NUL/);
  await assert.rejects(read(workspace, "x".repeat(5_000)), /5000 characters; at most 4096/);
  await assert.rejects(write(workspace, "d/".repeat(200) + "f", "x"), /more than 100 folders deep/);
  assert.deepEqual(readdirSync(outside), ["file"]);
});

test("links are followed inside, and refused where they lead outside", async () => {
  const { workspace, outside } = beside();
  const link = (target: string, path: string): void => symlinkSync(target, join(workspace, path));
  link("b/file", "a/file-in");
  link(join(workspace, "a"), "absolute-in");
  link("absolute-in/../a/./b", "chain-in");
  for (const path of ["a/file-in", "absolute-in/b/file", "chain-in/file", "absolute-in/file-in"])
    assert.equal(await read(workspace, path), "inside", path);
  assert.deepEqual(await names(workspace, "chain-in"), ["file"]);

  link(outside, "folder-out");
  link("../outside/file", "file-out");
  link("../../outside", "a/relative-out");
  link("a/relative-out", "chain-out");
  link("/dev/zero", "device-out");
  for (const path of ["folder-out/file", "file-out", "a/relative-out/file", "chain-out/file", "device-out"])
    await assert.rejects(read(workspace, path), /leads outside of the workspace \(through the link /, path);
  await assert.rejects(read(workspace, "chain-out/file"), /through the link a\/relative-out/);
  for (const path of ["folder-out/new", "chain-out/new/deep", "file-out"])
    await assert.rejects(write(workspace, path, "x"), /leads outside/, path);
  await assert.rejects(names(workspace, "folder-out"), /leads outside/);
  await assert.rejects(folderWithin(workspace, "chain-out"), /leads outside/);

  link("loop-2", "loop-1");
  link("loop-1", "loop-2");
  await assert.rejects(read(workspace, "loop-1"), /more than 40 links, or in a circle/);
  await assert.rejects(write(workspace, "loop-1/x", ""), /more than 40 links, or in a circle/);
  assert.deepEqual(readdirSync(outside), ["file"]);
  assert.equal(readFileSync(join(outside, "file"), "utf8"), "OUTSIDE");
});

test("a dangling link is missing to a reader; a writer makes what it points to", async () => {
  const { workspace, outside } = beside();
  symlinkSync("a/new", join(workspace, "dangling"));
  symlinkSync("../outside/new", join(workspace, "dangling-out"));
  await assert.rejects(read(workspace, "dangling"), /there is no file a\/new/);
  assert.equal(await write(workspace, "dangling", "made"), "created");
  assert.equal(readFileSync(join(workspace, "a/new"), "utf8"), "made");
  assert.ok(lstatSync(join(workspace, "dangling")).isSymbolicLink());
  await assert.rejects(write(workspace, "dangling-out", "x"), /leads outside/);
  assert.deepEqual(readdirSync(outside), ["file"]);
});

test("the workspace may be a link, and is made when it is missing", async () => {
  const { workspace } = beside();
  const link = `${workspace}-link`;
  symlinkSync(workspace, link);
  assert.equal(await read(link, "a/b/file"), "inside");
  assert.equal(await read(link, join(link, "a/b/file")), "inside");
  assert.equal(await folderWithin(link, "a"), join(workspace, "a"));
  await assert.rejects(read(link, "../outside/file"), /leads outside/);

  const missing = join(folder, "made/for/it");
  assert.equal(await folderWithin(missing, null), missing);
  assert.equal(lstatSync(missing).mode & 0o777, 0o700);
  await assert.rejects(folderWithin(join(workspace, "a/b/file"), null), /ENOTDIR/);
});

test("who asks for what is not there hears what is", async () => {
  const { workspace } = beside();
  for (const name of ["one", "two"]) writeFileSync(join(workspace, "a", name), "");
  await assert.rejects(read(workspace, "a/b/fil"), /there is no file a\/b\/fil; did you mean file\?/);
  await assert.rejects(
    read(workspace, "a/other"),
    /there is no file a\/other; in its folder are: b, one, two/,
  );
  await assert.rejects(read(workspace, "x/y"), /there is no folder x; in its folder are: a/);
  await assert.rejects(read(workspace, "a/one/x"), /a\/one is a file, not a folder/);
  await assert.rejects(read(workspace, "a"), /a is a folder; use list/);
  await assert.rejects(names(workspace, "a/one"), /a\/one is a file, not a folder/);
  await assert.rejects(folderWithin(workspace, "none"), /there is no folder none/);
});

test("pipes are neither read nor replaced, and hold nobody up", async () => {
  const { workspace } = beside();
  await promisify(execFile)("mkfifo", [join(workspace, "pipe")]);
  await assert.rejects(read(workspace, "pipe"), /pipe is no regular file/);
  await assert.rejects(write(workspace, "pipe", "x"), /pipe is no regular file/);
  await assert.rejects(write(workspace, "pipe/x", "x"), /pipe is a file, not a folder/);
  await assert.rejects(write(workspace, "a", "x"), /a is a folder/);
});

test("a file keeps its rights when it is replaced, and nothing is left beside it", async () => {
  const { workspace } = beside();
  const path = join(workspace, "a/b/file");
  chmodSync(path, 0o751);
  assert.equal(await write(workspace, "a/b/file", "new"), "replaced");
  assert.equal(readFileSync(path, "utf8"), "new");
  assert.equal(lstatSync(path).mode & 0o7777, 0o751);
  assert.deepEqual(readdirSync(join(workspace, "a/b")), ["file"]);
  assert.equal(await write(workspace, "n/e/w", "x"), "created");
  chmodSync(path, 0o444);
  await assert.rejects(write(workspace, "a/b/file", "no"), /read-only/);
  assert.equal(readFileSync(path, "utf8"), "new");
});

test("a write that is called off changes nothing", async () => {
  const { workspace } = beside();
  const signal = AbortSignal.abort(new Error("enough"));
  const writing = within({ workspace, path: "a/b/file" }, { make: true }, (place) =>
    replaceFile(place, { bytes: Buffer.from("x"), cause: "c", signal, known: null }),
  );
  await assert.rejects(writing, /enough/);
  assert.equal(await read(workspace, "a/b/file"), "inside");
  assert.deepEqual(readdirSync(join(workspace, "a/b")), ["file"]);
});

test("what somebody else changed since it was read is not replaced", async () => {
  const { workspace } = beside();
  const replacing = within({ workspace, path: "a/b/file" }, { make: false }, async (place) => {
    const known = await look(place);
    writeFileSync(join(workspace, "a/b/file"), "theirs");
    return replaceFile(place, { bytes: Buffer.from("ours"), cause: "c", signal: never, known });
  });
  await assert.rejects(replacing, /a\/b\/file was changed by somebody else meanwhile/);
  assert.equal(await read(workspace, "a/b/file"), "theirs");
});

test("on a full disk the old content stays", async (t) => {
  const { workspace } = beside();
  const small = join(workspace, "small");
  mkdirSync(small);
  const run = promisify(execFile);
  try {
    await run("mount", ["-t", "tmpfs", "-o", "size=64k", "none", small]);
  } catch {
    t.skip("only root can mount a small disk");
    return;
  }
  try {
    await write(workspace, "small/file", "old");
    await assert.rejects(write(workspace, "small/file", "x".repeat(200_000)), { code: "disk_full" });
    assert.equal(await read(workspace, "small/file"), "old");
    assert.deepEqual(readdirSync(small), ["file"]);
  } finally {
    await run("umount", [small]);
  }
});

test("every folder is closed again, also after a refusal", async (t) => {
  if (!existsSync("/proc/self/fd")) return t.skip("there is no /proc to count in");
  const { workspace, outside } = beside();
  symlinkSync(outside, join(workspace, "out"));
  const go = async (): Promise<void> => {
    await read(workspace, "a/b/file");
    await write(workspace, "a/b/c/file", "x");
    await names(workspace, "a/b");
    await folderWithin(workspace, "a");
    for (const path of ["a/b/out", "a/b/../../..", "out/x", "a/b/file/x", "a/none/x"])
      await assert.rejects(read(workspace, path));
    await assert.rejects(write(workspace, "a/b", "x"));
    await assert.rejects(
      within({ workspace, path: "a/b" }, { make: false }, () => Promise.reject(new Error("x"))),
    );
  };
  await go();
  const before = readdirSync("/proc/self/fd").length;
  for (let times = 0; times < 20; times += 1) await go();
  assert.equal(readdirSync("/proc/self/fd").length, before);
});

/**
 * In a thread: puts a link to the outside in the place of a folder and back, until it is ended. A writer may make the
 * folder in the moment when there is none.
 */
const SWAPPING = `
  const { renameSync } = require("node:fs");
  let made = 0;
  const { workerData: { box, aside, link }, parentPort } = require("node:worker_threads");
  const put = (what) => {
    for (;;) try { return renameSync(what, box); } catch { renameSync(box, box + ++made); }
  };
  parentPort.postMessage("swapping");
  for (;;) { renameSync(box, aside); put(link); renameSync(box, link); put(aside); }`;

test("who swaps a folder for a link while it is used gets nothing from outside, and nothing there", async (t) => {
  if (!existsSync("/proc/self/fd")) return t.skip("without /proc the walk cannot promise it");
  const { workspace, outside } = beside();
  const [box, aside, link] = ["a/b", "a/aside", "a/link"].map((path) => join(workspace, path));
  symlinkSync(outside, link ?? "");
  writeFileSync(join(outside, "secret"), "OUTSIDE");
  const thread = new Worker(SWAPPING, { eval: true, workerData: { box, aside, link } });
  t.after(() => thread.terminate());
  await new Promise((resolve) => thread.once("message", resolve));
  let [fooled, reads, writes] = [0, 0, 0];
  const ignoring = async (work: Promise<unknown>): Promise<unknown> => work.catch(() => null);
  for (
    let times = 0;
    times < 2_000 || ((fooled === 0 || reads === 0 || writes === 0) && times < 50_000);
    times += 1
  ) {
    const plain = await ignoring(readFile(join(workspace, "a/b/file"), "utf8"));
    if (plain === "OUTSIDE") fooled += 1;
    const text = await ignoring(read(workspace, "a/b/file"));
    assert.ok(text === null || text === "inside", String(text));
    if (text === "inside") reads += 1;
    // Each is synced: fewer of them.
    if (
      times % 8 === 0 &&
      (await ignoring(write(workspace, `a/b/made/new-${times % 10}`, "inside"))) !== null
    )
      writes += 1;
    const listed = (await ignoring(names(workspace, "a/b"))) as string[] | null;
    assert.ok(listed === null || !listed.includes("secret"));
  }
  await thread.terminate();
  assert.ok(fooled > 0 && reads > 0 && writes > 0, `the race was run: ${fooled}, ${reads}, ${writes}`);
  assert.deepEqual(readdirSync(outside).sort(), ["file", "secret"]);
  assert.equal(readFileSync(join(outside, "file"), "utf8"), "OUTSIDE");
});

test("without /proc the same is refused", async () => {
  const { workspace, outside } = beside();
  symlinkSync(outside, join(workspace, "out"));
  symlinkSync("a/b", join(workspace, "in"));
  const script = `
    Object.defineProperty(process, "platform", { value: "other" });
    const { within } = await import(${JSON.stringify(new URL("./within.ts", import.meta.url).href)});
    const { openFile } = await import(${JSON.stringify(new URL("./place.ts", import.meta.url).href)});
    for (const path of ["in/file", "a/../in/file", "out/file", "../outside/file"])
      console.log(await within({ workspace: ${JSON.stringify(workspace)}, path }, { make: false }, async (place) => {
        await using file = await openFile(place);
        return [place.folder.path, await file.readFile("utf8")].join(" ");
      }).catch((error) => error.message));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  const there = `${join(workspace, "a/b")} inside`;
  const [first, second, third, fourth] = stdout.split("\n");
  assert.deepEqual([first, second], [there, there]);
  assert.match(`${third}`, /"\/.*" leads outside of the workspace \(through the link out\)/);
  assert.match(`${fourth}`, /leads outside of the workspace/);
});
