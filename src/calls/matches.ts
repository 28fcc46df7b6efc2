// Where a text stands in something long: line by line, a range at a time.
//
// It is a plain text that is looked for, never a pattern: an expression that a model has written could take for ever over some
// megabytes, and everybody would wait. A line that fits is told once. One that is longer is told in pieces, each around a match.

import { isUtf8 } from "node:buffer";
import {
  RESULT_BESIDE_BYTES_MAX,
  RESULT_HIDDEN_MAX,
  RESULT_LINE_BYTES_MAX,
  RESULT_RANGE_BYTES,
  RESULT_REACH_BYTES,
} from "../limits.ts";
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
  const finding = findingOf(wanted);
  const matches: Match[] = [];
  let room = wanted.bytes;
  let hidden = 0;
  let resume = wanted.from;
  let line = 1; // the one that `begin` is in
  for (let begin = 0; begin < long.total; begin += RESULT_RANGE_BYTES) {
    const length = Math.min(RESULT_RANGE_BYTES, long.total - begin);
    // A match may begin in this range and end in the next.
    const range = await long.read(begin, begin + length + wanted.grep.length * CHARACTER_BYTES_MAX);
    const find = finding(range);
    const count = lineCounter(range);
    for (;;) {
      const found = resume >= begin + length ? null : find(Math.max(0, resume - begin));
      if (found === null || found.at >= length) break;
      const at = begin + found.at;
      const place = { at, bytes: found.bytes, line: line + count(found.at) };
      const told = await toldOf(long, place, wanted.context);
      resume = told?.end ?? at + found.bytes;
      if (told === null) {
        if ((hidden += 1) >= RESULT_HIDDEN_MAX) return { matches, next: resume };
        continue;
      }
      const match = fitted(told.match, matches.length === 0 ? room : Infinity);
      room -= jsonBytes(match);
      if (matches.length >= wanted.limit || (room < 0 && matches.length > 0)) return { matches, next: at };
      matches.push(match);
    }
    line += count(length);
  }
  return { matches, next: null };
}

const CHARACTER_BYTES_MAX = 4;

/** The first is always told: if it does not fit with the lines beside it, without them. */
function fitted(match: Match, room: number): Match {
  return jsonBytes(match) <= room ? match : { ...match, before: [], after: [] };
}

function jsonBytes(match: Match): number {
  return Buffer.byteLength(JSON.stringify(match)) + 1;
}

// ── Finding ─────────────────────────────────────────────────────────────────────────────────────────────────

interface Found {
  readonly at: number;
  readonly bytes: number;
}

/** The first match that begins at `from` or after it; null: there is none. */
type Find = (from: number) => Found | null;

function findingOf({ grep, ignoreCase }: Wanted): (range: Buffer) => Find {
  const bytes = Buffer.from(grep);
  if (!ignoreCase) return (range) => (from) => placed(range.indexOf(bytes, from), bytes.length);
  const literal = RegExp.escape(grep);
  // Bytes as characters, one for one: what is above ASCII is not looked for, and never matches.
  if (bytes.length === grep.length)
    return (range) => {
      const text = range.toString("latin1");
      const pattern = new RegExp(literal, "gi");
      return (from) => {
        pattern.lastIndex = from;
        return placed(pattern.exec(text)?.index ?? -1, bytes.length);
      };
    };
  return (range) => findAnyCase(range, new RegExp(literal, "giu"));
}

function placed(at: number, bytes: number): Found | null {
  return at < 0 ? null : { at, bytes };
}

/** Places in the text are not those of its bytes, and capitals may be longer than small letters. */
function findAnyCase(range: Buffer, pattern: RegExp): Find {
  const window = new Window(range, false);
  const begin = window.bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
  const last = window.characterAt(Math.max(0, range.length - 1));
  const end = isUtf8(range.subarray(last)) ? range.length : last; // the last character may be cut
  if (begin < 0 || !window.isText(begin, end)) return () => null;
  return (from) => {
    const start = Math.max(begin, window.characterAt(Math.min(from, end)));
    pattern.lastIndex = 0;
    const text = range.toString("utf8", start, end);
    const match = pattern.exec(text);
    if (match === null) return null;
    return {
      at: start + Buffer.byteLength(text.slice(0, match.index)),
      bytes: Buffer.byteLength(match[0]),
    };
  };
}

/** How many lines end before a byte. Asked for growing ones, each line is counted once. */
function lineCounter(range: Buffer): (to: number) => number {
  let [lines, at] = [0, 0];
  return (to) => {
    for (let end = range.indexOf(NEWLINE, at); end >= 0 && end < to; end = range.indexOf(NEWLINE, at)) {
      lines += 1;
      at = end + 1;
    }
    return lines;
  };
}

const NEWLINE = 0x0a;

// ── Telling ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Null: it is in a secret. `end`: up to there it is told. */
async function toldOf(
  long: Long,
  { at, bytes, line }: Found & { readonly line: number },
  context: number,
): Promise<{ readonly match: Match; readonly end: number } | null> {
  const from = Math.max(0, at - RESULT_REACH_BYTES);
  const to = Math.min(long.total, at + bytes + RESULT_REACH_BYTES);
  const window = new Window(await long.read(from, to), long.isRedacted);
  const match = { from: at - from, to: at - from + bytes };
  if (window.hides(match.from, match.to)) return null;
  const lines = new Lines(window, { isFirst: from === 0, isLast: to === long.total });
  const { begin, end, text } = lines.around(match);
  return {
    match: { line, at, text, before: lines.before(begin, context), after: lines.after(end, context) },
    end: from + Math.max(end, match.to),
  };
}

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

  /** The line with a match, or the part of it around the match. */
  around(match: { readonly from: number; readonly to: number }): {
    readonly begin: number;
    readonly end: number;
    readonly text: string;
  } {
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
  before(begin: number, count: number): readonly string[] {
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

  after(end: number, count: number): readonly string[] {
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
