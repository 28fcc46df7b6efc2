// Clock
//
// Fires the timers in the store when they are due.
//
//   Owns:      when the store is asked for timers, how many are fired at once, and when one that failed is tried again.
//   Does not:  know what a timer is for (`due` does), or keep timers: what it knows it can find again in the store.
//
// Invariants
//   K1. That a timer is over, and what it comes to, are one commit, which expects it as it was read. So it fires once,
//       whoever crashes and however many gateways have a clock.
//   K2. They are begun soonest first, at most TIMERS_AT_ONCE_MAX at once; one that takes long holds up no other.
//   K3. One that could not be fired is tried again after a growing pause, and is in nobody's way meanwhile.
//   K4. No sleep is longer than TIMER_LOOK_MS, and after each the store is asked anew. So what another gateway has set is
//       found; and a machine whose clock is set finds what is due by it, and nothing that it fired before.

import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import { CALLED_OFF } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import {
  TIMER_LOOK_MS,
  TIMER_RETRY_MS,
  TIMER_RETRY_MS_MAX,
  TIMERS_AT_ONCE_MAX,
  TIMERS_PAGE_ROWS,
} from "../limits.ts";
import type { Change, Receipt } from "../store/change.ts";
import type { Store } from "../store/store.ts";
import type { Timer } from "./timer.ts";

export interface ClockParts {
  readonly world: World;
  readonly log: Log;
  readonly store: Pick<Store, "timers">;
  readonly commit: (changes: readonly Change[]) => Promise<Receipt>;
  /**
   * What a timer that is due comes to, beside its being over; []: nothing. It may be asked again for the same timer, and what
   * it answered before may have come to nothing: so it only answers, and does nothing itself.
   */
  readonly due: (timer: Timer) => Promise<readonly Change[]>;
}

/** Somebody was faster, or the session ended or went between looking and firing: the next look knows. */
const OVERTAKEN: ReadonlySet<string> = new Set(["stale_writer", "ended", "not_found"]);

/** Of a timer that could not be fired. */
interface Trouble {
  readonly failures: number;
  readonly isStale: boolean; //  the last time it was refused because something is not as expected
  readonly pauseMs: number;
  readonly againAtMs: number;
}

export class Clock {
  readonly #parts: ClockParts;
  /** By nameOf(). */
  readonly #firing = new Map<string, Promise<void>>();
  readonly #troubles = new Map<string, Trouble>();
  #nextMs = 0; //                                        when the store is to be asked next
  #nap: AbortController | null = null; //                null: it does not sleep
  #room: PromiseWithResolvers<void> | null = null; //    null: nobody waits until fewer are being fired
  #isOver = false; //                                    it was closed, or its store was
  #running: Promise<void> = Promise.resolve();

  constructor(parts: ClockParts) {
    this.#parts = parts;
  }

  /** From now on, what is due is fired; also what was due before. To be called once. */
  start(): void {
    this.#running = this.#run();
  }

  /** A commit of this process is durable. */
  told(changes: readonly Change[]): void {
    for (const change of changes) if (change.do === "setTimer") this.#wakeBy(change.timer.dueAtMs);
  }

  /** Resolves when nothing is under way. What is due and was not begun is fired by whoever starts next. */
  async close(): Promise<void> {
    this.#end();
    await this.#running;
    await Promise.all(this.#firing.values());
  }

  #end(): void {
    this.#isOver = true;
    this.#nap?.abort(CALLED_OFF);
  }

  async #run(): Promise<void> {
    for (let failures = 0; !this.#isOver;) {
      try {
        await this.#look();
        failures = 0;
      } catch (error) {
        if (this.#isEndOf(error)) return;
        this.#parts.log.warn({ err: error }, "timers could not be asked for; it is tried again");
        failures += 1;
        this.#wakeBy(this.#parts.world.nowMs() + pauseAfter(failures));
      }
      await this.#rest();
    }
  }

