// npm run crash -- [--kills 500] [--seed 1] [--variant NAME] [--json]
// npm run crash -- --agents [--kills 200] [--seed 1] [--variant NAME] [--home KILLS]

import { parseArgs } from "node:util";
import { crashAgents } from "../agents/main.ts";
import { crash } from "./campaign.ts";
import { VARIANTS, type Variant } from "./variants.ts";

const { values } = parseArgs({
  options: {
    agents: { type: "boolean", default: false }, // the campaign of sub-agents instead (test/agents)
    kills: { type: "string" },
    seed: { type: "string", default: String(Math.floor(performance.timeOrigin) % 100_000) },
    variant: { type: "string" },
    json: { type: "boolean", default: false },
    home: { type: "string", default: "10" }, // with --agents: kills of a home, before it is judged
  },
});

/** Null: the real source. */
function variantFrom(name: string | undefined): Variant | null {
  if (name === undefined) return null;
  if (name in VARIANTS) return name as Variant;
  process.stderr.write(`no such variant: ${name}. There are: ${Object.keys(VARIANTS).join(", ")}\n`);
  process.exit(64);
}

const kills = Number(values.kills ?? (values.agents ? 200 : 500));
const seed = Number(values.seed);
const killsPerHome = Number(values.home);
if (![kills, seed, killsPerHome].every(Number.isInteger) || kills < 1 || killsPerHome < 1) {
  process.stderr.write(
    "usage: npm run crash -- [--agents [--home KILLS]] [--kills N] [--seed N] [--variant NAME] [--json]\n",
  );
  process.exit(64);
}
if (values.agents) process.exit(await crashAgents({ kills, seed, variant: values.variant, killsPerHome }));
const tell = (line: string): void => void (values.json ? process.stderr : process.stdout).write(`${line}\n`);

const variant = variantFrom(values.variant);

tell(
  `A process does to many sessions at once whatever a store can be asked to do: entries, rewinds, letters, timers, answers, settings, blobs, forks, deletions, new files and new beginnings, several sessions in one commit.`,
);
tell(
  `It is killed (SIGKILL) at random moments, ${kills} times, also while it recovers from the kill before, and what it was told is compared with what is there. Seed ${seed}.\n`,
);
const outcome = await crash({ kills, seed, variant, said: tell });
if (values.json)
  process.stdout.write(`${JSON.stringify({ ok: outcome.problems.length === 0, result: outcome })}\n`);
for (const problem of outcome.problems) tell(`  PROBLEM ${problem}`);
tell(
  outcome.problems.length === 0
    ? `\n${outcome.kills} kills, ${outcome.beforeReady} of them of a start that was not done; ${outcome.acknowledged} commits: 0 lost, 0 doubled, 0 half done (${outcome.undecided} were under way when the process died).`
    : `\n${outcome.problems.length} problems after ${outcome.kills} kills. The same again: npm run crash -- --kills ${kills} --seed ${seed}${variant === null ? "" : ` --variant ${variant}`}`,
);
process.exitCode = outcome.problems.length === 0 ? 0 : 1;
