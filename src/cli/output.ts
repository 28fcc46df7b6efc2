// What people are shown: harmless, aligned, in few words. Titles and texts are written by anybody: nothing of them may move
// a cursor, change a colour or turn a line around.

import { clean, cut, cutMiddle, jsonLine, widthOf } from "../base/harmless.ts";

export { age, ago, bytes, count, duration, many, money, percent, whole } from "../base/figures.ts";
export { clean, cut, cutMiddle, fenced, GRAPHEMES, jsonLine, oneLine, widthOf } from "../base/harmless.ts";

export interface Screen {
  readonly out: (text: string) => void; // standard output, as it is
  readonly err: (text: string) => void; // standard error: progress, and what went wrong
  readonly isTty: boolean; //               whether standard output is a terminal
  readonly columns: number;
  readonly colour: boolean;
  readonly json: boolean; //                machines read it: one document, or one a line
}

/** Exactly so wide: cut, or filled up. `at` says on which side the text stands. */
export function column(text: string, width: number, at: "left" | "right" = "left"): string {
  const shown = cut(text, width);
  const space = " ".repeat(Math.max(0, width - widthOf(shown)));
  return at === "left" ? shown + space : space + shown;
}

// ── Tables ──────────────────────────────────────────────────────────────────────────────────────────────────

export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => string;
  readonly align?: "left" | "right"; // left, if it is not said
  readonly max?: number; //             columns at most
  readonly least?: number; //           where there is no room, it is cut down to so many; without it, never
  readonly cut?: "end" | "middle"; //   where; the end, if it is not said
  readonly keep?: number; //            where cutting is not enough, the smallest goes first; without it, never
  /** Colours: put around what is shown when its width is known. */
  readonly style?: (text: string, row: Row) => string;
}

/**
 * Lines of a table, with its titles, each ended. What rows say is made one harmless line. `room` is what a line may take, as
 * roomOn says it: columns that say so are cut down to it, the widest first, or left out. What then is too wide still is whole.
 */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  room: number = Infinity,
): string {
  const lines = fitted(
    columns.map((each) => laidOut(each, rows)),
    room,
  ).map(({ column: { title, align = "left", cut: at = "end", style }, cells, width }) => {
    const shorten = at === "end" ? cut : cutMiddle;
    const shown = cells.map((text) => column(shorten(text, width), width, align));
    const styled = rows.map((row, of) => style?.(shown[of] ?? "", row) ?? shown[of] ?? "");
    return [column(title, width, align), ...styled];
  });
  return [-1, ...rows.keys()]
    .map(
      (of) =>
        `${lines
          .map((cells) => cells[of + 1] ?? "")
          .join(BETWEEN)
          .trimEnd()}\n`,
    )
    .join("");
}

const BETWEEN = "  ";

/** What a line of output may take: that of a terminal has its width, and others read lines as long as they are. */
export function roomOn({ isTty, columns }: Pick<Screen, "isTty" | "columns">): number {
  return isTty && columns > 0 ? columns : Infinity;
}

interface LaidOut<Row> {
  readonly column: Column<Row>;
  readonly cells: readonly string[];
  readonly width: number; // as wide as it would be
  readonly least: number; // and may become
}

function laidOut<Row>(each: Column<Row>, rows: readonly Row[]): LaidOut<Row> {
  const cells = rows.map((row) => harmless(each.of(row)));
  const widest = Math.max(0, ...cells.map(widthOf));
  const width = Math.max(widthOf(each.title), Math.min(widest, each.max ?? Infinity));
  return {
    column: each,
    cells,
    width,
    least: Math.min(width, Math.max(widthOf(each.title), each.least ?? width)),
  };
}

function fitted<Row>(laid: readonly LaidOut<Row>[], room: number): readonly LaidOut<Row>[] {
  const of = (all: typeof laid, size: "width" | "least"): number =>
    all.reduce((sum, each) => sum + each[size], BETWEEN.length * (all.length - 1));
  const keepOf = ({ column: each }: LaidOut<Row>): number => each.keep ?? Infinity;
  let fits = laid;
  while (of(fits, "least") > room && fits.some((each) => keepOf(each) < Infinity)) {
    const first = Math.min(...fits.map(keepOf));
    fits = fits.filter((each) => keepOf(each) > first);
  }
  while (of(fits, "width") > room) {
    const widest = Math.max(...fits.map(({ width, least }) => (width > least ? width : 0)));
    if (widest === 0) break;
    const at = fits.findLastIndex(({ width, least }) => width === widest && width > least);
    fits = fits.map((each, index) => (index === at ? { ...each, width: each.width - 1 } : each));
  }
  return fits;
}

/** One line, whose beginning may be indented: trees are drawn with it. */
function harmless(text: string): string {
  return clean(text).replaceAll(/[\n\t]+/g, " ");
}

/** Without the provider: it is the same for most. But "default" alone says nothing. */
export function modelName(id: string): string {
  const name = id.slice(id.indexOf("/") + 1);
  return name === "default" ? id : name;
}

// ── Colours ─────────────────────────────────────────────────────────────────────────────────────────────────
// They help, and are never the only carrier.

type Painter = (screen: Pick<Screen, "colour">, text: string) => string;

function painter(on: number, off: number): Painter {
  return ({ colour }, text) => (colour && text !== "" ? `\x1b[${on}m${text}\x1b[${off}m` : text);
}

export const bold = painter(1, 22);
export const dim = painter(2, 22);
export const red = painter(31, 39);
export const green = painter(32, 39);
export const yellow = painter(33, 39);
export const cyan = painter(36, 39);

/** A session's state in its colour. */
export function stateColour(state: string): Painter {
  switch (state) {
    case "running":
      return green;
    case "queued":
    case "waiting":
      return yellow;
    case "paused":
      return cyan;
    case "ended":
      return dim;
    default:
      return (_screen, text) => text;
  }
}

/** NO_COLOR, unless it is empty, and TERM=dumb switch colours off; FORCE_COLOR switches them on in a pipe. */
export function hasColour(env: Readonly<Record<string, string | undefined>>, isTty: boolean): boolean {
  if ((env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb") return false;
  const forced = env["FORCE_COLOR"] ?? "";
  return forced === "" ? isTty : forced !== "0";
}

export function json(screen: Screen, document: unknown): void {
  screen.out(jsonLine(document));
}
