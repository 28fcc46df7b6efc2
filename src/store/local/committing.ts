// Commits on the main thread, before they are handed in: for a fork, a rewind or a new file something is read first. Such a one comes
// when that is done, and its expectations are checked then; all others go straight on, in their order (M1 of local.ts).

import type { Change, Receipt } from "../change.ts";
import { lookBack, needsReading, type Reading } from "./lookback.ts";
import { encodeChange, NOTHING_READ, type WireChange } from "./wire.ts";

export class Committing {
  readonly #reading: Reading;
  readonly #handIn: (changes: readonly WireChange[]) => Promise<Receipt>;
  readonly #looking = new Set<Promise<unknown>>();

  constructor(reading: Reading, handIn: (changes: readonly WireChange[]) => Promise<Receipt>) {
    this.#reading = reading;
    this.#handIn = handIn;
  }

  async commit(changes: readonly Change[]): Promise<Receipt> {
    // Nearly every one: waiting here, even for nothing, would let a later one overtake it.
    if (!changes.some(needsReading))
      return this.#handIn(changes.map((change) => encodeChange(change, NOTHING_READ)));
    const looking = Promise.all(
      changes.map(async (change) => encodeChange(change, await lookBack(this.#reading, change))),
    );
    this.#looking.add(looking);
    try {
      return this.#handIn(await looking);
    } finally {
      this.#looking.delete(looking);
    }
  }

  /** Resolves when what is being read for now has been. */
  async read(): Promise<void> {
    await Promise.allSettled(this.#looking);
  }
}
