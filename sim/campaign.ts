// The campaign of the simulator: one seed after the other, each of them twice, until one fails; that one is shrunk.

import { kept, planOf, type Plan } from "./plan.ts";
import type { Outcome, run } from "./run.ts";
import { shrink } from "./shrink.ts";
import { added, NOTHING, type Tally } from "./tally.ts";

/** Of the real source, or of a broken copy. */
export type Run = typeof run;

export interface Campaign {
  readonly run: Run;
  readonly from: number;
  readonly seeds: number;
  readonly said: (line: string) => void;
}

export interface Found {
  readonly tally: Tally;
  readonly ran: number;
  /** Null: every seed was fine. */
  readonly failed: Failed | null;
}

export interface Failed {
  readonly plan: Plan; // shrunk
  readonly problems: readonly string[];
}

const SAID_EVERY = 100;

export async function simulate({ run, from, seeds, said }: Campaign): Promise<Found> {
  let tally = NOTHING;
  for (let ran = 1; ran <= seeds; ran += 1) {
    const plan = planOf(from + ran - 1);
    const { problems, ...outcome } = await twice(run, plan);
    tally = added(tally, outcome.tally);
    if (problems.length > 0) {
      said(`seed ${plan.seed}: ${problems[0]}`);
      return { tally, ran, failed: await smallest(run, plan, problems) };
    }
    if (ran % SAID_EVERY === 0) said(`${ran} seeds, ${tally.turns} turns, ${tally.lives} lives`);
  }
  return { tally, ran: seeds, failed: null };
}

/** The same plan again must be the same days, down to the last id. */
export async function twice(run: Run, plan: Plan): Promise<Outcome> {
  const [one, other] = [await run(plan), await run(plan)];
  const same = one.hash === other.hash;
  return same ? one : { ...one, problems: [...one.problems, "two runs of this seed were not the same"] };
}

/** How a problem begins says what was broken: a smaller plan that breaks something else is another story. */
function kindOf(problem: string | undefined): string {
  return /^J\d+/.exec(problem ?? "")?.[0] ?? (problem ?? "").slice(0, 90);
}

async function smallest(run: Run, plan: Plan, problems: readonly string[]): Promise<Failed> {
  const kind = kindOf(problems[0]);
  const fails = async (smaller: Plan): Promise<boolean> =>
    (await run(smaller)).problems.some((each) => kindOf(each) === kind);
  const small = await shrink(plan, fails);
  const found = await run(small);
  // What two runs differ in is not seen in one of them.
  return found.problems.length > 0 ? { plan: small, problems: found.problems } : { plan, problems };
}

/** What makes the same again. */
export function again({ seed, deeds, deaths }: Plan): string {
  const whole = planOf(seed);
  const some = (name: "deeds" | "deaths", of: readonly { readonly n: number }[]): string =>
    of.length === whole[name].length ? "" : ` --${name} ${of.map(({ n }) => n).join(",") || "none"}`;
  return `npm run sim -- --seed ${seed}${some("deeds", deeds)}${some("deaths", deaths)}`;
}

/** A plan, or the part of it that somebody wants; undefined: all of these. */
export function partOf(seed: number, deeds: string | undefined, deaths: string | undefined): Plan {
  const plan = planOf(seed);
  const some = (list: string | undefined, of: readonly { readonly n: number }[]): ReadonlySet<number> =>
    new Set(list === undefined ? of.map(({ n }) => n) : list.split(",").map(Number));
  return kept(plan, some(deeds, plan.deeds), some(deaths, plan.deaths));
}
