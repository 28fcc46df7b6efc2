// What was used since midnight. What this process did it hears of, commit by commit. What was done today before it started stands in
// the transcripts, and is read back from them once, in the background: nobody waits for it, and how much is read has a bound.
//
// Invariants
//   T1. An entry counts once: this process counts those that were written since its start, and reads back those before it.
//   T2. What a fork copied was paid for by another session.
//   T3. What a rewind left behind was paid for all the same.
//   T4. isWhole is true only when everything that is still there was counted.

import { z } from "zod";
import type { Log } from "../base/log.ts";
import { CALLED_OFF } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import type { Change } from "../store/change.ts";
import type { TokenUsage } from "../transcript/fold.ts";
import { allOf, dayOf, NOTHING, plus, spentBefore, spentIn, type Readable, type Span } from "./spent.ts";

export const today = z.strictObject({
  since: z.string().describe("The last midnight, by the configured timezone."),
  cost: z.number().describe("In US dollars, as far as prices are known."),
  tokens: z.number().describe("Read and written, also from and to caches, as the models count them."),
  turns: z.int().describe("Those that have ended."),
  isWhole: z
    .boolean()
    .describe(
      "False: there may have been more, because what was done before this gateway started is still being read, is too much to be " +
        "read, cannot be read, or was archived since. What was removed for good before the start is not in it.",
    ),
});

export class Today {
  readonly #world: World;
  readonly #log: Log;
  readonly #zone: string;
  readonly #startMs: number;
  readonly #closing = new AbortController();
  #day: Span;
  #spent = NOTHING;
  #isWhole = false;
  #reading: Promise<void> | null = null;

  constructor(parts: { readonly world: World; readonly log: Log }, zone: string) {
    this.#world = parts.world;
    this.#log = parts.log;
    this.#zone = zone;
    this.#startMs = parts.world.nowMs();
    this.#day = dayOf(zone, this.#startMs);
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

  /** Reads back what was before the start. Returns at once. */
  begin(store: Readable): void {
    this.#reading ??= this.#read(store);
  }

  async close(): Promise<void> {
    this.#closing.abort(CALLED_OFF);
    await this.#reading;
  }

  async #read(store: Readable): Promise<void> {
    const { fromMs } = this.#day;
    const { signal } = this.#closing;
    try {
      const before = await spentBefore(store, { fromMs, toMs: this.#startMs }, signal);
      this.#turnOver();
      if (this.#day.fromMs !== fromMs) return; // It was midnight meanwhile: that was yesterday.
      this.#spent = plus(this.#spent, before.spent);
      this.#isWhole = before.isWhole;
    } catch (error) {
      if (!signal.aborted)
        this.#log.warn({ err: error }, "what was used today before the start is not known");
    }
  }

  /** Of a day that begins while it runs it hears everything. */
  #turnOver(): void {
    const nowMs = this.#world.nowMs();
    if (nowMs < this.#day.toMs) return;
    this.#day = dayOf(this.#zone, nowMs);
    this.#spent = NOTHING;
    this.#isWhole = true;
  }
}
