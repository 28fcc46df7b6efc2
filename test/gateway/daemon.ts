// A real daemon in a process of its own, as `sessiond serve` starts it. Whatever is started here is ended after the test,
// also when it fails.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Input, Output } from "../../src/calls/door.ts";
import type { CallName } from "../../src/calls/table.ts";
import { faultFrom, type FaultCode } from "../../src/base/fault.ts";
import type { Said } from "./line.ts";
import { afterwards, scratch } from "../fixtures/home.ts";

export const CLI = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

interface Wishes {
  /** Where its home is; without it, in a folder of its own. */
  readonly home?: string;
  readonly config?: object;
  readonly env?: Readonly<Record<string, string>>;
  /** A program that starts it, and becomes it; without it, none. */
  readonly through?: readonly string[];
}

/** What a daemon of a test knows of the environment: nothing of the person's who runs it. */
function cleanEnv(home: string, more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^SESSIOND_|_API_KEY$/.test(name));
  return { ...Object.fromEntries(kept), SESSIOND_HOME: home, SESSIOND_PORT: "0", NO_COLOR: "1", ...more };
}

export class Daemon {
  readonly home: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #through: readonly string[];
  #process: ChildProcess | null = null;
  #said = "";

  static async start(test: TestContext, wishes: Wishes = {}): Promise<Daemon> {
    const daemon = new Daemon(wishes.home ?? join(scratch(test), "home"), wishes);
    afterwards(test, () => daemon.kill());
    await daemon.begin();
    return daemon;
  }

  /** One that is to fail: how it ended, and what it said. */
  static async failing(
    test: TestContext,
    wishes: Wishes,
  ): Promise<{ readonly exit: number | NodeJS.Signals | null; readonly said: string }> {
    const daemon = new Daemon(wishes.home ?? join(scratch(test), "home"), wishes);
    afterwards(test, () => daemon.kill());
    const begun = daemon.launch();
    await once(begun, "close");
    return { exit: begun.exitCode ?? begun.signalCode, said: daemon.said };
  }

  private constructor(home: string, { config, env = {}, through = [] }: Wishes) {
    this.home = home;
    this.#through = through;
    this.#env = cleanEnv(home, env);
    mkdirSync(home, { recursive: true, mode: 0o700 });
    if (config !== undefined) writeFileSync(join(home, "config.json5"), JSON.stringify(config));
  }

  /** Starts it (again), and waits until it answers. */
  async begin(): Promise<void> {
    const begun = this.launch();
    while (!this.#isReady(begun)) {
      if (begun.exitCode !== null || begun.signalCode !== null)
        throw new Error(`the daemon ended (${begun.exitCode ?? begun.signalCode}): ${this.#said}`);
      await sleep(20);
    }
  }

  /** Without waiting: for starts that are to fail. */
  launch(): ChildProcess {
    const [program = process.execPath, ...words] = [...this.#through, process.execPath, CLI, "serve"];
    const begun = spawn(program, words, {
      env: this.#env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process = begun;
    this.#said = "";
    for (const stream of [begun.stdout, begun.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (this.#said += text));
    return begun;
  }

  #isReady({ pid }: ChildProcess): boolean {
    const path = join(this.home, "gateway.json");
    if (!existsSync(path) || !this.#said.includes("ready in ")) return false;
    try {
      return (JSON.parse(readFileSync(path, "utf8")) as { readonly pid: number }).pid === pid;
    } catch {
      return false; // It is being written.
    }
  }

  /** What it told the person who started it. */
  get said(): string {
    return this.#said;
  }

  get log(): string {
    return readFileSync(join(this.home, "logs", "sessiond.jsonl"), "utf8");
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  get url(): string {
    return (JSON.parse(readFileSync(join(this.home, "gateway.json"), "utf8")) as { readonly url: string })
      .url;
  }

  get token(): string {
    return this.#env["SESSIOND_TOKEN"] ?? readFileSync(join(this.home, "token"), "utf8").trim();
  }

  /** The environment in which the command line finds it. */
  get env(): NodeJS.ProcessEnv {
    return this.#env;
  }

  fetch(path: string, init: RequestInit & { readonly token?: string | null } = {}): Promise<Response> {
    const { token = this.token, headers, ...rest } = init;
    const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
    return fetch(`${this.url}${path}`, {
      ...rest,
      headers: {
        ...authorization,
        "content-type": "application/json",
        ...(headers as Record<string, string>),
      },
    });
  }

  /** JSON-RPC over HTTP, as it is answered. */
  async rpc(method: string, params: unknown): Promise<Said> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    return (await (await this.fetch("/rpc", { method: "POST", body })).json()) as Said;
  }

  /** A call. A Fault of the daemon is thrown as one. */
  async call<Name extends CallName>(method: Name, params: Input<Name>): Promise<Output<Name>> {
    const { error, result } = await this.rpc(method, params);
    if (error !== undefined)
      throw faultFrom({ code: (error.data ?? error).code as FaultCode, message: error.message });
    return result as Output<Name>;
  }

  /** Resolves with its exit code, or the signal that ended it, when it has ended by itself. */
  async ended(): Promise<number | NodeJS.Signals | null> {
    const running = this.#process;
    if (running === null) return null;
    if (running.exitCode === null && running.signalCode === null) await once(running, "close");
    return running.exitCode ?? running.signalCode;
  }

  /** Resolves with its exit code, or the signal that ended it. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<number | NodeJS.Signals | null> {
    const running = this.#process;
    if (running === null) return null;
    if (running.exitCode === null && running.signalCode === null) {
      const ended = once(running, "exit");
      running.kill(signal);
      await ended;
    }
    return running.exitCode ?? running.signalCode;
  }
}
