// Home: what outlives every life of a simulated gateway. The tables, what tools and doors did, what people were told; and
// the ledger of all of it, in the order in which it happened.
//
//   Owns:      the only memory there is between two lives.
//   Does not:  decide anything.

import { createHash } from "node:crypto";
import type { World } from "../src/base/world.ts";
import type { SessionKey } from "../src/routing/key.ts";
import { MemoryStore } from "../src/store/memory.ts";
import type { Change, Receipt } from "../src/store/store.ts";
import { Reports, type Said } from "../test/turns/reports.ts";
import type { Delivery, Effect } from "../test/turns/tools.ts";

export class Home {
  readonly clock: Clock;
  readonly store: MemoryStore;
  readonly reports = new Reports();
  readonly effects: Effect[] = [];
  readonly deliveries: Delivery[] = [];
  readonly problems: string[] = [];
  /** Causes of tool calls whose result is durable. */
  readonly settled = new Set<string>();
  /** Of each transcript, the entry of the last answer. */
  readonly #answers = new Map<string, number>();
  readonly #hash = createHash("sha256");
  readonly #trace: ((line: string) => void) | null;
  commits = 0;

  /** `trace`: hears every line of the ledger; null: nobody does. */
  constructor(first: World, trace: ((line: string) => void) | null) {
    this.clock = new Clock(first);
    this.store = new MemoryStore(this.clock);
    this.#trace = trace;
  }

  /** One line of the ledger. Two runs of a seed have the same. */
  note(what: string, of: unknown): void {
    const line = `${this.clock.nowMs()} ${what} ${JSON.stringify(of)}`;
    this.#hash.update(`${line}\n`);
    this.#trace?.(line);
  }

  /** Of everything that happened. Nothing can be noted after it. */
  hash(): string {
    return this.#hash.digest("hex").slice(0, 16);
  }

  say(said: Said): void {
    this.note("said", said);
    this.reports.hearOutput(`${JSON.stringify(said)}\n`);
  }

  wrong(what: string): void {
    this.note("wrong", what);
    this.problems.push(what);
  }

  /** A commit is durable, whether or not anybody will be told. */
  async committed(changes: readonly Change[], receipt: Receipt): Promise<void> {
    this.commits += 1;
    this.note("commit", { changes, receipt });
    for (const change of changes) {
      if (change.do !== "append") continue;
      const id = (await this.store.session(change.key))?.transcript.id ?? "";
      const last = receipt.seqs[change.key] ?? 0;
      for (const [at, entry] of change.entries.entries()) {
        if (entry.type !== "message") continue;
        const seq = last - change.entries.length + 1 + at;
        if (entry.message.role === "assistant") this.#answers.set(id, seq);
        if (entry.message.role === "toolResult")
          this.settled.add(`cause:call:${id}:${this.#answers.get(id)}:${entry.message.toolCallId}`);
      }
    }
  }

  /** Those that people may not see the end of: somebody paused them, and nobody went on with them. */
  async isParked(key: SessionKey): Promise<boolean> {
    const row = await this.store.session(key);
    return row !== null && (row.signal === "pause" || row.state.kind === "paused");
  }
}

/** The world of whichever life there is now: the tables have no other clock. */
class Clock implements World {
  current: World;

  constructor(first: World) {
    this.current = first;
  }

  nowMs(): number {
    return this.current.nowMs();
  }

  random(): number {
    return this.current.random();
  }

  newId(): string {
    return this.current.newId();
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.current.sleep(ms, signal);
  }
}
