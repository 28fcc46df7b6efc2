// The first two doors of the table: the library, for programs that embed sessions, and the agents' own tools.

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { CALLED_OFF } from "../base/waiting.ts";
import type { Change, Receipt } from "../store/store.ts";
import { checked, type Tool } from "../tools/tool.ts";
import type { Call, Caller, System } from "./call.ts";
import { calls, type CallName, type Calls } from "./table.ts";

export type Input<Name extends CallName> = z.input<Calls[Name]["input"]>;
export type Output<Name extends CallName> = z.output<Calls[Name]["output"]>;

/** A person's call: what it comes to is committed here. */
export class Door {
  readonly #system: System;
  readonly #commit: (changes: readonly Change[]) => Promise<Receipt>;

  constructor(system: System, commit: (changes: readonly Change[]) => Promise<Receipt>) {
    this.#system = system;
    this.#commit = commit;
  }

  async call<Name extends CallName>(
    name: Name,
    caller: Caller,
    input: Input<Name>,
    signal: AbortSignal,
  ): Promise<Output<Name>> {
    const { run, who, ...row }: Call = callNamed(name);
    if (who === "agent") throw new Fault("forbidden", `${name} is for agents`);
    const over = new AbortController();
    try {
      const given = await inputOf(name, row.input, input);
      for (let isFirst = true; ; isFirst = false) {
        const done = await run(this.#system, caller, given, AbortSignal.any([signal, over.signal]));
        const receipt = done.changes.length === 0 ? null : await this.#committed(done.changes, isFirst);
        if (receipt !== "look again") return (await done.output(receipt)) as Output<Name>;
      }
    } finally {
      over.abort(CALLED_OFF);
    }
  }

  /** What a call saw may be old by now: somebody else has opened what it opens. Then it looks once more. */
  async #committed(changes: readonly Change[], isFirst: boolean): Promise<Receipt | "look again"> {
    try {
      return await this.#commit(changes);
    } catch (error) {
      if (isFirst && error instanceof Fault && error.code === "exists") return "look again";
      throw error;
    }
  }
}

function callNamed(name: string): Call {
  if (!Object.hasOwn(calls, name))
    throw new Fault(
      "not_found",
      `there is no call ${shown(name)}; there are: ${Object.keys(calls).join(", ")}`,
    );
  return calls[name as CallName] as unknown as Call;
}

async function inputOf(name: string, schema: z.ZodType, input: unknown): Promise<unknown> {
  const given = await checked(schema, input);
  if ("problems" in given) throw new Fault("bad_input", `${name}: ${given.problems}`);
  return given.value;
}

/**
 * The calls that agents may make, as tools. All that such a call does is in the changes that it returns, and those are
 * committed with its result: so one that was cut off has done nothing, and is run again.
 */
export function toolsOf(system: () => System): readonly Tool[] {
  return Object.values(calls as unknown as Record<string, Call>).flatMap((row) => {
    const { tool, who, about, input, run, delegates } = row;
    if (tool === null || who === "person") return [];
    const made: Tool = {
      name: tool,
      description: about,
      input,
      replay: "safe",
      ...(delegates ? { delegates } : {}),
      run: async (given, { signal, ...calling }) => {
        const caller: Caller = { kind: "agent", tool, ...calling };
        const { changes, output, details } = await run(system(), caller, given, signal);
        const content = JSON.stringify(await output(null));
        return { content, changes, ...(details === undefined ? {} : { details }) };
      },
    };
    return [made];
  });
}
