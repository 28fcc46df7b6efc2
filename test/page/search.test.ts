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
  await page.keyboard.press("Enter");
  for (const _ of told.slice(1)) await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.hash === `#/session/${encodeURIComponent(MAIN)}?seq=${last}`);

  await page.goBack();
  await field.waitFor();
  assert.equal(await field.inputValue(), "zurich pea", "the words are in the address");
  await found.waitFor();
  await page.getByLabel("Agent", { exact: true }).selectOption("coder");
  await page.getByText("Nothing has all of these words: zurich pea").waitFor();
  await page.getByLabel("Agent", { exact: true }).selectOption("");
  await found.getByRole("button", { name: `Only here: search in ${MAIN}` }).click();
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
