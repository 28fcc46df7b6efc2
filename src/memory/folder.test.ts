// Which notes there are, whatever else stands where notes do.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { Desk } from "../../test/fixtures/desk.ts";
import { afterwards, scratch } from "../../test/fixtures/home.ts";
import { fault } from "../../test/sessions/stage.ts";
import { NOTES_MAX, NOTES_NAMES_MAX } from "../limits.ts";

/** Nobody, on every Linux. */
const NOBODY = 65534;

/** Root may look at everything: from here to the end of the test this process is somebody else, whose workspace it is. */
function withoutRights(test: TestContext, { workspace }: Desk): void {
  if (process.getuid?.() !== 0) return;
  chmodSync(dirname(workspace), 0o755);
  chownSync(workspace, NOBODY, NOBODY);
  chownSync(join(workspace, "memory"), NOBODY, NOBODY);
  process.seteuid?.(NOBODY);
  afterwards(test, () => process.seteuid?.(0));
}

describe("what stands in the place of notes takes nothing from the others", () => {
  test("a link to MEMORY.md", async (t) => {
    const desk = new Desk(t);
    const outside = join(scratch(t), "secret.md");
    writeFileSync(outside, "tea");
    desk.put("memory/a.md", "tea");
    for (const target of [outside, "memory/a.md", "gone.md", "MEMORY.md"]) {
      symlinkSync(target, join(desk.workspace, "MEMORY.md"));
      assert.deepEqual(await desk.paths(), ["memory/a.md"], target);
      assert.deepEqual(await desk.found("tea"), ["memory/a.md"], target);
      assert.equal((await desk.append("memory/a.md", `- by ${target}`)).changed, true);
      rmSync(join(desk.workspace, "MEMORY.md"));
    }
  });

  test("a link to the folder, or a file in its place", async (t) => {
    const desk = new Desk(t);
    const outside = scratch(t);
    writeFileSync(join(outside, "a.md"), "tea");
    desk.put("MEMORY.md", "tea\n");
    const at = join(desk.workspace, "memory");
    const wrong = [
      () => symlinkSync(outside, at),
      () => symlinkSync("memory", at),
      () => writeFileSync(at, "tea"),
    ];
    for (const [number, make] of wrong.entries()) {
      make();
      assert.deepEqual(await desk.paths(), ["MEMORY.md"], String(number));
      assert.deepEqual(await desk.found("tea"), ["MEMORY.md"], String(number));
      assert.equal((await desk.append("MEMORY.md", `- ${number}`)).changed, true);
      await assert.rejects(desk.append("memory/a.md", "x"), fault("bad_input", /memory/));
      rmSync(at);
    }
  });

  test("a folder that nobody may look into is told as left out", async (t) => {
    const desk = new Desk(t);
    desk.put("memory/a.md", "tea");
    desk.put("memory/closed/b.md", "tea");
    chmodSync(join(desk.workspace, "memory/closed"), 0);
    await desk.search("coffee"); // Its thread is loaded while the program's own files can still be read.
    withoutRights(t, desk);
    const { notes, more, unread } = await desk.memory.list(desk.workspace);
    assert.deepEqual([notes.map(({ path }) => path), more, unread], [["memory/a.md"], false, 1]);
    const { hits, skipped } = await desk.search("tea");
    assert.deepEqual([hits.map(({ path }) => path), skipped], [["memory/a.md"], 1]);
  });
});

describe("a list of notes", () => {
  test("whose paths begin in one way has all of them, however many others there are", async (t) => {
    const desk = new Desk(t);
    for (let at = 0; at < NOTES_MAX + 100; at += 1) desk.put(`memory/g${at % 3}/${at}.md`, "");
    for (const group of ["g0", "g1", "g2"]) {
      const { notes, more } = await desk.memory.list(desk.workspace, `memory/${group}/`);
      assert.deepEqual([notes.length, more], [(NOTES_MAX + 100) / 3, false], group);
    }
    const paths = async (under: string): Promise<string[]> =>
      (await desk.memory.list(desk.workspace, under)).notes.map(({ path }) => path);
    assert.deepEqual(await paths("memory/g0/999"), ["memory/g0/999.md"]);
    assert.deepEqual(
      [await paths("memory/g"), await paths("M"), await paths("nothing")].map((each) => each.length),
      [NOTES_MAX, 0, 0],
    );
  });

  test("says that there is more where there are more files than are looked at", async (t) => {
    const desk = new Desk(t);
    desk.put("memory/a.md", "tea");
    const names = Array.from({ length: NOTES_NAMES_MAX / 2 }, (_, at) => `${at}.json`);
    for (const folder of ["x", "x/y"]) {
      const at = join(desk.workspace, "memory", folder);
      mkdirSync(at);
      execFileSync("touch", names, { cwd: at });
    }
    mkdirSync(join(desk.workspace, "memory/x/y/z"));
    const { notes, more } = await desk.memory.list(desk.workspace);
    assert.deepEqual([notes.map(({ path }) => path), more], [["memory/a.md"], true]);
    assert.equal((await desk.append("memory/b.md", "x")).changed, true, "nobody is kept from writing");
    assert.deepEqual([(await desk.search("tea")).skipped, await desk.found("tea")], [1, ["memory/a.md"]]);
  });
});
