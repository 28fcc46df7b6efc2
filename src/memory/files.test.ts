// Notes as files: what is one, who may write over whom, and what is left after a crash.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Desk } from "../../test/fixtures/desk.ts";
import { cannotMount, mount, scratch } from "../../test/fixtures/home.ts";
import { Program } from "../../test/fixtures/program.ts";
import { fault } from "../../test/sessions/stage.ts";
import { RealWorld } from "../base/world.ts";
import {
  NOTE_BYTES_MAX,
  NOTE_PATH_CHARS_MAX,
  NOTES_BYTES_MAX,
  NOTES_MAX,
  UNFINISHED_KEPT_MS,
} from "../limits.ts";

describe("a note", () => {
  test("is appended to by lines, replaced by version, and deleted", async (t) => {
    const desk = new Desk(t);
    assert.deepEqual(await desk.memory.list(desk.workspace), { notes: [], more: false, unread: 0 });
    assert.equal(existsSync(desk.workspace), false, "looking makes no folder");
    await desk.append("memory/a/b.md", "- one");
    await desk.append("memory/a/b.md", "- two\n");
    assert.equal(desk.has("memory/a/b.md"), "- one\n- two\n");
    desk.put("MEMORY.md", "no end of line");
    const { version } = await desk.append("MEMORY.md", "\nnext");
    assert.equal(desk.has("MEMORY.md"), "no end of line\n\nnext\n");
    assert.equal((await desk.memory.read(desk.workspace, "MEMORY.md")).version, version);
    const written = await desk.replace("MEMORY.md", version, "");
    assert.deepEqual([desk.has("MEMORY.md"), written.bytes, written.changed], ["", 0, true]);
    assert.deepEqual(await desk.paths(), ["MEMORY.md", "memory/a/b.md"]);
    assert.equal((await desk.delete("MEMORY.md", written.version)).version, null);
    assert.deepEqual(await desk.paths(), ["memory/a/b.md"]);
    assert.deepEqual(readdirSync(join(desk.workspace, "memory/a")), ["b.md"]);
  });

  test("is not changed by a write that is made again", async (t) => {
    const desk = new Desk(t);
    for (const changed of [true, false]) {
      assert.equal((await desk.append("memory/a.md", "- tea\n- milk")).changed, changed);
      assert.equal((await desk.replace("memory/b.md", null, "whole")).changed, changed);
    }
    assert.deepEqual([desk.has("memory/a.md"), desk.has("memory/b.md")], ["- tea\n- milk\n", "whole"]);
    assert.equal((await desk.append("memory/a.md", "milk")).changed, true, "only whole lines are the same");
    const { version } = await desk.memory.read(desk.workspace, "memory/b.md");
    for (const changed of [true, false])
      assert.equal((await desk.delete("memory/b.md", version)).changed, changed);
    assert.equal((await desk.delete("memory/none/c.md", version)).changed, false);
  });

  test("is not replaced or deleted by who has read another version", async (t) => {
    const desk = new Desk(t);
    const { version } = await desk.replace("memory/a.md", null, "mine");
    await assert.rejects(
      desk.replace("memory/a.md", null, "new"),
      fault("stale_writer", new RegExp(`is at version ${version}; you write as if there were none`)),
    );
    desk.put("memory/a.md", "a person's");
    await assert.rejects(desk.replace("memory/a.md", version, "x"), fault("stale_writer", /over version/));
    await assert.rejects(desk.delete("memory/a.md", version), fault("stale_writer", /read it again/));
    assert.equal(desk.has("memory/a.md"), "a person's");
    rmSync(join(desk.workspace, "memory/a.md"));
    await assert.rejects(
      desk.replace("memory/a.md", version, "x"),
      fault("stale_writer", /there is no memory\/a\.md/),
    );
  });

  test("keeps bytes that are no UTF-8, and its rights", async (t) => {
    const desk = new Desk(t);
    desk.put("memory/odd.md", Buffer.from([0xff, 0xfe, 10]));
    execFileSync("chmod", ["640", join(desk.workspace, "memory/odd.md")]);
    await desk.append("memory/odd.md", "é");
    const bytes = readFileSync(join(desk.workspace, "memory/odd.md"));
    assert.deepEqual([...bytes], [0xff, 0xfe, 10, 0xc3, 0xa9, 10]);
    const stats = execFileSync("stat", ["-c", "%a", join(desk.workspace, "memory/odd.md")], {
      encoding: "utf8",
    });
    assert.equal(stats.trim(), "640");
  });
});

