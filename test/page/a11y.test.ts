// What people with a screen reader, a keyboard or weak eyes meet, as axe-core judges it: in every view, light and dark, on a screen and
// on a phone. What it calls serious or critical fails.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Daemon } from "../gateway/daemon.ts";
import { launch, visitIn, type Visit } from "./browser.ts";
import { MAIN, play, STAGE_CONFIG } from "./stage.ts";

const AXE = readFileSync(new URL("../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

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

interface Judged {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}

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
      await page.evaluate(AXE);
      const { violations } = (await page.evaluate("axe.run()")) as Judged;
      const bad = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
      for (const { id, help, nodes } of bad)
        found.push(
          `${at} ${JSON.stringify(look)} ${id}: ${help}\n  ${nodes[0]?.html}\n  ${nodes[0]?.failureSummary}`,
        );
    }
  }
  assert.deepEqual(found, []);
});
