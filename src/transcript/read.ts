// Reading a transcript
//
// The active path is the conversation: from the last line along `parentId`. It is read forward (to show or
// to assemble a context), backward by page (to scroll up), or from the byte at which a seq begins.
//
//   Owns:      what counts as damage, and what a reader is told of it.
//   Does not:  change a file. Damaged bytes stay where they are.
//
// Invariants
//   R1. Nothing is skipped in silence: a line that cannot be read comes out as a Gap, and so do lines that are gone.
//   R2. Cost follows what is read. Seeking a seq takes a number of reads that grows with the logarithm of
//       the file, because seq grows along the file (E1). Only damage costs a look at the rest of the file, and
//       much damage costs no more looks than a little.
//   R3. One bad line does not hide the conversation before it. An entry that is not there is taken to have
//       stood directly above the first one that continues it, and to have continued the line above itself.
//   R4. A few bad numbers do not hide what follows: order.ts says which number is believed.

import { LINE_BYTES_MAX } from "../limits.ts";
import { Above } from "./above.ts";
import { Decoder, decodeLine } from "./codec.ts";
import type { Entry, Gap, Header } from "./entry.ts";
import { lineStartAfter, linesBackward, linesForward, type Line, type Source } from "./lines.ts";
import { ASKED_ENTRIES, isOutOfLine, lastBefore, numberedFrom, PROBE_BYTES } from "./order.ts";

/** Where a line stood. `text` is the line itself, so that it can be handed on without encoding it again. */
export interface Placed<Item> {
  readonly item: Item;
  readonly offset: number;
  readonly bytes: number;
  readonly text: string;
}

/** Seqs of the active path, in ascending order: both ends belong to the span. */
export type Spans = readonly (readonly [first: number, last: number])[];

/**
 * Every line from a line's start to the end, also those that a rewind left behind. `lastSeq` is the last number that
 * was committed, for whoever knows it: a larger one is wrong.
 */
export function* readForward(
  source: Source,
  from: number,
  lastSeq = Infinity,
): Generator<Placed<Header | Entry | Gap>> {
  const decoder = new Decoder();
  let last: number | null = from === 0 ? 0 : null; // null: the first may have any number
  let unread = 0; // how many entries the bad lines after `last` may have been
  let begun = from > 0; // false: what comes next begins the conversation, and continues nothing
  for (const line of linesForward(source, from)) {
    const placed = decodePlaced(line, (text) => decoder.line(text));
    const { item } = placed;
    if (item.type === "session") {
      last = null; // A later generation of a transcript goes on where the earlier stopped.
      yield placed;
      continue;
    }
    if (item.type === "gap") {
      unread += item.reason === "missing" ? Infinity : 1; // Blanks may have been any number of lines.
      yield placed;
    } else if (isOutOfLine(source, line, item.seq, { last, unread, lastSeq })) {
      unread += 1;
      yield gapAt(line, "wrong_seq");
    } else {
      const isHole = last !== null && item.seq > last + 1 + unread;
      if (isHole || (!begun && item.parentId !== null)) yield gapAt({ ...line, bytes: 0 }, "missing");
      last = item.seq;
      unread = 0;
      yield placed;
    }
    begun = true;
  }
}

/** Where to go on upwards: below which byte, and which entry is next. */
export interface Upwards {
  readonly to: number;
  readonly wanted: string | null | "whatever comes";
}

/** The active path from its end to its start, newest first. Only for files of version 3, as ours all are. */
export function* readPathBackward(source: Source, from?: Upwards): Generator<Placed<Entry | Gap>> {
  let at = from ?? { to: source.size, wanted: "whatever comes" };
  let above: Above | null = null; // null: every entry was found so far
  while (at.wanted !== null) {
    at = yield* climb(source, at);
    const { to, wanted } = at;
    if (wanted === null) break;
    const end = above === null ? endOf(source, to, wanted) : above.endOf(wanted, to);
    if (end !== null) {
      at = { to: end, wanted };
    } else {
      above ??= new Above(source, to);
      at = yield* supposed(source, above.childOf(wanted, to));
    }
  }
}

/** Along lines that continue each other. Stops below the first that does not: a rewind, or damage. */
function* climb(source: Source, { to, wanted }: Upwards): Generator<Placed<Entry | Gap>, Upwards> {
  let next = wanted;
  for (const line of linesBackward(source, to)) {
    if (next === null) break; // The path has begun.
    const placed = decodeOwn(line);
    const { item } = placed;
    const anything = next === "whatever comes";
    if (item.type === "session" && anything) break;
    if (item.type === "session" || (!anything && (item.type === "gap" || item.id !== next)))
      return { to: line.offset + line.bytes, wanted: next };
    if (item.type !== "gap") next = item.parentId;
    yield { ...placed, item };
  }
  return { to: 0, wanted: next === "whatever comes" ? null : next };
}

