// What waits for a session is seen in its view, whoever sent it; what was read is in the transcript, once.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { textOf, type Entry } from "../../src/transcript/entry.ts";
import { ran } from "../cli/stage.ts";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";
import { HERE, MAIN, open, say } from "./talking.ts";

const ADA = { channel: "telegram", chatType: "direct", peer: "ada" } as const;

/** The lines of what waits, as they stand there. */
async function lines(page: Page): Promise<readonly string[]> {
  return await page.getByLabel("Messages on their way").getByRole("listitem").allInnerTexts();
}

test("what others send to a paused session waits in its view, with who and how, and is in the transcript once it goes on", async (t) => {
  const daemon = await Daemon.start(t);
  const { sessionKey, id } = await daemon.call("receive", { ...ADA, message: "!say hi" });
  await daemon.call("wait", { sessionKey, id });
  await daemon.call("stop", { sessionKey });
  const page = await visit(t, daemon, { at: `#/session/${encodeURIComponent(sessionKey)}` });
  const feed = page.getByRole("feed");
  const pending = page.getByLabel("Messages on their way");
  await feed.getByText("hi", { exact: true }).first().waitFor();

  await daemon.call("receive", { ...ADA, message: "of Ada" });
  const ofAda = pending.getByRole("listitem").filter({ hasText: "of Ada" });
  await ofAda.getByText("Message from telegram:ada").waitFor();
  await ofAda.getByText("steer: read when the session goes on").waitFor();
  await say(page, "of this tab");
  await pending.getByText("In the mailbox: read when the session goes on").waitFor();
  assert.equal((await ran(t, daemon, "steer", sessionKey, "of the terminal")).exit, 0);
  const ofTerminal = pending.getByRole("listitem").filter({ hasText: "of the terminal" });
  await ofTerminal.getByText("Message from a person").waitFor();
  await ofTerminal.getByText("steer: read when the session goes on").waitFor();
  await daemon.call("send", { sessionKey, message: "<b>last</b>", mode: "followup" });
  await pending.getByText("<b>last</b>").waitFor();
  const said = ["of Ada", "of this tab", "of the terminal", "<b>last</b>"];
  const standing = async (): Promise<void> => {
    const now = await lines(page);
    assert.deepEqual(
      now.map((line) => said.findIndex((text) => line.startsWith(text))),
      [0, 1, 2, 3],
      now.join("\n---\n"),
    );
  };
  await standing();
  // What this tab knows of its own letter it knows after a reload, too: there is no second line of it.
  await page.reload();
  await pending.getByText("<b>last</b>").waitFor();
  await pending.getByText("In the mailbox: read when the session goes on").waitFor();
  await standing();

  await daemon.call("cont", { sessionKey });
  await feed.getByText("<b>last</b>", { exact: true }).first().waitFor();
  await pending.waitFor({ state: "detached" });
  const { entries } = await daemon.call("entries", { sessionKey });
  const letters = (entries as unknown as Entry[]).flatMap((entry) =>
    entry.type === "message" && entry.message.role === "user" ? [textOf(entry)] : [],
  );
  assert.deepEqual(letters.toSorted(), ["!say hi", ...said].toSorted());
  for (const text of said)
    assert.equal(await feed.locator(".row.letter").filter({ hasText: text }).count(), 1, text);
});

test("what waits for a turn that runs says when it is read; orders and reports are there, and go when they are obeyed or read", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  const pending = page.getByLabel("Messages on their way");
  await daemon.call("send", { sessionKey: MAIN, message: "!slow 600000" });
  await page.getByRole("button", { name: "Stop" }).first().waitFor();
  await daemon.call("send", { sessionKey: MAIN, message: "and then this", mode: "followup" });
  await pending.getByText("followup: read after this turn").waitFor();
  await daemon.call("send", { sessionKey: MAIN, message: "at once", mode: "steer" });
  await pending.getByText("steer: read before the next step").waitFor();
  const compacted = daemon.call("compact", { sessionKey: MAIN, focus: "the prices" }).catch(() => null); // Or it is in vain.
  const order = pending.getByRole("listitem").filter({ hasText: "summarise the earlier conversation" });
  await order.getByText("Order from sessiond: compact").waitFor();
  await order.getByText("obeyed before anything else is read").waitFor();
  const child = await daemon.call("spawn", { parent: MAIN, task: "!say found it", label: "finder" });
  const report = pending.getByRole("listitem").filter({ hasText: "Report of finder" });
  await report.getByText("read before the next step").waitFor();
  const link = report.getByRole("link");
  assert.equal(await link.getAttribute("title"), child.sessionKey);
  assert.equal(await link.getAttribute("href"), `#/session/${encodeURIComponent(child.sessionKey)}`);

  // Somewhere else nothing of it is there; and back again all of it is.
  await page.goto(`${daemon.url}/#/overview`);
  await pending.waitFor({ state: "detached" });
  await page.goto(`${daemon.url}/${HERE}`);
  await report.waitFor();
  assert.equal((await lines(page)).length, 4);
  await daemon.call("abort", { sessionKey: MAIN });
  await compacted;
  await pending.waitFor({ state: "detached" });
  await page.getByRole("feed").getByText("and then this", { exact: true }).first().waitFor();
});

test("a session at rest is asked for its mail now and then, and while nobody looks not at all", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  const look = (is: "hidden" | "visible"): Promise<unknown> =>
    page.evaluate(
      `Object.defineProperty(document, "visibilityState", { value: "${is}", configurable: true }) && null`,
    );
  await page.clock.install();
  await page.reload();
  await page.getByText("Nothing was said here yet").waitFor();
  await page.waitForLoadState("networkidle"); // What it asks for at first is nothing to count.
  let asked = 0;
  page.on("request", (request) => {
    if ((request.postData() ?? "").includes('"method":"mail"')) asked += 1;
  });
  await look("hidden");
  await page.clock.runFor(16_000);
  assert.equal(asked, 0);
  await look("visible");
  await page.clock.runFor(5_000);
  assert.equal(asked, 0);
  const again = page.waitForRequest((request) => (request.postData() ?? "").includes('"method":"mail"'));
  await page.clock.runFor(15_000);
  await again;
});

test("an answer that is older than the transcript does not bring back what was read", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("stop", { sessionKey: MAIN });
  const page = await open(t, daemon);
  await page.evaluate(`
    window.wasBack = false;
    new MutationObserver(() => {
      const isBack = document.querySelector(".pending")?.textContent.includes("slow words") ?? false;
      window.wasBack ||= isBack;
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  `);
  const isMail = (posted: string | null): boolean => (posted ?? "").includes('"method":"mail"');
  const held = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  await page.route("**/rpc", async (route) => {
    if (!isMail(route.request().postData())) return await route.continue();
    const response = await route.fetch();
    const body = await response.text();
    if (body.includes("slow words")) {
      held.resolve();
      await release.promise;
    }
    await route.fulfill({ response, body });
  });
  await daemon.call("send", { sessionKey: MAIN, message: "slow words" });
  await held.promise;
  await daemon.call("cont", { sessionKey: MAIN });
  await page.getByRole("feed").getByText("slow words", { exact: true }).first().waitFor();
  const newer = page.waitForResponse((response) => isMail(response.request().postData()) && response.ok());
  release.resolve();
  await newer;
  await page.waitForResponse((response) => isMail(response.request().postData()) && response.ok());
  assert.equal(await page.evaluate("window.wasBack"), false);
});
