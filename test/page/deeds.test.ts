// What can be done to a session, and what it is called, wherever it is shown.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";
import { MAIN } from "./stage.ts";

function line(page: Page, words: string | RegExp): Locator {
  return page.getByRole("row").filter({ hasText: words });
}

async function selected(page: Page): Promise<string> {
  return await page.locator("[role=row][aria-selected=true] .name").innerText();
}

test("what is archived goes, the next is selected, and Undo brings back all that went and nothing else", async (t) => {
  const daemon = await Daemon.start(t);
  for (const peer of ["ada", "bob", "cem"])
    await daemon.call("ask", { sessionKey: `agent:main:direct:${peer}`, message: `hello from ${peer}` });
  const parent = "agent:main:direct:bob";
  for (const label of ["earlier", "along"]) {
    const { sessionKey, id } = await daemon.call("spawn", { task: "!say done", label, parent });
    await daemon.call("wait", { sessionKey, id });
    if (label === "earlier") await daemon.call("archive", { sessionKey });
  }
  const page = await visit(t, daemon, { at: "#/processes" });
  // As they changed: bob, whose children reported, is first.
  await line(page, "hello from bob").click();
  const names = await page.locator(".line.row .name").allTextContents();
  const next = names[names.indexOf("hello from bob") + 1];
  await page.getByRole("treegrid").focus();
  await page.keyboard.press("a");
  await page.getByText('Archived "hello from bob" (direct:bob) and 1 session below it').waitFor();
  await line(page, "hello from bob").waitFor({ state: "detached" });
  assert.equal(await selected(page), next);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText('"hello from bob" (direct:bob) is back, with 1 session below it').waitFor();
  await line(page, "hello from bob").waitFor();
  const { children } = await daemon.call("children", { sessionKey: parent });
  assert.deepEqual(
    children.map(({ title }) => title),
    ["along"],
  );

  // By its menu, whose button goes with the line: keys go on with the next.
  await line(page, "hello from cem")
    .getByRole("button", { name: /^What can be done/ })
    .click();
  await page.getByRole("menuitem", { name: "Archive" }).click();
  await line(page, "hello from cem").waitFor({ state: "detached" });
  await page.locator("[role=treegrid]:focus").waitFor();
  assert.equal(await page.locator("[aria-selected=true]").count(), 1);
});

test("main is main and a fork of it says so, in the table, in its own view and in a search", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("ask", { sessionKey: MAIN, message: "compare the prices" });
  const page = await visit(t, daemon, { at: "#/processes" });
  await page.getByRole("link", { name: "main", exact: true }).waitFor();
  await line(page, "compare the prices").click();
  await page.getByRole("treegrid").focus();
  await page.keyboard.press("f");
  const question = page.getByRole("dialog", { name: "Fork main" });
  assert.equal(await question.getByRole("textbox").inputValue(), "fork of main");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "fork of main" }).waitFor();
  const fork = decodeURIComponent(new URL(page.url()).hash.slice("#/session/".length));
  assert.equal((await daemon.call("status", { sessionKey: fork })).settings.label, "fork of main");
  await page.getByRole("button", { name: "What to do with this session" }).click();
  assert.equal(await page.getByRole("menuitem", { name: "Fork…" }).getAttribute("aria-keyshortcuts"), "f");
  assert.equal(await page.getByRole("menuitem", { name: "Open" }).count(), 0, "it is open");
  await page.keyboard.press("Escape");

  await page.goto(`${daemon.url}/#/session/${encodeURIComponent(MAIN)}`);
  await page.getByRole("heading", { name: "main", exact: true }).waitFor();
  await page.goto(`${daemon.url}/#/search?text=prices`);
  for (const name of ["main", "fork of main"])
    await page.getByRole("heading", { name, exact: true }).waitFor();
  await page.goto(`${daemon.url}/#/processes`);
  await page.getByRole("link", { name: "fork of main", exact: true }).waitFor();
});

test("children stand as they were given, in the table and beside the session, whichever changed last", async (t) => {
  const daemon = await Daemon.start(t);
  const made: string[] = [];
  for (const label of ["first", "second", "third"])
    made.push((await daemon.call("spawn", { task: "!slow 3600000", label, parent: MAIN })).sessionKey);
  await daemon.call("set", { sessionKey: made[0] ?? "", nice: 3 });
  const page = await visit(t, daemon, { at: "#/processes" });
  await line(page, /^third/).waitFor();
  assert.deepEqual(await page.locator("[aria-level='2'] .name").allTextContents(), [
    ...["first", "second", "third"],
  ]);
  await page.goto(`${daemon.url}/#/session/${encodeURIComponent(MAIN)}`);
  await page.getByRole("tab", { name: "Children" }).click();
  await page.locator(".children .who a").nth(2).waitFor();
  assert.deepEqual(await page.locator(".children .who a").allTextContents(), ["first", "second", "third"]);
});

test("a session is exported from the table, and pinned and unpinned by what its menu says", async (t) => {
  const daemon = await Daemon.start(t);
  const key = "agent:main:direct:ada";
  await daemon.call("ask", { sessionKey: key, message: "about tea" });
  const page = await visit(t, daemon, { at: "#/processes" });
  const menu = async (deed: string): Promise<void> => {
    await line(page, "about tea")
      .getByRole("button", { name: 'What can be done to "about tea" (direct:ada)' })
      .click();
    await page.getByRole("menuitem", { name: deed, exact: true }).click();
  };
  await menu("Export…");
  await page.getByLabel("Format").selectOption("markdown");
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("dialog").getByRole("button", { name: "Export" }).click(),
  ]);
  assert.equal(file.suggestedFilename(), "agent-main-direct-ada.md");
  assert.match(await readFile(await file.path(), "utf8"), /about tea/);
  await page.getByText(/entries exported/).waitFor();

  const mark = line(page, "about tea").getByRole("img", { name: "pinned" });
  await menu("Pin");
  await mark.waitFor();
  assert.equal((await daemon.call("status", { sessionKey: key })).pinned, true);
  await menu("Unpin");
  await mark.waitFor({ state: "detached" });
  // An empty one has nothing to be forked or exported.
  await line(page, /^main/)
    .getByRole("button", { name: /^What can be done/ })
    .click();
  await page.locator("[role=menuitem][title='Nothing was said in it yet']").getByText("Export…").waitFor();
});

test("on a phone the views have words at the bottom, and all of them fit", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: "#/processes", width: 390 });
  const links = page.getByRole("navigation", { name: "Views" }).getByRole("listitem").getByRole("link");
  for (const name of ["Processes", "Overview", "Schedule", "Search", "Memory", "Upkeep", "Settings"])
    await links.getByText(name, { exact: true }).waitFor();
  const isCut =
    "[...document.querySelectorAll('.rail li a span')].some((each) => each.scrollWidth > each.parentElement.clientWidth)";
  assert.equal(await page.evaluate(isCut), false);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 390);
  // What a session is called has the whole of its cell.
  const sessionKey = "agent:main:thread:budget-planner-b";
  await daemon.call("send", { sessionKey, message: "words that have no room here" });
  await page.getByRole("row", { name: /budget-planner-b/ }).waitFor();
  const beside = `(() => {
    const name = [...document.querySelectorAll(".session > .name")].find((each) => each.textContent.startsWith("budget"));
    return [name.scrollWidth - name.clientWidth, name.parentElement.clientWidth - name.offsetWidth];
  })()`;
  const [cut = 0, left = 0] = await page.evaluate<readonly number[]>(beside);
  assert.ok(cut === 0 || left < 24, `${cut} px are cut, and ${left} px left`);
});
