// A piece of a long text with what stands around it, so that no character is cut in two and no secret is told in halves.

import { secretsIn, type Hidden } from "../base/redact.ts";
import { textRuns, type Run } from "../base/utf8.ts";

/** Bytes that are no text, of so many, that make a piece no text. A text in an old encoding has fewer, a picture far more. */
const BAD_OF = 8;

export class Window {
  readonly bytes: Buffer;
  readonly #isRedacted: boolean;
  #hidden: readonly Hidden[] | null = null; // in bytes

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

  /** Bytes of a piece that belong to no character. */
  bad(from: number, to: number): number {
    let good = 0;
    for (const run of textRuns(this.bytes, { from, to })) good += run.to - run.from;
    return to - from - good;
  }

  isText(from: number, to: number): boolean {
    return this.bad(from, to) * BAD_OF <= to - from;
  }

  /** Both are where characters begin. */
  shown(from: number, to: number): string {
    if (!this.isText(from, to)) return `[${to - from} bytes that are not text]`;
    let out = "";
    let at = from;
    for (const hidden of this.#secrets()) {
      if (hidden.to <= from || hidden.from >= to) continue;
      out += this.bytes.toString("utf8", at, Math.max(at, hidden.from)) + hidden.shown;
      at = Math.min(to, hidden.to);
    }
    return out + this.bytes.toString("utf8", at, to);
  }

  /** Whether something in a piece, or reaching into it, is not shown. */
  hides(from: number, to: number): boolean {
    return this.#secrets().some((hidden) => hidden.from < to && hidden.to > from);
  }

  /** What is not hidden of a piece. Only this may be looked through: what is in a secret, not even time may tell. */
  *open({ from, to }: Run): Generator<Run> {
    let at = from;
    for (const hidden of this.#secrets()) {
      if (hidden.to <= at) continue;
      if (hidden.from >= to) break;
      if (hidden.from > at) yield { from: at, to: hidden.from };
      at = hidden.to;
    }
    if (at < to) yield { from: at, to };
  }

  #secrets(): readonly Hidden[] {
    this.#hidden ??= this.#isRedacted ? hiddenIn(this.bytes) : [];
    return this.#hidden;
  }
}

/** Where secrets are, in bytes. A byte that is no text is taken for a character, which no space and no letter is. */
function hiddenIn(bytes: Buffer): readonly Hidden[] {
  const text = plain(bytes).toString("utf8");
  let [chars, at] = [0, 0];
  const bytesTo = (to: number): number => {
    at += Buffer.byteLength(text.slice(chars, to));
    chars = to;
    return at;
  };
  return secretsIn(text).map(({ from, to, shown }) => {
    const isCut = !text.slice(from, to).isWellFormed(); // in the middle of a character
    return { from: bytesTo(from), to: bytesTo(isCut ? to + 1 : to), shown };
  });
}

/** As many bytes, and all are text. */
function plain(bytes: Buffer): Buffer {
  const out = Buffer.alloc(bytes.length);
  for (const { from, to } of textRuns(bytes, { from: 0, to: bytes.length })) bytes.copy(out, from, from, to);
  return out;
}

/** Whether a byte of UTF-8 goes on with a character. */
function isWithin(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
