// Lines of a conversation in their colours, harmless and as wide as the terminal at most.

import { bold, clean, cut, cyan, dim, green, red, yellow, type Screen } from "../output.ts";
import { rowsOf, wordRows } from "./cells.ts";
import { plainRow, type Drawn } from "./area.ts";
import type { Line, Tone } from "./talk.ts";

type Colours = Pick<Screen, "colour">;

const PAINTERS: Readonly<Record<Tone, (screen: Colours, text: string) => string>> = {
  you: bold,
  other: cyan,
  answer: (_screen, text) => text,
  good: marked(green),
  bad: red,
  fault: red,
  busy: marked(yellow),
  dim,
};

/** What was said is shown whole, and the terminal breaks it, so that it can be copied; what is done is one line. */
const WHOLE: ReadonlySet<Tone> = new Set(["you", "other", "answer", "fault", "dim"]);

/** What sessiond says, such as what came of a command, is broken between words. */
const BROKEN: ReadonlySet<Tone> = new Set(["fault", "dim"]);

export function painted(screen: Colours, { tone, text }: Line, width: number): string {
  const harmless = clean(text);
  const shown = WHOLE.has(tone) ? harmless : cut(inOne(harmless), width);
  const rows = BROKEN.has(tone) ? wordRows(shown, width) : shown.split("\n");
  return rows.map((line) => PAINTERS[tone](screen, line)).join("\r\n");
}

/** Rows of the changing end. Of a long one only the end is shown: the rest comes when it is written for good. */
export function liveRows(screen: Colours, { tone, text }: Line, width: number): Drawn["rows"] {
  const rows = rowsOf(clean(text), width);
  const shown = WHOLE.has(tone) ? rows.slice(-LIVE_ROWS_MAX) : [cut(inOne(clean(text)), width)];
  return shown.map((row) => ({ ...plainRow(row), text: PAINTERS[tone](screen, row) }));
}

/** Its beginning stays indented. */
function inOne(text: string): string {
  return text.replaceAll(/[\n\t]+/g, " ");
}

/** Rows of one line that is still being said. */
const LIVE_ROWS_MAX = 8;

/** Only the mark has the colour: words are read best in the usual one. */
function marked(painter: (screen: Colours, text: string) => string) {
  return (screen: Colours, text: string): string =>
    text.replace(/[✓✗\u2800-\u28ff]/u, (mark) => painter(screen, mark));
}

const TURNING = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** How long each picture of what turns stands. */
export const TURN_MS = 100;

export function spinnerAt(nowMs: number): string {
  return TURNING[Math.floor(nowMs / TURN_MS) % TURNING.length] ?? "⠋";
}
