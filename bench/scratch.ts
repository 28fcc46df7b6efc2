// Scratch
//
// Where a run keeps what it makes: temporary homes, the stores opened on them, the processes it starts. All of it
// is gone when the run ends, whether it ended well, failed, or was interrupted.

import { fork, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openLog, type Log } from "../src/base/log.ts";
import { RealWorld, type World } from "../src/base/world.ts";
import { LocalStore } from "../src/store/local/local.ts";

/** Below it a store that is asked to close may take its time; above it the run is leaving anyway. */
const CLOSE_MS_MAX = 5_000;

export class Scratch {
  readonly directory: string;
  readonly #stores = new Set<LocalStore>();
  readonly #children = new Set<ChildProcess>();

  constructor(below: string | undefined) {
    const parent = below ?? tmpdir();
    mkdirSync(parent, { recursive: true });
    this.directory = mkdtempSync(join(parent, "sessiond-bench-"));
  }

  /** A directory that nobody has used. */
  home(name: string): string {
    return mkdtempSync(join(this.directory, `${name}-`));
  }

  async open(home: string, world: World = new RealWorld()): Promise<LocalStore> {
    const store = await openStore(home, world);
    this.#stores.add(store);
    return store;
  }

  async close(store: LocalStore): Promise<void> {
    this.#stores.delete(store);
    await store.close();
  }

  async remove(home: string): Promise<void> {
    await rm(home, { recursive: true, force: true });
  }

  /** A process of its own. It can be spoken to; what it prints goes to standard error. */
  start(script: URL, values: readonly string[], flags: readonly string[] = []): ChildProcess {
    const child = fork(script, values, {
      execArgv: ["--expose-gc", ...flags],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
    return child;
  }

  /** What such a process says first. Rejects when it ends without a word. */
  async hear(child: ChildProcess): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const ended = (code: number | null): void => reject(new Error(`a process of the run ended with ${code}`));
    child.once("message", resolve);
    child.once("exit", ended);
    return await promise.finally(() => child.off("exit", ended));
  }

  async clear(): Promise<void> {
    for (const child of this.#children) child.kill("SIGKILL");
    const closing = Promise.allSettled([...this.#stores].map((store) => store.close()));
    await Promise.race([closing, sleep(CLOSE_MS_MAX, undefined, { ref: false })]);
    this.#stores.clear();
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  /** When there is no time left to ask anybody. */
  clearNow(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Search has read everything there is, so that it does not work in the background of what is measured next. */
export async function searchIdle(store: LocalStore): Promise<void> {
  for (;;) {
    const { behind } = await store.search({ text: "nothing" });
    if (behind === 0) return;
    await sleep(100);
  }
}

/** A store that nobody but the caller will close. If it dies, the run has nothing left to measure. */
export function openStore(
  home: string,
  world: World = new RealWorld(),
  log: Log = openLog("error"),
): Promise<LocalStore> {
  return LocalStore.open(home, { world, log, died });
}

function died(fault: Error): never {
  throw fault;
}
