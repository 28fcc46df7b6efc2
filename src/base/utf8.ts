// Characters among bytes of which not all are text: a log that was cut, a file in an older encoding.

import { isUtf8 } from "node:buffer";

export const CHARACTER_BYTES_MAX = 4;

export interface Run {
  readonly from: number;
  readonly to: number;
}

/** Where there is text, as runs of whole characters, in their order. What is between them is none. */
export function* textRuns(bytes: Buffer, { from, to }: Run): Generator<Run> {
  if (isUtf8(bytes.subarray(from, to))) {
    if (from < to) yield { from, to };
    return;
  }
  let begin = from;
  for (let at = from; at < to;) {
    const length = characterBytes(bytes, at, to);
    if (length === 0 && begin < at) yield { from: begin, to: at };
    at += Math.max(1, length);
    if (length === 0) begin = at;
  }
  if (begin < to) yield { from: begin, to };
}

/** Bytes of the character that begins here; 0: none does. */
function characterBytes(bytes: Buffer, at: number, to: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  const length = first < 0xc2 || first > 0xf4 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return length > 0 && at + length <= to && isUtf8(bytes.subarray(at, at + length)) ? length : 0;
}

/** Bytes that a value takes in an answer: what is escaped is longer there. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
