import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Locator, Page } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { launch, visitIn } from "./browser.ts";
import { manyIn } from "./many.ts";

const MAIN = "agent:main:main";

/** Lines that are there, by their words. */
function line(page: Page, ...words: readonly (string | RegExp)[]): Locator {
  let found = page.getByRole("row");
  for (const each of words) found = found.filter({ hasText: each });
  return found;
}

async function opened(t: TestContext, daemon: Daemon, at = "#/processes"): Promise<Page> {
  const page = await visitIn(await launch(t), t, daemon, { at });
  await page.getByRole("treegrid", { name: "Sessions" }).or(page.getByText("No sessions match")).waitFor();
  return page;
}

/** A child of main that does nothing for long, by its label. */
async function working(daemon: Daemon, label: string): Promise<string> {
  const task = "!slow 3600000\n!say done";
  return (await daemon.call("spawn", { task, label, parent: MAIN })).sessionKey;
}

/** Which of the three are there, from top to bottom. */
async function labels(page: Page): Promise<readonly string[]> {
  const lines = await page.locator("[role=row][aria-level='2']").allTextContents();
  return lines.flatMap((text) => /one|two|three/.exec(text)?.[0] ?? []);
}

async function menuOf(page: Page, row: Locator, deed: string): Promise<void> {
  await row.getByRole("button", { name: /^What can be done/ }).click();
  await page.getByRole("menuitem", { name: deed, exact: true }).click();
}

test("sub-agents at work are seen below main as it spawns them, and how they end", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await opened(t, daemon);
  await page.getByRole("link", { name: "Say something to main" }).waitFor();
  await daemon.call("ask", { sessionKey: MAIN, message: "hello" });
  await line(page, /^main/, "hello", "idle").waitFor();
  const spawns = ["one", "two", "three"].map(
    (label) => `!spawn ${JSON.stringify({ label, task: "!slow 3600000\n!say done" })}`,
  );
  await daemon.call("send", { sessionKey: MAIN, message: [...spawns, "!then", "!wait"].join("\n") });
  for (const label of ["one", "two", "three"]) {
    const child = line(page, new RegExp(`^${label}`), "running step 1"); // Main names them: it waits for them.
    await child.waitFor();
    assert.equal(await child.getAttribute("aria-level"), "2", "below main");
  }
  assert.equal(await line(page, /^main/).getAttribute("aria-expanded"), "true");
  await page.locator(".counts").filter({ hasText: "4 running" }).waitFor();

  assert.deepEqual(await labels(page), ["one", "two", "three"], "as they were given");
  const { children } = await daemon.call("children", { sessionKey: MAIN });
  const two = children.find(({ title }) => title === "two")?.sessionKey ?? "";
  const before = await labels(page);
  await daemon.call("kill", { sessionKey: two });
  await line(page, /^two/, "killed").waitFor();
  assert.deepEqual(await labels(page), before, "it stays where it was, among the others");
  await daemon.call("spawn", { task: "!fail auth", label: "bad", parent: MAIN, announce: false });
  await line(page, "1 ended", "1 failed").waitFor(); // It was never seen at work.

  // Whoever comes later finds it folded away, and can open it.
  await page.reload();
  await line(page, "2 ended", "1 failed").waitFor();
  assert.deepEqual(await labels(page), ["one", "three"], "whatever changed last");
  await line(page, "2 ended").click();
  await line(page, /^two/, "killed").waitFor();
  await line(page, /^bad/, "failed", "the script says !fail auth").waitFor();
  await line(page, "2 ended").click();
  await line(page, /^two/).waitFor({ state: "detached" });
});

test("keys are for a line that can be seen, and nothing points at one that is not there", async (t) => {
  const daemon = await Daemon.start(t, { home: await manyIn(t, 80) });
  const child = await working(daemon, "the child");
  const page = await opened(t, daemon);
  const table = page.getByRole("treegrid", { name: "Sessions" });
  await line(page, "the child", "running").click();
  await table.focus();
  assert.equal(
    await table.getAttribute("aria-activedescendant"),
    await line(page, "the child").getAttribute("id"),
  );

  // Tab goes from the table to what can be done to the one that is selected, and on: not through all the others.
  await page.keyboard.press("Tab");
  const menu = line(page, "the child").getByRole("button", { name: /^What can be done/ });
  assert.equal(
    await page.evaluate("document.activeElement.ariaLabel"),
    await menu.getAttribute("aria-label"),
  );
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate("document.activeElement.closest('[role=row]')"), null);

  // Scrolled away, its element is gone.
  await table.focus();
  await table.evaluate("document.querySelector('[role=treegrid]').scrollTop = 60 * 38");
  await line(page, "the child").waitFor({ state: "detached" });
  await page.locator("[role=treegrid]:not([aria-activedescendant])").waitFor();
  await table.evaluate("document.querySelector('[role=treegrid]').scrollTop = 0");
  await line(page, "the child").waitFor();
  await page.locator("[role=treegrid][aria-activedescendant]").waitFor();

  // Folded away, it is not meant by any key.
  await line(page, /^main/).getByRole("button", { name: "Close what is below it" }).click();
  await line(page, "the child").waitFor({ state: "detached" });
  await page.keyboard.press("a");
  await page.getByText("Select a session first").waitFor();
  assert.equal((await daemon.call("status", { sessionKey: child })).state, "running");
});

