// Processes for tests. Whatever is started here is gone after the test, also when it fails.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { openLog } from "../../src/base/log.ts";
import { RealWorld } from "../../src/base/world.ts";
import { Output } from "../../src/sandbox/output.ts";
import { plainEnv, Processes, type Ended, type Running } from "../../src/sandbox/processes.ts";
import { DEFAULT_AGENT, namedKey } from "../../src/routing/key.ts";
import { afterwards, scratch } from "../fixtures/home.ts";

export const KEY = namedKey(DEFAULT_AGENT, "one");
export const OTHER_KEY = namedKey(DEFAULT_AGENT, "other");

export class Stage {
  readonly home: string;
  readonly folder: string;
  readonly world = new RealWorld();
  readonly logged: string[] = [];
  readonly processes: Processes;
  /** Of all that was started, also by programs of the test. */
  readonly ids: string[] = [];

  constructor(test: TestContext) {
    this.home = scratch(test);
    this.folder = join(this.home, "processes");
    this.processes = this.another();
    // By itself, not by what is tested: it may be broken.
    afterwards(test, () => {
      while (alive(this.ids).length > 0) for (const pid of alive(this.ids)) kill(pid);
    });
    afterwards(test, () => this.processes.killEverything());
  }

  /** As after a restart. */
  another(): Processes {
    const log = openLog("warn", { write: (line) => void this.logged.push(line) });
    return new Processes({ folder: this.folder, world: this.world, log });
  }

  async start(script: string, session: typeof KEY | null = KEY): Promise<Running> {
    const command = ["sh", "-c", script];
    const env = plainEnv(process.env);
    const running = await this.processes.start({ command, cwd: this.home, env, session });
    this.ids.push(running.id);
    return running;
  }

  /** Until the program has ended; what it left behind goes on. */
  async run(script: string): Promise<Ended & { readonly text: string; readonly running: Running }> {
    const running = await this.start(script);
    const output = outputOf(running);
    running.stdin.end();
    return { ...(await running.ended), text: output.text(), running };
  }

  get records(): string[] {
    return readdirSync(this.folder);
  }
}

export function outputOf(running: Running): Output {
  const output = new Output({ headChars: 64 * 1024, tailChars: 64 * 1024 });
  output.read(running.stdout);
  output.read(running.stderr);
  return output;
}

/** Pids of living processes that carry one of these markers. Looked up here by itself: it judges what src/ claims. */
export function alive(ids: readonly string[]): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
        return ids.some((id) => environment.includes(`SESSIOND_PROCESS=${id}`)); // A zombie has no environment.
      } catch {
        return false; // It ended meanwhile.
      }
    });
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended meanwhile.
  }
}

/** A line of a script: forks twice, begins a session, ignores SIGTERM and prints its pid. */
export const DAEMON = `( setsid sh -c "trap '' TERM; (trap '' TERM; echo daemon; while :; do sleep 1; done) & exit 0" & ) `;

export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const world = new RealWorld();
  const { signal } = new AbortController();
  for (let tries = 0; !(await isSo()); tries += 1) {
    if (tries > 2_000) throw new Error("it never became so");
    await world.sleep(10, signal);
  }
}
