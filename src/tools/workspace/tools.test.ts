import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, closeSync, ftruncateSync, lstatSync, mkdirSync, mkdtempSync, openSync } from "node:fs";
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openLog } from "../../base/log.ts";
import { RealWorld } from "../../base/world.ts";
import { RESULT_BYTES_MAX } from "../../limits.ts";
import { Processes } from "../../sandbox/processes.ts";
import type { Calling, Output } from "../tool.ts";
import { workspaceTools } from "./tools.ts";

const never = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), "workspace-tools-"));
after(() => rmSync(folder, { recursive: true }));

/** Counts how often others were let go first. */
class Counting extends RealWorld {
  rests = 0;

  override sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (ms === 0) this.rests += 1;
    return super.sleep(ms, signal);
  }
}

const world = new Counting();
const processes = new Processes({ folder: join(folder, "processes"), world, log: openLog("silent") });
const tools = new Map(workspaceTools(world, processes).map((each) => [each.name, each]));

/** A new workspace with these files. */
class Workspace {
  readonly path = mkdtempSync(join(folder, "workspace-"));
  #calls = 0;

  constructor(files: Readonly<Record<string, string | Uint8Array>> = {}) {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(this.path, name, ".."), { recursive: true });
      writeFileSync(join(this.path, name), text);
    }
  }

  async result(name: string, input: Record<string, unknown>): Promise<Output> {
    const called = tools.get(name);
    const given = await called?.input["~standard"].validate(input);
    assert.ok(called && given && !given.issues, JSON.stringify(given?.issues));
    this.#calls += 1;
    const calling = { agent: { workspace: this.path }, cause: `cause:${this.#calls}`, signal: never };
    return called.run(given.value, calling as unknown as Calling); // They look at nothing else of it.
  }

  async call(name: string, input: Record<string, unknown>): Promise<string> {
    const output = await this.result(name, input);
    assert.ok(typeof output === "string");
    assert.ok(Buffer.byteLength(output) <= RESULT_BYTES_MAX, "it stays whole in its entry");
    return output;
  }

  text(name: string): string {
    return readFileSync(join(this.path, name), "utf8");
  }
}

function edits(...pairs: readonly (readonly [old: string, now: string])[]): { old: string; new: string }[] {
  return pairs.map(([old, now]) => ({ old, new: now }));
}

test("a file is read in pages that follow each other", async () => {
  const lines = Array.from({ length: 5_000 }, (_, at) => `line ${at + 1}`);
  const at = new Workspace({ "long.txt": `${lines.join("\n")}\n`, empty: "", windows: "a\r\nb" });
  assert.equal(
    await at.call("read", { path: "long.txt", offset: 3, limit: 2 }),
    "line 3\nline 4\n\n[There is more. Go on with offset 5.]",
  );
  const read: string[] = [];
  for (let offset: number | null = 1; offset !== null;) {
    const page: string = await at.call("read", { path: "long.txt", offset });
    const [, text = "", next] =
      /^([^]*?)(?:\n\n\[There is more. Go on with offset (\d+)\.\])?$/.exec(page) ?? [];
    read.push(...text.split("\n"));
    offset = next === undefined ? null : Number(next);
  }
  assert.deepEqual(read, lines);
  assert.equal(await at.call("read", { path: "windows" }), "a\nb");
  assert.equal(await at.call("read", { path: "empty" }), "empty is empty.");
  await assert.rejects(
    at.call("read", { path: "long.txt", offset: 5_001 }),
    /it has 5000 lines; offset 5001 is after/,
  );
});

test("long lines are cut, and huge files are not read whole", async () => {
  const at = new Workspace({ "wide.txt": `${"ä".repeat(100_000)}\nnext\n` });
  const text = await at.call("read", { path: "wide.txt" });
  assert.equal(text, `${"ä".repeat(2_000)} … [cut: this line has 200000 bytes]\nnext`);
  const huge = openSync(join(at.path, "huge"), "w");
  writeFileSync(huge, `${"text\n".repeat(4_000)}`);
  ftruncateSync(huge, 100 * 1024 ** 3);
  closeSync(huge);
  assert.match(await at.call("read", { path: "huge", limit: 1 }), /^text\n\n\[There is more/);
});

test("pictures are shown, other bytes are only named", async () => {
  const png = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  );
  const at = new Workspace({
    "a.png": png,
    "fake.png": "no picture",
    "half.png": png.subarray(0, -1),
    "gif.txt": "GIF89a is how they begin",
    "big.gif": Buffer.concat([Buffer.from("GIF89a"), Buffer.alloc(4 * 1024 * 1024)]),
    "a.pdf": "%PDF-1.7\0",
    data: new Uint8Array(100),
  });
  assert.deepEqual(await at.result("read", { path: "a.png" }), {
    content: [
      { type: "text", text: `a.png: image/png, ${png.length} bytes` },
      { type: "image", data: png.toString("base64"), mimeType: "image/png" },
    ],
  });
  assert.equal(await at.call("read", { path: "fake.png" }), "no picture");
  assert.match(
    await at.call("read", { path: "big.gif" }),
    /picture \(image\/gif\) of 4194310 bytes; at most 3932160/,
  );
  assert.match(
    await at.call("read", { path: "half.png" }),
    /^half.png is no text: it begins like image\/png, but/,
  );
  assert.equal(await at.call("read", { path: "gif.txt" }), "GIF89a is how they begin");
  assert.equal(await at.call("read", { path: "a.pdf" }), "a.pdf is no text: a PDF document, 9 bytes.");
  assert.equal(await at.call("read", { path: "data" }), "data is no text: binary data, 100 bytes.");
});

