// What a conversation looks like to who has it: failures, pictures, keys, drafts, and what is said aloud.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { launch, visit, visitIn } from "./browser.ts";
import { DOT, HERE, letters, MAIN, open, say } from "./talking.ts";

/** Everything that the live region of the transcript has said since. */
async function listen(page: Page): Promise<() => Promise<readonly string[]>> {
  await page.evaluate(`{
    globalThis.heard = [];
    const region = document.querySelector(".transcript [aria-live]");
    new MutationObserver(() => heard.push(region.textContent.trim())).observe(region, {
      childList: true, characterData: true, subtree: true,
    });
  }`);
  return () => page.evaluate<readonly string[]>("globalThis.heard");
}

test("a turn that failed says so once, aloud too, and what to do for as long as that is to be done", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  const feed = page.getByRole("feed");
  await say(page, "!say first");
  await feed.getByText("first", { exact: true }).waitFor();
  const heard = await listen(page);
  await say(page, "Look.\n!fail local");
  const ended = feed.getByRole("article", { name: /^End of a turn/ });
  await ended.getByText("Failed: rehearsed: the script says !fail local").waitFor();
  await ended.getByText("choose another model below").waitFor();
  assert.equal(await feed.getByText("rehearsed: the script says !fail local").count(), 1);

  await say(page, "!say mended");
  await feed.getByText("mended", { exact: true }).waitFor();
  assert.equal(await ended.getByText("choose another model below").count(), 0, "it was done");
  await ended.getByText("Failed: rehearsed").waitFor();
  await say(page, "!say mended"); // The same words again are news, too.
  await feed.getByText("mended", { exact: true }).nth(1).waitFor();
  await say(page, "!verbose 300");
  await feed.getByText("word300").waitFor();
  const [failed, ...answers] = await heard();
  assert.equal(failed, "The turn ended: failed. rehearsed: the script says !fail local");
  assert.deepEqual(answers.slice(0, 2), ["Answer: mended", "Answer: mended"]);
  assert.equal(answers.length, 3, "an answer is said once, when it is whole");
  assert.match(answers[2] ?? "", /^Answer: word1 word2 /);

  // Of a sub-agent that failed, its card says why, once; nobody can be told to say anything to it.
  const tasks = [
    { task: "Read it all.\n!fail auth", label: "reader" },
    { task: "!verbose 200", label: "writer" },
  ];
  await say(page, [...tasks.map((task) => `!spawn ${JSON.stringify(task)}`), "!wait"].join("\n"));
  const card = page.getByRole("region", { name: "Sub-agent reader" });
  await card.getByText("✗ failed", { exact: true }).waitFor();
  await card.getByText("rehearsed: the script says !fail auth").waitFor();
  await feed.getByText("Report of reader: failed").waitFor();
  assert.equal(await card.getByText("!fail auth").count(), 1);
  await card.getByText("Task").click();
  await card.getByText("Read it all.").waitFor();
  const long = page.getByRole("region", { name: "Sub-agent writer" });
  await long.getByRole("button", { name: "Show all" }).click();
  await long.getByText("word200").waitFor();
  assert.equal(await long.getByText(/word1 word2 /).count(), 1, "what was its beginning is not there twice");
  await card.getByRole("link", { name: "reader" }).click();
  await feed.getByText("Failed: rehearsed: the script says !fail auth").waitFor();
  assert.equal(await page.getByText("choose another model below").count(), 0);
});

test("by keys alone: out of the message and back into it, to a message, and everything that can be done with it", async (t) => {
  const daemon = await Daemon.start(t);
  for (const word of ["one", "two"]) await daemon.call("ask", { sessionKey: MAIN, message: `!say ${word}` });
  const page = await open(t, daemon);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const field = page.getByLabel("Message", { exact: true });
  await page.locator("textarea:focus").waitFor();
  await page.locator(".composer").getByText("Esc").waitFor(); // That there is a way out is said where it is needed.
  await page.keyboard.type("ab?");
  assert.equal(await field.inputValue(), "ab?");
  await page.keyboard.press("Escape");
  await page.locator(".transcript .scroll:focus").waitFor();
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys" });
  await help.getByText("out of the message, to the transcript").waitFor();
  await help.getByText("fork from it").waitFor();
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
  await page.locator(".transcript .scroll:focus").waitFor();
  await page.keyboard.press("Enter");
  await page.locator("textarea:focus").waitFor();
  await page.keyboard.press("Escape");

  await page.keyboard.press("y");
  await page.getByText("Choose a message first").waitFor();
  await page.keyboard.press("k");
  await page.locator("article:focus", { hasText: "two" }).waitFor();
  await page.keyboard.press("y");
  await page.getByText("Copied.").waitFor();
  assert.equal(await page.evaluate("navigator.clipboard.readText()"), "two");
  await page.keyboard.press("P");
  await page.getByRole("article", { name: /, pinned$/ }).waitFor();

  // The menu is seen, wherever the pointer is, and says the same keys.
  await page.mouse.move(5, 5);
  await page.keyboard.press("m");
  const menu = page.getByRole("menu");
  await menu.getByRole("menuitem", { name: "Unpin" }).waitFor();
  const opacity = `getComputedStyle(document.querySelector(".menu")).opacity`;
  assert.equal(await page.evaluate(opacity), "1");
  const keys = await menu.locator("kbd").allTextContents();
  assert.deepEqual(keys, ["y", "l", "T", "F", "r", "P"]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("T");
  await page.getByRole("tabpanel", { name: "Trace" }).waitFor();
  await page.goBack();
  await page.getByRole("tabpanel", { name: "Status" }).waitFor();
  await page.locator("article", { hasText: "two" }).last().focus();
  await page.keyboard.press("r");
  await page.getByRole("dialog", { name: /^Rewind to “two”/ }).waitFor();
  await page.keyboard.press("Escape");
});

test("who may only look is told so where something would be changed, and copies all the same", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("ask", { sessionKey: MAIN, message: "!say one" });
  const { token } = await daemon.call("createToken", { name: "guest", scope: "read" });
  const page = await visit(t, { url: daemon.url, token }, { at: HERE });
  const answer = page.getByRole("article", { name: /^Answer/ });
  await answer.waitFor();
  await page.getByText("may only look").first().waitFor();
  await answer.hover();
  await answer.getByRole("button", { name: /^What can be done/ }).click();
  for (const name of ["Fork from here", "Rewind to here", "Pin"]) {
    const item = page.getByRole("menuitem", { name });
    assert.equal(await item.getAttribute("aria-disabled"), "true", name);
    assert.match((await item.getAttribute("title")) ?? "", /^Read only/);
  }
  const copy = page.getByRole("menuitem", { name: "Copy link" });
  assert.equal(await copy.getAttribute("aria-disabled"), "false");
  await page.keyboard.press("Escape");
  await answer.focus();
  await page.keyboard.press("P");
  await page.getByText(/^Read only: the token guest/).waitFor();
  assert.deepEqual((await daemon.call("status", { sessionKey: MAIN })).settings.pins, []);
});

