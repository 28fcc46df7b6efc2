import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { count } from "../../src/base/figures.ts";
import { exportedLine, exportHead, type ExportPage } from "../../src/calls/exported.ts";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";

const MAIN = "agent:main:main";

function hashOf(sessionKey: string): string {
  return `#/session/${encodeURIComponent(sessionKey)}`;
}

/** Says something, and waits until it was answered. */
async function said(daemon: Daemon, message: string, sessionKey = MAIN): Promise<void> {
  const { id } = await daemon.call("send", { sessionKey, message });
  await daemon.call("wait", { sessionKey, id });
}

/** What was said along the active path. */
async function texts(daemon: Daemon, sessionKey = MAIN): Promise<readonly string[]> {
  const { entries } = await daemon.call("history", { sessionKey });
  return entries.filter(({ kind }) => kind === "user").map(({ text }) => text);
}

async function doWith(page: Page, seq: number, name: string): Promise<void> {
  const entry = page.locator(`article[data-seq="${seq}"]`);
  await entry.getByRole("button", { name: /^What can be done with this: \w.*, \d\d:\d\d$/ }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name }).click();
}

test("from a message: fork, rewind, edit and resend, pin, copy a link, and see its turn", async (t) => {
  const daemon = await Daemon.start(t);
  for (const text of ["one", "two", "three"]) await said(daemon, text);
  const page = await visit(t, daemon, { at: hashOf(MAIN) });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("feed").getByText("three", { exact: true }).waitFor();

  assert.ok((await page.getByRole("article", { name: /, \d\d:\d\d$/ }).count()) > 4);
  assert.equal(
    await page.getByRole("article", { name: /entry/ }).count(),
    0,
    "nobody wants to hear its number",
  );
  await doWith(page, 6, "Copy link");
  await page.getByText("Copied.").waitFor();
  assert.equal(await page.evaluate("navigator.clipboard.readText()"), `${daemon.url}/${hashOf(MAIN)}?seq=6`);
  await doWith(page, 6, "Trace of this turn");
  await page.getByRole("table", { name: "Steps and tool calls" }).getByText("1 step, 0 tool calls").waitFor();
  const { turn } = await daemon.call("trace", { sessionKey: MAIN });
  assert.match(page.url(), /turn=/);
  assert.ok(!page.url().includes(turn), "the turn of that entry, not the last");

  await doWith(page, 6, "Pin");
  const pinned = page.getByRole("article", { name: /, pinned$/ });
  await pinned.getByText("Pinned", { exact: true }).waitFor();
  assert.equal(await pinned.count(), 1);
  await page.getByRole("tab", { name: "Context" }).click();
  await page.getByRole("tabpanel").getByRole("link", { name: "two" }).waitFor();
  await page.getByRole("button", { name: "Unpin two" }).click();
  await page.getByRole("button", { name: "Unpin two" }).waitFor({ state: "detached" });
  assert.deepEqual((await daemon.call("status", { sessionKey: MAIN })).settings.pins, []);
  await pinned.waitFor({ state: "detached" });

  await doWith(page, 10, "Edit and resend");
  await page.getByRole("button", { name: "Go back and edit" }).click();
  const field = page.getByLabel("Message", { exact: true });
  await page.locator(".composer textarea:focus").waitFor();
  assert.equal(await field.inputValue(), "three");
  await field.fill("three, but better");
  await field.press("Enter");
  await page.getByRole("feed").getByText("three, but better", { exact: true }).waitFor();
  assert.deepEqual(await texts(daemon), ["one", "two", "three, but better"]);

  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
  // What is gone back to is named by its words, and what was left behind is found again: at once, and by the line in its place.
  await doWith(page, 7, "Rewind to here");
  const question = page.getByRole("dialog", { name: /^Rewind to “Rehearsal .*” \(\d\d:\d\d\)$/ });
  await question.getByText("Nothing is deleted").waitFor();
  assert.doesNotMatch((await question.textContent()) ?? "", /#\d|entry \d/);
  await page.getByRole("button", { name: "Rewind", exact: true }).click();
  await page.getByText(/^It goes on from “/).waitFor();
  assert.deepEqual(await texts(daemon), ["one", "two"]);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("What was left behind is there again").waitFor();
  assert.deepEqual(await texts(daemon), ["one", "two", "three, but better"]);
  // Nothing is left behind now: so nothing offers to return to it.
  const back = page.getByRole("article", { name: /^Returned/ });
  await back.getByText(/^Returned to “.*” \(\d\d:\d\d\)\.$/).waitFor();
  assert.equal(await page.getByRole("button", { name: "Return to what was left" }).count(), 1, "of the edit");
  await doWith(page, 7, "Rewind to here");
  await page.getByRole("button", { name: "Rewind", exact: true }).click();
  const went = page.getByRole("article", { name: /^Went back/ });
  await page.getByRole("feed").getByText("three, but better", { exact: true }).waitFor({ state: "detached" });
  await went.getByText(/^Went back to “Rehearsal .*” \(\d\d:\d\d\); what had come after/).waitFor();
  await went.getByRole("button", { name: "Return to what was left" }).click();
  await page.getByRole("button", { name: "Return", exact: true }).click();
  await page.getByRole("feed").getByText("three, but better", { exact: true }).waitFor();
  assert.deepEqual(await texts(daemon), ["one", "two", "three, but better"]);

  await doWith(page, 3, "Fork from here");
  await page.getByRole("dialog", { name: "Fork main" }).getByRole("button", { name: "Fork" }).click();
  await page.getByText(/^This is a fork of .* it knows what that knew at “/).waitFor();
  await page.waitForURL(({ hash }) => !hash.startsWith(hashOf(MAIN)));
  await page.getByRole("feed").getByText("one", { exact: true }).waitFor();
  const fork = decodeURIComponent(new URL(page.url()).hash.slice("#/session/".length));
  assert.deepEqual(await texts(daemon, fork), ["one"]);
});

test("the panel shows what the calls say: context, compaction, children, and the trace of a turn", async (t) => {
  const daemon = await Daemon.start(t, { config: { agents: { main: { model: "rehearsal/small" } } } });
  await said(daemon, "!verbose 900");
  await said(daemon, "!verbose 900");
  await said(
    daemon,
    `!say Looking.\n!call list {"path":"."}\n!call read {"path":"nope.md"}\n!then\n!spawn {"task":"!say hi","label":"pricing of A"}\n!then\n!wait\n!then\n!say done`,
  );
  const page = await visit(t, daemon, { at: hashOf(MAIN) });
  const panel = page.getByRole("tabpanel");
  await panel.getByText("as its agent is configured").first().waitFor();

  await page.getByRole("tab", { name: "Status" }).press("ArrowRight");
  const table = page.getByRole("table", { name: "What fills the window" });
  await table.waitFor();
  const { parts, tokens, window, most } = await daemon.call("context", { sessionKey: MAIN });
  const rows = await table.locator("td:nth-child(2)").allTextContents();
  const { system, tools, summary, messages, toolResults } = parts;
  assert.deepEqual(
    rows,
    [system, tools, summary, messages, toolResults, most - tokens, window - most].map(count),
  );
  await page.getByRole("button", { name: "Compact now" }).click();
  await page.getByLabel("What is to be kept above all").fill("the prices");
  await page.getByRole("button", { name: "Compact", exact: true }).click();
  await panel.getByText("somebody asked for it").waitFor();
  await panel.getByText("everything from").waitFor();
  await panel.getByText("Its summary").click();
  await panel.locator("pre").getByText("##").first().waitFor();
  const { compaction } = await daemon.call("context", { sessionKey: MAIN });
  await panel
    .getByText(count(compaction?.tokensBefore ?? 0))
    .first()
    .waitFor();

  await page.getByRole("tab", { name: "Children" }).click();
  await panel.getByRole("link", { name: "pricing of A" }).waitFor();
  await panel.getByText("ended").waitFor();

  await page.keyboard.press("Escape");
  await page.getByRole("tab", { name: "Children" }).focus();
  await page.keyboard.press("t");
  const trace = page.getByRole("table", { name: "Steps and tool calls" });
  await trace.waitFor();
  // A compaction that was asked for is the last turn.
  const turns = page.getByLabel("Turn", { exact: true });
  const turn = (await turns.locator("option", { hasText: "Looking" }).getAttribute("value")) ?? "";
  await turns.selectOption(turn);
  const shown = await daemon.call("trace", { sessionKey: MAIN, turn });
  const names = shown.steps.flatMap((step) => [
    `${step.step}. ${step.model}`,
    ...step.tools.map(({ name }) => name),
  ]);
  await trace.getByText("subagents").waitFor();
  const lines = (await trace.locator("tbody th").allTextContents()).map((text) => text.trim());
  assert.equal(lines.length, names.length);
  for (const [at, name] of names.entries()) assert.ok(lines[at]?.startsWith(name), `${lines[at]} is ${name}`);
  await trace.getByRole("row", { name: /^read failed/ }).waitFor();
  await trace.getByRole("link", { name: /^sub:/ }).click();
  await page.getByRole("heading", { name: "pricing of A" }).waitFor();
  await page.getByText("This session has ended, and takes no more messages").waitFor();
});

test("the panel says what a session waits for and which limits hold, and does not starve while the daemon is slow", async (t) => {
  const limits = { tokens: 200_000, cost: 2 };
  const daemon = await Daemon.start(t, { config: { agents: { main: { limits } } } });
  const spawn = { task: "!slow 600000\n!say never", label: "pricing of A", limits: { cost: 0.5 } };
  await daemon.call("send", {
    sessionKey: MAIN,
    message: `!spawn ${JSON.stringify(spawn)}\n!call sessions_yield`,
  });
  const page = await visit(t, daemon, { at: hashOf(MAIN) });
  const panel = page.getByRole("tabpanel");
  const fact = (name: string) =>
    panel.locator("dl > div").filter({ has: page.getByText(name, { exact: true }) });
  await fact("Now").getByText("waits for its children:").waitFor();
  await fact("Now").getByRole("link", { name: "pricing of A", exact: true }).waitFor();
  await page
    .getByRole("region", { name: "What was said" })
    .getByText("waits for its children: pricing of A", { exact: true })
    .waitFor();
  await fact("Limits").getByText("of 200.0k").waitFor();
  await fact("Limits").getByText("of $2.00").waitFor();
  await fact("Limits").getByText("200 steps a turn").waitFor();
  await fact("Limits").getByText("as its agent is configured").waitFor();
  await page.getByRole("tab", { name: "Status" }).focus();
  await page.keyboard.press("c");
  await page.getByRole("table", { name: "What fills the window" }).waitFor();
  await page.getByRole("tab", { name: "Status" }).click();

  await fact("Now").getByRole("link").click();
  await page.getByRole("heading", { name: "pricing of A" }).waitFor();
  await fact("Limits").getByText("of $0.50").waitFor();
  await fact("Limits").getByText("cost set for this session").waitFor();
  for (const name of ["Parent", "Limits"]) {
    const link = fact(name).getByRole("link", { name: "main", exact: true });
    assert.equal(await link.getAttribute("title"), MAIN);
  }
  await fact("Limits")
    .getByLabel(/^Cost of main/)
    .waitFor();

  // Each answer is held back until the session has changed once more, and more than a second is over.
  const { children } = await daemon.call("children", { sessionKey: MAIN });
  const sessionKey = children[0]?.sessionKey ?? "";
  await page.clock.install();
  const held: (() => Promise<void>)[] = [];
  const asked = Promise.withResolvers<undefined>();
  let isSlow = true;
  await page.route("**/rpc", async (route) => {
    const isStatus = (route.request().postData() ?? "").includes('"method":"status"');
    if (!isStatus || !isSlow) return await route.continue();
    const response = await route.fetch();
    if (!isSlow) return await route.fulfill({ response });
    held.push(async () => await route.fulfill({ response }).catch(() => {})); // Whoever called it off hears nothing.
    asked.resolve(undefined);
  });
  for (const nice of [5, 6, 7]) {
    await daemon.call("set", { sessionKey, nice, label: `nice is ${nice}` });
    await page.getByRole("heading", { name: `nice is ${nice}` }).waitFor();
    await page.clock.fastForward(5_000);
    await asked.promise;
  }
  await held.shift()?.();
  await fact("Settings").getByText("nice 5").waitFor();
  isSlow = false;
  for (const tell of held) await tell();
  await fact("Settings").getByText("nice 7").waitFor();
});

test("a trace of a turn that runs is live", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("send", { sessionKey: MAIN, message: `!call list {"path":"."}\n!then\n!slow 600000` });
  const page = await visit(t, daemon, { at: `${hashOf(MAIN)}?turn=` });
  await page.getByRole("tab", { name: "Trace" }).click();
  const trace = page.getByRole("table", { name: "Steps and tool calls" });
  await trace.locator("tr.of-now").waitFor();
  await trace.getByRole("row", { name: /^list/ }).waitFor();
  assert.doesNotMatch(
    await page.getByRole("tabpanel").innerText(),
    /\d{4}-\d\d-\d\dT/,
    "times are for people",
  );
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("tabpanel").getByText("aborted").waitFor();
  assert.equal(await trace.locator("tr.of-now").count(), 0);
});

