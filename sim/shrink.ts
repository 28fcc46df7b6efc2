// Shrink: leaves out of a plan that fails what it fails without. What is left is what somebody has to understand.

import { kept, type Plan } from "./plan.ts";

/** Runs are cheap, but not free. */
const TRIES_MAX = 300;

/** `fails` says whether a plan still does. Halves first, then one by one, until nothing more can be left out. */
export async function shrink(plan: Plan, fails: (plan: Plan) => Promise<boolean>): Promise<Plan> {
  let best = plan;
  let tries = 0;
  const attempt = async (smaller: Plan): Promise<boolean> => {
    tries += 1;
    if (tries > TRIES_MAX || !(await fails(smaller))) return false;
    best = smaller;
    return true;
  };
  for (let before = -1; before !== sizeOf(best) && tries < TRIES_MAX;) {
    before = sizeOf(best);
    for (const what of ["deaths", "deeds"] as const)
      for (let size = Math.ceil(best[what].length / 2); size >= 1; size = Math.floor(size / 2))
        for (let from = 0; from < best[what].length;)
          if (!(await attempt(without(best, what, from, size)))) from += size;
  }
  return best;
}

function sizeOf({ deeds, deaths }: Plan): number {
  return deeds.length + deaths.length;
}

function without(plan: Plan, what: "deeds" | "deaths", from: number, size: number): Plan {
  const numbers = (of: readonly { readonly n: number }[]): number[] => of.map(({ n }) => n);
  const left = numbers(plan[what]).toSpliced(from, size);
  const deeds = new Set(what === "deeds" ? left : numbers(plan.deeds));
  const deaths = new Set(what === "deaths" ? left : numbers(plan.deaths));
  return kept(plan, deeds, deaths);
}