test("every key of the table does what it says", async (t) => {
  const daemon = await Daemon.start(t);
  const child = await working(daemon, "the child");
  await daemon.call("ask", { sessionKey: "agent:main:direct:ada", message: "hello" });
  const page = await opened(t, daemon);
  await line(page, "direct:ada").waitFor();
  const chosen = async (): Promise<string> =>
    (await page.locator("[role=row][aria-selected=true]").allTextContents()).join("|");

  await page.keyboard.press("j");
  assert.match(await chosen(), /^main/);
  await page.keyboard.press("j");
  assert.match(await chosen(), /the child/);
  await page.keyboard.press("ArrowDown");
  assert.match(await chosen(), /direct:ada/);
  await page.keyboard.press("k");
  await page.keyboard.press("h"); // a child: up to its parent
  assert.match(await chosen(), /^main/);
  await page.keyboard.press("ArrowLeft");
  await line(page, "the child").waitFor({ state: "detached" });
  assert.equal(await line(page, /^main/).getAttribute("aria-expanded"), "false");
  await page.keyboard.press("l");
  await line(page, "the child").waitFor();
  await page.keyboard.press("l");
  assert.match(await chosen(), /the child/);
  const active = await page.getByRole("treegrid").getAttribute("aria-activedescendant");
  assert.equal(active, await page.locator("[aria-selected=true]").getAttribute("id"));

  await page.keyboard.press("s");
  const steer = page.getByRole("dialog", { name: /^Steer/ });
  await steer.getByLabel("Message").fill("look at B as well");
  await steer.getByRole("button", { name: "Steer" }).click();
  await page.getByText("reads it before its next step").waitFor();
  assert.equal((await daemon.call("status", { sessionKey: child })).waitingLetters, 1);

  await page.keyboard.press("n");
  await page.getByRole("spinbutton", { name: /^Nice/ }).fill("5");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("P");
  await page.getByText("is pinned").waitFor();
  await line(page, "the child").getByRole("img", { name: "pinned" }).waitFor();
  const { settings } = await daemon.call("status", { sessionKey: child });
  assert.deepEqual([settings.nice, settings.pinned], [5, true]);

  await page.keyboard.press("m");
  await page.getByRole("menuitem", { name: "Stop the turn" }).waitFor();
  const keyed = await page.evaluate(
    "[...document.querySelectorAll('[role=menuitem][aria-keyshortcuts]')].map((each) => `${each.getAttribute('aria-keyshortcuts')} ${each.querySelector('span').textContent}`)",
  );
  assert.deepEqual(keyed, [
    ...["o Open", "s Steer…", ". Pause", "f Fork…", "e Export…", "L Label…", "n Nice…", "P Unpin"],
    ...["a Archive", "x Kill…"],
  ]);
  await page.keyboard.press("Escape");
  await page.getByRole("menu").waitFor({ state: "detached" });

  await page.keyboard.press("?");
  for (const about of ["fork it …", "export it …", "the last: all are read"])
    await page.getByRole("dialog", { name: "Keys" }).getByText(about).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });

  await page.keyboard.press("/");
  await page.keyboard.type("ada");
  await line(page, "the child").waitFor({ state: "detached" });
  assert.match(page.url(), /#\/processes\?text=ada$/);
  await page.keyboard.press("Escape");
  await line(page, "the child").waitFor();
  await page.getByRole("treegrid").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("x");
  await page.getByText("main session always stays").waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/#/session/${encodeURIComponent(child)}`);
});

