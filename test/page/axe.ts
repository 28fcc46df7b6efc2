// What people with a screen reader, a keyboard or weak eyes would meet, as axe-core judges it.

import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";

const AXE = readFileSync(new URL("../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

interface Judged {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}

/** What it calls serious or critical in the page as it is. */
export async function seriousIn(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate("axe.run()")) as Judged;
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, help, nodes }) => `${id}: ${help}\n  ${nodes[0]?.html}\n  ${nodes[0]?.failureSummary}`);
}
