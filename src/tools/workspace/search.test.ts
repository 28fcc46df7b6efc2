import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import { alive, KEY } from "../../../test/sandbox/stage.ts";
import { openLog } from "../../base/log.ts";
import { RealWorld, SimulatedWorld, type World } from "../../base/world.ts";
import { RESULT_BYTES_MAX } from "../../limits.ts";
import { HAS_PROC } from "../../sandbox/proc.ts";
import { Processes } from "../../sandbox/processes.ts";
import type { Calling } from "../tool.ts";
import { searchWith } from "./search.ts";

const never = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), "search-"));
after(() => rmSync(folder, { recursive: true }));

const records = join(folder, "processes");
const processes = new Processes({ folder: records, world: new RealWorld(), log: openLog("silent") });
after(() => processes.killEverything());

/** Without ripgrep, unless a test has it: what is asked for is the same, and our own way has to be seen too. */
const path = process.env["PATH"];
const hasRipgrep = (path ?? "").split(":").some((each) => existsSync(join(each, "rg")));
const ways = ["our own way", "with ripgrep"] as const;

const skip = HAS_PROC ? false : "trees are found through /proc";

/** An expression that takes for ever on this line. */
const SLOW = { pattern: "^(a+)+$", line: `${"a".repeat(60)}b\n` };

function workspace(files: Readonly<Record<string, string | Uint8Array>>): string {
  const made = mkdtempSync(join(folder, "workspace-"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(made, name, ".."), { recursive: true });
    writeFileSync(join(made, name), text);
  }
  return made;
}

/** By this process: it, or something below it. */
function isOpen(path: string): boolean {
  return readdirSync("/proc/self/fd").some((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(path);
    } catch {
      return false; // It was the one for this list.
    }
  });
}

interface Asking {
  readonly world?: World;
  readonly signal?: AbortSignal;
}

async function search(
  workspace: string,
  input: Record<string, unknown>,
  { world = new SimulatedWorld(1), signal = never }: Asking = {},
): Promise<string> {
  const tool = searchWith(world, processes);
  const given = await tool.input["~standard"].validate(input);
  assert.ok(!given.issues, JSON.stringify(given.issues));
  const output = await tool.run(given.value, {
    agent: { workspace },
    session: { key: KEY },
    signal,
  } as unknown as Calling);
  assert.ok(typeof output === "string");
  assert.ok(Buffer.byteLength(output) <= RESULT_BYTES_MAX, "it stays whole in its entry");
  return output;
}

