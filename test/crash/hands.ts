// Hands: which sessions the workload has claimed, and under which fence. Claims change between the rounds of the
// workload and never within one, as lanes will see to it; so no attempt is refused because its fence grew old.

import type { World } from "../../src/base/world.ts";
import type { SessionKey } from "../../src/routing/key.ts";
import type { Claim, Store } from "../../src/store/store.ts";

/** Longer than any life here: what is lost is released or deleted, never forgotten. */
const LEASE_MS = 3_600_000;
const CLAIMS_MAX = 1_000;

export class Hands {
  readonly #store: Store;
  readonly #dice: World;
  readonly #complain: (what: string) => void;
  readonly #held = new Map<SessionKey, number>();
  /** Also of what was released: its fence is good until somebody claims it. */
  readonly #fences = new Map<SessionKey, number>();
  #lastFence = 0;

  constructor(store: Store, dice: World, complain: (what: string) => void) {
    this.#store = store;
    this.#dice = dice;
    this.#complain = complain;
  }

  fenceOf(key: SessionKey): number {
    return this.#fences.get(key) ?? 0;
  }

  /** It was deleted. Should there be another one under its key, nobody has claimed that. */
  forget(key: SessionKey): void {
    this.#held.delete(key);
    this.#fences.delete(key);
  }

  /** What is held is kept, some of it let go, and everything that has work and no owner is claimed. */
  async change(): Promise<void> {
    const mine = [...this.#held].map(([key, fence]) => ({ key, fence }));
    const kept = await this.#store.renew(mine, LEASE_MS);
    if (kept.length !== mine.length)
      this.#complain(`of ${mine.length} claims ${kept.length} could be renewed`);
    const released = mine.filter(() => this.#dice.random() < 0.3);
    await this.#store.release(released);
    for (const { key } of released) this.#held.delete(key);
    for (const claim of await this.#store.claim("campaign", LEASE_MS, CLAIMS_MAX)) this.#take(claim);
    const { rows } = await this.#store.sessions({ state: "running", limit: CLAIMS_MAX });
    for (const { key } of rows)
      if (!this.#held.has(key))
        this.#complain(`${key} is in the middle of a turn, and nobody could claim it`);
  }

  #take({ key, fence }: Claim): void {
    if (this.#held.has(key)) this.#complain(`${key} was claimed while it had an owner`);
    if (fence <= this.#lastFence) this.#complain(`${key} got fence ${fence} after fence ${this.#lastFence}`);
    this.#lastFence = Math.max(fence, this.#lastFence);
    this.#held.set(key, fence);
    this.#fences.set(key, fence);
  }
}