/** Where the line of an entry ends that stands further up; null: it stands nowhere. */
function endOf(source: Source, to: number, wanted: string): number | null {
  const name = JSON.stringify(wanted); // as it stands in a line: looking for it is quicker than decoding all
  for (const line of linesBackward(source, to)) {
    const entry = line.text?.includes(name) ? decodeLine(line.text) : "not_json";
    if (typeof entry !== "string" && entry.id === wanted) return line.offset + line.bytes;
  }
  return null;
}

/** To where an entry must have stood that is not there: above the first one that continues it (R3). */
function* supposed(source: Source, child: number): Generator<Placed<Gap>, Upwards> {
  const line = linesBackward(source, child, PROBE_BYTES).next().value ?? null;
  const isBad = line !== null && decodeOwn(line).item.type === "gap";
  // A bad line tells of itself. Where there is none, the line has vanished without a trace.
  if (!isBad) yield gapAt({ offset: child, bytes: 0 }, "missing");
  return { to: child, wanted: "whatever comes" };
}

/**
 * The byte at which the first entry with at least this seq begins; the source's size when there is none (R2).
 * Only for files whose lines have numbers, as ours all do. `from` is the start of a line before which nobody has to look:
 * every entry there has a smaller seq.
 */
export function seekSeq(source: Source, seq: number, from = 0): number {
  let low = from; // every entry before it has a smaller seq; always the start of a line
  let high = source.size; // entries that begin at or after it have this seq or a larger one
  while (high - low > SCAN_BYTES) {
    const middle = low + Math.floor((high - low) / 2);
    const [found] = numberedFrom(source, lineStartAfter(source, middle));
    if (found === undefined || found.seq >= seq) high = middle;
    else low = found.offset + found.bytes;
  }
  const found = numberedFrom(source, low).find((entry) => entry.seq >= seq);
  if (found?.seq === seq && !isOutOfLine(source, found, seq, NOTHING_KNOWN)) return found.offset;
  if (found === undefined && lastBefore(source, source.size) < seq) return source.size;
  // Numbers are missing, or one is wrong and led astray. The plain way is slow, and right.
  for (const { item, offset } of readForward(source, 0))
    if (item.type !== "gap" && item.type !== "session" && item.seq >= seq) return offset;
  return source.size;
}

/** Where the lines begin that stand just before a line and cannot be read; the line itself where there are none. */
export function hurtBefore(source: Source, offset: number): number {
  let first = offset;
  for (const line of linesBackward(source, offset, PROBE_BYTES)) {
    if (decodeOwn(line).item.type !== "gap") break;
    first = line.offset;
  }
  return first;
}

/**
 * Which seqs at or after `from` are on the active path. Reads the file once from its end, keeps only numbers. An entry that does not
 * stand where its number is looked for has a wrong one (R4): what has that number is another, which need not be on the path.
 */
export function pathSpans(source: Source, from: number): Spans {
  const spans: [number, number][] = [];
  let below = 0; // how many in a row; a few may be wrong numbers (R4)
  let last: { readonly seq: number; readonly offset: number } | null = null;
  for (const { item, offset, bytes } of readPathBackward(source)) {
    if (item.type === "gap") continue;
    below = item.seq < from ? below + 1 : 0;
    if (below > ASKED_ENTRIES) break;
    if (below > 0) continue;
    const isNext = last?.seq === item.seq + 1 && last.offset === offset + bytes;
    if (!isNext && seekSeq(source, item.seq) !== offset) continue;
    last = { seq: item.seq, offset };
    const lowest = spans.at(-1);
    // A gap in the numbers is a branch that was left, or a bad line; both are outside of every span.
    if (lowest && lowest[0] === item.seq + 1) lowest[0] = item.seq;
    else spans.push([item.seq, item.seq]);
  }
  return spans.sort(([one], [other]) => one - other); // a wrong number may stand anywhere
}

/** Below this a plain scan is as quick as another probe. */
const SCAN_BYTES = 16 * 1024;

const NOTHING_KNOWN = { last: null, unread: 0, lastSeq: Infinity } as const;

/** A line of a file of version 3, wherever it stands: the first may be the header. */
function decodeOwn(line: Line): Placed<Header | Entry | Gap> {
  return decodePlaced<Header | Entry>(
    line,
    line.offset === 0 ? (text) => new Decoder().line(text) : decodeLine,
  );
}

function decodePlaced<Item extends object>(
  line: Line,
  decode: (text: string) => Item | Gap["reason"],
): Placed<Item | Gap> {
  const { offset, bytes } = line;
  const text = line.text ?? "";
  const item = decode(text); // also of a line that has no text: a decoder counts
  if (typeof item !== "string") return { item, offset, bytes, text };
  if (line.text === null) {
    const length = bytes - (line.ended ? 1 : 0);
    return gapAt(line, length > LINE_BYTES_MAX ? "too_long" : "not_json"); // what is no UTF-8 is no JSON either
  }
  // A blank line is what recovery leaves where bytes had vanished.
  return gapAt(line, item === "not_json" && text.trim() === "" ? "missing" : item);
}

function gapAt({ offset, bytes }: Pick<Line, "offset" | "bytes">, reason: Gap["reason"]): Placed<Gap> {
  return { item: { type: "gap", reason, offset, bytes }, offset, bytes, text: "" };
}
