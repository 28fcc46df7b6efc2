// Which words of a text are those that were searched for, as the index reads them: whole words without case and accents, and of
// the last one the beginning is enough.

import { wordsOf } from "../../src/memory/snippet.ts";

export interface Piece {
  readonly text: string;
  readonly isMarked: boolean;
}

const WORD = /[\p{L}\p{N}\p{M}]+/gu;

/** Joined, the pieces are the text. */
export function piecesOf(text: string, asked: string): readonly Piece[] {
  const wanted = wordsOf(asked);
  const [whole, last] = [new Set(wanted), wanted.at(-1)];
  if (last === undefined) return text === "" ? [] : [{ text, isMarked: false }];
  const pieces: Piece[] = [];
  let end = 0;
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const read = wordsOf(word).join("");
    if (!whole.has(read) && !read.startsWith(last)) continue;
    if (index > end) pieces.push({ text: text.slice(end, index), isMarked: false });
    pieces.push({ text: word, isMarked: true });
    end = index + word.length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), isMarked: false });
  return pieces;
}
