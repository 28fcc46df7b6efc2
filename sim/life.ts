// Life: one gateway from its start to its death, on the simulated clock. It is the real system, wired as main.ts does it,
// but for the store, the models that are rehearsed, and tools that leave marks.

import { Fault } from "../src/base/fault.ts";
import type { Log } from "../src/base/log.ts";
import { SimulatedWorld } from "../src/base/world.ts";
import { Sessions } from "../src/calls/library.ts";
import type { Config } from "../src/config/config.ts";
import { readConfig } from "../src/config/load.ts";
import type { Memory } from "../src/memory/memory.ts";
import { Catalog } from "../src/models/catalog.ts";
import { rehearsals } from "../src/models/rehearsal.ts";
import { begin, wire, type Wired } from "../src/wire.ts";
import type { Home } from "./home.ts";
import type { Death, Plan } from "./plan.ts";
import { Watched } from "./shown.ts";
import { isSimulated, LifeStore } from "./store.ts";
import { doorFor, toolsFor } from "./tools.ts";

/** More than any honest life takes: past it something goes round in circles. */
const STEPS_MAX = 50_000;

export interface LifeParts {
  readonly home: Home;
  readonly plan: Plan;
  readonly number: number;
  readonly startMs: number;
  /** Null: the last life, in which nothing fails any more. */
  readonly death: Death | null;
}

export class Life {
  readonly world: SimulatedWorld;
  readonly store: LifeStore;
  readonly sessions: Sessions;
  readonly system: Wired["system"];
  readonly #home: Home;

  constructor({ home, plan, number, startMs, death }: LifeParts) {
    this.#home = home;
    this.world = new SimulatedWorld(plan.seed * 1_000 + number, startMs);
    home.clock.current = this.world;
    const dice = new SimulatedWorld(plan.seed * 1_000 + 500 + number);
    const refusals = death === null ? 0 : plan.refusals;
    this.store = new LifeStore({ home, world: this.world, dice, refusals, death });
    const isDead = (): boolean => this.store.isDead;
    const around = { home, world: this.world, isDead };
    const models = rehearsals(this.world).map((each) => new Watched(each, home, isDead));
    const wired = wire({
      config: configOf(plan),
      world: this.world,
      log: logOf(home, isDead),
      catalog: new Catalog(models, [], {}),
      prompts: { of: async () => "" },
      task: async () => null,
      writeFile: async () => {},
      channels: new Map([["door", doorFor(around, dice, death === null ? 0 : 0.05)]]),
      store: this.store,
      processes: { all: () => [], killAll: async () => {}, killEverything: async () => {} },
      mcp: { names: [], tools: async () => [], status: () => [], close: async () => {} },
      memory: NO_MEMORY,
      tools: { ours: [], exec: [], given: toolsFor(around) },
    });
    this.system = wired.system;
    this.sessions = new Sessions(wired);
  }

  /** False: it died, or is to be closed, before it was ready. */
  async start(): Promise<boolean> {
    return await this.until(begin(this.system));
  }

  /** Lets time pass until this has come about. False: it did not, because this life has died. */
  async until(what: Promise<unknown>): Promise<boolean> {
    let isThere = false;
    let failure: unknown = null;
    const there = what.then(
      () => (isThere = true),
      (error: unknown) => {
        isThere = true;
        failure = error;
      },
    );
    await this.passes(async () => isThere);
    if (!isThere) return false;
    await there;
    if (failure !== null) throw failure;
    return true;
  }

  /** Steps from one wake-up to the next, until somebody says that it is enough or this life has died. */
  async passes(isEnough: () => Promise<boolean>): Promise<void> {
    for (let steps = 0; ; steps += 1) {
      await quiet();
      if (this.store.isDead || (await isEnough())) return;
      if (steps > STEPS_MAX || !this.world.step()) {
        this.#home.wrong(
          steps > STEPS_MAX ? "J6 it does not come to rest" : "J6 nobody sleeps, and it is not over",
        );
        return;
      }
    }
  }
}

/** Notes are files, and a simulated world has none. */
export const NO_MEMORY: Memory = {
  list: async () => ({ notes: [], more: false, unread: 0 }),
  read: async (_workspace, path) => {
    throw new Fault("not_found", `there is no note ${path}`);
  },
  write: async () => {
    throw new Fault("disk_full", "there is no room for notes here");
  },
  search: async () => ({ hits: [], skipped: 0, more: false }),
  close: async () => {},
};

/** All that can happen without time passing has happened: Node runs what was promised before what is immediate. */
function quiet(): Promise<void> {
  return new Promise((wake) => setImmediate(wake));
}

function configOf({ scheduler }: Plan): Config {
  const input = {
    home: "/simulated",
    // So small that results leave it and older parts are summarised all the time.
    agents: {
      defaults: {
        ...{ workspace: "/simulated/workspace", tools: { visibility: "all" } },
        context: { sizeTokens: 2_000 },
      },
    },
    session: { dmScope: "per-channel-peer", threads: "parent", collectMs: 40 },
    scheduler,
  };
  return readConfig(input, { homeDir: "/simulated", cwd: "/simulated", env: {} });
}

/** What the log calls an error is one, unless it tells of what the plan refused. */
function logOf(home: Home, isDead: () => boolean): Log {
  const said = (level: string) => (fields: { readonly err?: unknown }, text: string) => {
    if (isDead()) return;
    home.note(level, { text, why: String(fields.err ?? "") });
    if (level === "error" && !isSimulated(fields.err)) home.wrong(`the log: ${text}: ${String(fields.err)}`);
  };
  const silent = (): void => {};
  return {
    ...{ trace: silent, debug: silent, info: silent },
    ...{ warn: said("warn"), error: said("error"), fatal: said("error") },
  } as unknown as Log;
}