test("an export has every entry, in the words of the calls", async (t) => {
  const daemon = await Daemon.start(t);
  const step = Array.from({ length: 12 }, () => "!call session_status").join("\n");
  await said(daemon, Array.from({ length: 20 }, () => step).join("\n!then\n"));
  await said(daemon, "and `that` was it");
  const pages: ExportPage[] = [];
  for (let from: number | null = 1; from !== null; from = pages.at(-1)?.next ?? null)
    pages.push(await daemon.call("entries", { sessionKey: MAIN, from, limit: 200 }));
  assert.ok(pages.length > 1, "it takes several pages");
  const [first] = pages;
  assert.ok(first);

  const page = await visit(t, daemon, { at: hashOf(MAIN) });
  await page.getByRole("button", { name: "Export" }).waitFor();
  for (const [format, name] of [
    ["jsonl", "As JSONL"],
    ["markdown", "As Markdown"],
  ] as const) {
    await page.getByRole("button", { name: "Export" }).click();
    const coming = page.waitForEvent("download");
    await page.getByRole("menuitem", { name }).click();
    const download = await coming;
    assert.equal(download.suggestedFilename(), `agent-main-main.${format === "jsonl" ? "jsonl" : "md"}`);
    const lines = pages.flatMap(({ entries }) => entries.map((entry) => exportedLine(entry, format)));
    assert.equal(readFileSync(await download.path(), "utf8"), exportHead(first, format) + lines.join(""));
  }

  const held = Promise.withResolvers<undefined>();
  await page.route("**/rpc", async (route) => {
    const isLater = /"method":"entries".*"from":(?!1\b)/.test(route.request().postData() ?? "");
    if (isLater) await held.promise;
    await route.continue().catch(() => {}); // It was called off meanwhile.
  });
  await page.keyboard.press("Escape");
  await page.keyboard.press("e");
  await page.locator("[role=menuitem]:focus").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText(/^Exporting: \d+ of \d+ entries/).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("Exporting:").waitFor({ state: "detached" });
  held.resolve(undefined);
});

