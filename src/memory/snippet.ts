// What is shown of a note that was found: the first line that has most of the words, and what follows it. SQLite's own snippets
// are about whole texts of some hundred bytes: of a long note with a common word one takes half a second.

import { SNIPPET_CHARS_MAX } from "../limits.ts";

/** Characters before the first word that are shown of a line which is longer than a snippet. */
const BEFORE_CHARS = 40;

/** `line` is from 1. If none has a word, because they are in the note's name, it is the first that says anything. */
export function snippetOf(text: string, asked: string): { readonly line: number; readonly snippet: string } {
  const wanted = wordsOf(asked);
  const lines = text.split("\n");
  let best = {
    line: Math.max(
      0,
      lines.findIndex((line) => line.trim() !== ""),
    ),
    count: 0,
  };
  for (const [line, each] of lines.entries()) {
    const count = countOf(each, wanted);
    if (count > best.count) best = { line, count };
    if (count === wanted.length) break;
  }
  return { line: best.line + 1, snippet: cutOut(lines.slice(best.line), wanted) };
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

/** How many of the words a line has; the last may be the beginning of one. */
function countOf(line: string, wanted: readonly string[]): number {
  const words = new Set(wordsOf(line));
  return wanted.filter(
    (word, at) =>
      words.has(word) || (at === wanted.length - 1 && words.values().some((each) => each.startsWith(word))),
  ).length;
}

/** About where the first of them is: accents that are left out move it a little. */
function placeOf(line: string, wanted: readonly string[]): number {
  const places = wanted.map((word) => folded(line).indexOf(word)).filter((at) => at >= 0);
  return places.length === 0 ? 0 : Math.min(...places);
}

/** As the index reads a text: without accents and case. */
function wordsOf(text: string): string[] {
  return folded(text)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

function folded(text: string): string {
  return text
    .normalize("NFD")
    .replaceAll(/\p{M}+/gu, "")
    .toLowerCase();
}
