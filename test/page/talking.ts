// Talking to main by the page.

import type { TestContext } from "node:test";
import type { Page } from "playwright-core";
import { textOf, type Entry } from "../../src/transcript/entry.ts";
import type { Daemon } from "../gateway/daemon.ts";
import { visit } from "./browser.ts";

export const MAIN = "agent:main:main";
export const HERE = `#/session/${encodeURIComponent(MAIN)}`;

/** A picture of one dot. */
export const DOT = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);

export async function open(test: TestContext, daemon: Pick<Daemon, "url" | "token">): Promise<Page> {
  const page = await visit(test, daemon, { at: HERE });
  await page.getByLabel("Message", { exact: true }).waitFor();
  return page;
}

export async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
}

/** What people have said in it, in the order in which it was read. */
export async function letters(daemon: Daemon): Promise<readonly string[]> {
  const { entries } = await daemon.call("entries", { sessionKey: MAIN });
  return (entries as unknown as Entry[]).flatMap((entry) =>
    entry.type === "message" && entry.message.role === "user" ? [textOf(entry)] : [],
  );
}
