// npm run crash:turns -- [--kills 50] [--seed 1] [--variant NAME] [--home KILLS]

import { parseArgs } from "node:util";
import { turns, type Tally } from "./campaign.ts";
import { VARIANTS, type Variant } from "./variants.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "50" },
    seed: { type: "string", default: String(Math.floor(performance.timeOrigin) % 100_000) },
    variant: { type: "string" },
    home: { type: "string", default: "25" },
  },
});

/** Null: the real source. */
function variantFrom(name: string | undefined): Variant | null {
  if (name === undefined) return null;
  if (name in VARIANTS) return name as Variant;
  process.stderr.write(`no such variant: ${name}. There are: ${Object.keys(VARIANTS).join(", ")}\n`);
  process.exit(64);
}

const [kills, seed, killsPerHome] = [Number(values.kills), Number(values.seed), Number(values.home)];
if (![kills, seed, killsPerHome].every(Number.isInteger) || kills < 1 || killsPerHome < 1) {
  process.stderr.write(
    "usage: npm run crash:turns -- [--kills N] [--seed N] [--variant NAME] [--home KILLS]\n",
  );
  process.exit(64);
}
const tell = (line: string): void => void process.stdout.write(`${line}\n`);
const variant = variantFrom(values.variant);

const WORDS: Readonly<Record<keyof Tally, string>> = {
  lives: "lives",
  kills: "killed (SIGKILL)",
  killsBeforeReady: "  while they started",
  acknowledged: "messages acknowledged",
  sentAgain: "  sent again, because nobody was told",
  turns: "turns",
  turnsResumed: "  gone on with after a kill or a pause",
  turnsGivenUp: "  given up, killed at the same place again and again",
  toolCalls: "tool calls",
  interrupted: "  told that they were interrupted",
  runAgain: "  run again, because they may be",
  betweenSessions: "letters between sessions",
  deliveries: "answers delivered",
  deliveredAgain: "  again, under the same id",
  compactions: "summaries of an older part",
  prunings: "  prunings of tool results",
  flushes: "  flushes of memory",
  handoffs: "  handoffs to a fresh session",
};

tell(
  `Sessions run turns that call tools, write to each other and answer through a door. The process is killed (SIGKILL) at random moments, ${kills} times, also while it starts; then everything comes to rest and is judged. Seed ${seed}.\n`,
);
const { tally, problems } = await turns({ kills, seed, variant, killsPerHome, said: tell });
tell("");
for (const [name, words] of Object.entries(WORDS))
  tell(`${String(tally[name as keyof Tally]).padStart(7)}  ${words}`);
for (const problem of problems.slice(0, 40)) tell(`  PROBLEM ${problem}`);
const again = `--kills ${kills} --seed ${seed} --home ${killsPerHome}${variant === null ? "" : ` --variant ${variant}`}`;
tell(
  problems.length === 0
    ? "\nEvery message that was acknowledged is answered, and no tool call that had finished ran twice."
    : `\n${problems.length} problems after ${tally.kills} kills. The same dice again: npm run crash:turns -- ${again}`,
);
process.exitCode = problems.length === 0 ? 0 : 1;
