// Where a text stands in something long: line by line, a range at a time.
//
// It is a plain text that is looked for, never a pattern: an expression that a model has written could take for ever over some
// megabytes, and everybody would wait. A line that fits is told once. One that is longer is told in pieces, each around a match.
//
// Whoever is not shown secrets looks only through what is between them. So neither an answer nor the time it takes can depend on
// whether a text stands in one: who asked for longer and longer beginnings could else read it out.

import { CHARACTER_BYTES_MAX, jsonBytes, textRuns, type Run } from "../base/utf8.ts";
import {
  RESULT_BESIDE_BYTES_MAX,
  RESULT_LINE_BYTES_MAX,
  RESULT_RANGE_BYTES,
  RESULT_REACH_BYTES,
} from "./limits.ts";
import { Window } from "./window.ts";

export interface Match {
  readonly line: number; //  from 1 on
  readonly at: number; //    the byte where the match begins
  readonly text: string; //  the line, or what is around the match
  readonly before: readonly string[];
  readonly after: readonly string[];
}

export interface Wanted {
  readonly grep: string;
  readonly ignoreCase: boolean;
  readonly from: number; //    matches that begin at this byte, or after it
  readonly context: number; // lines
  readonly limit: number;
  readonly bytes: number; //   of all matches, as JSON
}

/** Something long that is read by ranges. */
export interface Long {
  readonly total: number;
  readonly isRedacted: boolean;
  readonly read: (from: number, to: number) => Promise<Buffer>;
}

/** `next`: from where to go on; null: there is nothing more. */
export async function matchesIn(
  long: Long,
  wanted: Wanted,
): Promise<{ readonly matches: readonly Match[]; readonly next: number | null }> {
  const searching = searchingFor(wanted);
  const matches: Match[] = [];
  let room = wanted.bytes;
  let resume = wanted.from;
  let line = 1; // the one that `begin` is in
  for (let begin = 0; begin < long.total; begin += RESULT_RANGE_BYTES) {
    const end = Math.min(long.total, begin + RESULT_RANGE_BYTES);
    const [from, to] = [
      Math.max(0, begin - RESULT_REACH_BYTES),
      Math.min(long.total, end + RESULT_REACH_BYTES),
    ];
    const window = new Window(await long.read(from, to), long.isRedacted);
    const lines = new Lines(window, { isFirst: from === 0, isLast: to === long.total });
    const count = lineCounter(window.bytes, begin - from);
    // A match may begin in this range and end in the next.
    const until = Math.min(to, end + wanted.grep.length * CHARACTER_BYTES_MAX);
    resume = Math.max(resume, begin);
    const find = finder(window, { from: resume - from, to: until - from }, searching);
    while (resume < end) {
      const found = find(resume - from);
      const at = from + (found?.from ?? Infinity);
      if (found === null || at >= end) break;
      const told = lines.told(found, wanted.context);
      resume = from + told.end;
      const whole = { line: line + count(found.from), at, ...told.shown };
      const match = matches.length === 0 ? fitted(whole, room) : whole;
      room -= jsonBytes(match) + 1;
      if (matches.length >= wanted.limit || (room < 0 && matches.length > 0)) return { matches, next: at };
      matches.push(match);
    }
    line += count(end - from);
  }
  return { matches, next: null };
}

/** The first is always told: if it does not fit with the lines beside it, without them. */
function fitted(match: Match, room: number): Match {
  return jsonBytes(match) < room ? match : { ...match, before: [], after: [] };
}

// ── Finding ─────────────────────────────────────────────────────────────────────────────────────────────────

/** The first match within a part of some bytes; null: there is none. */
type Search = (part: Run) => Run | null;

/** The first match that begins at `from` or after it. It is asked for growing ones. */
function finder(
  window: Window,
  range: Run,
  searching: (bytes: Buffer) => Search,
): (from: number) => Run | null {
  const parts = window.open(range);
  let search: Search | null = null;
  let part = parts.next();
  return (from) => {
    search ??= searching(window.bytes);
    for (; part.done !== true; part = parts.next()) {
      const begin = Math.max(from, part.value.from);
      const found = begin < part.value.to ? search({ from: begin, to: part.value.to }) : null;
      if (found !== null) return found;
    }
    return null;
  };
}

function searchingFor({ grep, ignoreCase }: Wanted): (bytes: Buffer) => Search {
  const wanted = Buffer.from(grep);
  const { length } = wanted;
  const placed = (at: number, from: number): Run | null =>
    at < 0 ? null : { from: from + at, to: from + at + length };
  if (!ignoreCase)
    return (bytes) =>
      ({ from, to }) =>
        placed(bytes.subarray(from, to).indexOf(wanted), from);
  const literal = RegExp.escape(grep);
  if (length > grep.length) return (bytes) => (part) => inAnyCase(bytes, part, new RegExp(literal, "iu"));
  // Bytes as characters, one for one: what is above ASCII is not looked for, and never matches.
  return (bytes) => {
    const text = bytes.toString("latin1");
    const pattern = new RegExp(literal, "i");
    return ({ from, to }) => placed(text.slice(from, to).search(pattern), from);
  };
}

