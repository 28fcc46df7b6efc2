#!/usr/bin/env node
// The command line: finds the command, runs it, and ends as it says. What a command cannot do is told in one manner:
// `sessiond: what is wrong`, what to do below it, and an exit code that means something (docs/cli.md).

import { enableCompileCache } from "node:module";
import { Fault, type FaultCode } from "../base/fault.ts";
import { exitBy, type Command as Record } from "./command.ts";
import { version } from "./version.ts";
import { clean, hasColour, json, type Screen } from "./output.ts";

/** A terminal of usual width, where nobody says. */
const COLUMNS = 80;
/** What a shell gets from a program that a closed pipe has ended. */
const PIPE_EXIT = 141;

const words = process.argv.slice(2);
const isJson = (words.includes("--") ? words.slice(0, words.indexOf("--")) : words).includes("--json");

const screen: Screen = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  isTty: process.stdout.isTTY ?? false,
  columns: process.stdout.columns ?? COLUMNS,
  colour: hasColour(process.env, process.stdout.isTTY ?? false),
  json: isJson,
};

for (const stream of [process.stdout, process.stderr])
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(PIPE_EXIT); // Who read it has gone.
    throw error;
  });

async function main(): Promise<number> {
  try {
    if (words.length === 1 && (words[0] === "--version" || words[0] === "-V")) {
      screen.out(`${version()}\n`);
      return 0;
    }
    enableCompileCache(); // What was compiled once need not be compiled for the next command: that is most of a start.
    const { run } = await import("./program.ts");
    return await run({ words, screen, env: process.env, version: version(), signals });
  } catch (error) {
    return failed(error);
  }
}

/** The first SIGINT or SIGTERM asks the command to end, the second does not ask. */
function signals({ signals: whose }: Record): AbortSignal {
  const over = new AbortController();
  if (whose === "self") return over.signal;
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.on(name, () => {
      if (over.signal.aborted) process.exit(exitBy(name));
      over.abort(new Ended(exitBy(name)));
    });
  return over.signal;
}

/** A signal has ended the command. */
class Ended extends Error {
  readonly exit: number;

  constructor(exit: number) {
    super("ended by a signal");
    this.exit = exit;
  }
}

function failed(error: unknown): number {
  if (error instanceof Ended) return error.exit;
  const fault = error instanceof Fault ? error : bug(error);
  const { code, message, todo, retry, exit } = fault;
  if (isJson) json(screen, { ok: false, error: { code, message, todo, retry } });
  else
    screen.err(`sessiond: ${clean(message)}\n${saysWhatToDo(fault) ? "" : `  ${clean(adviceOf(fault))}\n`}`);
  return exit;
}

/** A message of whole sentences says it itself; and what is wrong with an input is all there is to say. */
function saysWhatToDo({ code, message }: Fault): boolean {
  return code === "bad_input" || (code !== "unreachable" && /[.?]$/.test(message));
}

/** In the words of this door, where it has other ways than a program. */
const ADVICE: Readonly<Partial<{ readonly [code in FaultCode]: string }>> = {
  unauthorized:
    "set SESSIOND_TOKEN, or say --token-file; the first token is the file `token` in the daemon's home",
  forbidden: "use a token that may: `sessiond token` lists them",
};

/** What helps in one case alone is said by whoever knows that case. */
function adviceOf({ code, todo }: Fault): string {
  return todo === new Fault(code, "").todo ? (ADVICE[code] ?? todo) : todo;
}

function bug(error: unknown): Fault {
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Fault("bug", words, { cause: error });
}

process.exitCode = await main();
