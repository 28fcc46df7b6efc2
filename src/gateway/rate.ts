import type { World } from "../base/world.ts";
import { RATES_MAX } from "./limits.ts";

/** How often each of many may do something: so many at once, and as many again every second. */
export class Rate {
  readonly #world: World;
  readonly #perSecond: number;
  readonly #left = new Map<string, { tokens: number; atMs: number }>(); // longest unused first

  constructor(world: World, perSecond: number) {
    this.#world = world;
    this.#perSecond = perSecond;
  }

  /** False: it was too often. */
  take(who: string): boolean {
    const now = this.#refilled(who);
    const isLeft = now.tokens >= 1;
    if (isLeft) now.tokens -= 1;
    this.#left.delete(who);
    this.#left.set(who, now);
    if (this.#left.size > RATES_MAX) this.#left.delete(this.#left.keys().next().value ?? "");
    return isLeft;
  }

  /** What was taken did not have to be. Who was forgotten meanwhile has all of it anyway. */
  giveBack(who: string): void {
    const left = this.#left.get(who);
    if (left !== undefined) left.tokens = Math.min(this.#perSecond, left.tokens + 1);
  }

  #refilled(who: string): { tokens: number; atMs: number } {
    const atMs = this.#world.nowMs();
    const last = this.#left.get(who);
    if (last === undefined) return { tokens: this.#perSecond, atMs };
    const more = (Math.max(0, atMs - last.atMs) / 1_000) * this.#perSecond;
    return { tokens: Math.min(this.#perSecond, last.tokens + more), atMs };
  }
}
