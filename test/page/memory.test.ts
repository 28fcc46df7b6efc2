import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";
import { until } from "./stage.ts";

const ANN = "memory/people/ann.md";

function at(path: string): string {
  return `#/memory/main?path=${encodeURIComponent(path)}`;
}

async function textOf(daemon: Daemon, path: string): Promise<string> {
  return (await daemon.call("readMemory", { path })).text;
}

async function saved(page: Page, path: string): Promise<void> {
  await page
    .getByRole("status")
    .filter({ hasText: `Saved ${path}` })
    .waitFor();
}

test("a note is begun, kept as a draft over a reload and another view, saved and found", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: "#/memory" });
  await page.getByText("Nothing is written down yet").waitFor();
  await page.getByRole("button", { name: "New note…" }).click();
  const dialog = page.getByRole("dialog", { name: "New note of main" });
  await dialog.getByLabel("Path").fill("../ann.md");
  await dialog.getByRole("button", { name: "Begin" }).click();
  await dialog.getByRole("alert").filter({ hasText: "it is not in memory/" }).waitFor();
  await dialog.getByLabel("Path").fill("people/ann.md"); // The folder of all notes is meant, and it is said that it is.
  await dialog.getByRole("button", { name: "Begin" }).click();
  await page
    .getByRole("status")
    .filter({ hasText: `Its path is ${ANN}` })
    .waitFor();
  const field = page.getByLabel(`Text of ${ANN}`);
  await field.fill("# Ann\n\nlikes <i>green</i> tea");
  await assert.rejects(textOf(daemon, ANN), /ann\.md/, "nothing is written before it is saved");

  const asked: string[] = [];
  page.on("dialog", (question) => {
    asked.push(question.type());
    void question.accept();
  });
  await page.reload();
  assert.deepEqual(asked, ["beforeunload"]);
  assert.equal(await field.inputValue(), "# Ann\n\nlikes <i>green</i> tea");

  await page.getByRole("link", { name: "Overview" }).click();
  await page.waitForURL((url) => url.hash === "#/overview"); // Nobody is asked: nothing is lost by it.
  await page
    .getByRole("status")
    .filter({ hasText: `${ANN} is not saved: what you typed is kept as a draft` })
    .waitFor();
  assert.equal(await page.getByRole("dialog").count(), 0);

  await page.getByRole("link", { name: "Memory" }).click();
  await page.getByRole("link", { name: "ann.md not saved" }).click();
  await field.press("Control+Enter");
  await saved(page, ANN);
  assert.equal(await textOf(daemon, ANN), "# Ann\n\nlikes <i>green</i> tea");
  const note = page.getByRole("article", { name: ANN });
  await note.getByText("likes <i>green</i> tea").waitFor();
  await note.getByRole("button", { name: "Edit" }).waitFor();

  await page.getByRole("searchbox", { name: "Search the notes" }).fill("GREEN te");
  const said = page.getByRole("navigation", { name: "Notes" }).getByRole("link", { name: ANN });
  await said.locator("mark").first().waitFor();
  assert.deepEqual(await said.locator("mark").allTextContents(), ["green", "tea"]);
});