for (const way of ways) {
  const skip = way === "with ripgrep" && !hasRipgrep ? "ripgrep is not installed" : false;
  const on = (title: string, work: () => Promise<void>): void => {
    test(`${title} (${way})`, { skip }, async () => {
      process.env["PATH"] = way === "with ripgrep" ? path : "/nowhere";
      try {
        await work();
      } finally {
        process.env["PATH"] = path;
      }
    });
  };

  on("matches are told by file and line, with the lines around them", async () => {
    const at = workspace({
      "a.txt": "one\ntwo\nthree\nfour\nfive\nsix\nseven two\n",
      "sub/b.ts": "Two\r\n",
      "sub/deep/c.ts": "2",
    });
    assert.equal(await search(at, { pattern: "two" }), "a.txt\n2: two\n--\n7: seven two\n\n[2 matches.]");
    assert.equal(
      await search(at, { pattern: "^two$", ignoreCase: true }),
      "a.txt\n2: two\n\nsub/b.ts\n1: Two\n\n[2 matches.]",
    );
    assert.equal(
      await search(at, { pattern: "two", context: 1 }),
      "a.txt\n1- one\n2: two\n3- three\n--\n6- six\n7: seven two\n\n[2 matches.]",
    );
    assert.equal(await search(at, { pattern: "2", path: "sub" }), "sub/deep/c.ts\n1: 2\n\n[1 match.]");
    assert.equal(await search(at, { pattern: ".", path: "sub/b.ts" }), "sub/b.ts\n1: Two\n\n[1 match.]");
    assert.equal(await search(at, { pattern: "none" }), "Nothing matches.");
  });

  on("globs choose files, and literal patterns are no expressions", async () => {
    const at = workspace({
      "a.ts": "f(x)",
      "b.js": "f(x)",
      "src/a.ts": "f(x)",
      "src/.dot": "f(x)",
      "-e": "-e",
    });
    const files = async (input: Record<string, unknown>): Promise<string[]> =>
      (await search(at, { pattern: "f(x)", literal: true, ...input }))
        .split("\n")
        .filter((line) => /^[\w/.]+$/.test(line));
    assert.deepEqual(await files({}), ["a.ts", "b.js", "src/.dot", "src/a.ts"]);
    assert.deepEqual(await files({ glob: "*.ts" }), ["a.ts", "src/a.ts"]);
    assert.deepEqual(await files({ glob: "src/**/*.ts" }), ["src/a.ts"]);
    assert.deepEqual(await files({ glob: "!*.ts" }), ["b.js", "src/.dot"]);
    assert.deepEqual(await files({ literal: false }), []);
    assert.match(await search(at, { pattern: "-e", literal: true, path: "-e" }), /1: -e/);
  });

  on("what is binary, a link, a pipe, or not the work itself is left out", async () => {
    const outside = workspace({ "secret.txt": "needle" });
    const at = workspace({
      "a.bin": "needle\0",
      ".git/x": "needle",
      "node_modules/x": "needle",
      "b.txt": "needle",
    });
    symlinkSync(outside, join(at, "folder-out"));
    symlinkSync(join(outside, "secret.txt"), join(at, "file-out"));
    execFileSync("mkfifo", [join(at, "pipe")], { env: { PATH: path } });
    assert.equal(await search(at, { pattern: "needle" }), "b.txt\n1: needle\n\n[1 match.]");
    for (const path of ["folder-out", "file-out", "..", outside])
      await assert.rejects(search(at, { pattern: "needle", path }), /leads outside of the workspace/, path);
    await assert.rejects(search(at, { pattern: "needle", path: "none" }), /there is no folder none/);
  });

  on("matches, lines and the whole are bounded", async () => {
    const at = workspace({
      "many.txt": "x\n".repeat(1_000),
      "wide.txt": `${"w".repeat(5_000)}\n`.repeat(200),
    });
    assert.match(
      await search(at, { pattern: "x", limit: 3 }),
      /^many.txt\n1: x\n2: x\n3: x\n\n\[3 matches. There may be more/,
    );
    assert.match(await search(at, { pattern: "x" }), /\[200 matches. There may be more/);
    const wide = await search(at, { pattern: "w", path: "wide.txt" });
    assert.ok(wide.startsWith(`wide.txt\n1: ${"w".repeat(500)} … [cut: this line has 5000 bytes]\n2: w`));
    assert.match(wide, /There may be more/);
  });
}

test("a pattern that is wrong is refused; forms of other tools are understood", async () => {
  const at = workspace({ "a.txt": "Some-thing" });
  await assert.rejects(search(at, { pattern: "a(" }), /the pattern is wrong: .* set literal/);
  assert.match(await search(at, { pattern: "(?i)some\\-" }), /1: Some-thing/);
});

test("an expression that takes for ever ends with the call or its time, and leaves nothing open", async (t) => {
  if (!existsSync("/proc/self/fd")) return t.skip("there is no /proc to look in");
  if (hasRipgrep) return t.skip("ripgrep knows no expression that takes for ever");
  const at = workspace({ "a.txt": "aaa\n", "deep/er/slow.txt": SLOW.line });
  const slow = join(at, "deep/er/slow.txt");
  const giving = new AbortController();
  const given = search(at, { pattern: SLOW.pattern }, { signal: giving.signal });
  given.catch(() => {}); // It is looked at below.
  while (!isOpen(slow)) await settle();
  giving.abort(new Error("nobody waits"));
  await assert.rejects(given, /nobody waits/);
  assert.equal(isOpen(slow), false);

  const world = new SimulatedWorld(1);
  const late = search(at, { pattern: SLOW.pattern }, { world });
  while (!isOpen(slow)) await settle();
  assert.ok(world.step(), "it has an end");
  assert.match(await late, /It took longer than 30 s and was ended/);
  assert.equal(isOpen(slow), false);
});

test("whoever gives up at any moment leaves nothing open", async (t) => {
  if (!existsSync("/proc/self/fd")) return t.skip("there is no /proc to look in");
  const at = workspace(
    Object.fromEntries(Array.from({ length: 50 }, (_, each) => [`a/${each % 5}/${each}`, "x\n"])),
  );
  for (let waits = 0; waits < 4_000; waits = Math.ceil(waits * 1.2) + 1) {
    const giving = new AbortController();
    const given = search(at, { pattern: "none" }, { signal: giving.signal }).catch(() => null);
    for (let each = 0; each < waits; each += 1) await settle();
    giving.abort(new Error("enough"));
    await given;
  }
  assert.equal(isOpen(at), false);
});

/** A stand-in for ripgrep: writes down its marker, leaves a process behind, and says what a test wants it to. */
async function withStandIn(says: string, work: (at: string) => Promise<void>): Promise<void> {
  const at = workspace({ "a.txt": "one\ntwo\n" });
  const programs = workspace({
    rg: `#!/bin/sh\necho $SESSIOND_PROCESS > "${join(at, "marker")}"\nsleep 1000 &\n${says}\n`,
  });
  chmodSync(join(programs, "rg"), 0o755);
  process.env["PATH"] = `${programs}:${path}`;
  try {
    await work(at);
  } finally {
    process.env["PATH"] = path;
  }
  assert.deepEqual(alive([readFileSync(join(at, "marker"), "utf8").trim()]), []);
  assert.deepEqual(readdirSync(records), []);
}

test("ripgrep is a process of its session: recorded, and ended with all it started", { skip }, async () => {
  await withStandIn("printf './a.txt\\0002:\\n'", async (at) => {
    assert.equal(await search(at, { pattern: "not asked" }), "a.txt\n2: two\n\n[1 match.]");
  });
  const many = "while :; do printf './a.txt\\0001:\\n'; done";
  await withStandIn(many, async (at) => {
    assert.match(
      await search(at, { pattern: "x", limit: 1 }),
      /^a.txt\n1: one\n\n\[1 match. There may be more/,
    );
  });
  const giving = new AbortController();
  await withStandIn("sleep 1000", async (at) => {
    const given = search(at, { pattern: "x" }, { signal: giving.signal });
    given.catch(() => {}); // It is looked at below.
    while (processes.of(KEY).length === 0 || !existsSync(join(at, "marker"))) await settle();
    giving.abort(new Error("nobody waits"));
    await assert.rejects(given, /nobody waits/);
  });
});

test("a search waits for a slot: it is a thread, and perhaps a process", () => {
  assert.equal(searchWith(new SimulatedWorld(1), processes).process, true);
});
