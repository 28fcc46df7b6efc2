// Gateways with jobs, in simulated time: the real system but for its store, with the rehearsal to answer. Whatever is started
// here is over after the test, also when it fails.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setImmediate as settle, setTimeout as sleep } from "node:timers/promises";
import { openLog } from "../../src/base/log.ts";
import { Sessions } from "../../src/calls/library.ts";
import type { ConfigInput } from "../../src/config/schema.ts";
import { readConfig } from "../../src/config/load.ts";
import type { Outgoing } from "../../src/mail/letter.ts";
import { Catalog } from "../../src/models/catalog.ts";
import { rehearsals } from "../../src/models/rehearsal.ts";
import { DEFAULT_AGENT, mainKey, type SessionKey } from "../../src/routing/key.ts";
import { pages } from "../../src/store/contract/corner.ts";
import { MemoryStore } from "../../src/store/memory.ts";
import type { Change, Receipt } from "../../src/store/change.ts";
import type { Store } from "../../src/store/store.ts";
import type { Job, JobSpec } from "../../src/timers/job.ts";
import { addJob } from "../../src/timers/jobs.ts";
import { alarmAtMs } from "../../src/timers/schedule.ts";
import type { Timer } from "../../src/timers/timer.ts";
import { textOf, type Entry } from "../../src/transcript/entry.ts";
import { begin, wire, type Wired } from "../../src/wire.ts";
import { NO_MEMORY } from "../../sim/life.ts";
import { afterwards } from "../fixtures/home.ts";
import { specOf } from "./specs.ts";
import { Settable } from "./stage.ts";

export const MAIN = mainKey(DEFAULT_AGENT);

export class Office {
  readonly world: Settable;
  readonly store: Store;
  readonly test: TestContext;
  readonly logged: string[] = [];
  readonly gateways: (Wired & { readonly sessions: Sessions })[] = [];
  /** What left through the door `pigeon`. */
  readonly flown: Outgoing[] = [];
  /** Commits, in their order. */
  readonly commits: (readonly Change[])[] = [];
  /** What happens to a commit; by default that. */
  commit: (changes: readonly Change[]) => Promise<Receipt>;
  readonly #config: ConfigInput;
  #asked = 0; // of the store, and not answered yet

  /** `on`: what there is already; without it, a store in memory. */
  constructor(
    test: TestContext,
    config: ConfigInput = {},
    on?: { readonly world: Settable; readonly store: Store },
  ) {
    this.test = test;
    this.world = on?.world ?? new Settable(1);
    this.store = on?.store ?? new MemoryStore(this.world);
    this.commit = (changes) => this.store.commit(changes);
    this.#config = config;
  }

  /** Another gateway on the same store. */
  async start(): Promise<Sessions> {
    const { world } = this;
    const read = readConfig(
      { home: "/simulated", ...USUAL, ...this.#config },
      { homeDir: "/simulated", cwd: "/", env: {} },
    );
    const commit = async (changes: readonly Change[]): Promise<Receipt> => {
      const receipt = await this.commit(changes);
      this.commits.push(changes);
      return receipt;
    };
    const store = new Proxy(this.store, {
      get: (of, name) => {
        if (name === "close") return async () => {}; // It is there for the next gateway.
        const value: unknown = name === "commit" ? commit : Reflect.get(of, name);
        return typeof value === "function" ? this.#watched(value.bind(of) as () => unknown) : value;
      },
    });
    const wired = wire({
      config: read,
      world,
      log: openLog("debug", { write: (line) => void this.logged.push(line) }),
      catalog: new Catalog(rehearsals(world), [], {}),
      prompts: { of: async () => "" },
      task: async () => null,
      writeFile: async () => {},
      channels: new Map([["pigeon", async (outgoing: Outgoing) => void this.flown.push(outgoing)]]),
      store,
      processes: { all: () => [], killAll: async () => {}, killEverything: async () => {} },
      mcp: { names: [], tools: async () => [], status: () => [], close: async () => {} },
      memory: NO_MEMORY,
      tools: { ours: [], exec: [], given: [] },
    });
    await begin(wired.system);
    const sessions = new Sessions(wired);
    const gateway = { ...wired, sessions };
    this.gateways.push(gateway);
    afterwards(this.test, async () => {
      let isOver = false;
      const closed = sessions.close().then(() => (isOver = true));
      while (!isOver && (await this.#step()));
      await closed;
    });
    return sessions;
  }

  #watched(ask: (...given: readonly unknown[]) => unknown): (...given: readonly unknown[]) => unknown {
    return (...given) => {
      const asked = ask(...given);
      if (!(asked instanceof Promise)) return asked;
      this.#asked += 1;
      return asked.finally(() => (this.#asked -= 1));
    };
  }

  /** On a real disk: whoever asked the store was answered, and has done what follows. Then one more step of time. */
  async stepAfterDisk(): Promise<void> {
    for (let calm = 0; calm < 3; calm += 1) {
      await sleep(1);
      if (this.#asked > 0) calm = -1;
    }
    this.world.step();
  }

  /** Commits, and tells all gateways. */
  async tell(changes: readonly Change[]): Promise<void> {
    const receipt = await this.store.commit(changes);
    for (const { system } of this.gateways) {
      system.lanes.told(changes, receipt);
      system.clock.told(changes);
    }
    await settle();
  }

  async add(id: string, more: Partial<JobSpec> = {}): Promise<Job> {
    const { job, changes } = addJob(specOf(more), { id, agent: DEFAULT_AGENT, nowMs: this.world.nowMs() });
    await this.tell(changes);
    return job;
  }

  async job(id: string): Promise<Job> {
    const [job] = (await this.store.jobs({ id })).rows;
    assert.ok(job, `there is a job ${id}`);
    const alarms = (await this.timers()).filter((timer) => timer.id === `job:${id}`);
    assert.deepEqual(
      alarms.map(({ dueAtMs }) => dueAtMs),
      [alarmAtMs(job) ?? []].flat(),
      "J1: its alarm is where the record says",
    );
    return job;
  }

  async timers(): Promise<Timer[]> {
    return await pages((page) => this.store.timers({ ...page, dueByMs: Number.MAX_SAFE_INTEGER }));
  }

  /** What is written in a session, as lines of text: who said it first. */
  async said(key: SessionKey): Promise<string[]> {
    const row = await this.store.session(key);
    if (row === null) return [];
    const entries = (await Array.fromAsync(this.store.entries(row.transcript.id, { since: 0 }))) as Entry[];
    return entries.flatMap((entry) =>
      entry.type === "message" ? [`${entry.message.role}: ${textOf(entry)}`] : [],
    );
  }

  /** Lets simulated time go by, and everybody do what is due in it. */
  async pass(ms: number): Promise<void> {
    const { signal } = new AbortController();
    let isOver = false;
    void this.world.sleep(ms + 0.001, signal).then(() => (isOver = true)); // after all others who are due
    await quiet();
    while (!isOver && (await this.#step()));
  }

  async #step(): Promise<boolean> {
    const isOver = !this.world.step();
    await quiet();
    return !isOver;
  }
}

/** All that happens without time passing has happened. */
async function quiet(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await settle();
}

/** Direct messages go to main, no heart beats, and what has no clock of its own is told by this one. */
const USUAL: ConfigInput = {
  timezone: "Europe/Zurich",
  session: { dmScope: "main" },
  agents: { defaults: { heartbeat: { everyMinutes: 0 } } },
};
