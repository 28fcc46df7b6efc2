import { economy } from "./context/economy.ts";
import { tail } from "./context/tail.ts";
import type { Figure } from "./measure.ts";
import type { Run } from "./run.ts";

/** What a context costs, and what it takes to have one. */
export async function context(run: Run): Promise<Figure[]> {
  return [...economy(), ...(await tail(run))];
}
