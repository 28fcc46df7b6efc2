// Calls of an agent's memory at their edges: lines longer than a page, writes that are sent again, and what is left out.

import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { HISTORY_BYTES_MAX_OF_TOOL } from "../../src/calls/limits.ts";
import type { Output } from "../../src/index.ts";
import { RESULT_BYTES_MAX } from "../../src/limits.ts";
import { lines, MAIN, THEN } from "./family.ts";
import { fault, Stage } from "./stage.ts";

/** What a call of a tool gave, in a turn of its own. */
async function made<Of>(stage: Stage, tool: string, given: object): Promise<Of> {
  await stage.sessions.ask(MAIN, lines([`!call memory_${tool} ${JSON.stringify(given)}`, THEN, "!say done"]));
  const result = (await stage.results(MAIN)).at(-1);
  assert.equal(result?.isError, false, result?.text);
  assert.ok(Buffer.byteLength(result?.text ?? "") <= RESULT_BYTES_MAX);
  return JSON.parse(result?.text ?? "") as Of;
}

test("a line that is longer than a page is read in parts, and none of it is left out", async (t) => {
  const stage = await Stage.open(t);
  const path = "memory/wide.md";
  for (const text of [
    `# head\n${"word ".repeat(6_000)}\nlast\n`,
    `${'"\\\u0001'.repeat(2_000)}\n${"😀".repeat(7_000)}`,
  ]) {
    const version = (await stage.sessions.call("memory", { under: path })).notes.length
      ? (await stage.sessions.call("readMemory", { path })).version
      : null;
    await stage.sessions.call("writeMemory", { path, mode: "replace", version, text });
    let [all, pages] = ["", 0];
    for (let from: object | null = {}; from !== null; pages += 1) {
      const page: Output<"readMemory"> = await made(stage, "read", { path, ...from });
      assert.ok(page.text.isWellFormed());
      [all, from] = [all + page.text, page.next];
    }
    assert.ok(all === text, `${all.length} of ${text.length}`);
    const most = Math.ceil(Buffer.byteLength(JSON.stringify(text)) / HISTORY_BYTES_MAX_OF_TOOL) + 3;
    assert.ok(pages <= most, `${pages} pages: as much as fits is told`);
  }
  await assert.rejects(
    stage.sessions.call("readMemory", { path, offset: 1, column: 100_000 }),
    fault("bad_input", /column: line 1 of memory\/wide\.md has 6001 characters/),
  );
});

describe("a write that a person sends again", () => {
  test("with its id is there once, also when others have written since; without, it is another", async (t) => {
    const stage = await Stage.open(t, { agents: { coder: {} } });
    const path = "memory/log.md";
    const write = async (text: string, more: object = {}): Promise<boolean> =>
      (await stage.sessions.call("writeMemory", { path, text, ...more })).changed;
    const text = async (agent: string): Promise<string> =>
      (await stage.sessions.call("readMemory", { path, agent })).text;
    assert.deepEqual(
      [await write("- a", { id: "1" }), await write("- b"), await write("- a", { id: "1" })],
      [true, true, false],
    );
    assert.equal(await text("main"), "- a\n- b\n");
    assert.equal(await write("- a"), true);
    assert.equal(await write("- a", { agent: "coder", id: "1" }), true, "another's memory has other ids");
    assert.deepEqual([await text("main"), await text("coder")], ["- a\n- b\n- a\n", "- a\n"]);
  });
});

test("what is left out of a list or of hits is told", async (t) => {
  const stage = await Stage.open(t);
  const folder = join(stage.home, "agents/main/workspace/memory");
  mkdirSync(join(folder, "few"), { recursive: true });
  symlinkSync("nowhere", join(folder, "link.md"));
  for (let at = 0; at < 60; at += 1)
    writeFileSync(join(folder, `${String(at).padStart(90, "n")}.md`), `needle ${"x".repeat(290)}`);
  writeFileSync(join(folder, "few/a.md"), "needle haystack");
  const found = await made<Output<"searchMemory">>(stage, "search", {
    text: "needle",
    in: "notes",
    limit: 60,
  });
  assert.deepEqual([found.notes.length < 60, found.more], [true, true]);
  const few = await made<Output<"searchMemory">>(stage, "search", { text: "haystack", in: "notes" });
  assert.deepEqual([few.notes.length, few.more], [1, false]);
  const listed = await made<Output<"memory">>(stage, "list", { under: "memory/few/" });
  assert.deepEqual([listed.notes.map(({ path }) => path), listed.more], [["memory/few/a.md"], false]);
  await stage.sessions.ask(MAIN, "zebra");
  await stage.sessions.ask(MAIN, "zebra again");
  const said = await stage.sessions.call("searchMemory", { text: "zebra", in: "transcripts", limit: 1 });
  assert.deepEqual([said.transcripts.length, said.more], [1, true]);
});
