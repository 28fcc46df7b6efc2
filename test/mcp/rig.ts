// What tests of servers of tools stand on: real processes, a log that can be read, and a clock that can be pushed on.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as nap } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openLog } from "../../src/base/log.ts";
import { Secret } from "../../src/base/secret.ts";
import { RealWorld } from "../../src/base/world.ts";
import type { McpServer } from "../../src/config/config.ts";
import { plainEnv, Processes, type Running, type Starting } from "../../src/sandbox/processes.ts";
import { McpServers } from "../../src/tools/mcp/tools.ts";
import type { Calling, Result, Tool } from "../../src/tools/tool.ts";

/** The real one, and besides it goes on by a push: whoever sleeps until then wakes up. */
class PushedWorld extends RealWorld {
  readonly #sleepers = new Set<{ readonly wakeAtMs: number; readonly wake: () => void }>();
  #aheadMs = 0;

  override nowMs(): number {
    return super.nowMs() + this.#aheadMs;
  }

  push(ms: number): void {
    this.#aheadMs += ms;
    for (const { wakeAtMs, wake } of this.#sleepers) if (wakeAtMs <= this.nowMs()) wake();
  }

  override async sleep(ms: number, signal: AbortSignal): Promise<void> {
    const pushed = Promise.withResolvers<void>();
    const sleeper = { wakeAtMs: this.nowMs() + ms, wake: pushed.resolve };
    this.#sleepers.add(sleeper);
    const off = new AbortController();
    try {
      await Promise.race([super.sleep(ms, AbortSignal.any([signal, off.signal])), pushed.promise]);
    } finally {
      this.#sleepers.delete(sleeper);
      off.abort();
    }
  }
}

type Logged = Readonly<Record<string, unknown>>;

export class Rig {
  readonly world = new PushedWorld();
  readonly logged: Logged[] = [];
  readonly started: Running[] = [];
  /** Resolves when the first process is asked for, before it is there. */
  readonly asked = Promise.withResolvers<void>();
  readonly #processes: Processes;
  #servers: McpServers | null = null;

  private constructor(folder: string) {
    this.#processes = new Processes({ folder, world: this.world, log: this.log });
  }

  /** What it started is gone when the test is over, also when it failed. */
  static async open(test: TestContext): Promise<Rig> {
    const folder = await mkdtemp(join(tmpdir(), "sessiond-mcp-"));
    const rig = new Rig(folder);
    test.after(async () => {
      await rig.#servers?.close();
      await rig.#processes.killEverything();
      await rm(folder, { recursive: true, force: true });
    });
    return rig;
  }

  readonly log = openLog("debug", { write: (line) => void this.logged.push(JSON.parse(line) as Logged) });

  servers(...servers: readonly McpServer[]): McpServers {
    const { world, log } = this;
    const processes = { start: (starting: Starting) => this.start(starting) };
    const named = new Map(servers.map((server) => [server.name, server]));
    this.#servers = new McpServers({ world, log, processes, servers: named });
    return this.#servers;
  }

  async start(starting: Starting): Promise<Running> {
    this.asked.resolve();
    const running = await this.#processes.start(starting);
    this.started.push(running);
    return running;
  }

  /** The everything server at an address of this machine. */
  async everythingAt(port: number): Promise<Running> {
    const running = await this.start({
      command: [process.execPath, EVERYTHING, "streamableHttp"],
      cwd: process.cwd(),
      env: { ...plainEnv(process.env), PORT: String(port) },
      session: null,
    });
    running.stdout.resume();
    const { promise, resolve: isUp } = Promise.withResolvers<void>();
    running.stderr.on("data", (chunk: Buffer) => {
      if (String(chunk).includes("listening")) isUp();
    });
    const died = running.ended.then(({ exitCode }) =>
      assert.fail(`the everything server ended: ${exitCode}`),
    );
    died.catch(() => {}); // It is ended at last, by whoever asked for it.
    await Promise.race([promise, died]);
    return running;
  }

  /** Words of warnings, by field. */
  warned(field: string): unknown[] {
    return this.logged.filter(({ level }) => Number(level) >= 40).flatMap((each) => each[field] ?? []);
  }
}

const EVERYTHING = resolve("node_modules/.bin/mcp-server-everything");
const ODD = fileURLToPath(new URL("odd.ts", import.meta.url));

export function everything(name = "all"): McpServer {
  return program(name, [process.execPath, EVERYTHING, "stdio"]);
}

export function odd(way: string, env: Readonly<Record<string, string>> = {}): McpServer {
  return program(way, [process.execPath, ODD, way], env);
}

export function program(
  name: string,
  [command = "", ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): McpServer {
  const secrets = Object.entries(env).map(([key, value]) => [key, new Secret(value)] as const);
  return { kind: "stdio", name, command, args, env: Object.fromEntries(secrets), cwd: process.cwd() };
}

export function address(
  name: string,
  port: number,
  headers: Readonly<Record<string, string>> = {},
): McpServer {
  const secrets = Object.entries(headers).map(([key, value]) => [key, new Secret(value)] as const);
  return { kind: "http", name, url: `http://127.0.0.1:${port}/mcp`, headers: Object.fromEntries(secrets) };
}

/** Runs one of the tools, as a turn would. */
export async function run(
  tools: readonly Tool[],
  name: string,
  given: object = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<Result> {
  const tool = tools.find((each) => each.name === name);
  assert.ok(tool, `there is no ${name} among ${tools.map((each) => each.name).join(", ")}`);
  const output = await tool.run(given, { signal } as unknown as Calling);
  return typeof output === "string" ? { content: output } : output;
}

/** The first text of a result. */
export function textOf({ content }: Result): string {
  const [first] = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return first?.type === "text" ? first.text : assert.fail("it begins with no text");
}

/** Asks again until it is so. A test that waits for ever is ended by its runner. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await nap(10);
}

/** Nobody is left of its group. */
export function isGone({ pid }: Running): boolean {
  try {
    process.kill(-pid, 0);
    return false;
  } catch {
    return true;
  }
}
