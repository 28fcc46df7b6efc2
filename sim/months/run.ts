// Run: some months of a plan, from their first life to their end, and what the judge found.

import { createHash } from "node:crypto";
import { SimulatedWorld } from "../../src/base/world.ts";
import { Judge, type Tally } from "./judge.ts";
import { Life } from "./life.ts";
import { LAST_MS, type Plan } from "./plan.ts";
import { Town } from "./town.ts";

export interface Outcome {
  readonly problems: readonly string[];
  readonly tally: Tally & { readonly lives: number; readonly commits: number };
  /** Of all jobs as they are in the end: two runs of a plan have the same. */
  readonly hash: string;
}

export async function runMonths(plan: Plan): Promise<Outcome> {
  const judge = new Judge(plan);
  const town = new Town(new SimulatedWorld(plan.seed, plan.months.fromMs), judge);
  const stray = (error: unknown): void => town.wrong(`nobody saw to ${String(error)}`);
  process.on("unhandledRejection", stray);
  try {
    let startMs = plan.months.fromMs;
    let lives = 0;
    for (; startMs < plan.months.toMs; lives += 1) {
      judge.begins(startMs);
      const life = new Life(plan, town, { number: lives, startMs });
      await life.live();
      const nowMs = life.world.nowMs();
      startMs = Math.max(
        nowMs,
        Math.min(nowMs + (plan.deaths[lives]?.gapMs ?? 0), plan.months.toMs - LAST_MS),
      );
    }
    const { problems, tally } = judge.verdict(plan.months.toMs);
    const { rows } = await town.store.jobs({ limit: 500 });
    const hash = createHash("sha256").update(JSON.stringify(rows)).digest("hex").slice(0, 16);
    return {
      problems: [...town.problems, ...problems],
      tally: { ...tally, lives, commits: town.commits },
      hash,
    };
  } finally {
    process.off("unhandledRejection", stray);
  }
}