test("what is not there, goes, or has ended says so, and what to do", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: hashOf("agent:main:nope") });
  await page.getByText("There is no such session").waitFor();
  await page.getByText("No session can be called “agent:main:nope”. Is the address complete?").waitFor();
  await page.getByRole("link", { name: "All sessions" }).waitFor();
  assert.equal(await page.getByLabel("Message", { exact: true }).count(), 0);

  await page.goto(`${daemon.url}/${hashOf("agent:main:thread:fresh")}`);
  await page.getByText("A message to it opens it").waitFor();
  await page.getByLabel("Message", { exact: true }).fill("open up");
  await page.keyboard.press("Enter");
  await page.getByRole("feed").getByText("open up", { exact: true }).waitFor();
  await page.getByText("idle").first().waitFor();
  await page.goto(`${daemon.url}/${hashOf("agent:main:thread:fresh")}?seq=99999999999999999999`);
  await page.reload();
  await page.getByRole("feed").getByText("open up", { exact: true }).waitFor();
  await daemon.call("remove", { sessionKey: "agent:main:thread:fresh" });
  await page.getByText("This session is not here any more").waitFor();
  await page.getByRole("link", { name: "All sessions" }).waitFor();

  const { sessionKey } = await daemon.call("spawn", { task: "!say hi" });
  await page.goto(`${daemon.url}/${hashOf(sessionKey)}`);
  await page.getByRole("button", { name: "Fork it" }).click();
  await page.getByRole("dialog", { name: /^Fork/ }).getByRole("button", { name: "Fork" }).click();
  await page.getByLabel("Message", { exact: true }).waitFor();
  await page.getByText("This is a fork of").waitFor();
});

