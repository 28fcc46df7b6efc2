// Command
//
// One word that people write in a chat, with a slash before it, to the session itself and not to its model. Each is one or more
// calls of the table, with the words for what they come to: there is nothing that only a command can do.
//
//   Owns:      how the words after a command are read, and how what came of it is said.
//   Does not:  change anything by itself, or say who may: the calls do. What they are to change is one commit.

import type { z } from "zod";
import { Fault } from "../../base/fault.ts";
import type { Call, Done, Person, System } from "../call.ts";
import { inputOf, mustReach } from "../running.ts";
import type { Rows } from "../table.ts";

export type CalledName = keyof Rows;
export type Output<Name extends CalledName> = z.output<Rows[Name]["output"]>;

/** What somebody is told. */
export interface Said {
  readonly lines: readonly string[];
  /** Where the conversation can be gone on with; null: here. */
  readonly sessionKey: string | null;
}

/** Where a command was given, by whom, and what it can do there. */
export interface At {
  readonly system: System;
  readonly sessionKey: string;
  /** How long something that takes longer is waited for; undefined: as the call waits. */
  readonly timeoutMs: number | undefined;
  /** What the call of that name comes to. Refused as it would be for whoever gave the command. */
  readonly call: <Name extends CalledName>(
    name: Name,
    input: z.input<Rows[Name]["input"]>,
  ) => Promise<Done<Output<Name>>>;
  /** A message to the session, as if it had come in place of the command: its answer goes where that one's would. */
  readonly say: (message: string) => Promise<Done<unknown>>;
}

export interface Command {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly takes: string; // as help shows it; empty: nothing
  /** What its first word may be, for those who complete it; absent: they cannot know. */
  readonly words?: readonly string[];
  /** Words that may follow it; with more it is no command but a message. Absent: any, or none if it takes nothing. */
  readonly wordsMax?: number;
  readonly about: string;
  /** Below it in its own help: its forms. Absent: there is no more to say. */
  readonly more?: readonly string[];
  /** True: with that behind it, it only looks; so it does no harm twice. Absent: it never only looks. */
  readonly looks?: (rest: string) => boolean;
  readonly run: (at: At, rest: string) => Promise<Done<Said>>;
}

/** Who gives commands, and where. */
export interface Giving {
  readonly system: System;
  readonly caller: Person;
  readonly sessionKey: string;
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal;
  readonly say: At["say"];
}

export function placeOf(rows: Rows, { caller, signal, ...at }: Giving): At {
  const { system } = at;
  const called: At["call"] = async (name, input) => {
    const { scope, input: schema, run } = rows[name] as unknown as Call;
    mustReach(name, scope, caller, system.isDraining());
    return (await run(system, caller, await inputOf(name, schema, input), signal)) as Done<never>;
  };
  return { ...at, call: called };
}

/** What is said of what a call comes to. */
export function said<Out>(
  done: Done<Out>,
  words: (out: Out) => readonly string[],
  next: (out: Out) => string | null = () => null,
): Done<Said> {
  return {
    changes: done.changes,
    output: async (receipt) => {
      const out = await done.output(receipt);
      return { lines: words(out), sessionKey: next(out) };
    },
  };
}

/** Nothing happens. */
export function told(lines: readonly string[]): Done<Said> {
  return { changes: [], output: () => ({ lines, sessionKey: null }) };
}

/** What a call that only looks has seen. */
export async function seen<Out>(done: Done<Out>): Promise<Out> {
  return await done.output(null);
}

export const always = (): boolean => true;
export const alone = (rest: string): boolean => rest === "";

/** By its first word, which is the first of them if it is left out. */
export function doing(...actions: readonly string[]): (rest: string) => boolean {
  return (rest) => actions.includes(split(rest)[0] || (actions[0] ?? ""));
}

/** The first word, and the rest; both empty when there is none. */
export function split(text: string): readonly [first: string, rest: string] {
  const [, first = "", rest = ""] = /^(\S+)\s*(.*)$/s.exec(text) ?? [];
  return [first, rest];
}

/** What was left out after a command. */
export function missing(usage: string, hint: string): Fault {
  return new Fault("bad_input", `write ${usage}; ${hint}`);
}
