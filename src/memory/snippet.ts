// What is shown of a note that was found: the first line that has most of the words, and what follows it. SQLite's own snippets
// are about whole texts of some hundred bytes: of a long note with a common word one takes half a second.
//
// A long note is looked at in one part. A text is folded once, whatever is asked: all agents wait for the thread that does this.

import { SNIPPET_CHARS_MAX, SNIPPET_WITHIN_CHARS } from "../limits.ts";

/** Characters before the first word that are shown of a line which is longer than a snippet. */
const BEFORE_CHARS = 40;

/** `line` is from 1. If none has a word, because they are in the note's name, it is the first that says anything. */
export function snippetOf(text: string, asked: string): { readonly line: number; readonly snippet: string } {
  const wanted = wordsOf(asked);
  const { part, from } = partOf(text, wanted);
  const lines = part.split("\n");
  let best = {
    line: Math.max(
      0,
      lines.findIndex((line) => line.trim() !== ""),
    ),
    count: 0,
  };
  const [distinct, last] = [new Set(wanted), wanted.at(-1) ?? ""];
  for (const [line, each] of folded(part).split("\n").entries()) {
    const count = countOf(each, distinct, last);
    if (count > best.count) best = { line, count };
    if (count === distinct.size) break;
  }
  const isMidLine = best.line === 0 && from > 0 && text[from - 1] !== "\n";
  // Not from the part: it may end in the middle of what is shown.
  const at = from + lines.slice(0, best.line).reduce((sum, line) => sum + line.length + 1, 0);
  const snippet = cutOut(text.slice(at, at + SNIPPET_WITHIN_CHARS).split("\n"), wanted);
  return {
    line: linesBefore(text, from) + best.line + 1,
    snippet: isMidLine && !snippet.startsWith("…") ? `…${snippet}` : snippet,
  };
}

/**
 * Of a long note, the part around the longest of the words, which is the one that says most: from a quarter of a part before it on. If
 * it stands there only with accents, or in the name, the beginning.
 */
function partOf(text: string, wanted: readonly string[]): { readonly part: string; readonly from: number } {
  if (text.length <= SNIPPET_WITHIN_CHARS) return { part: text, from: 0 };
  const longest = wanted.reduce((one, other) => (other.length > one.length ? other : one), "");
  const near = Math.max(0, text.toLowerCase().indexOf(longest) - SNIPPET_WITHIN_CHARS / 4);
  const lineEnd = near === 0 ? -1 : text.indexOf("\n", near);
  // Whole lines, if they are not longer than that.
  const from = lineEnd >= 0 && lineEnd - near < SNIPPET_WITHIN_CHARS / 8 ? lineEnd + 1 : near;
  return { part: text.slice(from, from + SNIPPET_WITHIN_CHARS).toWellFormed(), from };
}

function linesBefore(text: string, end: number): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0 && at < end; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

function cutOut([first = "", ...rest]: readonly string[], wanted: readonly string[]): string {
  const at = first.length <= SNIPPET_CHARS_MAX ? 0 : placeOf(first, wanted);
  const from = at <= BEFORE_CHARS ? 0 : at - BEFORE_CHARS;
  const begun = first.slice(from, from + SNIPPET_CHARS_MAX);
  let shown = begun;
  for (const line of rest) {
    if (from + begun.length < first.length || shown.length + 1 + line.length > SNIPPET_CHARS_MAX) break;
    shown += `\n${line}`;
  }
  const isCut = shown.trimEnd().length < [first.slice(from), ...rest].join("\n").trimEnd().length;
  return `${from > 0 ? "…" : ""}${shown.trimEnd().toWellFormed()}${isCut ? "…" : ""}`;
}

/** How many of the words a folded line has; the last may be the beginning of one. */
function countOf(line: string, wanted: ReadonlySet<string>, last: string): number {
  const has = new Set<string>();
  for (const word of split(line)) {
    if (wanted.has(word)) has.add(word);
    if (word.startsWith(last)) has.add(last);
  }
  return has.size;
}

/** About where the first of them is: accents that are left out move it a little. */
function placeOf(line: string, wanted: readonly string[]): number {
  const all = folded(line);
  const places = wanted.map((word) => all.indexOf(word)).filter((at) => at >= 0);
  return places.length === 0 ? 0 : Math.min(...places);
}

/** As the index reads a text: without accents and case. */
export function wordsOf(text: string): string[] {
  return split(folded(text));
}

function split(text: string): string[] {
  return text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
}

function folded(text: string): string {
  return text
    .normalize("NFD")
    .replaceAll(/\p{M}+/gu, "")
    .toLowerCase();
}