test("on a phone everything fits, and the panel is a sheet that Escape closes", async (t) => {
  const daemon = await Daemon.start(t);
  await said(
    daemon,
    `a title that is much longer than any telephone is wide, and then some more of it\n!say ${"word ".repeat(40)}`,
  );
  const page = await visit(t, daemon, { at: hashOf(MAIN), width: 390 });
  await page.getByLabel("Message", { exact: true }).waitFor();
  assert.equal(await page.getByRole("tablist").count(), 0, "closed at first");
  const wide =
    "document.documentElement.scrollWidth <= 390 && document.querySelector('.session-view').scrollWidth <= 390";
  assert.equal(await page.evaluate(wide), true);
  await page.getByRole("button", { name: "Show the panel" }).click();
  for (const name of ["Context", "Children", "Trace", "Status"]) {
    await page.getByRole("tab", { name }).click();
    await page.getByRole("tabpanel", { name }).waitFor();
    assert.equal(await page.evaluate(wide), true, name);
  }
  for (let times = 0; times < 30; times += 1) {
    await page.keyboard.press("Tab");
    const behind = `document.activeElement?.closest(".session-view > .head, .session-view > .talk") != null`;
    assert.equal(await page.evaluate(behind), false, "what is behind it is out of reach");
  }
  await page.keyboard.press("Escape");
  await page.getByRole("tablist").waitFor({ state: "detached" });
  await page.locator("button[aria-label^='Show the panel']:focus").waitFor();

  // Back closes what was opened last, and the session stays; whatever closed it, it is not gone back to.
  await page.evaluate("location.hash = '#/overview'");
  await page.evaluate(`location.hash = ${JSON.stringify(hashOf(MAIN))}`);
  await page.getByRole("button", { name: "Show the panel" }).click();
  await page.getByRole("tab", { name: "Context" }).click();
  await page.getByRole("tabpanel", { name: "Context" }).waitFor();
  await page.goBack();
  await page.getByRole("tablist").waitFor({ state: "detached" });
  assert.ok(page.url().endsWith(hashOf(MAIN)), page.url());
  await page.getByRole("button", { name: "Show the panel" }).click();
  await page.getByRole("button", { name: "Hide the panel", exact: true }).click();
  await page.getByRole("tablist").waitFor({ state: "detached" });
  await page.goBack();
  await page.waitForURL(/#\/overview$/);

  // A link leads to it; there is nothing to go back from, and closing it stays here.
  await page.goto(`${daemon.url}/${hashOf(MAIN)}?panel=trace`);
  await page.getByRole("tabpanel", { name: "Trace" }).getByRole("link", { name: /^1\./ }).click();
  await page.getByRole("tablist").waitFor({ state: "detached" }); // What it leads to is behind it.
  await page.waitForURL(/seq=\d+$/);

  // Who came by a link was nowhere before: then they read on.
  await page.goto(`${daemon.url}/${hashOf(MAIN)}?panel=status`);
  await page.reload();
  await page.locator("[role=tab][aria-selected=true]:focus").waitFor();
  await page.locator(".transcript .scroll").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("region", { name: "What was said" }).and(page.locator(":focus")).waitFor();
});
