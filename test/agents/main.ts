// npm run crash -- --agents [--kills 200] [--seed 1] [--variant NAME] [--home KILLS]
//
// test/crash/main.ts has read the options.

import { agents, type Tally } from "./campaign.ts";
import { VARIANTS, type Variant } from "./variants.ts";

export interface Options {
  readonly kills: number;
  readonly seed: number;
  readonly variant: string | undefined; // undefined: the real source
  readonly killsPerHome: number;
}

const WORDS: Readonly<Record<keyof Tally, string>> = {
  lives: "lives",
  kills: "killed (SIGKILL)",
  killsBeforeReady: "  while they started",
  acknowledged: "messages and tasks of people acknowledged",
  sentAgain: "  sent again, because nobody was told",
  tasks: "tasks given",
  grandchildren: "  of which so many made a grandchild",
  gone: "children deleted at their end",
  killed: "turns that somebody killed",
  timeouts: "  that ran out of time",
  reports: "reports read",
  reportsElsewhere: "  by another than who gave the task, which had ended",
  turns: "turns",
  turnsResumed: "  gone on with after a kill or a pause",
  turnsGivenUp: "  given up, killed at the same place again and again",
  toolCalls: "tool calls",
  interrupted: "  told that they were interrupted",
  marks: "marks made",
};

const tell = (line: string): void => void process.stdout.write(`${line}\n`);

/** Returns the exit code. */
export async function crashAgents({ kills, seed, variant, killsPerHome }: Options): Promise<number> {
  if (variant !== undefined && !(variant in VARIANTS)) {
    process.stderr.write(`no such variant: ${variant}. There are: ${Object.keys(VARIANTS).join(", ")}\n`);
    return 64;
  }
  tell(
    `Sessions give tasks to children, and these to children of theirs, with tools that leave a mark outside; people steer, kill, pause and go on. The process is killed (SIGKILL) at random moments, ${kills} times, also while it starts; then everything comes to rest and is judged. Seed ${seed}.\n`,
  );
  const broken = (variant ?? null) as Variant | null;
  const { tally, problems } = await agents({ kills, seed, variant: broken, killsPerHome, said: tell });
  tell("");
  for (const [name, words] of Object.entries(WORDS))
    tell(`${String(tally[name as keyof Tally]).padStart(7)}  ${words}`);
  for (const problem of problems.slice(0, 40)) tell(`  PROBLEM ${problem}`);
  const again = `--kills ${kills} --seed ${seed} --home ${killsPerHome}${variant === undefined ? "" : ` --variant ${variant}`}`;
  tell(
    problems.length === 0
      ? "\nEvery child reported once, every mark was made once, and every message that was accepted is answered."
      : `\n${problems.length} problems after ${tally.kills} kills. The same dice again: npm run crash -- --agents ${again}`,
  );
  return problems.length === 0 ? 0 : 1;
}