test("what is attached survives a reload, and what one sent oneself is seen at once", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  const files = page.getByLabel("Files to attach");
  const attached = page.getByRole("list", { name: "Attached" });
  const png = { name: "dot.png", mimeType: "image/png", buffer: DOT };
  const notes = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("a note") };
  await files.setInputFiles([png, notes]);
  await attached.getByText("notes.txt").waitFor();
  await page.reload();
  await attached.getByText("notes.txt").waitFor();
  const seen = `document.querySelector(".attached img").decode().then(() => true)`;
  assert.equal(await page.evaluate(seen), true);
  await attached.getByRole("button", { name: "Remove notes.txt" }).click();
  await page.reload();
  await attached.getByRole("img", { name: "dot.png" }).waitFor();
  assert.equal(await attached.getByRole("listitem").count(), 1, "what was taken out stays out");
  await say(page, "Look at this.");
  const picture = page.getByRole("feed").getByRole("img");
  await picture.waitFor();
  assert.equal(await page.getByRole("button", { name: /^Show picture/ }).count(), 0);
  await page.reload();
  await picture.waitFor();
  assert.equal(await attached.count(), 0);
  assert.equal((await letters(daemon)).length, 1);

  // A browser may have been given anything to keep.
  await page.evaluate(
    `sessionStorage.setItem("sessiond.attached.${MAIN}", '{"pictures":[{"data":7}],"files":3}')`,
  );
  await page.reload();
  await picture.waitFor();
  assert.equal(await attached.count(), 0);
});

test("what is attached and is too large for the browser to keep is not lost without a question", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await open(t, daemon);
  const huge = { name: "huge.png", mimeType: "image/png", buffer: Buffer.alloc(9_000_000, DOT) };
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("with a huge picture");
  await page.getByLabel("Files to attach").setInputFiles(huge);
  await page.getByRole("list", { name: "Attached" }).waitFor();
  const asked = new Promise<string>((told) => {
    page.once("dialog", (dialog) => {
      told(dialog.type());
      void dialog.dismiss();
    });
  });
  await page.evaluate("setTimeout(() => location.reload())");
  assert.equal(await asked, "beforeunload");
  await page.getByRole("button", { name: "Remove huge.png" }).click();
  await page.reload(); // There is nothing to ask about any more.
  await field.waitFor();
  assert.equal(await field.inputValue(), "with a huge picture");
  assert.equal(await page.getByRole("list", { name: "Attached" }).count(), 0);
});

/** Whether text can be read on what it stands on: as WCAG counts it. */
const CONTRAST = `((text, ground) => {
  const channels = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number).map((each) => {
    const part = color.startsWith("color(") ? each : each / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const light = (color) => { const [r, g, b] = channels(color); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const [one, other] = [light(text), light(ground)].toSorted((a, b) => b - a);
  return (one + 0.05) / (other + 0.05);
})`;

test("one's own messages stand out and can be read, in light and in dark, whatever the machine is set to", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("ask", { sessionKey: MAIN, message: "!say one" });
  const browser = await launch(t);
  for (const theme of ["light", "dark"] as const) {
    const page = await visitIn(browser, t, daemon, { at: HERE, dark: theme === "light" });
    await page.evaluate(`localStorage.setItem("sessiond.theme", "${theme}")`);
    await page.reload();
    await page.getByRole("article", { name: /^Answer/ }).waitFor();
    const style = (selector: string, name: string) =>
      `getComputedStyle(document.querySelector("${selector}")).${name}`;
    const own = style(".letter.own", "backgroundColor");
    const ground = style("body", "backgroundColor");
    const ratios = await page.evaluate<readonly number[]>(`[
      ${CONTRAST}(${style(".letter.own", "color")}, ${own}),
      ${CONTRAST}(${style(".letter.own .who", "color")}, ${own}),
    ]`);
    for (const ratio of ratios) assert.ok(ratio >= 4.5, `${theme}: ${ratio}`);
    const apart = await page.evaluate<number>(`${CONTRAST}(${own}, ${ground})`);
    assert.ok(apart > 1.08, `${theme}: ${apart} from what is around it`);
  }
});
