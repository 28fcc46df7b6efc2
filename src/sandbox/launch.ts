// Launch
//
// Starts a program so that it can be written down before it is executed. A small shell is started in its place, in a
// group and session of its own, and waits for a word from us; its pid is known then, and can be recorded. If we die before
// the word, the shell reads the end of the pipe and executes nothing.
//
// The shell stays: it waits for the program, tells its exit code and the CPU time of it and of everything that was waited
// for below it, and waits once more, for as long as anything lives that the program left behind: so the number of its group
// and session is not another's until nothing is left.

import { spawn, type ChildProcess } from "node:child_process";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import { MARKER } from "./proc.ts";

/**
 * Descriptor 3 is where it is told to go on, 4 where it reports; the program has neither. What the shell itself would say
 * of its end ("Terminated") is not the program's, and goes nowhere. SIGTERM goes to everybody, and the
 * shell outlives it so that it can report; a signal that is caught here is not caught by the program. When it has reported
 * it lets go of the outputs, so that their end is seen.
 */
const LAUNCHER = `
read -r go <&3 || exit 125
trap : HUP INT TERM
exec 5>&2 2>/dev/null
"$@" 2>&5 3<&- 4>&- 5>&-
code=$?
trap '' HUP INT TERM
{ echo "$code"; times; } >&4
exec <&- >&- 2>&- 4>&- 5>&-
read -r go <&3
exit "$code"
`;

/** Characters of a report: a number and four times. */
const REPORT_CHARS_MAX = 1_024;

export interface Launching {
  readonly id: string; //                 becomes the marker
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** What the launcher says when its program has ended. */
export interface Report {
  readonly exitCode: number; // as shells tell it: 128 and its number when a signal ended it
  readonly cpuMs: number; //    of all that was waited for
}

export interface Exit {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** A launcher that waits. */
export interface Launched {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Null: it was killed before it could. */
  readonly reported: Promise<Report | null>;
  readonly exited: Promise<Exit>;
  /** Both outputs are read to their end. */
  readonly closed: Promise<void>;
  /** False: it has exited, and its number may be given again. */
  isHeld(): boolean;
  /** First: execute the program. Then, after the report: end. */
  goOn(): void;
  /** Instead of the first goOn(): end without having executed anything. */
  callOff(): void;
}

/** Rejects with words for whoever asked, when the system does not let us. */
export async function launch({ id, command, cwd, env }: Launching): Promise<Launched> {
  const [program = "", ...words] = command;
  await mustBeFolder(cwd);
  const path = await findProgram(program, env["PATH"] ?? "", cwd);
  if (path === null) throw new Error(`there is no program ${JSON.stringify(program.slice(0, 200))} here`);
  try {
    const child = spawn("/bin/sh", ["-c", LAUNCHER, "sessiond", path, ...words], {
      cwd,
      env: { ...env, [MARKER]: id },
      stdio: ["pipe", "pipe", "pipe", "pipe", "pipe"],
      detached: true,
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.once("spawn", resolve).once("error", reject);
    await promise;
    return launchedOf(child);
  } catch (error) {
    throw new Error(`it could not be started: ${whyNot(error)}`, { cause: error });
  }
}

function launchedOf(child: ChildProcess): Launched {
  const [stdin, stdout, stderr, orders, reports] = child.stdio as [
    Writable,
    Readable,
    Readable,
    Writable,
    Readable,
  ];
  // Writing to one that has ended is no failure of ours, and what it was is seen by its exit.
  for (const stream of [stdin, stdout, stderr, orders, reports]) stream.on("error", () => {});
  child.on("error", () => {}); // only of signals, which are not sent through it
  const exited = Promise.withResolvers<Exit>();
  const closings = [stdout, stderr].map((each) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    each.once("close", resolve);
    return promise;
  });
  child.once("exit", (exitCode, signal) => exited.resolve({ exitCode, signal }));
  return {
    pid: child.pid ?? 0,
    stdin,
    stdout,
    stderr,
    reported: reportFrom(reports, exited.promise),
    exited: exited.promise,
    closed: Promise.all(closings).then(() => {}),
    isHeld: () => child.exitCode === null && child.signalCode === null,
    goOn: () => void orders.write("go\n"),
    callOff: () => void orders.destroy(),
  };
}

/** Four lines are a whole report: exit code, and two of times. */
async function reportFrom(reports: Readable, exited: Promise<Exit>): Promise<Report | null> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = "";
  reports.setEncoding("latin1").on("data", (piece: string) => {
    text = (text + piece).slice(0, REPORT_CHARS_MAX);
    if (text.split("\n").length > 3) resolve(text);
  });
  reports.once("close", () => resolve(text));
  return parseReport(await Promise.race([promise, exited.then(() => text)]));
}

/** The second line of `times` is the children's: user and system, each as `0m0.36s`. */
function parseReport(text: string): Report | null {
  const parts = /^(\d{1,3})\n.*\n(\d+)m([\d.,]+)s (\d+)m([\d.,]+)s\n/.exec(text)?.slice(1);
  if (!parts) return null;
  const found = parts.map((each) => Number(each.replace(",", "."))); // as the language of the shell has it
  const [exitCode = 0, userMinutes = 0, userSeconds = 0, systemMinutes = 0, systemSeconds = 0] = found;
  const seconds = (userMinutes + systemMinutes) * 60 + userSeconds + systemSeconds;
  return { exitCode, cpuMs: Math.round(seconds * 1_000) };
}

/**
 * An absolute path, so that the shell cannot take it for a command of its own. Null: there is none that may be executed.
 */
export async function findProgram(program: string, path: string, cwd: string): Promise<string | null> {
  const places = program.includes("/") ? [cwd] : path.split(delimiter).filter(isAbsolute);
  for (const place of program === "" ? [] : places) {
    const candidate = program.includes("/") ? resolve(place, program) : join(place, program);
    try {
      await access(candidate, constants.X_OK);
      if ((await stat(candidate)).isFile()) return candidate;
    } catch {
      continue; // Not here; perhaps in the next place.
    }
  }
  return null;
}

async function mustBeFolder(cwd: string): Promise<void> {
  const found = await stat(cwd).catch(() => null);
  if (!found?.isDirectory()) throw new Error(`there is no folder ${JSON.stringify(cwd)}`);
}

const REASONS: Readonly<Record<string, string>> = {
  EAGAIN: "there are too many processes; end some, or try again later",
  ENOMEM: "there is no memory for another process; end some, or try again later",
  EMFILE: "too many files are open; try again when other processes have ended",
  ENFILE: "too many files are open on this machine; try again later",
  E2BIG: "the command is too long for this system; put the long part into a file",
  EACCES: "the folder may not be entered",
  ENOENT: "the folder, or /bin/sh, is not there",
};

function whyNot(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return REASONS[code] ?? (error instanceof Error ? error.message : String(error));
}
