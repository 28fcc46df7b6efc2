// World
//
// Time, chance and new names come in through this door, so that a test can hold the clock and a seed can replay a
// day. Behind the store's door its threads wait by themselves, for disks that no simulation has; test/tidy.test.ts
// names these files, and no other has a clock of its own.
//
//   Owns:      the clock, the dice, the ids, and everybody who sleeps.
//   Does not:  know what any of it is for.
//
// Invariants
//   W1. Ids of one world sort in the order they were made, also within one millisecond.
//   W2. A simulated world is a function of its seed: same seed, same calls, same answers.
//   W3. An aborted sleeper leaves nothing behind.

import { getRandomValues } from "node:crypto";

/** The longest that a timer of Node waits, some 25 days. Asked for more, it does not wait at all. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export interface World {
  /** Whole milliseconds. */
  nowMs(): number;
  /** In [0, 1). */
  random(): number;
  /** A UUID of version 7 (W1). */
  newId(): string;
  /** Rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export class RealWorld implements World {
  readonly #ids = new Ids();
  readonly #dice = new Uint32Array(512);
  #diceAt = 0;

  nowMs(): number {
    return Date.now();
  }

  random(): number {
    return Math.random();
  }

  newId(): string {
    if (this.#diceAt >= this.#dice.length) this.#diceAt = 0;
    if (this.#diceAt === 0) getRandomValues(this.#dice); // Many at once: asking for a few costs as much.
    const [high = 0, low = 0] = this.#dice.subarray(this.#diceAt, (this.#diceAt += 2));
    return this.#ids.next(Date.now(), high, low);
  }

  /** Most sleeps are called off. Node's own makes an exception with a stack for each of those, so this one is ours. */
  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    let left = ms;
    for (; left > TIMER_MS_MAX; left -= TIMER_MS_MAX) await nap(TIMER_MS_MAX, signal);
    await nap(left, signal);
  }
}

function nap(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const giveUp = (): void => {
    clearTimeout(timer);
    reject(signal.reason);
  };
  const timer = setTimeout(() => {
    signal.removeEventListener("abort", giveUp);
    resolve();
  }, ms);
  signal.addEventListener("abort", giveUp, { once: true });
  return promise;
}

/** A world in which nothing happens until step() says so. */
export class SimulatedWorld implements World {
  readonly #ids = new Ids();
  readonly #sleepers = new Set<{ readonly wakeAtMs: number; readonly wake: () => void }>();
  #nowMs: number;
  #state: number;

  constructor(seed: number, startMs = Date.UTC(2026, 0, 1)) {
    this.#state = seed >>> 0;
    this.#nowMs = startMs;
  }

  /** Sleepers may ask for parts of a millisecond; the clock shows none, like the real one. */
  nowMs(): number {
    return Math.floor(this.#nowMs);
  }

  random(): number {
    return this.#roll() / 2 ** 32;
  }

  newId(): string {
    return this.#ids.next(this.nowMs(), this.#roll(), this.#roll());
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = (): void => {
      this.#sleepers.delete(sleeper);
      reject(signal.reason);
    };
    const wake = (): void => {
      signal.removeEventListener("abort", giveUp);
      resolve();
    };
    const sleeper = { wakeAtMs: this.#nowMs + Math.max(0, ms), wake };
    this.#sleepers.add(sleeper);
    signal.addEventListener("abort", giveUp, { once: true });
    return promise;
  }

  /** Lets time pass without waking anyone: for tests in which nobody sleeps. */
  pass(ms: number): void {
    this.#nowMs += ms;
  }

  /** Jumps to the next wake-up. False when nobody sleeps: the simulated day is over. */
  step(): boolean {
    let next: { readonly wakeAtMs: number; readonly wake: () => void } | null = null;
    // A Set keeps the order of arrival, so of two that are due together the first asleep wakes first (W2).
    for (const sleeper of this.#sleepers)
      if (next === null || sleeper.wakeAtMs < next.wakeAtMs) next = sleeper;
    if (next === null) return false;
    this.#sleepers.delete(next);
    this.#nowMs = Math.max(this.#nowMs, next.wakeAtMs);
    next.wake();
    return true;
  }

  /** mulberry32: small, well spread, and the same on every machine. */
  #roll(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }
}

/** Shapes UUIDs of version 7: 48 bits of time, 12 bits counted within the millisecond (W1), 62 bits of chance. */
class Ids {
  #lastMs = 0;
  #count = 0;

  next(nowMs: number, high: number, low: number): string {
    if (nowMs > this.#lastMs) {
      this.#lastMs = nowMs;
      this.#count = 0;
    } else {
      // The clock stood still or went back, or 4,096 ids were made in one millisecond: borrow from the future.
      this.#count += 1;
      if (this.#count > 0xfff) {
        this.#lastMs += 1;
        this.#count = 0;
      }
    }
    const time = this.#lastMs.toString(16).padStart(12, "0");
    const count = this.#count.toString(16).padStart(3, "0");
    const variant = (0x80000000 | (high & 0x3fffffff)) >>> 0;
    const chance = variant.toString(16).padStart(8, "0") + (low >>> 0).toString(16).padStart(8, "0");
    return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${chance.slice(0, 4)}-${chance.slice(4)}`;
  }
}
