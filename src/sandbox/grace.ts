import { CALLED_OFF } from "../base/waiting.ts";
import type { World } from "../base/world.ts";

/** How long a tree has to end by itself, when nobody says otherwise. */
export const GRACE_MS = 2_000;

/** The pauses between looks at it meanwhile, first short: most programs end at once. Then always the same. */
const LOOKS_MS = [10, 20, 40, 80, 150, 300, 400];
const LOOKS_EVERY_MS = 500;

/**
 * The time between SIGTERM and SIGKILL. Whoever is in more of a hurry than the one who asked first makes it shorter, also
 * while it is being waited for; nobody makes it longer.
 */
export class Grace {
  readonly #world: World;
  #ms: number;
  #waitedMs = 0;
  #pauses = 0;
  #pause: AbortController | null = null; // null: nobody waits

  constructor(world: World, ms: number) {
    this.#world = world;
    this.#ms = ms;
  }

  get isOver(): boolean {
    return this.#waitedMs >= this.#ms;
  }

  /** Counted from its beginning: what was waited before is part of it. */
  shorten(toMs: number): void {
    if (toMs >= this.#ms) return;
    this.#ms = toMs;
    this.#pause?.abort(CALLED_OFF);
  }

  /** Until it is time for a look. */
  async wait(): Promise<void> {
    const leftMs = this.#ms - this.#waitedMs;
    const pauseMs = Math.max(0, Math.min(LOOKS_MS[this.#pauses] ?? LOOKS_EVERY_MS, leftMs));
    const sinceMs = this.#world.nowMs();
    this.#pauses += 1;
    this.#pause = new AbortController();
    try {
      await this.#world.sleep(pauseMs, this.#pause.signal);
      this.#waitedMs += pauseMs;
    } catch {
      // It was made shorter. How long it was by then only the clock knows, and that can be set back meanwhile.
      this.#waitedMs += Math.max(0, Math.min(this.#world.nowMs() - sinceMs, pauseMs));
    } finally {
      this.#pause = null;
    }
  }
}
