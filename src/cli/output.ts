// What people are shown: harmless, aligned, in few words. Titles and texts are written by anybody: nothing of them may move
// a cursor, change a colour or turn a line around.

export interface Screen {
  readonly out: (text: string) => void; // standard output, as it is
  readonly err: (text: string) => void; // standard error: progress, and what went wrong
  readonly isTty: boolean; //               whether standard output is a terminal
  readonly columns: number;
  readonly colour: boolean;
  readonly json: boolean; //                machines read it: one document, or one a line
}

// ── Harmless text ───────────────────────────────────────────────────────────────────────────────────────────

/** Escape sequences: CSI, OSC and its kin up to their end or the line's, and the short ones. */
const SEQUENCES = new RegExp(
  [
    String.raw`(?:ESC\[|\x9b)[0-?]*[ -/]*[@-~]?`,
    String.raw`(?:ESC[\]PX^_]|[\x90\x98\x9d-\x9f])[^BELESC\x9c\n]*(?:BEL|ESC\\|\x9c)?`,
    String.raw`ESC[ -/]*[0-~]?`,
  ]
    .join("|")
    .replaceAll("ESC", "\u001b")
    .replaceAll("BEL", "\u0007"),
  "g",
);
/** What else a terminal obeys or does not show: controls, marks that turn the direction of writing, invisible ones. */
const CONTROLS = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Text that does nothing to a terminal but being shown. Lines and tabs stay. */
export function clean(text: string): string {
  return text.toWellFormed().replaceAll(/\r\n?/g, "\n").replaceAll(SEQUENCES, "").replaceAll(CONTROLS, "");
}

/** The same in one line. */
export function oneLine(text: string): string {
  return clean(text).replaceAll(/\s+/g, " ").trim();
}

// ── Widths ──────────────────────────────────────────────────────────────────────────────────────────────────

export const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" });
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
const NARROW = /^[\x20-\x7e]*$/;

/** Columns that a line takes in a terminal. */
export function widthOf(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(text)) width += widthOfOne(segment);
  return width;
}

function widthOfOne(grapheme: string): number {
  if (/^[\p{Mn}\p{Me}\p{Cf}]+$/u.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

/** At most that many columns; what is longer ends in …. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let [kept, width] = ["", 0];
  for (const { segment } of GRAPHEMES.segment(text)) {
    width += widthOfOne(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return columns < 1 ? "" : `${kept}…`;
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
  /** Colours: put around what is shown when its width is known. */
  readonly style?: (text: string, row: Row) => string;
}

/** Lines of a table, with its titles, each ended. What rows say is made one harmless line. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const cells = rows.map((row) => columns.map(({ of, max = Infinity }) => cut(harmless(of(row)), max)));
  const widths = columns.map(({ title }, at) =>
    Math.max(widthOf(title), ...cells.map((line) => widthOf(line[at] ?? ""))),
  );
  const head = columns.map(({ title, align = "left" }, at) => column(title, widths[at] ?? 0, align));
  const body = cells.map((line, of) =>
    columns.map(({ align = "left", style }, at) => {
      const text = column(line[at] ?? "", widths[at] ?? 0, align);
      const row = rows[of];
      return style === undefined || row === undefined ? text : style(text, row);
    }),
  );
  return [head, ...body].map((line) => `${line.join("  ").trimEnd()}\n`).join("");
}

/** One line, whose beginning may be indented: trees are drawn with it. */
function harmless(text: string): string {
  return clean(text).replaceAll(/[\n\t]+/g, " ");
}

/** Between fences that are longer than any in it. */
export function fenced(text: string): string {
  const longest = Math.max(
    2,
    ...[...text.matchAll(/^ {0,3}(`{3,})/gm)].map(([, ticks = ""]) => ticks.length),
  );
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text.endsWith("\n") ? text : `${text}\n`}${fence}`;
}

/** Without the provider: it is the same for most. But "default" alone says nothing. */
export function modelName(id: string): string {
  const name = id.slice(id.indexOf("/") + 1);
  return name === "default" ? id : name;
}

// ── Figures ─────────────────────────────────────────────────────────────────────────────────────────────────

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** One unit: 12s, 41m, 3h, 26d. */
export function age(ms: number): string {
  if (ms < SECOND) return "now";
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)}s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m`;
  return ms < DAY ? `${Math.floor(ms / HOUR)}h` : `${Math.floor(ms / DAY)}d`;
}

/** How long ago something was: "now", "12s ago". */
export function ago(ms: number): string {
  const text = age(ms);
  return text === "now" ? text : `${text} ago`;
}

/** How long something took, in two units at most: 340 ms, 2.1 s, 4 min 19 s, 3 h 12 min, 2 d 5 h. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < HOUR) return both(ms, [MINUTE, "min"], [SECOND, "s"]);
  return ms < DAY ? both(ms, [HOUR, "h"], [MINUTE, "min"]) : both(ms, [DAY, "d"], [HOUR, "h"]);
}

type Unit = readonly [ms: number, name: string];

function both(ms: number, [large, name]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${name}${rest === 0 ? "" : ` ${rest} ${smallName}`}`;
}

/** 980, 184.2k, 12.4M, 3.1G. */
export function count(n: number): string {
  if (n < 1_000) return String(Math.round(n));
  const [unit, size] = n < 999_950 ? ["k", 1e3] : n < 999_950_000 ? ["M", 1e6] : ["G", 1e9];
  return `${(n / Number(size)).toFixed(1)}${unit}`;
}

/** With separators: 1,204. */
export function whole(n: number): string {
  return n.toLocaleString("en-US");
}

/** In US dollars: three places, and more than ten dollars two. */
export function money(n: number): string {
  return `$${n.toFixed(n >= 10 ? 2 : 3)}`;
}

/** Of a part; "–" where the whole is not known. */
export function percent(part: number, of: number): string {
  return of > 0 ? `${Math.round((part / of) * 100)}%` : "–";
}

export function bytes(n: number): string {
  if (n < 1_000) return `${n} B`;
  const [unit, size] = n < 1e6 ? ["kB", 1e3] : n < 1e9 ? ["MB", 1e6] : ["GB", 1e9];
  return `${(n / Number(size)).toFixed(1)} ${unit}`;
}

export function many(n: number, what: string, more = `${what}s`): string {
  return `${whole(n)} ${n === 1 ? what : more}`;
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

/** Controls that JSON leaves as they are and a terminal obeys: C1, and marks that turn the direction of writing. */
const LEFT_BY_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** One document for machines, on one line. It is the same JSON, and harmless to whoever looks at it. */
export function jsonLine(document: unknown): string {
  const escaped = (mark: string): string => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `${JSON.stringify(document).replaceAll(LEFT_BY_JSON, escaped)}\n`;
}

export function json(screen: Screen, document: unknown): void {
  screen.out(jsonLine(document));
}
