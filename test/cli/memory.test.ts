// `sessiond memory` against a real daemon, and the same notes over HTTP.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Output } from "../../src/calls/door.ts";
import { Daemon } from "../gateway/daemon.ts";
import { ran, type Ran } from "./stage.ts";

test("notes are written, listed, read, found, replaced and deleted from a shell and over HTTP", async (t) => {
  const daemon = await Daemon.start(t, { config: { agents: { coder: {} } } });
  const run = (...words: readonly string[]): Promise<Ran> => ran(t, daemon, "memory", ...words);
  const piped = (input: string, ...words: readonly string[]): Promise<Ran> =>
    ran(t, { env: daemon.env, input }, "memory", ...words);
  const file = join(daemon.home, "agents/main/workspace/memory/people/ann.md");
  const path = "memory/people/ann.md";

  assert.deepEqual(await run(), { exit: 0, out: "no notes yet\n", err: "" });
  const written = await run("write", path, "--", "- likes", "tea");
  assert.match(written.out, /^memory\/people\/ann\.md: 12 B, version [0-9a-f]{16}\n$/, written.err);
  assert.equal((await run("write", path, "--", "- likes tea")).out, `${path} was so already\n`);
  assert.equal((await piped("- no coffee\n", "write", path)).exit, 0);
  assert.equal(readFileSync(file, "utf8"), "- likes tea\n- no coffee\n");
  assert.match((await run("list")).out, /^NOTE +SIZE +CHANGED\nmemory\/people\/ann\.md +24 B +\S+/);
  assert.equal((await run("list", "memory/none")).out, "no such notes\n");

  const read = await run("read", path);
  const version = /^\(version (\w+)\)\n$/.exec(read.err)?.[1] ?? "";
  assert.deepEqual([read.exit, read.out, version.length], [0, "- likes tea\n- no coffee\n", 16]);
  const note = JSON.parse((await run("read", path, "--json")).out) as Output<"readMemory">;
  assert.deepEqual([note.version, note.text, note.agent], [version, read.out, "main"]);

  await daemon.call("ask", { sessionKey: "agent:main:main", message: "coffee?" });
  const found = await run("search", "coffee");
  assert.match(found.out, /^memory\/people\/ann\.md:2 {2}.*coffee.*\nagent:main:main #\d+ {2}.*coffee/);
  assert.doesNotMatch((await run("search", "coffee", "--in", "notes")).out, /agent:main/);
  const nothing = await run("search", "unheardof");
  assert.deepEqual([nothing.exit, nothing.err], [1, "nothing found\n"]);
  assert.equal((await run("search", "coffee", "--agent", "coder")).exit, 1);

  const stale = await piped("all new", "write", path, "--replace", "--if-version", "0123456789abcdef");
  assert.equal(stale.exit, 75);
  assert.match(stale.err, new RegExp(`is at version ${version}`));
  assert.equal((await piped("all new", "write", path, "--replace", "--if-version", version)).exit, 0);
  assert.equal(readFileSync(file, "utf8"), "all new");
  assert.equal((await run("write", path, "x", "--replace")).exit, 64, "without a version");
  assert.equal((await run("write", path, "x", "--replace", "--if-version", "none")).exit, 75);
  assert.equal((await run("write", "../x.md", "x")).exit, 64);
  assert.equal((await run("write", path, "x", "--append", "--delete")).exit, 64);
  assert.equal((await run("frobnicate")).exit, 64);
  const replacing = ["write", path, "--replace", "--if-version"];
  const whole = JSON.parse((await run("read", path, "--json")).out) as Output<"readMemory">;
  const empty = await piped("", ...replacing, whole.version);
  assert.deepEqual([empty.exit, /standard input is empty/.test(empty.err)], [64, true]);
  const deleting = await run("write", path, "all", "of", "it", "--delete", "--if-version", whole.version);
  assert.deepEqual([deleting.exit, /--delete takes no words/.test(deleting.err)], [64, true]);
  assert.equal(readFileSync(file, "utf8"), "all new");
  const wide = `${"wide \u0001".repeat(30_000)}\nend\n`;
  assert.equal((await piped(wide, "write", "memory/wide.md", "--id", "1")).exit, 0);
  assert.equal((await run("write", "memory/wide.md", "more")).exit, 0);
  assert.equal(
    (await piped(wide, "write", "memory/wide.md", "--id", "1")).out,
    "memory/wide.md was so already\n",
  );
  assert.ok(
    (await run("read", "memory/wide.md")).out === `${wide}more\n`,
    "a line longer than a page is whole",
  );
  const emptied = JSON.parse((await run("read", "memory/wide.md", "--json")).out) as Output<"readMemory">;
  assert.equal(
    (await piped("", "write", "memory/wide.md", "-", "--replace", "--if-version", emptied.version)).exit,
    0,
  );
  assert.equal(readFileSync(join(daemon.home, "agents/main/workspace/memory/wide.md"), "utf8"), "");
  assert.equal((await run("read", "memory/none.md")).exit, 66);

  const at = "/v1/agents/main/memory";
  const got = await daemon.fetch(`${at}/note?path=${encodeURIComponent(path)}`);
  const now = (await got.json()) as Output<"readMemory">;
  assert.deepEqual([got.status, now.text], [200, "all new"]);
  const post = async (body: object): Promise<number> =>
    (await daemon.fetch(`${at}/note`, { method: "POST", body: JSON.stringify(body) })).status;
  assert.equal(await post({ path, mode: "replace", version, text: "x" }), 409);
  assert.equal(await post({ path, mode: "delete", version: now.version }), 200);
  assert.equal((await daemon.fetch(`${at}/note?path=${encodeURIComponent(path)}`)).status, 404);
  assert.equal((await daemon.fetch(`${at}/search?text=tea`)).status, 200);
  assert.equal((await daemon.fetch("/v1/agents/ghost/memory")).status, 404);
});
