// Questions, and what is told beside them: what is typed is not lost, what has begun is not said to be taken back, and focus comes back.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";
import { held } from "./holding.ts";
import { MAIN, until } from "./stage.ts";

/** Whether it is what a click on its middle would reach. */
async function isOnTop(page: Page, of: Locator): Promise<boolean> {
  const box = await of.boundingBox();
  assert.ok(box !== null);
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  return await page.evaluate(`document.elementFromPoint(${x}, ${y})?.closest(".toast") != null`);
}

async function dragOut(page: Page, from: Locator): Promise<void> {
  const box = await from.boundingBox();
  assert.ok(box !== null);
  await page.mouse.move(box.x + 20, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x - 300, box.y + box.height / 2, { steps: 4 });
  await page.mouse.up();
}

async function focused(page: Page): Promise<string> {
  return await page.evaluate(
    "document.activeElement.getAttribute('aria-label') ?? document.activeElement.tagName",
  );
}

test("what has begun is not taken back: the question says so, and who leaves it is told how it ends", async (t) => {
  const daemon = await Daemon.start(t);
  const { sessionKey } = await daemon.call("spawn", {
    task: "!slow 3600000",
    label: "digging",
    parent: MAIN,
  });
  const page = await visit(t, daemon, { at: "#/processes" });
  await page.getByRole("row").filter({ hasText: "digging" }).click();
  const kill = page.getByRole("dialog", { name: /^Kill/ });
  const spawn = page.getByRole("dialog", { name: "Spawn a sub-agent" });
  const task = spawn.getByRole("textbox", { name: "Task", exact: true });

  let letGo = await held(page, "kill");
  await page.keyboard.press("x");
  await kill.getByRole("button", { name: "Kill" }).click();
  await kill.getByRole("button", { name: "Cancel" }).click();
  await kill.getByText("cannot be taken back").waitFor();
  await kill.getByRole("button", { name: "Leave" }).click();
  await kill.waitFor({ state: "detached" });

  // Another question is asked meanwhile: it stays, with what was typed, and what is told stands above it.
  await page.keyboard.press("N");
  await task.fill("a long task");
  await letGo();
  const killed = page.locator(".toast").filter({ hasText: /^Killed/ });
  await killed.waitFor();
  assert.equal(await isOnTop(page, killed), true, "it is not behind the dialog");
  assert.equal(await task.inputValue(), "a long task");
  assert.equal((await daemon.call("status", { sessionKey })).state, "ended");

  // What is refused after somebody left is told, and stays until it was read; what went well does not.
  letGo = await held(page, "spawn");
  await spawn.getByText("More", { exact: true }).click();
  await spawn.getByRole("spinbutton", { name: "Limit, in US dollars", exact: true }).fill("-1");
  await spawn.getByRole("button", { name: "Spawn" }).click();
  await page.keyboard.press("Escape");
  await spawn.getByText("cannot be taken back").waitFor();
  await page.keyboard.press("Escape");
  await spawn.waitFor({ state: "detached" });
  await page.clock.install();
  await letGo();
  const refused = page.locator(".toast").filter({ hasText: "It was not done" });
  await refused.waitFor();
  await page.keyboard.press("P");
  const pinned = page.getByText("is pinned");
  await pinned.waitFor();
  await page.clock.runFor(60_000);
  await pinned.waitFor({ state: "detached" });
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  assert.equal(await page.getByRole("dialog").locator(".toast").count(), 0, "it is in nobody's way");
  await page.keyboard.press("Escape");
  await refused.getByRole("button", { name: "Dismiss" }).click();
  await refused.waitFor({ state: "detached" });
});

