// A transcript for people: when, which entry, who, what. A call of a tool is one line, and so is its result; what cannot be read is said
// in its place.

import { aboutOf, itemOf, type Item, type ToolCalled } from "../../calls/told.ts";
import type { Entry, Gap } from "../../transcript/entry.ts";
import {
  clean,
  column,
  cut,
  cutMiddle,
  cyan,
  dim,
  duration,
  green,
  many,
  oneLine,
  red,
  bold,
  count,
  widthOf,
  type Screen,
} from "../output.ts";

export interface Paper {
  readonly colour: boolean;
  /** Lines about something are cut to it; what was said is whole. */
  readonly width: number;
  /** Ids of entries that stay whole in every context: they are marked. */
  readonly pins: ReadonlySet<string>;
}

const WHO_CELLS = 9;
/** Of a sender with a long name, such as the key of a run: it stands beside its words all the same. */
const LONG_WHO_CELLS = 24;
/** `#` and the number by which rewind, fork, pin and result take an entry. Longer ones are not cut. */
const NUMBER_CELLS = 6;
const INDENT = " ".repeat("00:00:00".length + NUMBER_CELLS + WHO_CELLS + 6);

/** What stands before the words of every line of an entry. */
interface Stamp {
  readonly time: string;
  readonly number: string; //   "": it has none
  readonly isPinned: boolean;
}

const NO_STAMP: Stamp = { time: "", number: "", isPinned: false };

/** Writes entries one after the other. It remembers the day, and when calls were made. */
export class Transcript {
  readonly #paper: Paper;
  readonly #called = new Map<string, number>();
  #day = "";
  #wasSilent = false;

  constructor(paper: Paper) {
    this.#paper = paper;
  }

  /** Lines, none: it is only bookkeeping. */
  lines(entry: Entry | Gap): readonly string[] {
    if (entry.type === "gap") {
      const why = `damage: ${many(entry.bytes, "byte")} cannot be read (${entry.reason}); see \`sessiond fsck\``;
      return [this.#about(NO_STAMP, "✗", why, red)];
    }
    const item = itemOf(entry);
    const { day, time } = clockOf(item.atMs);
    const stamp = { time, number: `#${entry.seq}`, isPinned: this.#paper.pins.has(entry.id) };
    const lines = this.#item(item, stamp);
    if (item.what !== "nothing") this.#wasSilent = item.what === "silent";
    if (lines.length === 0 || day === this.#day) return lines;
    this.#day = day;
    return [dim(this.#paper, `── ${day} ──`), ...lines];
  }

  /** Entries that were not even counted: others stand before and after them. */
  missing(entries: number): string {
    return this.#about(
      NO_STAMP,
      "✗",
      `damage: ${many(entries, "entry", "entries")} cannot be read; see \`sessiond fsck\``,
      red,
    );
  }

  #item(item: Item, stamp: Stamp): readonly string[] {
    switch (item.what) {
      case "letter":
        return this.#said(stamp, item.from, item.text, item.isPerson ? bold : cyan);
      case "answer":
        for (const { id } of item.calls) this.#called.set(id, item.atMs);
        return [
          ...(item.text.trim() === "" ? [] : this.#said(stamp, "agent", item.text, plain)),
          ...(item.trouble === null ? [] : [this.#about(stamp, "✗", oneLine(item.trouble), red)]),
          ...item.calls.map((call) => this.#about(stamp, "→", wordsOf(call), plain)),
        ];
      case "result":
        return [this.#result(item, stamp)];
      case "report": {
        const { child, ended, isGood, seconds, tokens } = item.report;
        const figures = `${seconds === null ? "" : ` · ${duration(seconds * 1_000)}`}${tokens === null ? "" : ` · ${count(tokens)} tokens`}`;
        return [
          this.#about(
            stamp,
            isGood ? "✓" : "✗",
            `${child}: ${oneLine(ended)}${figures}`,
            isGood ? green : red,
          ),
        ];
      }
      case "ended": {
        if (item.outcome === "done") return [];
        const why = item.reason === null ? "" : `: ${oneLine(item.reason)}`;
        return [this.#about(stamp, "✗", `turn ended: ${item.outcome}${why}`, red)];
      }
      case "resumed":
        return [this.#about(stamp, "·", `turn gone on with (${item.why})`, dim)];
      case "note":
      case "setting":
        return [this.#about(stamp, "·", oneLine(item.text), dim)];
      case "silent":
        return this.#wasSilent ? [] : [this.#about(stamp, "·", "wrote to memory before a summary", dim)];
      case "began":
      case "nothing":
        return [];
    }
  }

  #result({ id, name, isError, text, atMs }: Extract<Item, { what: "result" }>, stamp: Stamp): string {
    const calledAt = this.#called.get(id);
    this.#called.delete(id);
    const took = calledAt === undefined ? "" : ` · ${duration(Math.max(0, atMs - calledAt))}`;
    const head = oneLine(text.slice(0, RESULT_CHARS_MAX));
    const size = text.length > head.length ? ` (${count(text.length)} characters)` : "";
    return this.#about(stamp, isError ? "✗" : "✓", `${name}${took}${size}: ${head}`, isError ? red : green);
  }

  #said(stamp: Stamp, who: string, text: string, painter: Painter): readonly string[] {
    const name = oneLine(who);
    const isLong = widthOf(name) > WHO_CELLS;
    const shown = isLong ? cutMiddle(name, LONG_WHO_CELLS) : column(name, WHO_CELLS);
    const [first = "", ...rest] = clean(text).trimEnd().split("\n");
    const pinned = stamp.isPinned ? dim(this.#paper, PINNED) : "";
    const start = `${this.#stamped(stamp)}  ${painter(this.#paper, shown)}  ${pinned}`;
    return [start + first, ...rest.map((line) => (line === "" ? "" : INDENT + line))];
  }

  #stamped({ time, number }: Stamp): string {
    return dim(this.#paper, `${column(time, "00:00:00".length)}  ${number.padEnd(NUMBER_CELLS)}`);
  }

  /** One line; the mark has the colour. */
  #about(stamp: Stamp, mark: string, text: string, painter: Painter): string {
    const room = Math.max(10, this.#paper.width - INDENT.length);
    const shown = cut(clean(stamp.isPinned ? PINNED + text : text), room);
    const signed = " ".repeat(WHO_CELLS - 1) + painter(this.#paper, mark);
    return `${this.#stamped(stamp)}  ${signed}  ${painter === dim || painter === red ? painter(this.#paper, shown) : shown}`;
  }
}

const PINNED = "(pinned) ";

/** Characters of a result that its line is made from. */
const RESULT_CHARS_MAX = 1_000;

type Painter = (screen: Pick<Screen, "colour">, text: string) => string;

function plain(_screen: Pick<Screen, "colour">, text: string): string {
  return text;
}

function wordsOf({ name, given }: ToolCalled): string {
  return oneLine(`${name} ${aboutOf(given)}`);
}

/** As the clock on the wall has it. */
function clockOf(ms: number): { readonly day: string; readonly time: string } {
  const at = new Date(ms);
  const two = (n: number): string => String(n).padStart(2, "0");
  return {
    day: `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`,
    time: `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`,
  };
}
