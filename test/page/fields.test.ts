import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";
import { MAIN } from "./stage.ts";

async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

/** Each view that searches or filters, by its key, and its field. */
const FIELDS = [
  ["s", "Words to search for"],
  ["c", "Filter jobs"],
  ["m", "Search the notes"],
  ["t", "Filter the models"],
  ["u", "Find archives"],
  ["p", "Words of the title or the key"],
] as const;

test("in every field that searches Escape takes the words away, then leaves, and stays outside", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: "#/overview" });
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  for (const [key, label] of FIELDS) {
    await press(page, "g", key); // Out of the field of the view before.
    const field = page.getByRole("searchbox", { name: label });
    await field.waitFor();
    await field.focus();
    await page.keyboard.type("zz");
    assert.equal(await field.inputValue(), "zz", label);
    const isIn = async (): Promise<unknown> =>
      await page.evaluate("document.activeElement.getAttribute('type') === 'search'");
    await press(page, "Escape");
    assert.deepEqual([await field.inputValue(), await isIn()], ["", true], label);
    await press(page, "Escape");
    assert.equal(await isIn(), false, label);
    await press(page, "Escape");
    assert.equal(await isIn(), false, `${label}: who is outside is not taken in again`);
  }
});

test("a time that a job cannot have is refused in the colour of refusals, before anything is sent", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: "#/schedule" });
  await page.getByRole("button", { name: "New job…" }).click();
  const form = page.getByRole("dialog", { name: "New job" });
  await form.locator("[name='when.how']").selectOption("every");
  const colour = async (): Promise<unknown> =>
    await page.evaluate("getComputedStyle(document.querySelector('.schedule-means')).color");
  await form.getByRole("status").filter({ hasText: "Next:" }).waitFor();
  const hint = await colour();
  await form.getByLabel("How many").fill("0");
  await form.getByRole("status").filter({ hasText: 'not "0' }).waitFor();
  assert.notEqual(await colour(), hint);
});

async function barOf(page: Page, text: string): Promise<unknown> {
  const toast = page.locator(".toast").filter({ hasText: text });
  await toast.waitFor();
  return await page.evaluate(
    `getComputedStyle([...document.querySelectorAll(".toast")].find((each) => each.textContent.includes(${JSON.stringify(text)}))).borderLeftColor`,
  );
}

test("what was not done does not look like what was; main begins anew from its menu, and what was said is an archive", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("ask", { sessionKey: MAIN, message: "!say the old words" });
  const page = await visit(t, daemon);
  const line = page.getByRole("row").filter({ hasText: "main" });
  await line.waitFor();
  await press(page, "j", "P");
  const done = await barOf(page, "main is pinned");
  await press(page, "x");
  assert.notEqual(await barOf(page, "always stays: pause it, or begin anew"), done);

  await press(page, "m");
  await page.getByRole("menuitem", { name: "Begin anew…" }).click();
  const question = page.getByRole("dialog", { name: "Begin anew in main?" });
  await question.getByText("becomes an archive").waitFor();
  await question.getByRole("button", { name: "Cancel" }).click();
  assert.equal((await daemon.call("archives", {})).archives.length, 0);
  await press(page, "m");
  await page.getByRole("menuitem", { name: "Begin anew…" }).click();
  await question.getByRole("button", { name: "Begin anew" }).click();
  await page.locator(".toast").filter({ hasText: "What was said is the archive" }).waitFor();
  const [archive] = (await daemon.call("archives", {})).archives;
  assert.deepEqual([archive?.sessionKey, archive?.why], [MAIN, "reset"]);
});