test("writing makes folders, replaces, and says which", async () => {
  const at = new Workspace();
  assert.equal(await at.call("write", { path: "a/b/c.txt", content: "ä" }), "created a/b/c.txt, 2 bytes");
  assert.equal(await at.call("write", { path: "a/b/c.txt", content: "" }), "replaced a/b/c.txt, 0 bytes");
  assert.equal(at.text("a/b/c.txt"), "");
  await assert.rejects(
    async () => at.call("write", { path: "x", content: "ä".repeat(600 * 1024) }),
    /has 1228800 bytes; at most 1048576/,
  );
  await assert.rejects(at.call("write", { path: "../x", content: "" }), /leads outside of the workspace/);
  assert.deepEqual(readdirSync(at.path), ["a"]);
});

test("edits are done in their order, all or none, and shown as a diff", async () => {
  const before = Array.from({ length: 20 }, (_, at) => `line ${at + 1};\n`).join("");
  const at = new Workspace({ "a.txt": before });
  chmodSync(join(at.path, "a.txt"), 0o640);
  await assert.rejects(
    at.call("edit", { path: "a.txt", edits: edits(["line 2;", "x"], ["none of these", "y"]) }),
    /edit 2: old is not in the file; nothing was changed/,
  );
  assert.equal(at.text("a.txt"), before);
  assert.equal(
    await at.call("edit", {
      path: "a.txt",
      edits: edits(["line 3;", "$& three"], ["$& three\n", "3\n"], ["line 19;\n", ""]),
    }),
    [
      "edited a.txt",
      ...["@@ -1 +1 @@", " line 1;", " line 2;", "-line 3;", "+3", " line 4;", " line 5;"],
      ...["@@ -17 +17 @@", " line 17;", " line 18;", "-line 19;", " line 20;"],
    ].join("\n"),
  );
  assert.equal(at.text("a.txt"), before.replace("line 3;", "3").replace("line 19;\n", ""));
  assert.equal(lstatSync(join(at.path, "a.txt")).mode & 0o777, 0o640);
  await at.call("edit", { path: "a.txt", edits: [{ old: ";", new: ".", all: true }] });
  assert.ok(!at.text("a.txt").includes(";"));
  await assert.rejects(
    at.call("edit", { path: "a.txt", edits: edits(["line 7.", "line 7."]) }),
    /the edits change nothing/,
  );
});

test("an edit that is not clear is refused with what would make it so", async () => {
  const at = new Workspace({
    "a.ts": "if (x) {\n\treturn  one;\n}\nif (x) {\n\treturn two;\n}\naaa\n",
    bytes: new Uint8Array([0xff]),
  });
  const refusal = (old: string): Promise<string> =>
    at
      .call("edit", { path: "a.ts", edits: edits([old, "new"]) })
      .then(assert.fail, (error: Error) => error.message);
  assert.match(await refusal("if (x) {"), /several times \(lines 1, 4\)/);
  assert.match(await refusal("aa"), /several times \(lines 7, 7\)/);
  assert.match(
    await refusal("{\n    return one;"),
    /From line 1 on only spaces.* the file has: "if \(x\) \{", "\\treturn {2}one;"/,
  );
  assert.match(await refusal("return too;"), /The nearest is line 5: "\\treturn two;"/);
  assert.match(await refusal("qqqqqq"), /Nothing like it is there/);
  await assert.rejects(
    at.call("edit", { path: "bytes", edits: edits(["a", "b"]) }),
    /bytes is no text in UTF-8/,
  );
  await assert.rejects(at.call("edit", { path: "none", edits: edits(["a", "b"]) }), /there is no file none/);
});

test("lines that differ only in spaces are found among others that begin like them", async () => {
  const at = new Workspace({ "a.txt": "x\na\na\na\n  b\nc d\ne\n" });
  const refusal = (old: string): Promise<string> =>
    at
      .call("edit", { path: "a.txt", edits: edits([old, "new"]) })
      .then(assert.fail, (error: Error) => error.message);
  assert.match(await refusal("a\na\nb\nc"), /From line 3 on only spaces.*: "a", "a", " {2}b", "c d"/);
  assert.match(await refusal("x\na\na\nb"), /Nothing like it is there/);
  assert.match(await refusal("\n\na \na \na \nb\n\n"), /From line 2 on/);
  assert.match(await refusal("b\ncd"), /From line 5 on/);
  assert.match(await refusal("cd"), /From line 6 on/);
});

