// What can be said to the chat itself and not to the session's model: words that begin with a slash. The daemon knows and obeys
// them (calls/commands.ts), but for those that are about the terminal.

import { Fault } from "../../base/fault.ts";
import { instead } from "../../base/near.ts";
import type { Output } from "../../calls/door.ts";
import type { Client } from "../client.ts";

/** What they work on. */
export interface Spoken {
  readonly client: Client;
  readonly sessionKey: string;
}

/** Null: it is for the session. Two slashes stand for one. */
export function slashIn(text: string): { readonly name: string; readonly rest: string } | null {
  const [, name, rest = ""] = /^\/([a-z]*)(?:\s+(.*))?$/is.exec(text.trim()) ?? [];
  return name === undefined || text.startsWith("//") ? null : { name: name.toLowerCase(), rest: rest.trim() };
}

/** Lines to show; null: with that behind it, it is a message. */
export async function obey(spoken: Spoken, name: string, rest: string): Promise<readonly string[] | null> {
  const { client, sessionKey } = spoken;
  if (name === "help" && rest === "") return await helpLines(client);
  const text = `/${name}${rest === "" ? "" : ` ${rest}`}`;
  const done = await client.call("command", { sessionKey, text });
  if (!done.isCommand) return await notObeyed(client, name);
  const next = done.sessionKey === null ? [] : [`sessiond chat ${done.sessionKey}`];
  return [...done.text.split("\n"), ...next];
}

/** Null: there is one of that name, which takes less. */
async function notObeyed(client: Client, name: string): Promise<null> {
  const { commands } = await client.call("commands", {});
  if (commands.some((each) => each.name === name || each.aliases.includes(name))) return null;
  const names = [...commands.flatMap(namesOf), ...OWN.map(([own]) => own.slice(1))];
  throw new Fault(
    "bad_input",
    `there is no /${name}; ${instead(name, names)}; /help says what they do, // sends a slash`,
  );
}

/** What is of the terminal. */
const OWN: readonly (readonly [what: string, about: string])[] = [["/quit", "leaves; the session goes on"]];

const KEYS: typeof OWN = [
  ["Ctrl-C", "stops the turn; again, or when nothing runs: leaves"],
  ["Ctrl-D", "leaves"],
  ["Ctrl-J, \\ Enter", "a new line in the message"],
  ["Tab", "completes a word with a slash, and what may follow it; with nothing to add: which there are"],
];

export type Listed = Output<"commands">["commands"];

/** How what was begun may go on. */
export interface Completion {
  readonly more: string; //               what all of them go on with; empty: nothing, or nobody knows
  readonly choices: readonly string[]; // which there are, if it is not clear
}

/** Of `/na`, or of `/name wo`. */
export function completionOf(begun: string, commands: Listed): Completion {
  const [, name = "", gap = "", word = ""] = /^\/([a-z]*)(\s*)(\S*)$/i.exec(begun) ?? [];
  const typed = name.toLowerCase();
  if (gap !== "") return among(word, wordsOf(typed, commands));
  const known = [...commands.flatMap(namesOf), ...OWN.map(([own]) => own.slice(1))];
  const { more, choices } = among(typed, known);
  return { more, choices: choices.map((each) => `/${each}`) };
}

function namesOf({ name, aliases }: Listed[number]): readonly string[] {
  return [name, ...aliases];
}

function wordsOf(name: string, commands: Listed): readonly string[] {
  if (name === "help") return commands.flatMap(namesOf);
  return commands.find((each) => namesOf(each).includes(name))?.words ?? [];
}

/** A word that is clear is followed by a space, as in a shell. */
function among(begun: string, words: readonly string[]): Completion {
  const fitting = words.filter((word) => word.startsWith(begun));
  const [first = begun, ...others] = fitting;
  if (others.length === 0)
    return { more: fitting.length === 0 ? "" : `${first.slice(begun.length)} `, choices: [] };
  let end = first.length;
  while (!others.every((each) => each.startsWith(first.slice(0, end)))) end -= 1;
  return { more: first.slice(begun.length, end), choices: fitting };
}

async function helpLines(client: Client): Promise<readonly string[]> {
  const { commands } = await client.call("commands", {});
  const rows = [
    ...commands.map(({ name, takes, about, aliases }) => {
      const others = aliases.map((alias) => `/${alias}`).join(", ");
      return [`/${name} ${takes}`, `${about}${others === "" ? "" : ` (also ${others})`}`] as const;
    }),
    ...OWN,
    ...KEYS,
  ];
  const width = Math.max(...rows.map(([what]) => what.length));
  return [
    ...rows.map(([what, about]) => `${what.padEnd(width)}  ${about}`),
    "What you write while it works is read before its next step.",
  ];
}
