// Who is at the end of a conversation stays there, whatever grows below it.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";

const MAIN = "agent:main:main";
const AT_MAIN = "#/session/agent%3Amain%3Amain";
const SCROLL = `document.querySelector(".transcript .scroll")`;

/** Pixels below what is seen, once all that was caused by now is drawn. */
async function left(page: Page): Promise<number> {
  return await page.evaluate<number>(`new Promise((told) => requestAnimationFrame(() => requestAnimationFrame(() => {
    const { scrollHeight, clientHeight, scrollTop } = ${SCROLL};
    told(Math.round(scrollHeight - clientHeight - scrollTop));
  })))`);
}

async function height(page: Page): Promise<number> {
  return await page.evaluate<number>(`${SCROLL}.clientHeight`);
}

async function type(page: Page, lines: readonly string[]): Promise<void> {
  await page.getByLabel("Message", { exact: true }).focus();
  for (const [at, line] of lines.entries()) {
    if (at > 0) await page.keyboard.press("Shift+Enter");
    await page.keyboard.type(line);
  }
}

test("who is at the end stays there while a message is written, sent and answered; who is not, is brought there by sending", async (t) => {
  const daemon = await Daemon.start(t);
  for (let n = 0; n < 6; n += 1)
    await daemon.call("ask", { sessionKey: MAIN, message: `!verbose 150\n!say turn ${n}` });
  const page = await visit(t, daemon, { at: AT_MAIN });
  const feed = page.getByRole("feed");
  const newest = page.getByRole("button", { name: /^Newest/ });
  const answers = feed.getByRole("article", { name: /^Answer/ });
  await answers.filter({ hasText: "turn 5" }).waitFor();
  const tall = await height(page);
  assert.ok((await page.evaluate<number>(`${SCROLL}.scrollHeight`)) > tall * 2, "it scrolls");
  assert.equal(await left(page), 0);

  await type(page, ["!say first of six", "two", "three", "four", "five", "six, and more words"]);
  assert.ok((await height(page)) < tall - 60, "the composer has grown");
  assert.equal(await left(page), 0, "after six lines");
  await page.keyboard.press("Enter");
  assert.equal(await left(page), 0, "after they were sent");
  await feed.getByText("first of six", { exact: true }).waitFor();
  assert.equal(await left(page), 0, "after the answer");
  assert.equal(await newest.count(), 0);

  // What else stands below: an answer to a command, a file, and a letter that waits.
  await type(page, ["/status"]);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Dismiss the answer" }).waitFor();
  assert.equal(await left(page), 0, "with the answer to a command");
  const file = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("a note") };
  await page.getByLabel("Files to attach").setInputFiles(file);
  await page.locator(".composer").getByText("notes.txt").waitFor();
  assert.equal(await left(page), 0, "with a file");
  await type(page, ["!slow 3600000", "!say never"]);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /^Stop/ }).waitFor();
  await type(page, ["!say it waited", "a", "b", "c"]);
  await page.keyboard.press("Enter");
  await page.getByText(/^In the mailbox/).waitFor();
  assert.equal(await left(page), 0, "with a letter that waits");
  assert.equal(await newest.count(), 0);

  // What stands below goes for a moment, and comes again with another height, before anything of it is drawn.
  await page.evaluate(`{
    const below = document.querySelector(".composer");
    below.style.display = "none";
    void ${SCROLL}.scrollTop;
    below.style.display = "";
    below.style.minHeight = "200px";
  }`);
  assert.equal(await left(page), 0, "after a change that nobody saw");
  await page.evaluate(`document.querySelector(".composer").style.minHeight = ""`);
  assert.equal(await left(page), 0);

  // Who reads further up is not moved by what is written, but by sending it.
  await page.locator(".transcript .scroll").hover();
  await page.mouse.wheel(0, -600);
  await newest.waitFor();
  const top = await page.evaluate<number>(`${SCROLL}.scrollTop`);
  await type(page, ["!say one more", "a", "b", "c", "d", "e"]);
  assert.ok((await left(page)) > 100);
  assert.equal(await page.evaluate<number>(`${SCROLL}.scrollTop`), top, "what is read stays");
  await page.keyboard.press("Enter");
  await newest.waitFor({ state: "detached" });
  assert.equal(await left(page), 0, "one's own message is seen");
  await daemon.call("abort", { sessionKey: MAIN });
  await answers.filter({ hasText: "one more" }).waitFor();
  assert.equal(await left(page), 0);
});
