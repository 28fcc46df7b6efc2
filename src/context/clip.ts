// Texts made shorter, and harmless. No character is cut in two.

import { defused } from "../routing/envelope.ts";

/** The first characters, one fewer where the last would be half of a pair. */
function head(text: string, chars: number): string {
  return isSplit(text, chars) ? text.slice(0, Math.max(0, chars - 1)) : text.slice(0, Math.max(0, chars));
}

function tail(text: string, chars: number): string {
  const from = text.length - Math.max(0, chars);
  return text.slice(isSplit(text, from) ? from + 1 : Math.max(0, from));
}

function isSplit(text: string, at: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));
}

/** At most so many characters, of which a sentence in the middle says what is left out. */
export function headAndTail(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const left = `\n[… ${text.length - charsMax} or more characters are left out here …]\n`;
  const room = Math.max(0, charsMax - left.length - 12); // The number may grow by what the sentence takes.
  if (room === 0) return head(text, charsMax);
  return `${head(text, Math.ceil(room * 0.6))}${left}${tail(text, Math.floor(room * 0.4))}`;
}

/** At most so many bytes of UTF-8; "…" says that there was more. */
export function inBytes(text: string, bytesMax: number): string {
  if (text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax) return text;
  const room = bytesMax - 3;
  if (room < 0) return "";
  let [low, high] = [0, Math.min(text.length, room)]; // a character is at least one byte
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (Buffer.byteLength(head(text, middle)) <= room) low = middle;
    else high = middle - 1;
  }
  return `${head(text, low)}…`;
}

/** One line, whatever is in it. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
}

/** One line of at most so many characters. */
export function short(text: string, charsMax: number): string {
  const line = oneLine(text.length > charsMax * 4 ? head(text, charsMax * 4) : text);
  return line.length > charsMax ? `${head(line, charsMax - 1)}…` : line;
}

/** Everything that somebody may take for the end of a line. */
export const LINE_END = /\r\n|[\n\r\u2028\u2029\v\f\u0085]/;

/** Characters of the name of somebody, or of a tool. */
const NAME_CHARS = 80;

/** People choose names, and files hold anything: it stays inside of our line. */
export function plainName(text: unknown): string {
  return short(String(text).replaceAll(/[[\]{}<>|#\p{C}]/gu, " "), NAME_CHARS);
}

/**
 * What others wrote, so that no line of it can be taken for one of ours: each begins with a bar. A model that reads it knows that
 * it is quoted, and no reader of headings or lists finds any in it.
 */
export function quoted(text: string): string {
  return defused(text)
    .split(LINE_END)
    .map((line) => `| ${line}`)
    .join("\n");
}
