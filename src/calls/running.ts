// How a call is run, whoever asks for it: whether the caller may, whether what was given makes sense, and what is committed.

import type { z } from "zod";
import { Fault, type FaultCode } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import type { Change, Receipt } from "../store/change.ts";
import { checked } from "../tools/tool.ts";
import { isWithin, type Done, type Person, type Scope } from "./call.ts";

/** `isDraining`: the gateway is about to close, and only those who look are still answered. */
export function mustReach(name: string, needed: Scope, caller: Person, isDraining: boolean): void {
  const { principal, scope } = caller;
  if (!isWithin(needed, scope))
    throw new Fault("forbidden", `${name} needs the scope ${needed}; ${shown(principal)} has ${scope}`);
  if (isDraining && needed !== "read")
    throw new Fault("closed", "the gateway is stopping; nothing new is taken");
}

export async function inputOf(name: string, schema: z.ZodType, input: unknown): Promise<unknown> {
  const given = await checked(schema, input);
  if ("problems" in given) throw new Fault("bad_input", `${name}: ${given.problems}`);
  return given.value;
}

/**
 * What a call saw may be old by the time it is committed: somebody else has opened what it opens, or removed or ended what it
 * writes to. Then it looks once more.
 */
export async function carriedOut<Out>(
  look: () => Promise<Done<Out>>,
  commit: (changes: readonly Change[]) => Promise<Receipt>,
): Promise<Out> {
  for (let isFirst = true; ; isFirst = false) {
    const { changes, output } = await look();
    let receipt: Receipt | null = null;
    try {
      if (changes.length > 0) receipt = await commit(changes);
    } catch (error) {
      if (isFirst && error instanceof Fault && isOvertaken(error.code, changes)) continue;
      throw error;
    }
    return await output(receipt);
  }
}

const OVERTAKEN: ReadonlySet<FaultCode> = new Set(["exists", "not_found", "ended"]);

/** The clock changes jobs by itself; whoever names the version that they saw is refused by the call (calls/cron.ts). */
function isOvertaken(code: FaultCode, changes: readonly Change[]): boolean {
  const isOfJob = changes.some((change) => change.do === "setJob" || change.do === "clearJob");
  return OVERTAKEN.has(code) || (code === "stale_writer" && isOfJob);
}