test("the menu of a session labels, pauses, continues, kills, archives and spawns; what destroys asks", async (t) => {
  const daemon = await Daemon.start(t);
  const key = "agent:main:direct:ada";
  await daemon.call("send", { sessionKey: key, message: "!slow 3600000" });
  await daemon.call("set", { sessionKey: key, label: "first name" });
  const below = (await daemon.call("spawn", { task: "!slow 3600000", parent: key })).sessionKey;
  const page = await opened(t, daemon);
  await menuOf(page, line(page, "first name"), "Label…");
  await page.getByRole("textbox", { name: /^Label/ }).fill("second <b>name</b>");
  await page.getByRole("button", { name: "Label" }).click();
  await line(page, "second <b>name</b>", "running").waitFor();

  await menuOf(page, line(page, "second"), "Pause");
  await page.getByText("pauses after its step").waitFor();
  await line(page, "second", "pausing, step 1").waitFor();
  assert.equal((await daemon.call("abort", { sessionKey: key })).accepted, true);
  await line(page, "second", "paused").waitFor();
  await menuOf(page, line(page, "second"), "Continue");
  await page.getByText("goes on").waitFor();
  await line(page, "second", "paused").waitFor({ state: "detached" });

  await menuOf(page, line(page, "second"), "Kill…");
  const question = page.getByRole("dialog", { name: /^Kill/ });
  await question.getByText(key, { exact: true }).waitFor();
  await question.getByText("1 session below it").waitFor();
  await question.getByText("the transcript can still be read").waitFor();
  await question.getByRole("button", { name: "Cancel" }).click();
  assert.notEqual((await daemon.call("status", { sessionKey: below })).state, "ended");
  await menuOf(page, line(page, "second"), "Kill…");
  await question.getByRole("button", { name: "Kill" }).click();
  await line(page, "second", "killed").waitFor();
  assert.equal((await daemon.call("status", { sessionKey: below })).state, "ended");

  await menuOf(page, line(page, "second"), "Archive");
  await page.getByText(/^Archived "second .* and 1 session below it/).waitFor();
  await line(page, "second").waitFor({ state: "detached" });
  await line(page, /^main/)
    .getByRole("button", { name: /^What can be done/ })
    .click();
  const stays = page.getByRole("menuitem", { name: "Archive" });
  assert.deepEqual(
    [await stays.getAttribute("aria-disabled"), await stays.getAttribute("title")],
    ["true", "An agent's main session always stays: pause it, or begin anew"],
  );
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Spawn" }).click();
  await page.getByRole("textbox", { name: /^Task/ }).fill("!say done");
  await page.getByRole("textbox", { name: /^Name/ }).fill("prices");
  await page.getByRole("dialog").getByText("More", { exact: true }).click();
  await page.getByRole("spinbutton", { name: /^Limit/ }).fill("0.5");
  await page.getByRole("dialog").getByRole("button", { name: "Spawn" }).click();
  await line(page, "prices").waitFor();
  const { sessions } = await daemon.call("list", { text: "prices" });
  const { settings } = await daemon.call("status", { sessionKey: sessions[0]?.sessionKey ?? "" });
  assert.equal(settings.limits?.cost, 0.5);
  await menuOf(page, line(page, "prices"), "Remove…");
  await page
    .getByRole("dialog", { name: /^Remove/ })
    .getByText("will be gone for good")
    .waitFor();
  await page.getByRole("button", { name: "Remove for good" }).click();
  await line(page, "prices").waitFor({ state: "detached" });
});

test("a filter is in the address, holds for what happens later, and can be cleared", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("ask", { sessionKey: "agent:main:direct:ada", message: "about tea" });
  await daemon.call("ask", { sessionKey: "agent:main:hook:ci", message: "about builds" });
  await working(daemon, "a child about tea");
  const page = await opened(t, daemon, "#/processes?text=TEA%20about&kind=direct");
  await line(page, "direct:ada").waitFor();
  assert.equal(await page.getByRole("row").count(), 2, "the columns, and it");
  await daemon.call("ask", { sessionKey: "agent:main:direct:bob", message: "more about tea" });
  await line(page, "direct:bob").waitFor();
  await daemon.call("ask", { sessionKey: "agent:main:hook:ci", message: "tea" });
  await page.getByLabel("kind").selectOption("");
  await line(page, "a child about tea", "of main").waitFor();
  assert.match(page.url(), /\?text=TEA\+about$/);
  await page.getByLabel("state").selectOption("running");
  await line(page, "a child about tea", "running").waitFor();
  await line(page, "direct:ada").waitFor({ state: "detached" });
  assert.equal(await page.getByRole("row").count(), 2);
  const { sessions } = await daemon.call("list", { state: "running" });
  for (const { sessionKey } of sessions) await daemon.call("kill", { sessionKey });
  await page.getByText("No sessions match").waitFor();
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await line(page, "hook:ci", "about builds").waitFor();
  assert.match(page.url(), /#\/processes$/);
});

test("who may only read sees everything, and is told in words what it may not do", async (t) => {
  const daemon = await Daemon.start(t);
  const key = await working(daemon, "at work");
  const { token } = await daemon.call("createToken", { name: "guest", scope: "read" });
  const page = await visitIn(
    await launch(t),
    t,
    { url: daemon.url, token },
    { at: "#/processes", width: 390 },
  );
  await line(page, "at work", "running").waitFor();
  await page.getByRole("treegrid").focus();
  for (const press of ["Home", "j"]) await page.keyboard.press(press);
  await line(page, "at work").and(page.locator("[aria-selected=true]")).waitFor();
  const refused = "Read only: the token guest may look";
  await page.getByRole("button", { name: "Spawn" }).and(page.getByTitle(refused)).waitFor();
  for (const press of [".", "x", "N"]) await page.keyboard.press(press);
  await page.locator(".toast").getByText(refused).first().waitFor();
  assert.equal(await page.getByRole("dialog").count(), 0, "nothing is asked that would be refused");
  await page.keyboard.press("m");
  const may = page.locator("[role=menuitem][aria-disabled=false]");
  assert.deepEqual(await may.locator("span").allTextContents(), ["Open", "Export…"]);
  assert.equal((await daemon.call("status", { sessionKey: key })).state, "running");
  await page.keyboard.press("Escape");
  await line(page, "at work").getByText("running step").click(); // Where there is little room, a tap opens it.
  await page.waitForURL(/#\/session\//);
});
