// What comes before a call runs, whoever asks for it: whether the caller may, and whether what was given makes sense.

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { checked } from "../tools/tool.ts";
import { isWithin, type Person, type Scope } from "./call.ts";

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
