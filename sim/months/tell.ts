// What some months came to, in lines of text.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AUTUMN, planOf, SPRING } from "./plan.ts";
import { runMonths, type Outcome } from "./run.ts";
import { brokenMonths, MONTHS_VARIANTS, type MonthsVariant } from "./variants.ts";

const WORDS: Readonly<Record<keyof Outcome["tally"], string>> = {
  lives: "lives",
  commits: "commits",
  times: "times that jobs were due",
  ran: "  ran",
  skipped: "  were skipped",
  coalesced: "  were stood for by another run",
  lost: "runs that were lost",
  timeouts: "  ran out of time",
  disabled: "jobs disabled",
  beats: "heartbeats",
};

const SEASONS = { autumn: AUTUMN, spring: SPRING } as const;

/** False: something was wrong, or there is no such variant. */
export async function tellMonths(
  seed: number,
  variant: string | undefined,
  tell: (line: string) => void,
): Promise<boolean> {
  if (variant !== undefined && !Object.hasOwn(MONTHS_VARIANTS, variant)) {
    tell(`no such variant of months: ${variant}. There are: ${Object.keys(MONTHS_VARIANTS).join(", ")}`);
    return false;
  }
  const folder = variant === undefined ? null : mkdtempSync(join(tmpdir(), "sessiond-months-"));
  try {
    const run = folder === null ? runMonths : await brokenMonths(variant as MonthsVariant, folder);
    let isFine = true;
    for (const [season, months] of Object.entries(SEASONS)) {
      const { problems, tally, hash } = await run(planOf(seed, months));
      isFine &&= problems.length === 0;
      tell(`three months of ${season}, seed ${seed}: ${problems.length} problems, ${hash}`);
      for (const problem of problems.slice(0, 20)) tell(`  PROBLEM ${problem}`);
      for (const [name, words] of Object.entries(WORDS))
        tell(`${String(tally[name as keyof typeof tally]).padStart(9)}  ${words}`);
    }
    return isFine;
  } finally {
    if (folder !== null) rmSync(folder, { recursive: true, force: true });
  }
}
