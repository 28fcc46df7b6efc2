// What every door is made of: calls of the table and its streams, for a person; and the agents' own tools.

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { CALLED_OFF } from "../base/waiting.ts";
import type { Change, Receipt } from "../store/change.ts";
import type { Tool } from "../tools/tool.ts";
import type { Bus, Event } from "../events/bus.ts";
import type { SessionKey } from "../routing/key.ts";
import { isWithin, type Call, type Caller, type Person, type System } from "./call.ts";
import { carriedOut, inputOf, mustReach } from "./running.ts";
import { follow, streams, type StreamName, type Streamed, type Streams } from "./streams.ts";
import { calls, type CallName, type Calls } from "./table.ts";

export type Input<Name extends CallName> = z.input<Calls[Name]["input"]>;
export type Output<Name extends CallName> = z.output<Calls[Name]["output"]>;

export type StreamInput<Name extends StreamName> = z.input<Streams[Name]["input"]>;

interface DoorParts {
  readonly system: System;
  readonly bus: Bus;
  readonly commit: (changes: readonly Change[]) => Promise<Receipt>;
}

/** A person's calls: what they come to is committed here. */
export class Door {
  readonly #parts: DoorParts;
  #isDraining = false;

  constructor(parts: DoorParts) {
    this.#parts = parts;
  }

  /** From now on nothing is changed through it, and no turn begins: it is about to close. Who looks is answered to the end. */
  drain(): void {
    this.#isDraining = true;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  async call<Name extends CallName>(
    name: Name,
    caller: Person,
    input: Input<Name>,
    signal: AbortSignal,
  ): Promise<Output<Name>> {
    return await this.#made(name, caller, input, {
      signal,
      commit: isWithin("operate", caller.scope) ? (changes) => this.#committed(changes) : onlyAsked(name),
    });
  }

  /** The same, of who only asks, whatever else they may: what would change something is refused. */
  async ask<Name extends CallName>(
    name: Name,
    caller: Person,
    input: Input<Name>,
    signal: AbortSignal,
  ): Promise<Output<Name>> {
    return await this.#made(name, caller, input, { signal, commit: onlyAsked(name) });
  }

  async #made<Name extends CallName>(
    name: Name,
    caller: Person,
    input: Input<Name>,
    { signal, commit }: { readonly signal: AbortSignal; readonly commit: DoorParts["commit"] },
  ): Promise<Output<Name>> {
    const { run, who, ...row }: Call = callNamed(name);
    if (who === "agent") throw new Fault("forbidden", `${name} is for agents`);
    mustReach(name, row.scope, caller, this.#isDraining);
    const over = new AbortController();
    try {
      const given = await inputOf(name, row.input, input);
      const until = AbortSignal.any([signal, over.signal]);
      const look = () => run(this.#parts.system, caller, given, until);
      return (await carriedOut(look, commit)) as Output<Name>;
    } finally {
      over.abort(CALLED_OFF);
    }
  }

  /** What happens, as it happens, until the signal is aborted. Input that is wrong is refused before the first of it. */
  async stream<Name extends StreamName>(
    name: Name,
    caller: Person,
    input: StreamInput<Name>,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Streamed>> {
    if (!Object.hasOwn(streams, name))
      throw new Fault(
        "not_found",
        `there is no stream ${shown(name)}; there are: ${Object.keys(streams).join(", ")}`,
      );
    const row = streams[name];
    mustReach(name, row.scope, caller, false); // To follow is to look.
    const given = await inputOf(name, row.input, input);
    return await row.run(this.#parts.system, { caller, bus: this.#parts.bus }, given as never, signal);
  }

  /** The stream `follow` with what was said as it was said: for a door that gives an answer to who asked for it. */
  async follow(
    caller: Person,
    of: { readonly key: SessionKey; readonly from: number },
    signal: AbortSignal,
  ): Promise<AsyncGenerator<Event, void>> {
    mustReach("follow", streams.follow.scope, caller, false);
    return await follow(this.#parts.system, this.#parts.bus, of, signal);
  }

  async #committed(changes: readonly Change[]): Promise<Receipt> {
    const receipt = await this.#parts.commit(changes);
    for (const change of changes) if (change.do === "delete") this.#parts.bus.deleted(change.key);
    return receipt;
  }
}

/** In place of a commit: of a GET, of a tool that says that it only reads, and of a token that may only read. */
function onlyAsked(name: string): DoorParts["commit"] {
  return () => {
    throw new Fault("forbidden", `${name}: this would change something, and who only asks changes nothing`, {
      todo: "ask without what would be set; `set` sets the model of a session",
    });
  };
}

function callNamed(name: string): Call {
  if (!Object.hasOwn(calls, name))
    throw new Fault(
      "not_found",
      `there is no call ${shown(name)}; there are: ${Object.keys(calls).join(", ")}`,
    );
  return calls[name as CallName] as unknown as Call;
}

/**
 * The calls that agents may make, as tools. All that such a call does is in the changes that it returns, and those are
 * committed with its result: so one that was cut off has done nothing, and is run again. The one that writes a note has an effect
 * of its own; made again, it changes nothing (memory/writing.ts, N3).
 */
export function toolsOf(system: () => System): readonly Tool[] {
  return Object.values(calls as unknown as Record<string, Call>).flatMap((row) => {
    const { tool, who, about, input, toolInput = input, run, delegates } = row;
    if (tool === null || who === "person") return [];
    const made: Tool = {
      name: tool,
      description: about,
      input: toolInput,
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
