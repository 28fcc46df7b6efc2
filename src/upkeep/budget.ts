// What a plan leaves on the disk. Part of the plan (plan.ts).

import { PACKED_SHARE_BYTES_MIN, PACKED_SHARE_USUAL } from "./limits.ts";
import type { Kept, Step } from "./plan.ts";

/** What is on the disk after the steps so far, as far as that can be told. */
export class Budget {
  readonly #steps: readonly Step[];
  #counted = 0;
  #leftBytes: number;
  #packed = 0; //   of archives that are packed: bytes now, and before
  #unpacked = 0;

  constructor(usedBytes: number, steps: readonly Step[]) {
    this.#leftBytes = usedBytes;
    this.#steps = steps;
  }

  /** What packing saves is taken from what it has saved so far. Before the first look at what is left. */
  learn({ bytes, packedBytes }: Kept): void {
    if (packedBytes === null) return;
    this.#packed += packedBytes;
    this.#unpacked += bytes;
  }

  get leftBytes(): number {
    for (; this.#counted < this.#steps.length; this.#counted += 1)
      this.#leftBytes -= this.#freedBy(this.#steps[this.#counted]);
    return Math.max(0, Math.round(this.#leftBytes));
  }

  /** Exact but for what is to be packed. A new file of a session takes room, and its old one stays. */
  #freedBy(step: Step | undefined): number {
    switch (step?.do) {
      case "purge":
      case "collect":
        return step.bytes;
      case "archive":
      case "pack":
        return step.bytes * (1 - this.#packedShare);
      default:
        return 0;
    }
  }

  /** More than 1 tells of archives that are tiny: nothing is freed then. */
  get #packedShare(): number {
    if (this.#unpacked < PACKED_SHARE_BYTES_MIN) return PACKED_SHARE_USUAL;
    return Math.min(1, this.#packed / this.#unpacked);
  }
}
