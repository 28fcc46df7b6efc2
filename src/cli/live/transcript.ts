// A transcript for people: when, who, what. A call of a tool is one line, and so is its result; what cannot be read is said
// in its place.

import { aboutOf, itemOf, type Item, type ToolCalled } from "./entries.ts";
import type { Entry, Gap } from "../../transcript/entry.ts";
import {
  clean,
  column,
  cut,
  cyan,
  dim,
  duration,
  green,
  many,
  oneLine,
  red,
  bold,
  count,
  type Screen,
} from "../output.ts";

export interface Paper {
  readonly colour: boolean;
  /** Lines about something are cut to it; what was said is whole. */
  readonly width: number;
}

const WHO_CELLS = 9;
const INDENT = " ".repeat("00:00:00".length + WHO_CELLS + 4);

/** Writes entries one after the other. It remembers the day, and when calls were made. */
export class Transcript {
  readonly #paper: Paper;
  readonly #called = new Map<string, number>();
  #day = "";

  constructor(paper: Paper) {
    this.#paper = paper;
  }

  /** Lines, none: it is only bookkeeping. */
  lines(entry: Entry | Gap): readonly string[] {
    if (entry.type === "gap") {
      const why = `damage: ${many(entry.bytes, "byte")} cannot be read (${entry.reason}); see \`sessiond fsck\``;
      return [this.#about("", "✗", why, red)];
    }
    const item = itemOf(entry);
    const { day, time } = clockOf(item.atMs);
    const lines = this.#item(item, time);
    if (lines.length === 0 || day === this.#day) return lines;
    this.#day = day;
    return [dim(this.#paper, `── ${day} ──`), ...lines];
  }

  /** Entries that were not even counted: others stand before and after them. */
  missing(entries: number): string {
    return this.#about(
      "",
      "✗",
      `damage: ${many(entries, "entry", "entries")} cannot be read; see \`sessiond fsck\``,
      red,
    );
  }

  #item(item: Item, time: string): readonly string[] {
    switch (item.what) {
      case "letter":
        return this.#said(time, item.from, item.text, item.isPerson ? bold : cyan);
      case "answer":
        for (const { id } of item.calls) this.#called.set(id, item.atMs);
        return [
          ...(item.text.trim() === "" ? [] : this.#said(time, "agent", item.text, plain)),
          ...(item.trouble === null ? [] : [this.#about(time, "✗", oneLine(item.trouble), red)]),
          ...item.calls.map((call) => this.#about(time, "→", wordsOf(call), plain)),
        ];
      case "result":
        return [this.#result(item, time)];
      case "report": {
        const { child, ended, isGood, seconds, tokens } = item.report;
        const figures = `${seconds === null ? "" : ` · ${duration(seconds * 1_000)}`}${tokens === null ? "" : ` · ${count(tokens)} tokens`}`;
        return [
          this.#about(
            time,
            isGood ? "✓" : "✗",
            `${child}: ${oneLine(ended)}${figures}`,
            isGood ? green : red,
          ),
        ];
      }
      case "ended": {
        if (item.outcome === "done") return [];
        const why = item.reason === null ? "" : `: ${oneLine(item.reason)}`;
        return [this.#about(time, "✗", `turn ended: ${item.outcome}${why}`, red)];
      }
      case "resumed":
        return [this.#about(time, "·", `turn gone on with (${item.why})`, dim)];
      case "note":
      case "setting":
        return [this.#about(time, "·", oneLine(item.text), dim)];
      case "began":
      case "nothing":
        return [];
    }
  }

  #result({ id, name, isError, text, atMs }: Extract<Item, { what: "result" }>, time: string): string {
    const calledAt = this.#called.get(id);
    this.#called.delete(id);
    const took = calledAt === undefined ? "" : ` · ${duration(Math.max(0, atMs - calledAt))}`;
    const head = oneLine(text.slice(0, RESULT_CHARS_MAX));
    const size = text.length > head.length ? ` (${count(text.length)} characters)` : "";
    return this.#about(time, isError ? "✗" : "✓", `${name}${took}${size}: ${head}`, isError ? red : green);
  }

  #said(time: string, who: string, text: string, painter: Painter): readonly string[] {
    const name = clean(who);
    const isLong = name.length > WHO_CELLS;
    const [first = "", ...rest] = clean(text).trimEnd().split("\n");
    const stamp = dim(this.#paper, time);
    const start = `${stamp}  ${painter(this.#paper, isLong ? name : column(name, WHO_CELLS))}  `;
    return [start + first, ...rest.map((line) => (line === "" ? "" : INDENT + line))];
  }

  /** One line; the mark has the colour. */
  #about(time: string, mark: string, text: string, painter: Painter): string {
    const room = Math.max(10, this.#paper.width - INDENT.length);
    const stamp = dim(this.#paper, column(time, "00:00:00".length));
    const shown = cut(clean(text), room);
    const signed = " ".repeat(WHO_CELLS - 1) + painter(this.#paper, mark);
    return `${stamp}  ${signed}  ${painter === dim || painter === red ? painter(this.#paper, shown) : shown}`;
  }
}

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
