import assert from "node:assert/strict";
import { test } from "node:test";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";

const MAIN = "agent:main:main";
const HOSTILE = `The pears of Zürich <img src="x" onerror="window.hit = 1"><b>are sold</b>`;

async function said(daemon: Daemon, texts: readonly string[]): Promise<void> {
  for (const message of texts) {
    const { id } = await daemon.call("send", { sessionKey: MAIN, message });
    await daemon.call("wait", { sessionKey: MAIN, id });
  }
}

test("search finds words of an earlier turn as one types, and a hit leads to its entry; what it says is shown as text", async (t) => {
  const daemon = await Daemon.start(t, { config: { agents: { coder: {} } } });
  await said(daemon, [HOSTILE, "!say something else", "!say and more of it"]);
  const page = await visit(t, daemon, { at: "#/search" });
  await page.getByText("What was archived is not looked into").waitFor();
  const field = page.getByRole("searchbox", { name: "Words to search for" });
  await page.keyboard.type("zurich pea"); // The field has the focus.

  const found = page.getByRole("region", { name: MAIN });
  const hits = found.getByRole("listitem").getByRole("link");
  await hits.filter({ hasText: `<img src="x" onerror="window.hit = 1"><b>are sold</b>` }).first().waitFor();
  assert.deepEqual(await hits.first().locator("mark").allTextContents(), ["pears", "Zürich"]);
  assert.equal(await page.locator("#view img, #view b").count(), 0, "nothing of it is markup");
  assert.equal(await page.evaluate("window.hit"), undefined);
  assert.match(page.url(), /#\/search\?text=zurich\+pea$/);

  const { hits: told } = await daemon.call("search", { text: "zurich pea" });
  assert.equal(await hits.count(), told.length);
  const last = told.at(-1)?.seq;
  for (const [at, { kind }] of told.entries()) {
    const who = kind === "user" ? /^You (?:now|\S+ ago) #/ : /^The model (?:now|\S+ ago) #/;
    await hits.nth(at).filter({ hasText: who }).waitFor();
  }
  // Arrows and letters do the same; from a hit one comes back to the words.
  await page.keyboard.press("ArrowDown");
  for (const _ of told.slice(1)) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate("document.activeElement.type"), "search");
  await page.keyboard.press("Enter");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate("document.activeElement.type"), "search");
  await page.keyboard.press("Enter");
  for (const _ of told.slice(1)) await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.hash === `#/session/${encodeURIComponent(MAIN)}?seq=${last}`);

  await page.goBack();
  await field.waitFor();
  assert.equal(await field.inputValue(), "zurich pea", "the words are in the address");
  await found.waitFor();
  await page.getByLabel("Agent", { exact: true }).selectOption("coder");
  await page.getByText("Nothing has all of these words: zurich pea").waitFor();
  await page.getByLabel("Agent", { exact: true }).selectOption("");
  await found.getByRole("button", { name: `Only in this session: search in ${MAIN}` }).click();
  await page.getByRole("button", { name: "Search in all sessions" }).waitFor();
  await hits.first().waitFor();
  await field.fill("nobodysaidthis");
  await page.getByText("Nothing has all of these words: nobodysaidthis").waitFor();
});

test("more hits than are shown at first are there on demand", async (t) => {
  const daemon = await Daemon.start(t);
  const many = Array.from({ length: 56 }, (_, at) => `walnut ${at}`);
  await Promise.all(
    many.map((message) => daemon.call("send", { sessionKey: MAIN, message: `!say ok\n${message}` })),
  );
  const page = await visit(t, daemon, { at: "#/search?text=walnut" });
  await page.getByText("50 hits").waitFor();
  await page.getByRole("button", { name: "Show more" }).click();
  await page.getByText("56 hits").waitFor();
  assert.equal(await page.getByRole("listitem").locator("mark").count(), 56);
  assert.equal(await page.getByRole("button", { name: "Show more" }).count(), 0);
});

test("notes of every agent are searched too, and lead to themselves; archives are not, and it says so", async (t) => {
  const daemon = await Daemon.start(t, { config: { agents: { coder: {} } } });
  const note = { path: "memory/hedgehog.md", text: "The hedgehog sleeps in winter." };
  await daemon.call("writeMemory", { agent: "coder", ...note });
  await daemon.call("ask", {
    sessionKey: MAIN,
    message: "!call sessions_list\n!then\n!say A hedgehog eats snails",
  });
  const page = await visit(t, daemon, { at: "#/search?text=hedgehog" });
  const notes = page.getByRole("region", { name: "Notes" });
  const link = notes.getByRole("link", {
    name: /^memory\/hedgehog\.md line \d+(?:, coder)? The hedgehog sleeps/,
  });
  await link.waitFor();
  assert.deepEqual(await link.locator("mark").allTextContents(), ["hedgehog"]);
  await page.getByText("1 note. Archives are not searched.").waitFor();
  // What is found stays while somebody types on, until the next answer is there.
  await page.evaluate(`
    window.wasGone = false;
    new MutationObserver(() => (window.wasGone ||= document.querySelector(".found.notes") === null))
      .observe(document.body, { subtree: true, childList: true });
  `);
  const field = page.getByRole("searchbox", { name: "Words to search for" });
  await field.fill("hedgehog sle");
  await link.locator("mark").filter({ hasText: "sleeps" }).waitFor();
  assert.equal(await page.evaluate("window.wasGone"), false);
  await field.fill("hedgehog");
  const said = page.getByRole("region", { name: MAIN });
  await said.getByRole("heading", { name: "main", exact: true }).waitFor();
  await said.getByText("The model").first().waitFor();

  await page.getByLabel("Agent", { exact: true }).selectOption("main");
  await notes.waitFor({ state: "detached" });
  await said.waitFor();
  await page.getByLabel("Agent", { exact: true }).selectOption("coder");
  await notes.waitFor();
  await said.waitFor({ state: "detached" });
  await link.click();
  await page.waitForURL((url) => url.hash.startsWith("#/memory/coder?path=memory%2Fhedgehog.md"));
  await page.goto(`${daemon.url}/#/search?text=hedgehog&session=${encodeURIComponent(MAIN)}`);
  await page.getByText("Notes are an agent's, not a session's: they are not searched.").waitFor();
});
