// Lines of a file, in both directions, without ever holding more of it than a chunk and a line.
//
// Reading is synchronous: it happens on a thread of its own (store/local/reader.ts) or in a command that
// does nothing else, never on the thread that serves people.

import { isUtf8 } from "node:buffer";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { LINE_BYTES_MAX } from "../limits.ts";

/** Bytes that can be read by position. */
export interface Source {
  readonly size: number;
  /** Fewer bytes than asked for only where the source ends. */
  read(at: number, length: number): Buffer;
}

export interface Line {
  readonly offset: number;
  /** With its newline; a last line without one ends with the source. */
  readonly bytes: number;
  /** Without its newline. Null: longer than any line of ours, so it is not held in memory; or not UTF-8. */
  readonly text: string | null;
  readonly ended: boolean;
}

const NEWLINE = 0x0a;
const CHUNK_BYTES = 64 * 1024;
const FIRST_BYTES = 4 * 1024;

/** `from` must be the start of a line. */
export function* linesForward(source: Source, from: number, chunkBytes = CHUNK_BYTES): Generator<Line> {
  let start = from;
  let held: Buffer[] = [];
  let heldBytes = 0;
  for (let at = from; at < source.size;) {
    const chunk = source.read(at, chunkBytes);
    if (chunk.length === 0) break;
    let used = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, used)) {
      const bytes = at + end + 1 - start;
      yield { offset: start, bytes, text: joined(held, heldBytes, chunk.subarray(used, end)), ended: true };
      start += bytes;
      used = end + 1;
      held = [];
      heldBytes = 0;
    }
    const rest = chunk.subarray(used);
    heldBytes += rest.length;
    if (heldBytes <= LINE_BYTES_MAX) held.push(rest);
    at += chunk.length;
  }
  if (heldBytes > 0)
    yield { offset: start, bytes: heldBytes, text: joined(held, heldBytes, Buffer.alloc(0)), ended: false };
}

/** From the last line before `to` down to the first. `to` must be the end of a line. */
export function* linesBackward(source: Source, to: number, chunkBytes = CHUNK_BYTES): Generator<Line> {
  let end = to; // where the line that we collect ends
  let held: Buffer[] = [];
  let heldBytes = 0;
  for (let at = to; at > 0;) {
    const from = Math.max(0, at - chunkBytes);
    const chunk = source.read(from, at - from);
    let unused = chunk.length;
    // The newline at `end - 1` closes the line; the one before it closes the line above.
    for (
      let before = lastNewline(chunk, unused, from, end);
      before >= 0;
      before = lastNewline(chunk, unused, from, end)
    ) {
      const start = from + before + 1;
      yield lineOf(start, end, chunk.subarray(before + 1, unused), held, heldBytes);
      end = start;
      unused = before + 1;
      held = [];
      heldBytes = 0;
    }
    const rest = chunk.subarray(0, unused);
    heldBytes += rest.length;
    if (heldBytes <= LINE_BYTES_MAX + 1) held.unshift(rest); // here the newline is held too
    at = from;
  }
  if (end > 0) yield lineOf(0, end, Buffer.alloc(0), held, heldBytes);
}

/** Where the first line starts that begins at or after `at`. */
export function lineStartAfter(source: Source, at: number): number {
  if (at <= 0) return 0;
  // Most lines are short, and a seek asks a dozen times.
  for (
    let from = at - 1, length = FIRST_BYTES;
    from < source.size;
    length = Math.min(2 * length, CHUNK_BYTES)
  ) {
    const chunk = source.read(from, length);
    if (chunk.length === 0) break;
    const found = chunk.indexOf(NEWLINE);
    if (found >= 0) return from + found + 1;
    from += chunk.length;
  }
  return source.size;
}

/** Reads a file up to a size that was decided beforehand; what stands beyond it is not looked at. */
export class FileSource implements Source {
  readonly size: number;
  readonly #file: number;

  /** `sizeMax` null: as large as it is now. */
  constructor(path: string, sizeMax: number | null = null) {
    this.#file = openSync(path, "r");
    const real = fstatSync(this.#file).size;
    this.size = sizeMax === null ? real : Math.min(real, sizeMax);
  }

  read(at: number, length: number): Buffer {
    const wanted = Math.min(length, this.size - at);
    if (wanted <= 0) return Buffer.alloc(0);
    const bytes = Buffer.allocUnsafe(wanted);
    let got = 0;
    while (got < wanted) {
      const now = readSync(this.#file, bytes, got, wanted - got, at + got);
      if (now === 0) break;
      got += now;
    }
    return bytes.subarray(0, got);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Index of the last newline in chunk[0, unused) that lies before the newline closing the line at `end`. */
function lastNewline(chunk: Buffer, unused: number, from: number, end: number): number {
  const last = Math.min(unused, end - 1 - from) - 1;
  return last < 0 ? -1 : chunk.lastIndexOf(NEWLINE, last);
}

function lineOf(start: number, end: number, first: Buffer, held: readonly Buffer[], heldBytes: number): Line {
  const ended = (held.at(-1) ?? first).at(-1) === NEWLINE;
  const length = heldBytes + first.length - (ended ? 1 : 0);
  const text = length > LINE_BYTES_MAX ? null : decoded(Buffer.concat([first, ...held]).subarray(0, length));
  return { offset: start, bytes: end - start, text, ended };
}

function joined(held: readonly Buffer[], heldBytes: number, last: Buffer): string | null {
  if (heldBytes + last.length > LINE_BYTES_MAX) return null;
  return decoded(heldBytes === 0 ? last : Buffer.concat([...held, last]));
}

/** Bytes that are no text would come out as U+FFFD: readable, and not what was written. */
function decoded(bytes: Buffer): string | null {
  return isUtf8(bytes) ? bytes.toString("utf8") : null;
}
