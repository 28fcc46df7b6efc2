// Markdown, taken apart. Anybody may have written it, to no end but that the page stands still: so what would take too long is not
// taken apart at all, and is shown as it was written.
//
//   Owns:      how much of what may be looked at.
//   Does not:  make elements (markdown.tsx).

import { Lexer, type Token } from "marked";
import { clean } from "../../src/base/harmless.ts";

/** Characters of a text; beyond them nobody reads it for its headings. */
export const MARKDOWN_CHARS_MAX = 100_000;

/** Characters of a paragraph, or of whatever else is one run of words. A few of the rules take the square of it. */
const RUN_CHARS_MAX = 8_000;

/** How long all runs of a text may take; those that are left then are words and nothing more. */
const RUNS_MS_MAX = 200;

/** Quotes and lists inside of each other, and how far a line may be moved in by them. */
const NESTED_MAX = 20;
const INDENT_MAX = 60;

/** Of all tables of a text: each line may have as many as the widest has columns. */
const CELLS_MAX = 20_000;

/** Null: it is to be shown as it is. */
export function tokensOf(text: string): readonly Token[] | null {
  const shown = clean(text);
  if (shown.length > MARKDOWN_CHARS_MAX || isWild(shown)) return null;
  try {
    const lexer = new Lexer({ gfm: true });
    lexer.blockTokens(shown, lexer.tokens);
    runsOf(lexer);
    return lexer.tokens;
  } catch {
    return null; // It went too deep for the machine: what nobody foresaw is shown as it is, too.
  }
}

/** Runs are put into a queue while blocks are found. What is too long, or comes too late, is plain words. */
function runsOf(lexer: Lexer): void {
  const until = performance.now() + RUNS_MS_MAX;
  for (const { src, tokens } of lexer.inlineQueue) {
    if (src.length <= RUN_CHARS_MAX && performance.now() < until) lexer.inlineTokens(src, tokens);
    else tokens.push({ type: "text", raw: src, text: src });
  }
}

/** Whether its lines would make more of it than it is: looked at once, without going back. */
function isWild(text: string): boolean {
  let columns = 1;
  let lines = 0;
  for (const line of text.split("\n")) {
    lines += 1;
    if (nestedIn(line) > NESTED_MAX) return true;
    if (/^[ \t|:-]*$/.test(line)) columns = Math.max(columns, line.split("|").length);
  }
  return columns > 1 && columns * lines > CELLS_MAX;
}

const MARKER = /[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))/y;

/** How many quotes and items a line begins, one inside the other. A line that is moved in far, and begins one, is beyond all. */
function nestedIn(line: string): number {
  let found = 0;
  MARKER.lastIndex = 0;
  while (found <= NESTED_MAX && MARKER.test(line)) {
    found += 1;
    if (found === 1 && line.length - line.trimStart().length > INDENT_MAX) return NESTED_MAX + 1;
  }
  return found;
}

/** Where a link may lead; null: it is no address that a person would want to be led to by what a model wrote. */
export function addressOf(href: string): string | null {
  const trimmed = clean(href).trim();
  if (!/^(?:https?:\/\/[^/\s]|mailto:[^\s])/i.test(trimmed)) return null;
  return URL.canParse(trimmed) ? trimmed : null;
}

const NAMED: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&nbsp;": "\u00a0",
};

/** What is written with the names that HTML has for a few characters. It is only ever text. */
export function wordsIn(text: string): string {
  return clean(text.replaceAll(/&(?:amp|lt|gt|quot|nbsp|#39);/g, (name) => NAMED[name] ?? name));
}
