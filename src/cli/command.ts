// Command
//
// One word of the command line: what it takes, what it does, and how it ends. Parsing, help and completion are made from
// these records; a command's own file loads what it needs when it runs, so that every command starts fast.

import { constants } from "node:os";
import type { Client, Env, Where } from "./client.ts";
import type { Screen } from "./output.ts";

/** What a word may be completed with. A list is all there is; "session", "job" and "archive" are asked of the daemon. */
export type Completes = "session" | "job" | "archive" | "file" | "folder" | readonly string[];

export interface Argument {
  readonly name: string;
  readonly about: string;
  readonly required: boolean;
  readonly variadic?: boolean; //    the rest of the words; only the last may be
  readonly completes?: Completes;
}

export interface Option {
  /** As help shows it: "--wait", "-f, --follow", "--state <state>". */
  readonly flags: string;
  readonly about: string;
  readonly completes?: Completes; // a list is also all that is accepted
  readonly repeats?: boolean; //     may be given several times; its value is a list
}

/** Options that every command has (main.ts): --json, --home, --url, --token-file. They are not among these. */
export type Options = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface Invocation {
  /** The words after the command, in order; those of a variadic argument follow each other. */
  readonly args: readonly string[];
  /** By the long name, in camel case: --token-file is `tokenFile`. */
  readonly options: Options;
  /** The gateway, looked for when it is asked for: some commands need none. */
  readonly client: () => Promise<Client>;
  /** Where the gateway is now. */
  readonly find: () => Promise<Where>;
  readonly home: string; // of the daemon: --home, SESSIOND_HOME or ~/.sessiond
  readonly screen: Screen;
  readonly env: Env;
  /** Aborted by SIGINT and SIGTERM. Who catches keys itself (chat, top) has its own way to end. */
  readonly signal: AbortSignal;
}

export interface Command {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly summary: string;
  readonly arguments: readonly Argument[];
  readonly options: readonly Option[];
  /** Lines below the help: examples, exit codes. */
  readonly more?: string;
  /** "self": SIGINT and SIGTERM are the command's own affair, and `signal` is never aborted by them. */
  readonly signals?: "self";
  /** The exit code. A Fault that is thrown is told, and its own exit code is used. */
  readonly run: (invocation: Invocation) => Promise<number>;
}

/** The session that most commands take first. */
export const SESSION: Argument = {
  name: "key",
  about: "a session: its key, or the beginning of it (main, budget-planning, sub:7f3a)",
  required: true,
  completes: "session",
};

/** The value of an option that takes one; undefined: it was not given. */
export function textOf(options: Options, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}

/** How a command ends that a signal has ended, as shells tell it. */
export function exitBy(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