test("an edit that takes long lets others go first, and is bounded", async () => {
  const [lines, marks] = ["some words\n".repeat(180_000), Array.from({ length: 50 }, (_, at) => `<${at}>`)];
  const at = new Workspace({
    "many.txt": `${marks.join("\n")}\n${lines}`,
    "same.txt": "a\n".repeat(100_000),
  });
  const restsOf = async (work: Promise<unknown>): Promise<number> => {
    const before = world.rests;
    await work;
    return world.rests - before;
  };
  const many = marks.map((mark) => ({ old: mark, new: `(${mark})` }));
  assert.ok((await restsOf(at.call("edit", { path: "many.txt", edits: many }))) >= marks.length);
  const like = edits([`${"a\n".repeat(24_000)}b`, "c"]);
  const refused = assert.rejects(
    at.call("edit", { path: "same.txt", edits: like }),
    /old is not in the file/,
  );
  assert.ok((await restsOf(refused)) > 1);
  const short = edits(["some words\nsome", "x"]);
  const unclear = assert.rejects(
    at.call("edit", { path: "many.txt", edits: short }),
    /lines 51, 52, .* and more/,
  );
  assert.equal(await restsOf(unclear), 0);
  const all = [{ old: "a", new: "b".repeat(100), all: true }];
  await assert.rejects(
    at.call("edit", { path: "same.txt", edits: all }),
    /edit 1: it makes 10100000 characters; at most 2097152 bytes/,
  );
  const whole = [{ old: "a", new: "b", all: true }];
  assert.match(await at.call("edit", { path: "same.txt", edits: whole }), /\[199881 more lines\]$/);
  assert.equal(at.text("same.txt"), "b\n".repeat(100_000));
});

test("a file that is written is not written again after a crash", () => {
  const never = [...tools.values()].filter(({ replay }) => replay === "never").map(({ name }) => name);
  assert.deepEqual(never, ["write", "edit"]);
});

test("a file with CRLF keeps it", async () => {
  const at = new Workspace({ "dos.txt": "one\r\ntwo\r\nthree\r\n", "mixed.txt": "one\r\ntwo\nthree\n" });
  await at.call("edit", { path: "dos.txt", edits: edits(["one\ntwo", "1\n2"], ["three\r\n", "3\n\n"]) });
  assert.equal(at.text("dos.txt"), "1\r\n2\r\n3\r\n\r\n");
  await at.call("edit", { path: "mixed.txt", edits: edits(["two\n", "2\n"]) });
  assert.equal(at.text("mixed.txt"), "one\r\n2\nthree\n");
});

test("edits of one file at the same time are all there afterwards", async () => {
  const marks = Array.from({ length: 40 }, (_, at) => `<${at}>`);
  const at = new Workspace({ "a/b.txt": marks.join("\n") });
  symlinkSync("a", join(at.path, "link"));
  await Promise.all(
    marks.map((mark, each) =>
      at.call("edit", {
        path: each % 2 === 0 ? "a/b.txt" : "link/b.txt",
        edits: edits([mark, `done ${mark}`]),
      }),
    ),
  );
  assert.equal(at.text("a/b.txt"), marks.map((mark) => `done ${mark}`).join("\n"));
  assert.deepEqual(readdirSync(join(at.path, "a")), ["b.txt"]);
});

test("a list shows folders first, sizes, and links without following them", async () => {
  const at = new Workspace({ "z/deep/er/file": "x", "b.txt": "12345", ".hidden/x": "", "a.txt": "" });
  symlinkSync("/etc", join(at.path, "etc"));
  execFileSync("mkfifo", [join(at.path, "pipe")]);
  const [etc, pipe] = ["etc -> /etc", "pipe  (a pipe, a socket or a device)"];
  assert.equal(await at.call("list", {}), ["z/", "a.txt  0", "b.txt  5", etc, pipe].join("\n"));
  const deep = await at.call("list", { path: "", depth: 3, hidden: true });
  const folders = [".hidden/", ".hidden/x  0", "z/", "z/deep/", "z/deep/er/"];
  assert.equal(deep, [...folders, "a.txt  0", "b.txt  5", etc, pipe].join("\n"));
  assert.equal(await at.call("list", { path: "z/deep/er" }), "file  1");
  await assert.rejects(
    at.call("list", { path: "etc" }),
    /leads outside of the workspace \(through the link etc\)/,
  );
  mkdirSync(join(at.path, "none"));
  assert.equal(await at.call("list", { path: "none", hidden: true }), "none is empty.");
});

test("a list is bounded and says so", async () => {
  const at = new Workspace(Object.fromEntries(Array.from({ length: 1_100 }, (_, each) => [`${each}`, ""])));
  const short = (await at.call("list", {})).split("\n");
  assert.equal(short.length, 1_000 + 2);
  assert.match(short.at(-1) ?? "", /There is more/);
  const wide = new Workspace(
    Object.fromEntries(Array.from({ length: 200 }, (_, each) => [`${"n".repeat(200)}${each}`, ""])),
  );
  assert.match(await wide.call("list", {}), /There is more/); // call() looks at its length
});
