import assert from "node:assert/strict";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { scratch } from "../../test/fixtures/home.ts";
import { Fault } from "../base/fault.ts";
import { TASK_BYTES_MAX } from "./limits.ts";
import { asksForSomething, readTask } from "./task.ts";

function workspaceOf(test: TestContext): { readonly workspace: string; readonly file: string } {
  const workspace = join(scratch(test), "workspace");
  mkdirSync(workspace);
  return { workspace, file: join(workspace, "HEARTBEAT.md") };
}

function isRefused(words: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof Fault && error.code === "bad_input" && words.test(error.message);
}

test("blank lines, headings, comments and empty list items ask for nothing", () => {
  for (const text of [
    "",
    "\n \r\n\t\n",
    "# Heartbeat\n\n## Mail\n###\n",
    "<!-- write here -->",
    "<!--\n- look at the mail\n-->\n#",
    "<!-- never closed\n- look",
    "- \n*\n+\n- [ ]\n- [x]\n1.\n2)",
  ])
    assert.equal(asksForSomething(text), false, JSON.stringify(text));
  for (const text of [
    "look",
    "- look",
    "- [ ] look",
    "# Mail\nlook",
    "<!-- a --> look <!-- b -->",
    "#look",
    "--- look",
  ])
    assert.equal(asksForSomething(text), true, JSON.stringify(text));
});

test("a file that is not there, or says nothing, is no task, and no folder is made for looking", async (test) => {
  const { workspace, file } = workspaceOf(test);
  assert.equal(await readTask({ workspace }), null);
  writeFileSync(file, "# Heartbeat\n- \n");
  assert.equal(await readTask({ workspace }), null);
  writeFileSync(file, "\n- look at the mail\n");
  assert.equal(await readTask({ workspace }), "- look at the mail");
  const none = join(workspace, "none");
  assert.equal(await readTask({ workspace: none }), null);
  assert.equal(existsSync(none), false);
});

test("a link inside of the workspace is followed, one that leads out of it is refused", async (test) => {
  const { workspace, file } = workspaceOf(test);
  writeFileSync(join(workspace, "tasks.md"), "look");
  symlinkSync("tasks.md", file);
  assert.equal(await readTask({ workspace }), "look");
  const other = workspaceOf(test);
  writeFileSync(join(workspace, "..", "secret"), "look");
  symlinkSync(join(workspace, "..", "secret"), other.file);
  await assert.rejects(readTask(other), isRefused(/outside of the workspace/));
});

test("what is no file is refused, and what is long is shown in part, with no half of a character", async (test) => {
  const { workspace, file } = workspaceOf(test);
  mkdirSync(file);
  await assert.rejects(readTask({ workspace }), isRefused(/HEARTBEAT\.md/));
  const long = workspaceOf(test);
  writeFileSync(long.file, `a${"ü".repeat(TASK_BYTES_MAX)}`);
  const text = (await readTask(long)) ?? "";
  assert.match(text, /^aü+\n\n\[The rest of this file is left out/);
  assert.ok(Buffer.byteLength(text) < TASK_BYTES_MAX + 200);
});
