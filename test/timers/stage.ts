// Clocks for tests, in simulated time. Whatever is started here is over after the test, also when it fails.

import type { TestContext } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import { openLog } from "../../src/base/log.ts";
import { SimulatedWorld } from "../../src/base/world.ts";
import type { SessionKey } from "../../src/routing/key.ts";
import { Corner } from "../../src/store/contract/corner.ts";
import { letterOf } from "../../src/store/contract/samples.ts";
import { MemoryStore } from "../../src/store/memory.ts";
import type { Change, Receipt } from "../../src/store/change.ts";
import { Clock, type ClockParts } from "../../src/timers/clock.ts";
import type { Timer } from "../../src/timers/timer.ts";
import { afterwards } from "../fixtures/home.ts";

export const HOUR_MS = 60 * 60 * 1_000;
export const DAY_MS = 24 * HOUR_MS;

/** Its clock can be set; who sleeps does not notice. */
export class Settable extends SimulatedWorld {
  offMs = 0;

  override nowMs(): number {
    return super.nowMs() + this.offMs;
  }
}

/** A store with a session, and clocks over it, whose timers come to a letter each. */
export class Stage {
  readonly world = new Settable(1);
  readonly at: Corner;
  readonly test: TestContext;
  readonly logged: string[] = [];
  readonly clocks: Clock[] = [];
  /** Names of timers, as often as somebody asked what they come to. */
  readonly asked: string[] = [];
  /** What a timer's name does before it comes to anything. */
  readonly scripts = new Map<string, () => Promise<unknown>>();
  /** What happens to a commit; by default that. */
  commit: (changes: readonly Change[]) => Promise<Receipt>;
  looks = 0;

  constructor(test: TestContext) {
    this.test = test;
    const store = new MemoryStore(this.world);
    const nothing = async (): Promise<void> => {};
    this.at = new Corner({ store, world: this.world, reopen: nothing, sweep: nothing, close: nothing });
    this.commit = (changes) => store.commit(changes);
  }

  async start(more: Partial<ClockParts> = {}): Promise<Clock> {
    const { world, at } = this;
    const commit = async (changes: readonly Change[]): Promise<Receipt> => {
      const receipt = await this.commit(changes);
      clock.told(changes);
      return receipt;
    };
    const timers: ClockParts["store"]["timers"] = (query) => {
      this.looks += query.cursor ? 0 : 1;
      return at.store.timers(query);
    };
    const due = (timer: Timer): Promise<readonly Change[]> => this.due(timer);
    const log = openLog("debug", { write: (line) => void this.logged.push(line) });
    const clock = new Clock({ world, log, store: { timers }, commit, due, ...more });
    this.clocks.push(clock);
    clock.start();
    afterwards(this.test, () => clock.close());
    await settle();
    return clock;
  }

  async due(timer: Timer): Promise<readonly Change[]> {
    const name = nameOf(timer);
    this.asked.push(name);
    await this.scripts.get(name)?.();
    // Each has another id, so that a second one would be seen.
    return [{ do: "post", to: [timer.key], letter: letterOf(`cause:${this.world.newId()}`, name) }];
  }

  /** Of timers that are set before any clock runs, or by another process. */
  async set(
    key: SessionKey,
    ...timers: readonly (readonly [name: string, inMs: number])[]
  ): Promise<Timer[]> {
    const nowMs = this.world.nowMs();
    const set = timers.map(([name, inMs]) => this.at.timer(name, key, { dueAtMs: nowMs + inMs }));
    await this.at.store.commit(set.map((timer) => ({ do: "setTimer", timer, expectDueAtMs: null })));
    return set;
  }

  /** As a gateway commits. */
  async tell(...changes: readonly Change[]): Promise<void> {
    await this.at.store.commit(changes);
    for (const clock of this.clocks) clock.told(changes);
    await settle();
  }

  /** Lets simulated time go by, and everybody do what is due in it. */
  async pass(ms: number): Promise<void> {
    const { signal } = new AbortController();
    let isOver = false;
    void this.world.sleep(ms + 0.001, signal).then(() => (isOver = true)); // after all others who are due
    while (!isOver && this.world.step()) await settle();
  }

  /** Names of what was fired, in that order. */
  async fired(key: SessionKey): Promise<string[]> {
    return (await this.at.mail(key)).map(({ content }) =>
      content.map((each) => "text" in each && each.text).join(),
    );
  }
}

export function nameOf({ id }: Timer): string {
  return id.split("/").at(-1) ?? id;
}

/** Goes on until it is let go; at the latest when the test is over. */
export function held(test: TestContext): { readonly waits: () => Promise<void>; readonly letGo: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  afterwards(test, resolve);
  return { waits: () => promise, letGo: resolve };
}
