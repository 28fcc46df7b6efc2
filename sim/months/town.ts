// Town: what outlives every life in these months: the tables, and the judge who hears of every commit that is durable.

import type { World } from "../../src/base/world.ts";
import type { SessionKey } from "../../src/routing/key.ts";
import { MemoryStore } from "../../src/store/memory.ts";
import type { Change, Receipt } from "../../src/store/change.ts";
import type { Judge } from "./judge.ts";
import { CurrentWorld } from "../current.ts";

const PROBLEMS_MAX = 50;

export class Town {
  readonly now: CurrentWorld;
  readonly store: MemoryStore;
  readonly problems: string[] = [];
  readonly #judge: Judge;
  readonly #made = new Set<string>();
  commits = 0;

  constructor(first: World, judge: Judge) {
    this.now = new CurrentWorld(first);
    this.store = new MemoryStore(this.now);
    this.#judge = judge;
  }

  async commit(changes: readonly Change[], nowMs: number): Promise<Receipt> {
    const receipt = await this.store.commit(changes);
    this.commits += 1;
    for (const change of changes) {
      if (change.do === "setJob") this.#made.add(change.job.id);
    }
    this.problems.push(
      ...this.#judge.heard(changes, receipt, nowMs).slice(0, PROBLEMS_MAX - this.problems.length),
    );
    return receipt;
  }

  isMade(job: string): boolean {
    return this.#made.has(job);
  }

  delivered(id: string): void {
    this.#judge.delivered(id);
  }

  opening(key: SessionKey, transcript: string): Change {
    return {
      ...{ do: "open", key, transcript, cwd: "/simulated", parent: null, settings: {}, copy: null },
      ifExists: "keep",
    };
  }

  wrong(what: string): void {
    if (this.problems.length < PROBLEMS_MAX) this.problems.push(what);
  }
}
