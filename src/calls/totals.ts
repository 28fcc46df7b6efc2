// What this process has used and done since it started: counted from commits once they are durable, so nothing is looked up
// for it. Who wants a rate asks twice and divides.

import { z } from "zod";
import type { Change } from "../store/change.ts";
import { tokensOf, type TokenUsage } from "../transcript/fold.ts";
import { isNote } from "../transcript/note.ts";

export const totals = z.strictObject({
  since: z.string().describe("When this gateway was started."),
  commits: z.int(),
  turns: z.int().describe("Those that have ended."),
  input: z.number().describe("Tokens, as the models count them."),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  cost: z.number().describe("In US dollars."),
  loopDelayMs: z
    .number()
    .nullable()
    .describe(
      "How late the process came to things, 99 of 100 times at most, since it was last asked; null: not known.",
    ),
});

export class Totals {
  readonly #since: string;
  readonly #counted = { commits: 0, turns: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0 };
  readonly #commands = new Map<string, number>();
  #loopDelayMs: () => number | null = () => null; // A simulated process has no such time.

  constructor(nowMs: number) {
    this.#since = new Date(nowMs).toISOString();
  }

  get now(): z.input<typeof totals> {
    return { since: this.#since, ...this.#counted, loopDelayMs: this.#loopDelayMs() };
  }

  /** Chat commands that were obeyed, by their names: those of the table, whatever anybody writes. */
  get commands(): ReadonlyMap<string, number> {
    return this.#commands;
  }

  obeyed(command: string): void {
    this.#commands.set(command, (this.#commands.get(command) ?? 0) + 1);
  }

  /** For a process of its own: who knows how late it comes to things. */
  watchLoop(loopDelayMs: () => number | null): void {
    this.#loopDelayMs = loopDelayMs;
  }

  told(changes: readonly Change[]): void {
    const counted = this.#counted;
    counted.commits += 1;
    for (const change of changes) {
      if (change.do !== "append") continue;
      for (const entry of change.entries) {
        if (isNote(entry, "turn-ended")) counted.turns += 1;
        this.paid(tokensOf(entry));
      }
    }
  }

  /** Also of what was asked outside of any session. */
  paid({ input, output, cacheRead, cacheWrite, cost }: TokenUsage): void {
    const counted = this.#counted;
    counted.input += input;
    counted.output += output;
    counted.cacheRead += cacheRead;
    counted.cacheWrite += cacheWrite;
    counted.cost += cost;
  }
}
