// npm run sim -- [--seeds 100] [--from 1] [--variant NAME]
// npm run sim -- --seed S [--deeds 1,4] [--deaths 0] [--trace] [--variant NAME]
// npm run sim -- --months [--seed S] [--variant NAME]

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { again, partOf, simulate, twice, type Failed, type Run } from "./campaign.ts";
import { tellMonths } from "./months/tell.ts";
import { run } from "./run.ts";
import type { Tally } from "./tally.ts";
import { brokenRun, VARIANTS, type Variant } from "./variants.ts";

const USAGE =
  "usage: npm run sim -- [--seeds N] [--from S] [--variant NAME]\n" +
  "       npm run sim -- --seed S [--deeds 1,4|none] [--deaths 0|none] [--trace] [--variant NAME]\n" +
  "       npm run sim -- --months [--seed S] [--variant NAME]\n";

/** Whatever is wrong with what was typed is answered with what can be. */
function argued() {
  try {
    return parseArgs({
      options: {
        seeds: { type: "string", default: "100" },
        from: { type: "string", default: "1" },
        seed: { type: "string" },
        deeds: { type: "string" },
        deaths: { type: "string" },
        trace: { type: "boolean", default: false },
        months: { type: "boolean", default: false },
        variant: { type: "string" },
      },
    });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(64);
  }
}

const { values } = argued();

const WORDS: Readonly<Record<Exclude<keyof Tally, "grants">, string>> = {
  lives: "lives",
  commits: "commits",
  acknowledged: "messages acknowledged",
  turns: "turns",
  turnsResumed: "  gone on with after a death or a pause",
  turnsGivenUp: "  given up, cut off at the same place again and again",
  toolCalls: "tool calls",
  runAgain: "  run again, because they may be",
  betweenSessions: "letters between sessions",
  spawned: "sub-agents",
  compactions: "summaries of an older part",
  prunings: "  prunings of tool results",
  flushes: "  flushes of memory",
  handoffs: "  handoffs to a fresh session",
  deliveries: "answers delivered",
  parked: "sessions parked at the end",
};

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}

function whole(text: string, name: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 1) return number;
  process.stderr.write(`--${name} is a whole number, 1 or more\n`);
  process.exit(64);
}

function tellFailed({ plan, problems }: Failed, variant: string | undefined): void {
  for (const problem of problems.slice(0, 20)) tell(`  PROBLEM ${problem}`);
  tell(`\nWhat is left of the plan:`);
  for (const deed of plan.deeds) tell(`  ${JSON.stringify(deed)}`);
  for (const death of plan.deaths) tell(`  ${JSON.stringify(death)}`);
  const of = variant === undefined ? "" : ` --variant ${variant}`;
  tell(`\nAgain: npm run sim -- --seed ${plan.seed}${of}\nShrunk: ${again(plan)}${of}`);
}

async function one(of: Run, seed: number): Promise<boolean> {
  const plan = partOf(seed, values.deeds, values.deaths);
  if (values.trace) await of(plan, tell);
  const { problems, hash } = await twice(of, plan);
  tell(`seed ${seed}: ${problems.length} problems, ${hash}`);
  if (problems.length > 0) tellFailed({ plan, problems }, values.variant);
  return problems.length === 0;
}

async function many(of: Run): Promise<boolean> {
  const [from, seeds] = [whole(values.from, "from"), whole(values.seeds, "seeds")];
  const { tally, ran, failed } = await simulate({ run: of, from, seeds, said: tell });
  tell(`\n${String(ran).padStart(9)}  seeds, each run twice`);
  for (const [name, words] of Object.entries(WORDS))
    tell(`${String(tally[name as keyof typeof WORDS]).padStart(9)}  ${words}`);
  for (const [name, count] of Object.entries(tally.grants))
    tell(`${String(count).padStart(9)}  slots granted, ${name}`);
  if (failed) tellFailed(failed, values.variant);
  else tell("\nNo problem was found.");
  return failed === null;
}

async function main(): Promise<boolean> {
  const { variant, seed } = values;
  if (values.months) return await tellMonths(whole(seed ?? "1", "seed"), variant, tell);
  if (variant !== undefined && !Object.hasOwn(VARIANTS, variant)) {
    process.stderr.write(`no such variant: ${variant}. There are: ${Object.keys(VARIANTS).join(", ")}\n`);
    process.exit(64);
  }
  const folder = variant === undefined ? null : mkdtempSync(join(tmpdir(), "sessiond-sim-"));
  try {
    const of = folder === null ? run : await brokenRun(variant as Variant, folder);
    return seed === undefined ? await many(of) : await one(of, whole(seed, "seed"));
  } finally {
    if (folder !== null) rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = (await main()) ? 0 : 1;
