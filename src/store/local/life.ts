import type { FaultWords } from "../../base/fault.ts";
import { isFull, wordsOf } from "./trouble.ts";

/** The writer's: until it is closed, or until an error after which nobody knows what is on the disk (A3). */
export class Life {
  readonly #tell: (last: FaultWords) => void;
  #isOver = false;

  constructor(tell: (last: FaultWords) => void) {
    this.#tell = tell;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** A full disk ends nothing: whatever could not be done is done again the next time. */
  guard(work: () => void): void {
    if (this.#isOver) return;
    try {
      work();
    } catch (error) {
      if (!isFull(error)) this.die(error);
    }
  }

  die(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#tell(wordsOf(error));
  }

  close(): void {
    this.#isOver = true;
  }
}
