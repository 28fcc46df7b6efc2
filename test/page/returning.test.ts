// Ways back: of a conversation that went back, of a session that is paused, and of one that is archived.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";

const MAIN = "agent:main:main";
const AT_MAIN = `#/session/${encodeURIComponent(MAIN)}`;

test("a rewind that is undone leaves nothing to return to; one that something was said after, what was said", async (t) => {
  const daemon = await Daemon.start(t);
  for (const word of ["one", "two", "three"])
    await daemon.call("ask", { sessionKey: MAIN, message: `!say ${word}` });
  const { lastSeq } = await daemon.call("entries", { sessionKey: MAIN, last: 1 });
  const page = await visit(t, daemon, { at: AT_MAIN });
  const feed = page.getByRole("feed");
  await feed.getByText("three", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("g");
  await page.keyboard.press("j");
  await page.locator("article:focus").waitFor();
  assert.equal(await page.getByRole("button", { name: /^Newest/ }).count(), 0, "all of it is in sight");
  await page.keyboard.press("r");
  await page.getByRole("dialog").getByRole("button", { name: "Rewind", exact: true }).click();
  await feed.getByText("three", { exact: true }).waitFor({ state: "detached" });
  // Of its own first message nobody has counted how large the context is.
  await page
    .getByRole("tabpanel", { name: "Status" })
    .getByRole("img", { name: "Context: not known" })
    .waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await feed.getByText(/^Returned to “three” \(\d\d:\d\d\)\.$/).waitFor();
  assert.equal(await feed.getByText("two", { exact: true }).count(), 1);
  assert.equal(await page.getByRole("button", { name: "Return to what was left" }).count(), 0);
  assert.equal(await feed.getByText("left behind").count(), 0);

  await daemon.call("rewind", { sessionKey: MAIN, seq: 3 });
  await daemon.call("ask", { sessionKey: MAIN, message: "!say four" });
  await daemon.call("rewind", { sessionKey: MAIN, seq: lastSeq });
  await feed
    .getByText(/^Returned to “three” \(\d\d:\d\d\); what had been said since was left behind\.$/)
    .waitFor();
  await page.getByRole("button", { name: "Return to what was left" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Return", exact: true }).click();
  await feed.getByText("four", { exact: true }).waitFor();
});

test("a session that is paused says so in words of people, and goes on by a button or a key", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("ask", { sessionKey: MAIN, message: "!say hi" });
  await daemon.call("stop", { sessionKey: MAIN });
  const page = await visit(t, daemon, { at: AT_MAIN });
  const transcript = page.getByRole("region", { name: "What was said" });
  await transcript.getByText("messages wait until it continues", { exact: true }).waitFor();
  assert.equal(await page.getByText("cont`").count(), 0);
  const status = page.getByRole("tabpanel", { name: "Status" });
  for (const words of ["1 letter waiting", "2 letters waiting", "3 letters waiting"]) {
    await daemon.call("send", { sessionKey: MAIN, message: "!say later" });
    await status.getByText(words).waitFor(); // No row tells of a letter that only waits.
  }
  await page.getByLabel("Model").selectOption("rehearsal/large");
  await page.getByText("rehearsal/large from the next message on").waitFor();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Continue" }).waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await page.keyboard.press(".");
  await page.getByRole("button", { name: "Continue" }).waitFor();
  await page.keyboard.press("?");
  const keys = page.getByRole("dialog", { name: "Keys" });
  await keys.getByText("pause it, or continue").waitFor();
  for (const group of await keys.getByRole("heading", { level: 3 }).all())
    assert.equal(await group.locator("xpath=..").locator("dd").count().then(Boolean), true);
  await page.keyboard.press("Escape");
  await page.keyboard.press(".");
  await page.getByRole("button", { name: "Continue" }).waitFor({ state: "detached" });
});

test("the address of a session that is archived brings it back, for who may", async (t) => {
  const daemon = await Daemon.start(t);
  const sessionKey = "agent:main:thread:old";
  await daemon.call("ask", { sessionKey, message: "remember me\n!say yes" });
  await daemon.call("archive", { sessionKey });
  const at = `#/session/${encodeURIComponent(sessionKey)}`;
  const { token } = await daemon.call("createToken", { name: "reader", scope: "read" });
  const reader = await visit(t, { url: daemon.url, token }, { at });
  await reader.getByText(/^Archived on \d/).waitFor();
  assert.equal(await reader.getByRole("button", { name: "Restore" }).getAttribute("aria-disabled"), "true");
  const page = await visit(t, daemon, { at });
  await page.getByText(/^Archived on \d/).waitFor();
  await page.getByText("remember me").waitFor();
  assert.equal(await page.getByText("sessiond restore").count(), 0);
  assert.equal(await page.getByLabel("Message", { exact: true }).count(), 0, "it takes no message");
  await page.getByRole("button", { name: "Restore" }).click();
  await page.getByRole("feed").getByText("yes", { exact: true }).waitFor();
  await page.getByLabel("Message", { exact: true }).waitFor();
});

test("on a phone the words of a wide table stay whole: it is moved sideways in its own box", async (t) => {
  const daemon = await Daemon.start(t);
  const rows = [
    "| Product | Availability | Possibilities | Contract | Representative |",
    "|---|---|---|---|---|",
    "| International | unfortunately | spreadsheets | yearly | administration |",
  ];
  const message = rows.map((row) => `!say ${row}`).join("\n");
  await daemon.call("ask", { sessionKey: MAIN, message });
  const page = await visit(t, daemon, { at: AT_MAIN, width: 390 });
  const box = page.getByRole("feed").getByRole("group", { name: "Table" });
  await box.waitFor();
  const lines = await page.evaluate(`[...document.querySelectorAll(".markdown td")].map((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getClientRects().length;
  })`);
  assert.deepEqual(lines, [1, 1, 1, 1, 1]);
  const [inside, across, page390] = (await page.evaluate(`(() => {
    const box = document.querySelector(".markdown .wide");
    return [box.scrollWidth, box.clientWidth, document.documentElement.scrollWidth];
  })()`)) as [number, number, number];
  assert.ok(inside > across, "it has more than its place");
  assert.equal(page390, 390, "and the page has not");
});
