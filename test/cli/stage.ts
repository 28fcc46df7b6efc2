// Commands of the command line, run as a shell runs them, against a real daemon.

import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { afterwards } from "../fixtures/home.ts";
import { CLI, type Daemon } from "../gateway/daemon.ts";

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

/** Some 20 s: what has not come by then does not come. */
const LOOKS_MAX = 1_000;

/** One command while it runs. */
export class Running {
  readonly process: ChildProcess;
  out = "";
  err = "";
  #isClosed = false; // it has ended, and all that it said is here

  constructor(test: TestContext, command: readonly string[], env: NodeJS.ProcessEnv) {
    const [program = "", ...words] = command;
    this.process = spawn(program, words, { env, stdio: ["pipe", "pipe", "pipe"] });
    this.process.stdout?.setEncoding("utf8").on("data", (text: string) => (this.out += text));
    this.process.stderr?.setEncoding("utf8").on("data", (text: string) => (this.err += text));
    this.process.on("close", () => (this.#isClosed = true));
    afterwards(test, async () => {
      if (this.process.exitCode === null && this.process.signalCode === null) {
        this.process.kill("SIGKILL");
        await once(this.process, "close");
      }
    });
  }

  type(text: string): void {
    this.process.stdin?.write(text);
  }

  async seen(pattern: RegExp): Promise<void> {
    for (let looks = 0; !pattern.test(this.out); looks += 1) {
      if (looks > LOOKS_MAX)
        throw new Error(`${pattern} does not come: ${JSON.stringify(this.out.slice(-3_000))}${this.err}`);
      if (this.process.exitCode !== null)
        throw new Error(`it ended (${this.process.exitCode}) without ${pattern}: ${this.out}${this.err}`);
      await sleep(20);
    }
  }

  async ended(): Promise<number | null> {
    for (let looks = 0; !this.#isClosed; looks += 1) {
      if (looks > LOOKS_MAX)
        throw new Error(`it does not end: ${JSON.stringify(this.out.slice(-3_000))}${this.err}`);
      await sleep(20);
    }
    return this.process.exitCode;
  }
}

// ── At a terminal ───────────────────────────────────────────────────────────────────────────────────────────

const hasTerminal = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;

/** Why tests at a terminal are skipped; false: they are not. */
export const NO_TERMINAL = hasTerminal ? false : "there is no `script` of util-linux to make a terminal with";

/** At a terminal of its own, as `script` of util-linux makes one. */
export function terminal(
  t: TestContext,
  daemon: Pick<Daemon, "home" | "env">,
  ...words: readonly string[]
): Running {
  const command = [process.execPath, CLI, ...words].map((word) => `'${word}'`).join(" ");
  const env = { ...daemon.env, TERM: "xterm" };
  const noted = `echo $$ > '${pidFile(daemon)}'; exec ${command}`;
  return new Running(t, ["script", "-qfec", noted, "/dev/null"], env);
}

/** Where the command at the terminal, which is no child of ours, writes down its process. */
export function pidFile(daemon: Pick<Daemon, "home">): string {
  return join(daemon.home, "terminal.pid");
}
