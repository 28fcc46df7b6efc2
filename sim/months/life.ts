// Life: one gateway in these months. Its clock, and what jobs and heartbeats come to, are the real ones. Turns are not run, because
// there are many thousands: a letter that begins one is answered after a while by Hands, with the commit in which a turn ends.

import type { Log } from "../../src/base/log.ts";
import { SimulatedWorld } from "../../src/base/world.ts";
import { deadlineDue } from "../../src/children/deadline.ts";
import { readConfig } from "../../src/config/load.ts";
import { mainKey } from "../../src/routing/key.ts";
import type { Change, Receipt } from "../../src/store/change.ts";
import type { Store } from "../../src/store/store.ts";
import { heartbeatEnded } from "../../src/timers/alert.ts";
import { Clock } from "../../src/timers/clock.ts";
import { timerDoor } from "../../src/timers/ended.ts";
import { jobDue, type JobParts } from "../../src/timers/firing.ts";
import { fitHeartbeats, heartbeatDue, type HeartbeatParts } from "../../src/timers/heartbeat.ts";
import { addJob, alarmedBy } from "../../src/timers/jobs.ts";
import { isHeartbeat } from "../../src/timers/pulse.ts";
import { Hands } from "./hands.ts";
import type { Town } from "./town.ts";
import { LAST_MS, type Death, type Plan } from "./plan.ts";

export class Life {
  readonly world: SimulatedWorld;
  readonly #plan: Plan;
  readonly #town: Town;
  readonly #death: Death;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #hands: Hands;
  readonly #heartbeat: HeartbeatParts;
  #commits = 0;
  isDead = false;

  constructor(
    plan: Plan,
    town: Town,
    { number, startMs }: { readonly number: number; readonly startMs: number },
  ) {
    this.#plan = plan;
    this.#town = town;
    const isLast = startMs >= plan.months.toMs - LAST_MS;
    this.#death = (isLast ? undefined : plan.deaths[number]) ?? {
      commit: Infinity,
      when: "before",
      gapMs: 0,
    };
    this.world = new SimulatedWorld(plan.seed * 1_000 + number, startMs);
    town.now.current = this.world;
    this.#store = this.#mortal(town.store);
    const log = logOf(town);
    const base = { world: this.world, log, store: this.#store, channels: new Set(["door"]) };
    const config = configOf(plan);
    this.#heartbeat = {
      ...base,
      config,
      troubles: new Map(),
      task: async ({ workspace }) => taskIn(workspace),
    };
    const jobs: JobParts = {
      ...base,
      policy: config.session.sendPolicy,
      zone: config.timezone,
      opening: async (key) => town.opening(key, this.world.newId()),
      workspaceOf: () => "/simulated",
    };
    const commit = (changes: readonly Change[]): Promise<Receipt> => this.#commit(changes);
    const door = timerDoor({
      jobs,
      commit,
      beatEnded: (beat, end) => heartbeatEnded(this.#heartbeat, beat, end),
    });
    const dice = new SimulatedWorld(plan.seed * 1_000 + 500 + number);
    this.#hands = new Hands({ world: this.world, dice, store: this.#store, commit, door, plan, town });
    this.#clock = new Clock({
      ...base,
      commit,
      due: async (timer) => {
        const job = alarmedBy(timer);
        if (job !== null) return await jobDue(jobs, job);
        if (isHeartbeat(timer.id)) return await heartbeatDue(this.#heartbeat, timer);
        return await deadlineDue(this.#store, timer);
      },
    });
  }

  /** Until it dies, or the months are over. */
  async live(): Promise<void> {
    void this.#begin();
    for (;;) {
      await quiet();
      if (this.isDead || this.world.nowMs() >= this.#plan.months.toMs) break;
      if (!this.world.step()) return this.#town.wrong("nobody sleeps, and the months are not over");
    }
    this.isDead = true; // What it would do after the months, it does not.
  }

  async #begin(): Promise<void> {
    const keys = [...this.#heartbeat.config.agents.keys()].map(mainKey);
    await this.#commit(keys.map((key) => this.#town.opening(key, this.world.newId())));
    await fitHeartbeats(this.#heartbeat, (changes) => this.#commit(changes));
    const { rows } = await this.#store.jobs({ limit: 500 });
    const known = new Set(rows.map(({ id }) => id));
    for (const { id, agent, spec } of this.#plan.jobs)
      if (!known.has(id) && !this.#town.isMade(id))
        await this.#commit(addJob(spec, { id, agent, nowMs: this.#plan.months.fromMs }).changes);
    await this.#hands.goOn();
    this.#clock.start();
  }

  async #commit(changes: readonly Change[]): Promise<Receipt> {
    if (this.isDead) return await never();
    this.#commits += 1;
    const isLast = this.#commits >= this.#death.commit; // Or the next one: what is refused is not durable.
    if (isLast && this.#death.when === "before") return await this.#die();
    const receipt = await this.#town.commit(changes, this.world.nowMs());
    if (isLast) return await this.#die();
    this.#clock.told(changes);
    this.#hands.told(changes, receipt);
    return receipt;
  }

  #die(): Promise<never> {
    this.isDead = true;
    return never();
  }

  /** Of a life that has died nobody hears again. */
  #mortal(store: Store): Store {
    return new Proxy(store, {
      get: (of, name) => {
        const value: unknown = Reflect.get(of, name);
        if (typeof value !== "function") return value;
        return (...given: unknown[]) => (this.isDead ? never() : (value.apply(of, given) as unknown));
      },
    });
  }
}

/** Every other agent has something to look after. */
function taskIn(workspace: string): string | null {
  const number = Number(/a(\d+)/.exec(workspace)?.[1] ?? 0);
  return number % 2 === 0 ? "- look after it" : null;
}

/** Every agent beats, and every third one only by day. */
function configOf({ agents }: Plan) {
  const each = agents.map((agent, n): [string, unknown] => {
    const hours = {
      from: "08:00",
      to: "20:00",
      timezone: n % 2 === 0 ? "Europe/Berlin" : "America/New_York",
    };
    const heartbeat = { everyMinutes: 360, ...(n % 3 === 0 ? { activeHours: hours } : {}) };
    return [agent, { workspace: `/simulated/${agent}`, heartbeat }];
  });
  const input = {
    home: "/simulated",
    agents: { main: { heartbeat: { everyMinutes: 0 } }, ...Object.fromEntries(each) },
  };
  return readConfig(input, { homeDir: "/simulated", cwd: "/simulated", env: {} });
}

function logOf(town: Town): Log {
  const silent = (): void => {};
  const said = (fields: { readonly err?: unknown }, text: string): void =>
    town.wrong(`the log: ${text}: ${String(fields.err ?? "")}`);
  return {
    ...{ trace: silent, debug: silent, info: silent, warn: silent },
    ...{ error: said, fatal: said },
  } as unknown as Log;
}

function never(): Promise<never> {
  return new Promise<never>(() => {});
}

/** All that can happen without time passing has happened. */
function quiet(): Promise<void> {
  return new Promise((wake) => setImmediate(wake));
}
