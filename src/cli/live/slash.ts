// What can be said to the chat itself and not to the session's model: words that begin with a slash. The daemon knows and obeys
// them (calls/commands.ts), but for those that are about the terminal.

import { Fault } from "../../base/fault.ts";
import { instead } from "../../base/near.ts";
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
  const names = [...commands.map((command) => command.name), ...OWN.map(([own]) => own.slice(1))];
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
];

async function helpLines(client: Client): Promise<readonly string[]> {
  const { commands } = await client.call("commands", {});
  const rows = [
    ...commands.map(({ name, takes, about }) => [`/${name} ${takes}`, about] as const),
    ...OWN,
    ...KEYS,
  ];
  const width = Math.max(...rows.map(([what]) => what.length));
  return [
    ...rows.map(([what, about]) => `${what.padEnd(width)}  ${about}`),
    "What you write while it works is read before its next step.",
  ];
}
