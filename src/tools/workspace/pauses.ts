import type { World } from "../../base/world.ts";

/** Characters that are read through between two pauses: some milliseconds. */
const PIECE_CHARS = 512 * 1024;

/** Long work on the main thread, in pieces: all sessions live there, and others go first between two of them. */
export class Pauses {
  readonly #world: World;
  readonly #signal: AbortSignal;
  #chars = 0;

  constructor(world: World, signal: AbortSignal) {
    this.#world = world;
    this.#signal = signal;
  }

  /** To be asked before so many characters are read through. True: rest first. */
  isDue(chars: number): boolean {
    this.#chars += chars;
    return this.#chars > PIECE_CHARS;
  }

  /** Rejects when nobody waits for the result any more. */
  async rest(): Promise<void> {
    this.#chars = 0;
    await this.#world.sleep(0, this.#signal);
  }
}
