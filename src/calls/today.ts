// What was used since midnight. What this process did it hears of, commit by commit. What was done today before it started stands in
// the transcripts. How far these were is listed before anything goes on; they are read back in the background: nobody waits for that,
// and how much is read has a bound.
//
// Invariants
//   T1. An entry counts once: this process counts those that it hears of, and reads back those that were there before it. Which are
//       which their numbers say, and no clock.
//   T2. What a fork copied was paid for by another session.
//   T3. What a rewind left behind was paid for all the same.
//   T4. isWhole is true only when everything that is still there was counted. A clock may be set: of a day that it comes back to, or
//       of which something was there before the start, not everything was heard. Only what a session wrote before its own clock was
//       set back over a midnight is not looked for.

import { z } from "zod";
import type { Log } from "../base/log.ts";
import { CALLED_OFF } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import type { Change } from "../store/change.ts";
import type { TokenUsage } from "../transcript/fold.ts";
import {
  allOf,
  changedSince,
  dayOf,
  NOTHING,
  plus,
  spentBefore,
  spentIn,
  type Before,
  type Readable,
  type Span,
} from "./spent.ts";

export const today = z.strictObject({
  since: z.string().describe("The last midnight, by the configured timezone."),
  cost: z.number().describe("In US dollars, as far as prices are known."),
  tokens: z.number().describe("Read and written, also from and to caches, as the models count them."),
  turns: z.int().describe("Those that have ended."),
  isWhole: z
    .boolean()
    .describe(
      "False: there may have been more, because what was done before this gateway started is still being read, is too much to be " +
        "read, cannot be read, or was archived since; or because the clock was set back. What was removed for good before the start is not in it.",
    ),
});

export class Today {
  readonly #world: World;
  readonly #log: Log;
  readonly #zone: string;
  readonly #closing = new AbortController();
  #day: Span;
  #spent = NOTHING;
  #isWhole = false;
  #elsewhereMs = Infinity; // what was before it may have been counted by others, or is forgotten; so is all until it is listed
  #reading: Promise<void> | null = null;

  constructor(parts: { readonly world: World; readonly log: Log }, zone: string) {
    this.#world = parts.world;
    this.#log = parts.log;
    this.#zone = zone;
    this.#day = dayOf(zone, parts.world.nowMs());
  }

  get now(): z.input<typeof today> {
    this.#turnOver();
    return { since: new Date(this.#day.fromMs).toISOString(), ...this.#spent, isWhole: this.#isWhole };
  }

  told(changes: readonly Change[]): void {
    this.#turnOver();
    for (const change of changes) {
      if (change.do !== "append") continue;
      for (const entry of change.entries) this.#spent = plus(this.#spent, spentIn(entry, this.#day));
    }
  }

  /** What was asked outside of any session. */
  paid(usage: TokenUsage): void {
    this.#turnOver();
    this.#spent = plus(this.#spent, { cost: usage.cost, tokens: allOf(usage), turns: 0 });
  }

  /**
   * Lists what was before the start, and reads it back. Called before anything is written (T1); ends when it is listed, which is
   * rows alone, and fulfils whatever happens. `read` is when all is read.
   */
  async begin(store: Readable): Promise<{ readonly read: Promise<void> }> {
    this.#turnOver();
    const day = this.#day;
    const before = await this.#tried(() => changedSince(store, day.fromMs));
    this.#elsewhereMs = before?.newestMs ?? Infinity;
    this.#reading = before === null ? Promise.resolve() : this.#read(store, before, day);
    return { read: this.#reading };
  }

  async close(): Promise<void> {
    this.#closing.abort(CALLED_OFF);
    await this.#reading;
  }

  async #read(store: Readable, before: Before, day: Span): Promise<void> {
    const { signal } = this.#closing;
    const found = await this.#tried(() => spentBefore(store, { before, span: day, signal }));
    this.#turnOver();
    if (found === null || this.#day !== day) return; // It was midnight meanwhile, or the clock was set: that is another day's.
    this.#spent = plus(this.#spent, found.spent);
    this.#isWhole = found.isWhole;
  }

  /** Null: it failed. */
  async #tried<Value>(look: () => Promise<Value>): Promise<Value | null> {
    try {
      return await look();
    } catch (error) {
      if (!this.#closing.signal.aborted)
        this.#log.warn({ err: error }, "what was used today before the start is not known");
      return null;
    }
  }

  /** Of a day that begins while it runs it hears everything. A clock that is set back comes to a day that was forgotten (T4). */
  #turnOver(): void {
    const nowMs = this.#world.nowMs();
    if (nowMs >= this.#day.fromMs && nowMs < this.#day.toMs) return;
    this.#elsewhereMs = Math.max(this.#elsewhereMs, this.#day.toMs - 1);
    this.#day = dayOf(this.#zone, nowMs);
    this.#spent = NOTHING;
    this.#isWhole = this.#day.fromMs > this.#elsewhereMs;
  }
}