/**
 * Line by line, so that what is no text in one hides nothing in others. Places in a text are not those of its bytes, and capitals
 * may be longer than small letters.
 */
function inAnyCase(bytes: Buffer, { from, to }: Run, pattern: RegExp): Run | null {
  for (let begin = from; begin < to;) {
    const newline = bytes.indexOf(NEWLINE, begin);
    const end = newline < 0 ? to : Math.min(newline, to);
    for (const run of textRuns(bytes, { from: begin, to: end })) {
      const text = bytes.toString("utf8", run.from, run.to);
      const match = pattern.exec(text);
      if (match === null) continue;
      const at = run.from + Buffer.byteLength(text.slice(0, match.index));
      return { from: at, to: at + Buffer.byteLength(match[0]) };
    }
    begin = end + 1;
  }
  return null;
}

/** How many lines end before a byte, from `from` on. Asked for growing ones, each line is counted once. */
function lineCounter(bytes: Buffer, from: number): (to: number) => number {
  let [lines, at] = [0, from];
  return (to) => {
    for (let end = bytes.indexOf(NEWLINE, at); end >= 0 && end < to; end = bytes.indexOf(NEWLINE, at)) {
      lines += 1;
      at = end + 1;
    }
    return lines;
  };
}

const NEWLINE = 0x0a;

// ── Telling ─────────────────────────────────────────────────────────────────────────────────────────────────

interface Ends {
  readonly isFirst: boolean; // the window begins where the text does
  readonly isLast: boolean; //  and ends where it does
}

/** Lines of a window. What reaches beyond it, or is too long, is cut, and … says so. */
class Lines {
  readonly #window: Window;
  readonly #ends: Ends;

  constructor(window: Window, ends: Ends) {
    this.#window = window;
    this.#ends = ends;
  }

  /** `end`: up to there it is told. */
  told(match: Run, context: number): { readonly shown: Omit<Match, "line" | "at">; readonly end: number } {
    const { begin, end, text } = this.#around(match);
    return {
      shown: { text, before: this.#before(begin, context), after: this.#after(end, context) },
      end: Math.max(end, match.to),
    };
  }

  /** The line with a match, or the part of it around the match. */
  #around(match: Run): { readonly begin: number; readonly end: number; readonly text: string } {
    const whole = { begin: this.#beginOf(match.from), end: this.#endOf(match.to) };
    if (whole.begin !== null && whole.end !== null && whole.end - whole.begin <= RESULT_LINE_BYTES_MAX)
      return { begin: whole.begin, end: whole.end, text: this.#window.shown(whole.begin, whole.end) };
    const beside = Math.max(0, RESULT_LINE_BYTES_MAX - (match.to - match.from)) / 2;
    const least = this.#window.characterAt(Math.max(0, Math.floor(match.from - beside)));
    const most = this.#window.characterAt(Math.min(this.#window.bytes.length, Math.floor(match.to + beside)));
    const begin = Math.max(whole.begin ?? 0, least);
    const end = Math.max(match.to, Math.min(whole.end ?? this.#window.bytes.length, most));
    const [left, right] = [begin === whole.begin ? "" : "…", end === whole.end ? "" : "…"];
    return { begin, end, text: `${left}${this.#window.shown(begin, end)}${right}` };
  }

  /** None before the beginning of a line that is not in reach. */
  #before(begin: number, count: number): readonly string[] {
    const lines: string[] = [];
    let end = begin - 1; // the newline
    while (lines.length < count && end >= 0 && this.#window.bytes[end] === NEWLINE) {
      const start = this.#beginOf(end);
      if (start === null) break;
      lines.unshift(this.#short(start, end));
      end = start - 1;
    }
    return lines;
  }

  #after(end: number, count: number): readonly string[] {
    const { bytes } = this.#window;
    const lines: string[] = [];
    let newline = end;
    while (lines.length < count && bytes[newline] === NEWLINE && newline + 1 < bytes.length) {
      const stop = this.#endOf(newline + 1);
      if (stop === null) break;
      lines.push(this.#short(newline + 1, stop));
      newline = stop;
    }
    return lines;
  }

  #short(begin: number, end: number): string {
    if (end - begin <= RESULT_BESIDE_BYTES_MAX) return this.#window.shown(begin, end);
    return `${this.#window.shown(begin, this.#window.characterAt(begin + RESULT_BESIDE_BYTES_MAX))}…`;
  }

  /** Where the line of a byte begins; null: out of reach. */
  #beginOf(at: number): number | null {
    const newline = at === 0 ? -1 : this.#window.bytes.lastIndexOf(NEWLINE, at - 1);
    return newline >= 0 || this.#ends.isFirst ? newline + 1 : null;
  }

  /** Where it ends. */
  #endOf(at: number): number | null {
    const newline = this.#window.bytes.indexOf(NEWLINE, at);
    if (newline >= 0) return newline;
    return this.#ends.isLast ? this.#window.bytes.length : null;
  }
}
