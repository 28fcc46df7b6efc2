import type { Filled } from "./fill.ts";
import type { Scratch } from "./scratch.ts";

/** What a measure is given. */
export interface Run {
  readonly scratch: Scratch;
  /** Homes that several measures share; each is made when the first asks for it. */
  readonly filled: Filled;
  /** The number for a full run, or a tenth of it for a quick one. */
  readonly sized: (full: number) => number;
  /** Repetitions: as many as a full run has, or a tenth of them, but so many that a median means something. */
  readonly atLeast: (few: number, full: number) => number;
  /** Progress, to standard error. */
  readonly say: (words: string) => void;
}