test("when another writes meanwhile, both texts are there, and who typed decides; deleting asks", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("writeMemory", { path: ANN, text: "first" });
  const page = await visit(t, daemon, { at: at(ANN) });
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel(`Text of ${ANN}`).fill("mine");
  await daemon.call("writeMemory", { path: ANN, text: "theirs" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").filter({ hasText: "somebody else wrote this note meanwhile" }).waitFor();
  assert.equal(await page.getByLabel(`Text of ${ANN}`).inputValue(), "mine");
  assert.equal(await textOf(daemon, ANN), "first\ntheirs\n", "nothing was written over");
  await page.getByRole("button", { name: "Show theirs beside mine" }).click();
  assert.equal(await page.getByLabel("Their text").inputValue(), "first\ntheirs\n");
  assert.equal(await page.getByLabel("My text").inputValue(), "mine");
  await page.getByLabel("My text").fill("theirs and mine");

  // They write once more: the version that was seen counts, not the newest.
  await daemon.call("writeMemory", { path: ANN, text: "again" });
  await page.getByRole("button", { name: "Save mine over theirs" }).click();
  await page.getByRole("button", { name: "Show theirs beside mine" }).click();
  assert.equal(await page.getByLabel("Their text").inputValue(), "first\ntheirs\nagain\n");
  await page.getByRole("button", { name: "Save mine over theirs" }).click();
  await saved(page, ANN);
  assert.equal(await textOf(daemon, ANN), "theirs and mine");

  const more = page.getByRole("button", { name: `More for ${ANN}` });
  await more.click();
  await page.getByRole("menuitem", { name: "Append…" }).click();
  await page.getByRole("dialog").getByLabel("Text").fill("a line");
  await page.getByRole("dialog").getByRole("button", { name: "Append" }).click();
  await page.getByRole("article", { name: ANN }).getByText("a line").waitFor();

  await more.click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  const question = page.getByRole("dialog", { name: `Delete ${ANN}?` });
  await question.getByRole("button", { name: "Cancel" }).click();
  assert.match(await textOf(daemon, ANN), /a line/);
  await more.click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await question.getByRole("button", { name: "Delete" }).click();
  await page.getByText("Nothing is written down yet").waitFor();
  await assert.rejects(textOf(daemon, ANN), /ann\.md/);
});

test("what is edited is the note as it is now; Ctrl+S goes on writing, and who comes after another is told without figures", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("writeMemory", { path: ANN, text: "first" });
  const page = await visit(t, daemon, { at: at(ANN) });
  await page.getByRole("article", { name: ANN }).getByText("first").waitFor();
  await daemon.call("writeMemory", { path: ANN, text: "theirs" }); // The page does not hear of it.
  await page.getByRole("button", { name: "Edit" }).click();
  const field = page.getByLabel(`Text of ${ANN}`);
  await field.waitFor();
  assert.equal(await field.inputValue(), "first\ntheirs\n");

  await field.press("Control+End");
  await page.keyboard.type("mine");
  await page.keyboard.press("Control+s");
  await saved(page, ANN);
  await page.getByText("no changes").waitFor();
  await page.keyboard.type(", too"); // The caret is where it was.
  await page.keyboard.press("Control+s");
  await until(async () => (await textOf(daemon, ANN)) === "first\ntheirs\nmine, too");
  await page.getByText("no changes").waitFor();

  await daemon.call("writeMemory", { path: ANN, text: "again" });
  await page.keyboard.type("!");
  await page.keyboard.press("Control+s");
  const banner = page.getByRole("alert").filter({ hasText: "somebody else wrote this note meanwhile" });
  await banner.waitFor();
  assert.doesNotMatch((await banner.textContent()) ?? "", /\d/);
  assert.equal(
    await page.getByText(`Saved ${ANN}`).count(),
    0,
    "what was saved before is not what this is about",
  );
  assert.equal(await field.inputValue(), "first\ntheirs\nmine, too!");
});

test("a note of several pages is read and saved whole; what is discarded is named, and a token that may only look is told so", async (t) => {
  const daemon = await Daemon.start(t);
  const text = Array.from({ length: 6_000 }, (_, line) => `line ${line}\n`).join("");
  await daemon.call("writeMemory", { path: "MEMORY.md", text });
  const { token } = await daemon.call("createToken", { name: "guest", scope: "read" });
  const page = await visit(t, daemon, { at: at("MEMORY.md") });
  await page.getByRole("button", { name: "Edit" }).click();
  const field = page.getByLabel("Text of MEMORY.md");
  assert.equal(await field.inputValue(), text);
  await field.press("Control+End");
  await page.keyboard.type("one more\n");
  await page.getByRole("button", { name: "Save" }).click();
  await saved(page, "MEMORY.md");
  const { lines } = await daemon.call("readMemory", { path: "MEMORY.md" });
  assert.equal(lines, 6_001);

  await page.getByRole("button", { name: "Edit" }).click();
  await field.fill("away with it");
  await page.getByRole("button", { name: "Discard…" }).click();
  await page.getByRole("dialog", { name: "Discard what you typed?" }).getByText("MEMORY.md").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
  await page.getByRole("button", { name: "Edit" }).click();
  assert.equal(await field.inputValue(), `${text}one more\n`);

  await page.evaluate(`localStorage.setItem("sessiond.token", ${JSON.stringify(token)})`);
  await page.reload();
  await page.getByText("Read only.").waitFor();
  assert.ok(await page.getByRole("button", { name: "Edit" }).isDisabled());
  await page.keyboard.press("e");
  await page.getByRole("status").filter({ hasText: "Read only: the token guest may look." }).waitFor();
  assert.equal(await field.count(), 0);
});