describe("writers at the same time", () => {
  test("lose nothing that they append, also where the file tools and another memory write", async (t) => {
    const desk = new Desk(t);
    const other = new Desk(t, desk.workspace);
    const lines = Array.from({ length: 60 }, (_, at) => `- line ${at}`);
    await Promise.all(lines.map((line, at) => (at % 2 ? desk : other).append("memory/log.md", line)));
    assert.deepEqual(desk.has("memory/log.md").trim().split("\n").toSorted(), lines.toSorted());
    assert.deepEqual(readdirSync(join(desk.workspace, "memory")), ["log.md"]);
  });

  test("replace one version once: the others are told", async (t) => {
    const desk = new Desk(t);
    for (const known of [null, (await desk.replace("memory/b.md", null, "first")).version]) {
      const path = known === null ? "memory/a.md" : "memory/b.md";
      const texts = Array.from({ length: 10 }, (_, at) => `by ${at}`);
      const settled = await Promise.allSettled(texts.map((text) => desk.replace(path, known, text)));
      const won = settled.flatMap(({ status }, at) => (status === "fulfilled" ? [texts[at]] : []));
      assert.deepEqual(won, [desk.has(path)]);
      for (const each of settled)
        if (each.status === "rejected") fault("stale_writer", /Somebody else wrote/)(each.reason);
    }
  });

  test("lose nothing to another process that wrote while they did", async (t) => {
    const desk = new Desk(t);
    const path = "memory/a.md";
    /** Somebody saves the note in an editor when the new content is already there, beside it. */
    const meanwhile = (text: string): AbortSignal => {
      const { signal } = new AbortController();
      let looks = 0;
      signal.throwIfAborted = () => {
        looks += 1;
        if (looks === 2) desk.put(path, text);
      };
      return signal;
    };
    const of = { path, cause: null };
    await desk.write({ ...of, mode: "append", text: "- mine" }, meanwhile("- theirs\n"));
    assert.equal(desk.has(path), "- theirs\n- mine\n", "also when there was no note before");
    await desk.write({ ...of, mode: "append", text: "- again" }, meanwhile("- all new\n"));
    assert.equal(desk.has(path), "- all new\n- again\n");
    const { version } = await desk.memory.read(desk.workspace, path);
    await assert.rejects(
      desk.write({ ...of, mode: "replace", version, text: "mine" }, meanwhile("theirs")),
      fault("stale_writer", /over version/),
    );
    assert.equal(desk.has(path), "theirs");
    assert.deepEqual(readdirSync(join(desk.workspace, "memory")), ["a.md"]);
  });
});

