// npm run powercut -- [--cuts 500] [--commits 1500] [--seed 1] [--variant NAME] [--json]

import { parseArgs } from "node:util";
import { VARIANTS, type Variant } from "../crash/variants.ts";
import { powercut } from "./campaign.ts";
import { canTrace } from "./trace.ts";

const { values } = parseArgs({
  options: {
    cuts: { type: "string", default: "500" },
    commits: { type: "string", default: "1500" },
    seed: { type: "string", default: String(Math.floor(performance.timeOrigin) % 100_000) },
    variant: { type: "string" },
    json: { type: "boolean", default: false },
  },
});

const [cuts, commits, seed] = [values.cuts, values.commits, values.seed].map(Number) as [
  number,
  number,
  number,
];
const known = values.variant === undefined || values.variant in VARIANTS;
if (!known || ![cuts, commits, seed].every((number) => Number.isInteger(number) && number > 0)) {
  process.stderr.write(
    `usage: npm run powercut -- [--cuts N] [--commits N] [--seed N] [--variant ${Object.keys(VARIANTS).join("|")}] [--json]\n`,
  );
  process.exit(64);
}
const tell = (line: string): void => void (values.json ? process.stderr : process.stdout).write(`${line}\n`);

const hindrance = await canTrace();
if (hindrance !== null) {
  tell(`The campaign watches system calls, and that cannot be done here: ${hindrance}`);
  process.exit(69);
}
tell(
  `A process commits to many sessions at once while its writes, syncs, truncations and renames are recorded. It is killed and starts again.`,
);
tell(
  `Then the power goes ${cuts} times, in either life or in the recovery between them: synced bytes stay, of the others any part may. Seed ${seed}.\n`,
);
const variant = (values.variant ?? null) as Variant | null;
const outcome = await powercut({ cuts, commits, seed, variant, said: tell });
if (values.json)
  process.stdout.write(`${JSON.stringify({ ok: outcome.problems.length === 0, result: outcome })}\n`);
for (const problem of outcome.problems.slice(0, 20)) tell(`  PROBLEM ${problem}`);
tell(
  outcome.problems.length === 0
    ? `\n${outcome.cuts} cuts of ${outcome.operations} operations, ${outcome.ofRecovery} of them in a recovery; ${outcome.acknowledged} commits looked for: 0 lost, 0 doubled, 0 half done.`
    : `\n${outcome.problems.length} problems after ${outcome.cuts} cuts. The same again: npm run powercut -- --cuts ${cuts} --commits ${commits} --seed ${seed}${variant === null ? "" : ` --variant ${variant}`}`,
);
process.exitCode = outcome.problems.length === 0 ? 0 : 1;
