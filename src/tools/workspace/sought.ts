// Finding a text in a file, and what comes near it when it is not there.

/** Characters and lines of a file that are compared for what is near: a hint need not be perfect. */
const COMPARED_CHARS = 200;
const COMPARED_LINES = 50_000;

/** Lines that a hint shows, and how alike one must be. */
const HINT_LINES_MAX = 8;
const ALIKE_MIN = 0.5;

export interface Places {
  readonly places: readonly number[];
  readonly isMore: boolean;
}

/**
 * Where it is. `most` null: all, none inside another; else so many, also those that overlap: an edit that could mean two
 * places is refused. The time is that of reading both once (Knuth, Morris, Pratt), whatever they are: V8's own search can
 * take the product.
 */
export function placesOf(text: string, sought: string, most: number | null): Places {
  const borders = bordersOf(sought);
  const places: number[] = [];
  let same = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    while (same > 0 && char !== sought.charCodeAt(same)) same = borders[same - 1] ?? 0;
    if (char === sought.charCodeAt(same)) same += 1;
    if (same < sought.length) continue;
    if (most !== null && places.length === most) return { places, isMore: true };
    places.push(at - sought.length + 1);
    same = most === null ? 0 : (borders[same - 1] ?? 0);
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

/** A sentence about what is there instead. Lines are shown as JSON, so that tabs and spaces can be told apart. */
export function nearest(text: string, sought: string): string {
  const lines = text.split("\n", COMPARED_LINES);
  const wanted = sought.split("\n");
  while (wanted.length > 1 && wanted.at(-1)?.trim() === "") wanted.pop();
  while (wanted.length > 1 && wanted[0]?.trim() === "") wanted.shift();
  const spaced = sameButSpaces(lines, wanted);
  if (spaced !== null) {
    const there = lines.slice(spaced, spaced + Math.min(wanted.length, HINT_LINES_MAX));
    return `From line ${spaced + 1} on only spaces, tabs or ends of lines differ; the file has: ${quoted(there)}`;
  }
  const alike = mostAlike(lines, wanted.find((line) => line.trim() !== "") ?? "");
  if (alike === null) return "Nothing like it is there: read the file again.";
  return `The nearest is line ${alike + 1}: ${quoted([lines[alike] ?? ""])}`;
}

function quoted(lines: readonly string[]): string {
  return lines.map((line) => JSON.stringify(line.slice(0, COMPARED_CHARS))).join(", ");
}

/** Null: there are no such lines. Only the first and the last of `wanted` may be parts of their lines. */
function sameButSpaces(lines: readonly string[], wanted: readonly string[]): number | null {
  const bare = lines.map((line) => line.replaceAll(/\s+/g, ""));
  const [first = "", ...others] = wanted.map((line) => line.replaceAll(/\s+/g, ""));
  const last = others.pop();
  if (first === "" && others.length === 0) return null;
  const at = bare.findIndex(
    (line, index) =>
      (last === undefined ? line.includes(first) : line.endsWith(first)) &&
      others.every((other, more) => bare[index + 1 + more] === other) &&
      (last === undefined || (bare[index + wanted.length - 1]?.startsWith(last) ?? false)),
  );
  return at < 0 ? null : at;
}

/** Null: none is alike enough. */
function mostAlike(lines: readonly string[], wanted: string): number | null {
  const pairs = pairsOf(wanted);
  let best: { readonly at: number; readonly score: number } | null = null;
  for (const [at, line] of lines.entries()) {
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