test("a kill in the middle of writing leaves the note as before or as after, and nothing that is listed", async (t) => {
  const desk = new Desk(t);
  const source = `
    import { FileMemory } from ${JSON.stringify(new URL("./files.ts", import.meta.url).pathname)};
    const memory = new FileMemory({ world, log: openLog("silent"), receipts: home + ".receipts" });
    const path = "memory/big.md";
    for (let at = Number(process.env.FROM); ; at += 1) {
      const version = await memory.read(home, path).then((note) => note.version, () => null);
      const text = (String(at).padStart(6, "0") + "\\n").repeat(20_000);
      await memory.write(home, { path, mode: "replace", cause: String(at), version, text }, new AbortController().signal);
      say(at);
    }
  `;
  let from = 1;
  for (let kill = 0; kill < 8; kill += 1) {
    const program = new Program(t, { home: desk.workspace, source, env: { FROM: String(from) } });
    const first = Number(await program.hear());
    await new Promise((wake) => setTimeout(wake, kill * 3));
    const { said } = await program.kill();
    const acknowledged = Number(said.at(-1) ?? first);
    const lines = new Set(desk.has("memory/big.md").trim().split("\n"));
    assert.equal(lines.size, 1, "all of it is of one write");
    const there = Number([...lines][0]);
    assert.ok(there === acknowledged || there === acknowledged + 1, `${there} after ${acknowledged}`);
    assert.deepEqual(await desk.paths(), ["memory/big.md"]);
    from = there + 1;
  }
  const left = join(desk.workspace, "memory/.unfinished-0123456789abcdef01234567");
  const young = join(desk.workspace, "memory/.unfinished-7777777777abcdef01234567");
  for (const each of [left, young]) writeFileSync(each, "half");
  const old = (new RealWorld().nowMs() - 2 * UNFINISHED_KEPT_MS) / 1_000;
  utimesSync(left, old, old);
  await desk.append("memory/next.md", "- on");
  assert.deepEqual(
    [existsSync(left), existsSync(young)],
    [false, true],
    "a young one may be somebody's who writes",
  );
});