test("what is typed into a question is not lost beside it, and focus is where it was when it is closed", async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.call("spawn", { task: "!slow 3600000", label: "digging", parent: MAIN });
  const page = await visit(t, daemon, { at: "#/processes" });
  const row = page.getByRole("row").filter({ hasText: "digging" });
  await row.click();
  await page.getByRole("treegrid").focus();

  await page.keyboard.press("N");
  const spawn = page.getByRole("dialog", { name: "Spawn a sub-agent" });
  const name = spawn.getByRole("textbox", { name: "Name", exact: true });
  await name.fill("some words");
  const described = (await name.getAttribute("aria-describedby")) ?? "";
  const hint = await page.locator(`[id="${described}"]`).textContent();
  assert.match(
    hint ?? "",
    /^A child with a name stays/,
    "the hint describes the field, and is no part of its name",
  );
  await dragOut(page, name);
  await page.mouse.click(20, 400);
  assert.equal(await name.inputValue(), "some words");
  await page.keyboard.press("Escape");
  await spawn.waitFor({ state: "detached" });
  assert.equal(await focused(page), "Sessions", "back in the table");

  // A question without fields is left by a click beside it, but not by letting go of a selection there.
  await row.getByRole("button", { name: /^What can be done/ }).click();
  await page.getByRole("menuitem", { name: "Kill…" }).click();
  const kill = page.getByRole("dialog", { name: /^Kill/ });
  await dragOut(page, kill.getByText("What was said stays"));
  await kill.getByText("What was said stays").waitFor();
  await page.mouse.click(20, 400);
  await kill.waitFor({ state: "detached" });
  assert.match(await focused(page), /^What can be done to .*\bsub:/, "back on the button that it came from");
});

test("a question says at its field what was refused there, and everything else at its end; either way one goes on in it", async (t) => {
  const daemon = await Daemon.start(t);
  const page = await visit(t, daemon, { at: "#/processes" });
  await page.getByRole("treegrid").focus();
  await page.keyboard.press("N");
  const spawn = page.getByRole("dialog", { name: "Spawn a sub-agent" });
  const limit = spawn.getByLabel("Limit, in US dollars");
  await spawn.getByLabel("Task").fill("!say hi");
  await spawn.getByText("More", { exact: true }).click(); // What is seldom needed.
  await limit.fill("-1");
  await spawn.getByText("More", { exact: true }).click();
  await limit.waitFor({ state: "hidden" });
  await spawn.getByLabel("Task").press("ControlOrMeta+Enter"); // It sends, where Enter is another line.
  await spawn.getByRole("alert").filter({ hasText: "a number above 0" }).waitFor();
  assert.equal(await limit.getAttribute("aria-invalid"), "true");
  assert.equal(await page.evaluate("document.activeElement.name"), "cost");
  const described = ((await limit.getAttribute("aria-describedby")) ?? "").split(" ");
  const texts = await Promise.all(described.map((id) => page.locator(`[id="${id}"]`).textContent()));
  assert.match(texts.join("\n"), /^Of it and all below it together.*\na number above 0.*, not -1$/);
  await page.keyboard.type("0");
  await spawn.getByRole("alert").waitFor({ state: "detached" });
  assert.equal(await limit.getAttribute("aria-invalid"), null, "what is typed over is not refused any more");
  await limit.fill("1");

  // A daemon that is not there is no fault of a field.
  await page.route("**/rpc", (route) => route.abort());
  await spawn.getByRole("button", { name: "Spawn" }).click();
  await spawn.getByRole("alert").filter({ hasText: "the daemon does not answer" }).waitFor();
  assert.equal(await spawn.locator("[aria-invalid]").count(), 0);
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Spawn", "focus is not lost");
  await page.unroute("**/rpc");
  await page.keyboard.press("Enter");
  await spawn.waitFor({ state: "detached" });
  await page.getByText(/^Spawned sub:/).waitFor();
});

test("what turns a line around is in no question, notice or title", async (t) => {
  const daemon = await Daemon.start(t);
  const folder = join(daemon.home, "agents", "main", "workspace", "memory");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "a\u202edm.b.md"), "words");
  const path = "memory/a\u202edm.b.md";
  const page = await visit(t, daemon, { at: `#/memory/main?path=${encodeURIComponent(path)}` });
  await page.getByText("words", { exact: true }).waitFor();
  await page.getByRole("button", { name: "More for memory/adm.b.md", exact: true }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  const question = page.getByRole("dialog", { name: "Delete memory/adm.b.md?", exact: true });
  assert.match(await question.innerText(), /The note memory\/adm\.b\.md of main goes/);
  assert.doesNotMatch(await question.innerText(), /\u202e/);
  await question.getByRole("button", { name: "Delete" }).click();
  await page.getByText("Deleted memory/adm.b.md", { exact: true }).waitFor();

  await page.evaluate(`location.hash = "#/session/agent%3Amain%3A%E2%80%AEnon"`);
  await until(async () => (await page.title()) === "agent:main:non · sessiond");
  assert.doesNotMatch(await page.locator(".trouble, .empty").first().innerText(), /\u202e/);
});
