// Finding a text in a file, and what comes near it when it is not there. The time is that of reading both, whatever they
// are, and others go first between two pieces of it.

import type { Pauses } from "./pauses.ts";

/** Characters and lines of a file that are compared for what is near: a hint need not be perfect. */
const COMPARED_CHARS = 200;
const COMPARED_LINES = 50_000;

/** Lines that a hint shows, and how alike one must be. */
const HINT_LINES_MAX = 8;
const ALIKE_MIN = 0.5;

/** How much longer it takes than reading: to leave out spaces, and to take a line apart into pairs of characters. */
const BARING = 4;
const PAIRING = 20;

/** Characters that are looked at before it is asked whether to rest. */
const STRIDE_CHARS = 64 * 1024;

export interface Places {
  readonly places: readonly number[];
  readonly isMore: boolean;
}

/**
 * Where it is. `most` null: all, none inside another; else so many, also those that overlap: an edit that could mean two
 * places is refused. The time is that of reading both once (Knuth, Morris, Pratt), whatever they are: V8's own search can
 * take the product.
 */
export async function placesOf(
  pauses: Pauses,
  text: string,
  sought: string,
  most: number | null,
): Promise<Places> {
  const borders = bordersOf(sought);
  const places: number[] = [];
  let same = 0;
  for (let from = 0; from < text.length; from += STRIDE_CHARS) {
    if (pauses.isDue(STRIDE_CHARS)) await pauses.rest();
    const to = Math.min(from + STRIDE_CHARS, text.length);
    for (let at = from; at < to; at += 1) {
      const char = text.charCodeAt(at);
      while (same > 0 && char !== sought.charCodeAt(same)) same = borders[same - 1] ?? 0;
      if (char === sought.charCodeAt(same)) same += 1;
      if (same < sought.length) continue;
      if (most !== null && places.length === most) return { places, isMore: true };
      places.push(at - sought.length + 1);
      same = most === null ? 0 : (borders[same - 1] ?? 0);
    }
  }
  return { places, isMore: false };
}

/** For every beginning, how long the longest shorter one is that it ends with. */
function bordersOf(sought: string): Uint32Array {
  const borders = new Uint32Array(sought.length);
  let same = 0;
  for (let at = 1; at < sought.length; at += 1) {
    const char = sought.charCodeAt(at);
    while (same > 0 && char !== sought.charCodeAt(same)) same = borders[same - 1] ?? 0;
    if (char === sought.charCodeAt(same)) same += 1;
    borders[at] = same;
  }
  return borders;
}

/** The line, from 1, that each place is in; they are given in their order. */
export function linesAt(text: string, places: readonly number[]): readonly number[] {
  let [line, at] = [1, 0];
  return places.map((place) => {
    for (; at < place; at += 1) if (text.charCodeAt(at) === 10) line += 1;
    return line;
  });
}

/** A sentence about what is there instead. Lines are shown as JSON, so that tabs and spaces can be told apart. */
export async function nearest(pauses: Pauses, text: string, sought: string): Promise<string> {
  const lines = text.split("\n", COMPARED_LINES);
  const wanted = withoutEmptyEnds(sought.split("\n", COMPARED_LINES));
  const spaced = await sameButSpaces(pauses, lines, wanted);
  if (spaced !== null) {
    const there = lines.slice(spaced, spaced + Math.min(wanted.length, HINT_LINES_MAX));
    return `From line ${spaced + 1} on only spaces, tabs or ends of lines differ; the file has: ${quoted(there)}`;
  }
  const alike = await mostAlike(pauses, lines, wanted.find((line) => line.trim() !== "") ?? "");
  if (alike === null) return "Nothing like it is there: read the file again.";
  return `The nearest is line ${alike + 1}: ${quoted([lines[alike] ?? ""])}`;
}

/** At least one line is left. */
function withoutEmptyEnds(lines: readonly string[]): readonly string[] {
  const isFull = (line: string): boolean => line.trim() !== "";
  const [first, last] = [lines.findIndex(isFull), lines.findLastIndex(isFull)];
  return first < 0 ? lines.slice(-1) : lines.slice(first, last + 1);
}

function quoted(lines: readonly string[]): string {
  return lines.map((line) => JSON.stringify(line.slice(0, COMPARED_CHARS))).join(", ");
}

/** Null: there are no such lines. Only the first and the last of `wanted` may be parts of their lines. */
async function sameButSpaces(
  pauses: Pauses,
  lines: readonly string[],
  wanted: readonly string[],
): Promise<number | null> {
  const bare = await withoutSpaces(pauses, lines);
  const [first = "", ...others] = await withoutSpaces(pauses, wanted);
  const last = others.pop();
  if (first === "" && others.length === 0) return null;
  if (last === undefined) {
    const whole = bare.join("\n");
    const { places } = await placesOf(pauses, whole, first, 1);
    const [line] = linesAt(whole, places);
    return line === undefined ? null : line - 1;
  }
  for (const index of await runsOf(pauses, bare, others))
    if (bare[index - 1]?.endsWith(first) === true && bare[index + others.length]?.startsWith(last) === true)
      return index - 1;
  return null;
}

async function withoutSpaces(pauses: Pauses, lines: readonly string[]): Promise<string[]> {
  const bare: string[] = [];
  for (const line of lines) {
    if (pauses.isDue((line.length + 1) * BARING)) await pauses.rest();
    bare.push(line.replaceAll(/\s+/g, ""));
  }
  return bare;
}

/** Where these lines stand, one after the other; of no lines: everywhere. */
async function runsOf(
  pauses: Pauses,
  lines: readonly string[],
  wanted: readonly string[],
): Promise<readonly number[]> {
  if (wanted.length === 0) return lines.map((_, index) => index);
  // Every line that is different is a letter of its own. There are fewer than letters.
  const letters = new Map<string, string>();
  for (const line of lines) if (!letters.has(line)) letters.set(line, String.fromCharCode(letters.size + 1));
  const spelled = (each: readonly string[]): string => each.map((line) => letters.get(line) ?? "\0").join("");
  return (await placesOf(pauses, spelled(lines), spelled(wanted), Number.POSITIVE_INFINITY)).places;
}

/** Null: none is alike enough. */
async function mostAlike(pauses: Pauses, lines: readonly string[], wanted: string): Promise<number | null> {
  const pairs = pairsOf(wanted);
  let best: { readonly at: number; readonly score: number } | null = null;
  for (const [at, line] of lines.entries()) {
    if (pauses.isDue((Math.min(line.length, COMPARED_CHARS) + 1) * PAIRING)) await pauses.rest();
    const others = pairsOf(line);
    if (pairs.size + others.size === 0) continue;
    const score = (2 * pairs.intersection(others).size) / (pairs.size + others.size);
    if (score >= ALIKE_MIN && score > (best?.score ?? 0)) best = { at, score };
  }
  return best?.at ?? null;
}

/** Which two characters stand side by side in it. */
function pairsOf(line: string): Set<string> {
  const bare = line.trim().slice(0, COMPARED_CHARS);
  return new Set(Array.from({ length: Math.max(0, bare.length - 1) }, (_, at) => bare.slice(at, at + 2)));
}
