// What people with a screen reader, a keyboard or weak eyes meet, as axe-core judges it: in every view, light and dark, on a screen and
// on a phone. What it calls serious or critical fails.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Daemon } from "../gateway/daemon.ts";
import { seriousIn } from "./axe.ts";
import { launch, visitIn, type Visit } from "./browser.ts";
import { MAIN, play, STAGE_CONFIG } from "./stage.ts";

/** A view, and what is waited for before it is judged. */
const VIEWS = [
  ["#/processes", "pricing of Initech"],
  [`#/session/${encodeURIComponent(MAIN)}`, "pricing of Initech"],
  ["#/overview", "research:main"],
  ["#/schedule", "morning"],
  ["#/search?text=invoice", "invoice"],
  ["#/memory/main?path=MEMORY.md", "What to remember"],
  ["#/upkeep", "Upkeep"],
  ["#/settings", "rehearsal/default"],
] as const;

const LOOKS: readonly Visit[] = [{}, { dark: true }, { width: 390, height: 800 }];

test("axe finds nothing serious in any view, in light and dark, on a screen and on a phone", async (t) => {
  const daemon = await Daemon.start(t, { config: STAGE_CONFIG });
  await play(daemon);
  const browser = await launch(t);
  const found: string[] = [];
  for (const look of LOOKS) {
    const page = await visitIn(browser, t, daemon, look);
    for (const [at, waitFor] of VIEWS) {
      await page.evaluate(`location.hash = ${JSON.stringify(at)}`);
      await page.locator("main").getByText(waitFor).first().waitFor();
      for (const each of await seriousIn(page)) found.push(`${at} ${JSON.stringify(look)} ${each}`);
    }
  }
  assert.deepEqual(found, []);
});
