// Lines of a file, however long either is: what is kept of a line is bounded, and the file is never in memory whole.

import type { FileHandle } from "node:fs/promises";
import { RESULT_BYTES_MAX } from "../../limits.ts";

/** Bytes of text that one call shows. What is longer than a result may be would be shown as head and tail only. */
export const SHOWN_BYTES_MAX = Math.min(256 * 1024, RESULT_BYTES_MAX - 1024);

/** Bytes read at once. */
const CHUNK_BYTES = 64 * 1024;

/** Bytes from the start in which a NUL tells that a file is no text: what other tools look at. */
const BINARY_BYTES = 8 * 1024;

/** Folders that are not searched: what is in them is not the work itself. */
export const SKIPPED: readonly string[] = [".git", "node_modules"];

/** A line of a file. Its bytes are only valid until the next one. */
export interface Line {
  readonly number: number; // from 1
  readonly kept: Buffer; //   its beginning, without the end of line
  readonly bytes: number; //  of all of it
}

export interface Scanning {
  /** Bytes of a line that are kept. */
  readonly keptBytes: number;
  /** Asked before every chunk. */
  readonly signal: Pick<AbortSignal, "throwIfAborted">;
}

/** Calls `each` for every line, until it returns false. Null: it did; else how many lines there are. */
export async function scanLines(
  file: FileHandle,
  { keptBytes, signal }: Scanning,
  each: (line: Line) => boolean,
): Promise<number | null> {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  const kept = Buffer.allocUnsafe(keptBytes);
  let number = 1;
  let bytes = 0;
  const add = (part: Buffer): void => {
    if (bytes < keptBytes) part.copy(kept, bytes, 0, keptBytes - bytes);
    bytes += part.length;
  };
  const line = (): Line => ({ number, kept: kept.subarray(0, Math.min(bytes, keptBytes)), bytes });
  for (let position = 0; ;) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const read = chunk.subarray(0, bytesRead);
    let from = 0;
    for (let end = read.indexOf(10); end >= 0; end = read.indexOf(10, from)) {
      add(read.subarray(from, end));
      if (!each(line())) return null;
      from = end + 1;
      number += 1;
      bytes = 0;
    }
    add(read.subarray(from));
  }
  if (bytes === 0) return number - 1;
  return each(line()) ? number : null;
}

/** A little of its text. Bytes that are no UTF-8 become the sign for that; half a character at the cut is left out. */
export function textOf({ kept, bytes }: Line, charsMax: number): string {
  const whole = new TextDecoder("utf-8", { ignoreBOM: true }).decode(kept, { stream: kept.length < bytes });
  const text = whole.endsWith("\r") && kept.length === bytes ? whole.slice(0, -1) : whole;
  if (text.length <= charsMax && kept.length === bytes) return text;
  return `${text.slice(0, charsMax).toWellFormed()} … [cut: this line has ${bytes} bytes]`;
}

export async function beginningOf(file: FileHandle): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(BINARY_BYTES), 0, BINARY_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}

export function isBinary(beginning: Buffer): boolean {
  return beginning.includes(0);
}
