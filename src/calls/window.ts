// A piece of a long text with what stands around it, so that no character is cut in two and no secret is told in halves.

import { isUtf8 } from "node:buffer";
import { secretsIn, type Hidden } from "../base/redact.ts";

export class Window {
  readonly bytes: Buffer;
  readonly #isRedacted: boolean;
  #hidden: readonly Hidden[] | null = null;

  /** `isRedacted`: what looks like a secret is not shown. */
  constructor(bytes: Buffer, isRedacted: boolean) {
    this.bytes = bytes;
    this.#isRedacted = isRedacted;
  }

  /** Where the character begins that this byte belongs to. What is not UTF-8 has none: then a byte is one. */
  characterAt(at: number): number {
    let start = at;
    while (start > 0 && at - start < 3 && isWithin(this.bytes[start])) start -= 1;
    return isWithin(this.bytes[start]) ? at : start;
  }

  /** Where the character after it begins. */
  characterAfter(at: number): number {
    let next = at + 1;
    while (next - at < 4 && isWithin(this.bytes[next])) next += 1;
    return Math.min(next, this.bytes.length);
  }

  isText(from: number, to: number): boolean {
    return isUtf8(this.bytes.subarray(from, to));
  }

  /** Both are where characters begin. */
  shown(from: number, to: number): string {
    if (!this.isText(from, to)) return `[${to - from} bytes that are not text]`;
    const text = this.bytes.toString("utf8", from, to);
    if (!this.#isRedacted) return text;
    const [begin, end] = this.#characters(from, to);
    let out = "";
    let at = begin;
    for (const hidden of this.#secrets()) {
      if (hidden.to <= begin || hidden.from >= end) continue;
      out += text.slice(at - begin, Math.max(at, hidden.from) - begin) + hidden.shown;
      at = Math.min(end, hidden.to);
    }
    return out + text.slice(at - begin);
  }

  /** Whether something of it is not shown: then not even that it is there may be told. */
  hides(from: number, to: number): boolean {
    if (!this.#isRedacted) return false;
    const [begin, end] = this.#characters(from, to);
    return this.#secrets().some((hidden) => hidden.from < end && hidden.to > begin);
  }

  #characters(from: number, to: number): readonly [begin: number, end: number] {
    const begin = this.bytes.toString("utf8", 0, from).length;
    return [begin, begin + this.bytes.toString("utf8", from, to).length];
  }

  #secrets(): readonly Hidden[] {
    this.#hidden ??= secretsIn(this.bytes.toString("utf8"));
    return this.#hidden;
  }
}

/** Whether a byte of UTF-8 goes on with a character. */
function isWithin(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
