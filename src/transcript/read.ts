// Reading a transcript
//
// The active path is the conversation: from the last line along `parentId`. It is read forward (to show or
// to assemble a context), backward by page (to scroll up), or from the byte at which a seq begins.
//
//   Owns:      what counts as damage, and what a reader is told of it.
//   Does not:  change a file. Damaged bytes stay where they are.
//
// Invariants
//   R1. Nothing is skipped in silence: a line that cannot be read comes out as a Gap.
//   R2. Cost follows what is read. Seeking a seq takes a number of reads that grows with the logarithm of
//       the file, because seq grows along the file (E1).
//   R3. A line that cannot be read is taken to be the entry that the next one continues, so that one bad
//       line does not hide the conversation before it.

import { Decoder, decodeLine } from "./codec.ts";
import type { Entry, Gap, Header } from "./entry.ts";
import { lineStartAfter, linesBackward, linesForward, type Line, type Source } from "./lines.ts";

/** Where a line stood. `text` is the line itself, so that it can be handed on without encoding it again. */
export interface Placed<Item> {
  readonly item: Item;
  readonly offset: number;
  readonly bytes: number;
  readonly text: string;
}

/** Seqs of the active path, in ascending order: both ends belong to the span. */
export type Spans = readonly (readonly [first: number, last: number])[];

/** Every line from a line's start to the end, also those that a rewind left behind. */
export function* readForward(source: Source, from: number): Generator<Placed<Header | Entry | Gap>> {
  const decoder = new Decoder();
  let expected: number | null = from === 0 ? 1 : null; // null: whatever comes first is right
  for (const line of linesForward(source, from)) {
    const placed = decodePlaced(line, (text) => decoder.line(text));
    if (placed.item.type === "session") {
      expected = null; // A later generation of a transcript goes on where the earlier stopped.
    } else if (placed.item.type === "gap") {
      if (expected !== null) expected += 1; // The bad line was an entry (R3).
    } else {
      const { seq } = placed.item;
      if (expected !== null && seq !== expected) {
        yield {
          ...placed,
          item: {
            type: "gap",
            reason: seq > expected ? "missing" : "wrong_seq",
            offset: line.offset,
            bytes: 0,
          },
        };
        if (seq < expected) continue; // A repeat: whoever reads has it already, and is told.
      }
      expected = seq + 1;
    }
    yield placed;
  }
}

/** Where to go on upwards: below which byte, and which entry is next. */
export interface Upwards {
  readonly to: number;
  readonly wanted: string | null | "whatever comes";
}

/** The active path from its end to its start, newest first. Only for files of version 3, as ours all are. */
export function* readPathBackward(source: Source, from?: Upwards): Generator<Placed<Entry | Gap>> {
  const { to, wanted: first } = from ?? { to: source.size, wanted: "whatever comes" };
  let wanted = first;
  let adjacent = from === undefined; // the line we look at stands directly before the last one on the path
  for (const line of linesBackward(source, to)) {
    if (wanted === null || line.offset === 0) return; // the path has begun, or this is the header
    const placed = decodePlaced(line, decodeLine);
    const { item } = placed;
    if (item.type === "gap") {
      if (!adjacent) continue; // It belongs to a branch that was left.
      wanted = "whatever comes"; // R3
    } else if (wanted === "whatever comes" || item.id === wanted) {
      wanted = item.parentId;
      adjacent = true;
    } else {
      adjacent = false;
      continue;
    }
    yield placed;
  }
}

/** The byte at which the first entry with at least this seq begins; the source's size when there is none (R2). */
export function seekSeq(source: Source, seq: number): number {
  let low = 0; // every entry before it has a smaller seq; always the start of a line
  let high = source.size; // entries that begin at or after it have this seq or a larger one
  while (high - low > SCAN_BYTES) {
    const middle = low + Math.floor((high - low) / 2);
    const found = firstEntry(source, lineStartAfter(source, middle));
    if (found === null || found.item.seq >= seq) high = middle;
    else low = found.offset + found.bytes;
  }
  for (const line of linesForward(source, low)) {
    const entry = line.text === null ? null : decodeLine(line.text);
    if (entry !== null && typeof entry !== "string" && entry.seq >= seq) return line.offset;
  }
  return source.size;
}

/** Which seqs at or after `from` are on the active path. Reads the file once from its end, keeps only numbers. */
export function pathSpans(source: Source, from: number): Spans {
  const spans: [number, number][] = [];
  for (const { item } of readPathBackward(source)) {
    if (item.type === "gap") continue;
    if (item.seq < from) break;
    const lowest = spans[0];
    // A gap in the numbers is a branch that was left, or a bad line; both are outside of every span.
    if (lowest && lowest[0] === item.seq + 1) lowest[0] = item.seq;
    else spans.unshift([item.seq, item.seq]);
  }
  return spans;
}

/** Below this a plain scan is as quick as another probe. */
const SCAN_BYTES = 16 * 1024;
const PROBE_BYTES = 4 * 1024;

function firstEntry(source: Source, from: number): Placed<Entry> | null {
  for (const line of linesForward(source, from, PROBE_BYTES)) {
    const entry = line.text === null ? null : decodeLine(line.text);
    if (line.text !== null && entry !== null && typeof entry !== "string") {
      return { item: entry, offset: line.offset, bytes: line.bytes, text: line.text };
    }
  }
  return null;
}

function decodePlaced<Item extends object>(
  line: Line,
  decode: (text: string) => Item | Gap["reason"],
): Placed<Item | Gap> {
  const { offset, bytes } = line;
  const text = line.text ?? "";
  const item = line.text === null ? "too_long" : decode(text);
  if (typeof item !== "string") return { item, offset, bytes, text };
  // A blank line is what recovery leaves where bytes had vanished.
  const reason = item === "not_json" && text.trim() === "" ? "missing" : item;
  return { item: { type: "gap", reason, offset, bytes }, offset, bytes, text: "" };
}
