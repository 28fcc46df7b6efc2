// Order
//
// Numbers grow along a file (E1), so when some of them are wrong the others tell which. Asked only where a number
// is not the one that was due: what is whole is read without a second look.
//
//   Owns:      which number is believed.
//   Does not:  say what a reader is told of a wrong one (read.ts).
//
// Invariants
//   N1. Of numbers that contradict each other the fewest are taken for wrong. So a few wrong ones in a row, however
//       large, hide nothing that stands behind them.
//   N2. One judgement looks at a bounded count of entries on either side.

import { decodeLine } from "./codec.ts";
import { linesBackward, linesForward, type Line, type Source } from "./lines.ts";

type Place = Pick<Line, "offset" | "bytes">;

/** An entry's line, and the number in it. */
export interface Numbered extends Place {
  readonly seq: number;
}

/** What a reader knows when it comes to a number. */
export interface Known {
  /** The last number that was believed; null: nothing was read before. */
  readonly last: number | null;
  /** How many entries may stand unread between that one and this; Infinity: any number. */
  readonly unread: number;
  /** The largest number there is; Infinity: nobody knows. */
  readonly lastSeq: number;
}

/** Entries on either side that are asked (N2): enough to outvote three wrong ones in a row. */
export const ASKED_ENTRIES = 8;

/** When the first of them all agree with a number, no more are asked: nearly always that is so. */
const AGREED_ENTRIES = 3;

/** A look at a few lines is taken in pieces of this size. */
export const PROBE_BYTES = 4 * 1024;

/** A repeat, which whoever reads has already, or a number that is wrong (N1). */
export function isOutOfLine(source: Source, line: Place, seq: number, known: Known): boolean {
  if (seq > known.lastSeq || seq <= (known.last ?? 0)) return true;
  const due = (known.last ?? 0) + 1 + known.unread;
  if (seq <= due && due !== Infinity) return false;
  const after = numbersAfter(source, line.offset + line.bytes, seq, known.lastSeq);
  if (after.every((number) => number > seq)) return false;
  const before = known.last === null ? numbersBefore(source, line.offset) : [known.last];
  const others = after.filter((number) => number !== seq); // The same again is a repeat of this one.
  const believed =
    rise(before.filter((number) => number < seq)).length +
    rise(others.filter((number) => number > seq)).length +
    1;
  return rise([...before, ...others]).length >= believed;
}

/** The entries from a line's start on. */
export function* numberedFrom(source: Source, from: number): Generator<Numbered> {
  for (const line of linesForward(source, from, PROBE_BYTES)) {
    const seq = numberIn(line);
    if (seq !== null) yield { seq, offset: line.offset, bytes: line.bytes };
  }
}

/** The number that the entries before a line's end lead up to; 0: there are none. */
export function lastBefore(source: Source, to: number): number {
  return rise(numbersBefore(source, to)).at(-1) ?? 0;
}

function numbersBefore(source: Source, to: number): number[] {
  const numbers: number[] = [];
  for (const line of linesBackward(source, to, PROBE_BYTES)) {
    const seq = numberIn(line);
    if (seq !== null) numbers.unshift(seq);
    if (numbers.length === ASKED_ENTRIES) break;
  }
  return numbers;
}

function numbersAfter(source: Source, from: number, seq: number, lastSeq: number): number[] {
  const numbers: number[] = [];
  for (const next of numberedFrom(source, from)) {
    if (next.seq > lastSeq) continue;
    numbers.push(next.seq);
    const asked = numbers.every((number) => number > seq) ? AGREED_ENTRIES : ASKED_ENTRIES;
    if (numbers.length === asked) break;
  }
  return numbers;
}

function numberIn(line: Line): number | null {
  const entry = line.text === null ? "not_json" : decodeLine(line.text);
  return typeof entry === "string" ? null : entry.seq;
}

/**
 * As long as the longest way through the numbers that only rises, and its last one is the smallest in which such a
 * way can end. Each place holds the smallest end of a way of that length.
 */
function rise(numbers: readonly number[]): number[] {
  const ends: number[] = [];
  for (const number of numbers) {
    const at = ends.findIndex((end) => end >= number);
    ends[at < 0 ? ends.length : at] = number;
  }
  return ends;
}
