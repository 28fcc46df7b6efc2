// Commands of the command line, run as a shell runs them, against a real daemon.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { afterwards } from "../fixtures/home.ts";
import { CLI } from "../gateway/daemon.ts";

export interface Ran {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly input?: string;
  readonly program?: readonly string[];
}

/** Started, and not waited for. It is ended after the test. */
export function started(
  test: TestContext,
  { env, input, program = [process.execPath, CLI] }: Surroundings,
  words: readonly string[],
): {
  readonly process: ChildProcess;
  readonly ran: Promise<Ran>;
} {
  const [file = "", ...first] = program;
  const child = spawn(file, [...first, ...words], { env, stdio: ["pipe", "pipe", "pipe"] });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  child.stdin.on("error", () => {}); // It may not read what it is given.
  child.stdin.end(input ?? "");
  const ended = once(child, "close");
  afterwards(test, async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return { process: child, ran: ended.then(() => ({ exit: child.exitCode, out, err })) };
}

export async function ran(
  test: TestContext,
  surroundings: Surroundings,
  ...words: readonly string[]
): Promise<Ran> {
  return await started(test, surroundings, words).ran;
}
