// Nothing comes over somebody who has gone on to something else, nothing is done twice or by a slip of the hand, and what can be undone
// stays until it is not wanted.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";
import { answerLost, held } from "./holding.ts";
import { MAIN } from "./stage.ts";
import { HERE, open, say } from "./talking.ts";

/** What the page has asked for so far. */
function callsOf(page: Page): string[] {
  const calls: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/rpc")) calls.push((request.postDataJSON() as { method: string }).method);
  });
  return calls;
}

function toast(page: Page, words: string | RegExp): Locator {
  return page.locator(".toast").filter({ hasText: words });
}

test("an answer that comes late asks nothing, opens nothing and leads nowhere for who is elsewhere by then; nor does a key on Cancel destroy", async (t) => {
  const config = {
    models: {
      aliases: { quick: "rehearsal/large", best: "cloud/opus" },
      providers: {
        cloud: { api: "anthropic", baseUrl: "http://127.0.0.1:9", models: { opus: { windowTokens: 1000 } } },
      },
    },
  };
  const daemon = await Daemon.start(t, { config });
  await daemon.call("ask", { sessionKey: MAIN, message: "one" });
  const task = "!slow 3600000";
  const { sessionKey } = await daemon.call("spawn", { task, label: "digging", parent: MAIN });
  const page = await visit(t, daemon, { at: "#/processes" });
  const calls = callsOf(page);
  const field = page.getByLabel("Message", { exact: true });
  const row = page.getByRole("row").filter({ hasText: "digging" });
  const kill = page.getByRole("dialog", { name: /^Kill/ });

  await row.click();
  await page.keyboard.press("x");
  await kill.getByRole("button", { name: "Cancel" }).focus();
  await page.keyboard.press("ControlOrMeta+Enter");
  await page.keyboard.press("Escape");
  await kill.waitFor({ state: "detached" });
  assert.ok(!calls.includes("kill"));

  const menu = async (): Promise<void> => {
    await row.getByRole("button", { name: /^What can be done/ }).click();
    await page.getByRole("menuitem", { name: "Remove…" }).click();
  };
  const job = await daemon.call("addJob", { name: "morning", every: "1d", message: "look" });
  for (const [at, begins, asks, title] of [
    ["#/processes", "x", "list", "Kill"],
    ["#/processes", menu, "list", "Remove"],
    ["#/processes", "L", "status", "Label"],
    ["#/processes", "n", "status", "Nice"],
    ["#/processes", "N", "models", "Spawn"],
    ["#/schedule", "n", "models", "New job"],
    [`#/schedule/${job.id}`, "e", "job", "Edit"],
  ] as const) {
    await page.evaluate(`location.hash = ${JSON.stringify(at)}`);
    if (at === "#/processes") await row.click();
    else await page.locator("main").getByText("morning").first().waitFor();
    const letGo = await held(page, asks);
    const asked = page.waitForRequest((request) => (request.postData() ?? "").includes(`"${asks}"`));
    await (typeof begins === "string" ? page.keyboard.press(begins) : begins());
    await asked;
    await page.evaluate(`location.hash = ${JSON.stringify(`#/session/${encodeURIComponent(sessionKey)}`)}`);
    await field.fill("");
    await field.press("w");
    await letGo();
    await toast(page, new RegExp(`^“${title}.*was not asked: you had gone elsewhere`)).waitFor();
    await page.keyboard.type("ords");
    assert.equal(await field.inputValue(), "words", title);
    assert.equal(await page.getByRole("dialog").count(), 0);
    await field.fill("");
  }
  assert.equal((await daemon.call("status", { sessionKey })).state, "running");

  // The trace of a turn, and a fork that was left while it was made: neither moves who is elsewhere.
  await page.evaluate(`location.hash = ${JSON.stringify(HERE)}`);
  const one = page.getByRole("article").filter({ hasText: "one" }).first();
  await one.focus();
  let letGo = await held(page, "entries");
  const asked = page.waitForRequest((request) => (request.postData() ?? "").includes('"entries"'));
  await page.evaluate("history.pushState = () => void (window.isMoved = true)");
  await page.keyboard.press("T");
  await asked;
  await page.evaluate(`location.hash = "#/overview"`);
  await page.getByRole("main", { name: "Overview" }).waitFor();
  const answered = page.waitForResponse((response) =>
    (response.request().postData() ?? "").includes('"entries"'),
  );
  await letGo();
  await (await answered).finished();
  await page.evaluate(`location.hash = ${JSON.stringify(HERE)}`);
  await one.focus();
  await page.keyboard.press("F");
  const fork = page.getByRole("dialog", { name: "Fork main" });
  letGo = await held(page, "fork");
  await fork.getByRole("button", { name: "Fork" }).click();
  await page.keyboard.press("Escape");
  await fork.getByRole("button", { name: "Leave" }).click();
  await page.evaluate(`location.hash = "#/overview"`);
  await page.getByRole("main", { name: "Overview" }).waitFor();
  await letGo();
  const made = toast(page, "main is forked");
  await made.waitFor();
  assert.equal(await page.evaluate("location.hash"), "#/overview");
  assert.equal(await page.evaluate("window.isMoved"), undefined);
  await made.getByRole("button", { name: "Open" }).click();
  await page.getByRole("heading", { name: "fork of main" }).waitFor();

  // A child is offered the models that a message is: short names, and those without a key last.
  await page.evaluate(`location.hash = "#/processes"`);
  await row.click();
  await page.keyboard.press("N");
  const options = await page.getByRole("dialog").getByLabel("Model").locator("option").allTextContents();
  assert.ok(options.includes("quick (rehearsal/large)"), String(options));
  assert.ok(options.includes("best (cloud/opus): no key found"), String(options));
  assert.match(options.at(-1) ?? "", /: no key found$/);
});

test("what can be undone stays for each of two, and under the hand; it does not cover what one sends with, and focus is not lost with it", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  const pending = page.getByLabel("Messages on their way");
  const error = { code: -32000, message: "nobody may write now", data: { code: "forbidden" } };
  await page.route("**/rpc", async (route) => {
    const isSend = (route.request().postData() ?? "").includes('"method":"send"');
    await (isSend
      ? route.fulfill({ json: { jsonrpc: "2.0", id: 1, error }, status: 403 })
      : route.continue());
  });
  const texts = ["first", "second"];
  for (const [at, text] of texts.entries()) {
    await say(page, text);
    await pending.getByText("Not sent: nobody may write now").nth(at).waitFor();
  }
  await page.clock.install();
  for (let left = 2; left > 0; left -= 1)
    await pending.getByRole("button", { name: "Discard" }).first().click();
  await pending.waitFor({ state: "detached" });
  const undo = page.getByRole("button", { name: "Undo" });
  assert.equal(await undo.count(), 2);

  // However many there are: those that can be undone are the last to go, and none is over what one sends with.
  await page.keyboard.press("Escape");
  for (const key of ["y", "m", "r"]) await page.keyboard.press(key);
  await page.getByRole("button", { name: "What to do with this session" }).click();
  for (const name of ["Kill…", "Fork…"]) {
    await page.getByRole("menuitem", { name }).click({ force: true });
    await page.getByRole("button", { name: "What to do with this session" }).click();
  }
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".toast").count(), 4);
  assert.equal(await undo.count(), 2);
  const covered = `[...document.querySelectorAll(".composer button, .composer textarea")].filter((each) => {
    const { x, y, width, height } = each.getBoundingClientRect();
    return width > 0 && document.elementFromPoint(x + width / 2, y + height / 2)?.closest(".toasts") != null;
  }).length`;
  for (const width of [1280, 900, 390]) {
    await page.setViewportSize({ width, height: 800 });
    assert.equal(await page.evaluate(covered), 0, `${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });

  await undo.last().hover();
  await page.clock.runFor(60_000);
  assert.equal(await undo.count(), 2, "pointed at");
  await undo.last().focus();
  await page.mouse.move(5, 5);
  await page.clock.runFor(60_000);
  assert.equal(await undo.count(), 2, "gone to by the keyboard");
  await page.keyboard.press("Enter");
  await page.locator("main:focus").waitFor();
  await undo.click();
  await page.mouse.move(5, 5);
  for (const text of texts) await pending.getByText(text, { exact: true }).waitFor();
  await page.clock.runFor(60_000);
  await page.locator(".toast").first().waitFor({ state: "detached" });
});

test("a fork is asked for, and made once though its answer was lost; who has said something since a rewind is asked before Undo leaves it behind", async (t) => {
  const daemon = await Daemon.start(t);
  for (const message of ["one", "two"]) await daemon.call("ask", { sessionKey: MAIN, message });
  const page = await open(t, daemon);
  const calls = callsOf(page);
  const feed = page.getByRole("feed");
  const one = page.getByRole("article").filter({ hasText: "one" }).first();
  const threads = async (): Promise<number> =>
    (await daemon.call("list", { kind: "thread" })).sessions.length;
  await one.focus();
  await page.keyboard.press("F"); // As `f` is, with Caps Lock.
  const fork = page.getByRole("dialog", { name: "Fork main" });
  await fork.getByText(/with what this one knew at “one”/).waitFor();
  await page.keyboard.press("Escape");
  await fork.waitFor({ state: "detached" });
  assert.ok(!calls.includes("fork"));

  for (const [at, key] of ["F", "f"].entries()) {
    await page.evaluate(`location.hash = ${JSON.stringify(HERE)}`);
    await one.focus();
    await page.keyboard.press(key);
    await answerLost(page, "fork");
    await fork.getByRole("button", { name: "Fork" }).click();
    await fork.getByRole("alert").filter({ hasText: "the daemon does not answer" }).waitFor();
    await daemon.call("ask", { sessionKey: MAIN, message: `meanwhile ${key}` });
    await fork.getByRole("button", { name: "Fork" }).click();
    await page.getByRole("heading", { name: "fork of main" }).waitFor();
    await page.unroute("**/rpc");
    assert.equal(await threads(), at + 1, key);
  }

  await page.evaluate(`location.hash = ${JSON.stringify(HERE)}`);
  await one.focus();
  await page.keyboard.press("r");
  await page.getByRole("dialog").getByRole("button", { name: "Rewind" }).click();
  const went = toast(page, "It goes on from “one”");
  await went.waitFor();
  await say(page, "since then");
  await feed.getByText("since then", { exact: true }).first().waitFor();
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
  await went.getByRole("button", { name: "Undo" }).click();
  const back = page.getByRole("dialog", { name: "Return to what was left behind" });
  await back.getByText("What came after the conversation went back is left behind in turn").waitFor();
  await feed.getByText("since then", { exact: true }).first().waitFor();
  await back.getByRole("button", { name: "Return" }).click();
  await feed.getByText("two", { exact: true }).first().waitFor();
  await feed.getByText("since then", { exact: true }).first().waitFor({ state: "detached" });
});
