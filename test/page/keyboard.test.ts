// A working day without a mouse: everything that follows is done by keys, from the first look to the last.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";
import { MAIN, until } from "./stage.ts";

/** What has the focus, as a screen reader would say it. */
async function focused(page: Page): Promise<string> {
  return await page.evaluate(
    "document.activeElement.getAttribute('aria-label') ?? document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent",
  );
}

async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

test("talk, spawn, steer, kill, search, and find out which keys there are: by keys alone", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon);
  await page.getByRole("treegrid").getByText("main", { exact: true }).waitFor();

  // The first session is opened, and spoken to.
  await press(page, "j", "Enter");
  await page.waitForURL(/#\/session\/agent%3Amain%3Amain/);
  await page.locator("textarea:focus").waitFor(); // It waits for words.
  await page.keyboard.type("hello there");
  await press(page, "Enter");
  await page.getByText('you said "hello there"').first().waitFor();

  // A task is given to a sub-agent, which is steered and killed from the table.
  await press(page, "Escape", "i");
  await page.keyboard.type('!spawn {"task":"!slow 600000","label":"digging"}');
  await press(page, "Enter");
  await page.getByRole("link", { name: "digging" }).first().waitFor();
  await press(page, "Escape", "g", "p");
  await page.getByRole("row").filter({ hasText: "digging" }).getByText("running").waitFor();
  await press(page, "j", "j");
  await page.locator("[aria-selected=true]").filter({ hasText: "digging" }).waitFor();
  await press(page, "s");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.type("and look below the stairs");
  await press(page, "Tab", "Tab", "Enter"); // past Cancel
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal(await focused(page), "Sessions", "back in the table");
  await press(page, "x");
  const kill = page.getByRole("dialog");
  await kill.getByText("digging").first().waitFor();
  assert.equal(await focused(page), "Cancel", "what destroys is not one Enter away");
  await press(page, "Tab", "Enter");
  await kill.waitFor({ state: "detached" });
  const { children } = await daemon.call("children", { sessionKey: MAIN });
  const [child] = children;
  await until(
    async () => (await daemon.call("status", { sessionKey: child?.sessionKey ?? "" })).state === "ended",
  );

  // A word is searched, and its entry opened.
  await press(page, "g", "s");
  await page.locator("#view input[type=search]:focus").waitFor(); // Not that of the table.
  await page.keyboard.type("hello");
  await page.locator("mark").first().waitFor();
  await press(page, "ArrowDown", "Enter");
  await page.waitForURL(/#\/session\/.*seq=\d+/);
  await page.locator("textarea:focus").waitFor(); // It waits for words here, too.

  // Which keys there are is one of them; a dialog is left by Escape, and focus comes back.
  await press(page, "Escape", "?");
  await page.getByRole("dialog", { name: "Keys" }).getByText("the main session").waitFor();
  await press(page, "Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  for (const [key, view] of [
    ["o", "overview"],
    ["c", "schedule"],
    ["m", "memory"],
    ["u", "upkeep"],
    ["t", "settings"],
    ["p", "processes"],
  ] as const) {
    await press(page, "g", key);
    await page.waitForURL(`${daemon.url}/#/${view}*`);
    // Focus goes along, to what is named like the view: else a screen reader says nothing, and Tab begins at the top again.
    const name = 'document.activeElement.closest("main")?.ariaLabel.toLowerCase() ?? ""';
    await until(async () => (await page.evaluate(name)) === view);
  }
});

test("Tab goes through the whole page: what is skipped to, the rail, the view, and nothing is a trap", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: "#/settings" });
  await page.getByRole("button", { name: "Test" }).first().waitFor();
  await press(page, "Tab");
  assert.equal(await focused(page), "Skip to the view");
  await press(page, "Enter");
  assert.equal(await page.evaluate("document.activeElement.id"), "view");
  const seen = new Set<string>();
  for (let steps = 0; steps < 60; steps += 1) {
    await press(page, "Tab");
    seen.add(
      await page.evaluate(
        "document.activeElement.tagName + ' ' + (document.activeElement.closest('nav, main')?.tagName ?? '')",
      ),
    );
  }
  assert.ok(seen.has("BUTTON MAIN") && seen.has("A NAV"), [...seen].join(", "));
});
