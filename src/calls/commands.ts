// The table of chat commands, how they are found in what somebody writes, and the calls that run them for a page or a terminal.
// What comes through a channel is in received.ts.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { clean } from "../base/harmless.ts";
import { shown } from "../base/fits.ts";
import { nearest } from "../base/near.ts";
import { MESSAGE_TEXT_BYTES_MAX, OUTWARD_CHARS_MAX } from "../limits.ts";
import { describeKey, parseKey } from "../routing/key.ts";
import { call, just, type Caller, type Done, type Person, type System } from "./call.ts";
import { conversationCommands } from "./commands/conversation.ts";
import { always, placeOf, told, type Command } from "./commands/command.ts";
import { cronCommands } from "./commands/cron.ts";
import { familyCommands } from "./commands/family.ts";
import { settingCommands } from "./commands/settings.ts";
import { sessionKey } from "./setting-shapes.ts";
import type { Rows } from "./table.ts";

const help: Command = {
  name: "help",
  takes: "[command]",
  wordsMax: 1,
  about: "lists the commands; with the name of one, how it is used",
  looks: always,
  run: async (_at, rest) => told(helpLines(rest)),
};

export const COMMANDS: readonly Command[] = [
  help,
  ...settingCommands,
  ...conversationCommands,
  ...familyCommands,
  ...cronCommands,
];

const BY_NAME: ReadonlyMap<string, Command> = new Map(
  COMMANDS.flatMap((each) => [each.name, ...(each.aliases ?? [])].map((name) => [name, each] as const)),
);

function helpLines(named: string): readonly string[] {
  if (named === "")
    return [...COMMANDS.map(helpLine), "What begins with two slashes is a message that begins with one."];
  const name = named.replace(/^\//, "").toLowerCase();
  const command = BY_NAME.get(name);
  if (command === undefined) throw unknown(name);
  return [helpLine(command), ...(command.more ?? [])];
}

function helpLine({ name, takes, about, aliases = [] }: Command): string {
  const others = aliases.length === 0 ? "" : ` (also /${aliases.join(", /")})`;
  return `/${name}${takes === "" ? "" : ` ${takes}`}: ${about}${others}`;
}

function unknown(name: string): Fault {
  const near = nearest(name, [...BY_NAME.keys()]);
  const hint = near === null ? "" : `; did you mean /${near}?`;
  return new Fault(
    "bad_input",
    `there is no command ${shown(`/${name}`)}${hint}; /help says what there is, // sends a slash`,
  );
}

/** A word that looks like a command. Some chats write whose it is behind it: `/status@a_bot`. */
const SLASH = /^\/([a-z]+)(@\w+)?(?:\s+(.*))?$/is;

export interface Found {
  readonly command: Command;
  readonly rest: string;
}

/**
 * Null: it is a message. An unknown word is one too: people write paths. So is a command with more behind it than it takes: people
 * write "/status of the project?". `isAlone`: nobody else is there who could be meant by the name behind a command; where several
 * are, what is addressed to somebody is not obeyed, because nobody here knows what it is called there.
 */
export function commandIn(text: string, isAlone: boolean): Found | null {
  const [, name = "", whose, behind = ""] = SLASH.exec(text.trim()) ?? [];
  const command = BY_NAME.get(name.toLowerCase());
  if (command === undefined || (whose !== undefined && !isAlone)) return null;
  const rest = behind.trim();
  const words = rest === "" ? 0 : rest.split(/\s+/).length;
  const { takes, wordsMax = takes === "" ? 0 : Number.MAX_SAFE_INTEGER } = command;
  return words > wordsMax ? null : { command, rest };
}

/** What looks like a command with a second slash is a message that looks like one. */
export function messageIn(text: string): string {
  const begun = text.trimStart();
  return begun.startsWith("//") && SLASH.test(begun.slice(1).trimEnd()) ? begun.slice(1) : text;
}

/** Harmless, whoever wrote what is in it, and no longer than an answer may be. */
export function textIn(lines: readonly string[]): string {
  const text = clean(lines.join("\n"));
  return text.length <= OUTWARD_CHARS_MAX ? text : `${text.slice(0, OUTWARD_CHARS_MAX - 1).toWellFormed()}…`;
}

// ── The calls ───────────────────────────────────────────────────────────────────────────────────────────────

const commandInput = z.strictObject({
  sessionKey,
  text: z
    .string()
    .min(1)
    .max(MESSAGE_TEXT_BYTES_MAX)
    .describe("What somebody wrote, such as /status or /model opus."),
});

const commanded = z.strictObject({
  isCommand: z.boolean().describe("False: it is a message for the session, and nothing was done."),
  text: z.string().describe("What came of it, in lines."),
  sessionKey: sessionKey
    .nullable()
    .describe("Where the conversation can be gone on with; null: where it was."),
});

const commandList = z.strictObject({
  commands: z.array(
    z.strictObject({
      name: z.string().describe("Without its slash."),
      aliases: z.array(z.string()),
      takes: z.string().describe("What may follow it; empty: nothing."),
      words: z
        .array(z.string())
        .describe("What its first word may be, as far as that is known, for completion."),
      about: z.string(),
    }),
  ),
});

/** Their rows in the table. `rows` are the others, which commands are made of. */
export function commandCalls(rows: Rows) {
  return {
    command: call({
      about:
        "Does what a chat command says (/status, /model, /new, /help). Each is a call of this table, and is refused as that would " +
        "be. What is no command is not sent: `isCommand` says so.",
      who: "person",
      tool: null,
      scope: "read", // Each call that it makes says what it needs itself.
      http: "POST /sessions/:sessionKey/command",
      input: commandInput,
      output: commanded,
      idempotent: false,
      run: (system, caller, input, signal) => obey(rows, { system, caller, signal }, input),
    }),
    commands: call({
      about: "The chat commands that there are.",
      who: "person",
      tool: null,
      scope: "read",
      http: "GET /commands",
      input: z.strictObject({}),
      output: commandList,
      idempotent: true,
      run: async () =>
        just({
          commands: COMMANDS.map(({ name, aliases = [], takes, words = [], about }) => ({
            name,
            aliases: [...aliases],
            takes,
            words: [...words],
            about,
          })),
        }),
    }),
  } as const;
}

async function obey(
  rows: Rows,
  by: { readonly system: System; readonly caller: Caller; readonly signal: AbortSignal },
  { sessionKey: text, text: written }: z.output<typeof commandInput>,
): Promise<Done<z.input<typeof commanded>>> {
  const key = parseKey(text);
  const { chatType } = describeKey(key);
  const found = commandIn(written, chatType === null || chatType === "direct");
  if (found === null) return just({ isCommand: false, text: "", sessionKey: null });
  const caller = personOf(by.caller);
  const at = placeOf(rows, {
    ...by,
    caller,
    sessionKey: key,
    timeoutMs: undefined,
    say: async (message) => await at.call("send", { sessionKey: key, message, mode: "followup" }),
  });
  const { changes, output } = await found.command.run(at, found.rest);
  return {
    changes,
    output: async (receipt) => {
      const { lines, sessionKey: next } = await output(receipt);
      by.system.totals.obeyed(found.command.name);
      return { isCommand: true, text: textIn(lines), sessionKey: next };
    },
  };
}

export function personOf(caller: Caller): Person {
  if (caller.kind === "person") return caller;
  throw new Fault("forbidden", "chat commands are for people; agents have tools");
}