describe("what is no note", () => {
  test("is refused by its path", async (t) => {
    const desk = new Desk(t);
    desk.put("AGENTS.md", "rules");
    const hostile = [
      ...["AGENTS.md", "memory", "memory/", "memory/a.txt", "memory/a.md/", "/memory/a.md", "./memory/a.md"],
      ...["memory/../AGENTS.md", "memory/../../a.md", "memory/./a.md", "memory//a.md", "memory/.hidden.md"],
      ...["memory/.git/a.md", "memory/.md", "MEMORY.md/a.md", "memory.md", "Memory/a.md", "memory/a\0.md"],
      ...["memory/a\n.md", "memory\\a.md", "memory/\ud800.md", "", " ", "memory/a.md ", "~/a.md"],
      ...[`memory/${"d/".repeat(8)}a.md`, `memory/${"n".repeat(NOTE_PATH_CHARS_MAX)}.md`],
    ];
    for (const path of hostile) {
      const refused = fault("bad_input", /is no note: .*Notes are MEMORY\.md and memory\//s);
      await assert.rejects(desk.append(path, "x"), refused, JSON.stringify(path));
      await assert.rejects(desk.memory.read(desk.workspace, path), refused);
      await assert.rejects(desk.delete(path, null), refused);
    }
    assert.deepEqual(readdirSync(desk.workspace), ["AGENTS.md"]);
    const deep = `memory/${"d/".repeat(7)}a.md`;
    await desk.append(deep, "x");
    assert.deepEqual(await desk.paths(), [deep]);
    const deeper = fault("bad_input", /more than 7 folders below memory\//);
    await assert.rejects(desk.append(`memory/${"d/".repeat(8)}a.md`, "x"), deeper);
    await assert.rejects(
      desk.append(`memory/${"n".repeat(300)}.md`, "x"),
      fault("bad_input", /ENAMETOOLONG/),
    );
    await assert.rejects(desk.memory.read(desk.workspace, "memory/a.md"), fault("not_found", /memory/));
  });

  test("is a link, wherever it leads", async (t) => {
    const desk = new Desk(t);
    const outside = scratch(t);
    writeFileSync(join(outside, "secret.md"), "secret");
    desk.put("AGENTS.md", "rules");
    desk.put("memory/real.md", "real");
    symlinkSync(join(outside, "secret.md"), join(desk.workspace, "memory/out.md"));
    symlinkSync("../AGENTS.md", join(desk.workspace, "memory/rules.md"));
    symlinkSync("real.md", join(desk.workspace, "memory/same.md"));
    symlinkSync(outside, join(desk.workspace, "memory/folder"));
    symlinkSync("gone.md", join(desk.workspace, "memory/dangling.md"));
    for (const name of ["out", "rules", "same", "folder/secret", "folder/new", "dangling"]) {
      const words = fault("bad_input", /is a link|leads outside of the workspace/);
      await assert.rejects(desk.append(`memory/${name}.md`, "x"), words, name);
      await assert.rejects(desk.memory.read(desk.workspace, `memory/${name}.md`), words, name);
    }
    assert.deepEqual(await desk.paths(), ["memory/real.md"]);
    assert.deepEqual(await desk.found("secret"), []);
    renameSync(join(desk.workspace, "memory"), join(desk.workspace, "elsewhere"));
    symlinkSync("elsewhere", join(desk.workspace, "memory"));
    assert.deepEqual(await desk.paths(), []);
    await assert.rejects(desk.append("memory/real.md", "x"), fault("bad_input", /is a link/));
    assert.deepEqual(readdirSync(outside), ["secret.md"]);
    assert.equal(desk.has("AGENTS.md"), "rules");
  });

  test("is a pipe or a folder, and nobody waits for one", async (t) => {
    const desk = new Desk(t);
    mkdirSync(join(desk.workspace, "memory/folder.md"), { recursive: true });
    execFileSync("mkfifo", [join(desk.workspace, "memory/pipe.md")]);
    await assert.rejects(desk.append("memory/pipe.md", "x"), fault("bad_input", /no regular file/));
    await assert.rejects(
      desk.memory.read(desk.workspace, "memory/pipe.md"),
      fault("bad_input", /no regular file/),
    );
    await assert.rejects(desk.append("memory/folder.md", "x"), fault("bad_input", /is a folder/));
    assert.deepEqual(await desk.paths(), []);
    assert.deepEqual(await desk.found("x"), []);
  });
});

describe("a memory has bounds", () => {
  test("of one note", async (t) => {
    const desk = new Desk(t);
    await desk.replace("memory/full.md", null, "x".repeat(NOTE_BYTES_MAX));
    await assert.rejects(desk.append("memory/full.md", "y"), fault("too_large", /at most 262144/));
    await assert.rejects(
      desk.replace("memory/b.md", null, "é".repeat(NOTE_BYTES_MAX - 1)),
      fault("too_large", /at most/),
    );
    desk.put("memory/huge.md", "needle ".repeat(NOTE_BYTES_MAX));
    const tooLarge = fault("too_large", /has 1835008 bytes/);
    await assert.rejects(desk.append("memory/huge.md", "y"), tooLarge);
    await assert.rejects(desk.memory.read(desk.workspace, "memory/huge.md"), tooLarge);
    assert.deepEqual(await desk.paths(), ["memory/full.md", "memory/huge.md"]);
    assert.deepEqual(await desk.search("needle"), { hits: [], skipped: 1, more: false });
  });

  test("of all notes, in number and in bytes", async (t) => {
    const desk = new Desk(t);
    for (let at = 0; at < NOTES_MAX; at += 1) desk.put(`memory/${at % 20}/${at}.md`, "");
    await assert.rejects(desk.append("memory/more.md", "x"), fault("too_large", /one note too many/));
    await desk.append("memory/0/0.md", "x");
    desk.put("memory/a person's.md", "");
    const { notes, more } = await desk.memory.list(desk.workspace);
    assert.deepEqual([notes.length, more], [NOTES_MAX, true]);
    const large = new Desk(t);
    const each = 1024 * 1024;
    for (let at = 0; at * each < NOTES_BYTES_MAX; at += 1)
      large.put(`memory/${at}.md`, Buffer.alloc(each, 10));
    await assert.rejects(
      large.append("MEMORY.md", "x"),
      fault("too_large", /all notes would have 33554434 bytes/),
    );
  });

  test("of the disk: on a full one the note stays as it was", { skip: cannotMount() }, async (t) => {
    const at = join(scratch(t), "small");
    mount(t, at, ["-t", "tmpfs", "-o", "size=128k", "tmpfs"]);
    const desk = new Desk(t, at);
    await desk.append("memory/a.md", "- kept");
    await assert.rejects(
      desk.append("memory/a.md", "x".repeat(200_000)),
      fault("disk_full", /memory\/a\.md/),
    );
    assert.equal(desk.has("memory/a.md"), "- kept\n");
    assert.deepEqual(readdirSync(join(at, "memory")), ["a.md"]);
  });
});
