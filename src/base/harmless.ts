// Text as people are shown it, on a terminal and in chats. Titles and texts are written by anybody: nothing of them may move a
// cursor, change a colour or turn a line around.

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

/** At most that many columns; of what is longer the beginning and the end stay: of keys and ids those tell one from the other. */
export function cutMiddle(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  const room = Math.max(0, columns - 1);
  const head = taken(graphemesOf(text), Math.ceil(room / 2));
  const tail = taken(graphemesOf(text).toReversed(), room - widthOf(head.join("")));
  return columns < 1 ? "" : `${head.join("")}…${tail.toReversed().join("")}`;
}

function graphemesOf(text: string): readonly string[] {
  return [...GRAPHEMES.segment(text)].map(({ segment }) => segment);
}

/** As many as there is room for. */
function taken(graphemes: readonly string[], columns: number): readonly string[] {
  let width = 0;
  const end = graphemes.findIndex((each) => (width += widthOfOne(each)) > columns);
  return end === -1 ? graphemes : graphemes.slice(0, end);
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

/** Between fences that are longer than any in it. */
export function fenced(text: string): string {
  const longest = Math.max(
    2,
    ...[...text.matchAll(/^ {0,3}(`{3,})/gm)].map(([, ticks = ""]) => ticks.length),
  );
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text.endsWith("\n") ? text : `${text}\n`}${fence}`;
}

/** Controls that JSON leaves as they are and a terminal obeys: C1, and marks that turn the direction of writing. */
const LEFT_BY_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** One document for machines, on one line, or on several for people too. It is the same JSON, and harmless to whoever looks at it. */
export function jsonLine(document: unknown, indent = 0): string {
  const escaped = (mark: string): string => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `${JSON.stringify(document, null, indent).replaceAll(LEFT_BY_JSON, escaped)}\n`;
}