  /** Begins with what is due, and notes when the next is. */
  async #look(): Promise<void> {
    const nowMs = this.#parts.world.nowMs();
    this.#nextMs = nowMs + TIMER_LOOK_MS; // Before it asks: what it is told meanwhile makes it sooner.
    const gone = new Set(this.#troubles.keys());
    for await (const timer of this.#soon(nowMs + TIMER_LOOK_MS)) {
      if (timer.dueAtMs > nowMs) {
        this.#wakeBy(timer.dueAtMs);
        break; // All others are later.
      }
      const name = nameOf(timer);
      gone.delete(name);
      if (this.#firing.has(name) || this.#isInPause(name, nowMs)) continue;
      await this.#hasRoom();
      if (this.#isOver) return;
      this.#begin(timer);
    }
    for (const name of gone) this.#troubles.delete(name); // It was moved, cleared, or fired by somebody else.
  }

  /** Soonest first. A page is older than the one after it: who was fired or moved meanwhile is noticed by the commit (K1). */
  async *#soon(dueByMs: number): AsyncGenerator<Timer> {
    for (let cursor: string | null = null; ;) {
      const page = await this.#parts.store.timers({ dueByMs, cursor, limit: TIMERS_PAGE_ROWS });
      yield* page.rows;
      if (page.next === null) return;
      cursor = page.next;
    }
  }

  /** K3. One whose pause ends further away than it is long has a clock that was set back: it is not waited for. */
  #isInPause(name: string, nowMs: number): boolean {
    const trouble = this.#troubles.get(name);
    if (!trouble || trouble.againAtMs <= nowMs || trouble.againAtMs - nowMs > trouble.pauseMs) return false;
    this.#wakeBy(trouble.againAtMs);
    return true;
  }

  /** K2. */
  async #hasRoom(): Promise<void> {
    while (this.#firing.size >= TIMERS_AT_ONCE_MAX) {
      this.#room ??= Promise.withResolvers();
      await this.#room.promise;
    }
  }

  #begin(timer: Timer): void {
    const name = nameOf(timer);
    const fired = this.#fire(timer).finally(() => {
      this.#firing.delete(name);
      this.#room?.resolve();
      this.#room = null;
    });
    this.#firing.set(name, fired);
  }

  /** Never rejects. */
  async #fire(timer: Timer): Promise<void> {
    const { id, dueAtMs } = timer;
    try {
      const changes = await this.#parts.due(timer);
      await this.#parts.commit([{ do: "clearTimer", id, expectDueAtMs: dueAtMs }, ...changes]); // K1
      this.#troubles.delete(nameOf(timer));
    } catch (error) {
      this.#failed(timer, error);
    }
  }

  /** K3. Whether it is still there to be tried again is seen by the next look. */
  #failed(timer: Timer, error: unknown): void {
    if (this.#isEndOf(error)) return;
    const { world, log } = this.#parts;
    const { id, key, dueAtMs } = timer;
    const before = this.#troubles.get(nameOf(timer));
    const failures = (before?.failures ?? 0) + 1;
    const isStale = error instanceof Fault && OVERTAKEN.has(error.code);
    // A second time the timer is there as it was: then it is what it comes to that is stale.
    if (isStale && !before?.isStale) log.debug({ id, key, dueAtMs }, "somebody else fired or moved a timer");
    else log.error({ id, key, dueAtMs, failures, err: error }, "a timer was not fired; it is tried again");
    const nowMs = world.nowMs();
    const againAtMs = wholeSecond(nowMs + pauseAfter(failures));
    this.#troubles.set(nameOf(timer), { failures, isStale, pauseMs: againAtMs - nowMs, againAtMs });
    this.#wakeBy(againAtMs);
  }

  /** The store stopped, and says why itself: the clock stops too. */
  #isEndOf(error: unknown): boolean {
    const isEnd = error instanceof Fault && (error.code === "closed" || error.code === "outcome_unknown");
    if (isEnd) this.#end();
    return isEnd;
  }

  /** What is further away than a look anyway is found by that. */
  #wakeBy(atMs: number): void {
    if (atMs >= Math.min(this.#nextMs, this.#parts.world.nowMs() + TIMER_LOOK_MS)) return;
    this.#nextMs = atMs;
    this.#nap?.abort(CALLED_OFF);
  }

  /** Until the next time that is known, also when that becomes sooner meanwhile (K4). */
  async #rest(): Promise<void> {
    const { world } = this.#parts;
    for (let isRested = false; !isRested && !this.#isOver;) {
      const leftMs = Math.min(this.#nextMs - world.nowMs(), TIMER_LOOK_MS);
      if (leftMs <= 0) return;
      this.#nap = new AbortController();
      isRested = await world.sleep(leftMs, this.#nap.signal).then(
        () => true,
        () => false, // It is to be sooner, or over.
      );
      this.#nap = null;
    }
  }
}

/** One that was moved is another one: what is said of the old one is not true of it. */
function nameOf({ id, dueAtMs }: Timer): string {
  return `${dueAtMs} ${id}`;
}

function pauseAfter(failures: number): number {
  return Math.min(TIMER_RETRY_MS * 2 ** Math.min(failures - 1, 16), TIMER_RETRY_MS_MAX);
}

/** Many that failed together are tried again together: with a time of its own for each there would be a look for each. */
function wholeSecond(ms: number): number {
  return Math.ceil(ms / 1_000) * 1_000;
}
