// What a process prints, within bounds: the beginning and the end are kept, and what is between is counted.

import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

export interface Kept {
  readonly headChars: number;
  readonly tailChars: number;
}

/** Pieces shorter than this are joined to the one before, so that there are never many. */
const PIECE_CHARS_MIN = 4_096;

/** A part of what was printed. Positions are counted in characters, from the very first one on. */
export interface Part {
  readonly text: string;
  readonly from: number; // later than asked for: what was before is not kept any more
  readonly to: number; //   where to go on
}

export class Output {
  readonly #kept: Kept;
  readonly #tail: string[] = [];
  #tailChars = 0;
  #head = "";
  #chars = 0;
  #reading: Promise<unknown>[] = [];

  constructor(kept: Kept) {
    this.#kept = kept;
  }

  /** Takes all that comes, in the order in which it comes. A character that arrives in two pieces stays whole. */
  read(from: Readable): void {
    const decoder = new StringDecoder("utf8"); // one for each stream: theirs must not mix
    const { promise, resolve } = Promise.withResolvers<void>();
    from.on("data", (chunk: Buffer) => this.add(decoder.write(chunk)));
    from.on("error", () => resolve()); // The other end broke off: what came is what there is.
    from.on("close", () => {
      this.add(decoder.end());
      resolve();
    });
    this.#reading.push(promise);
  }

  /** Resolves when nothing more can come. */
  get isRead(): Promise<unknown> {
    return Promise.all(this.#reading);
  }

  /** Characters printed so far. */
  get chars(): number {
    return this.#chars;
  }

  /** Characters that are in memory for it. */
  get keptChars(): number {
    return this.#head.length + this.#tailChars;
  }

  add(text: string): void {
    this.#chars += text.length;
    const room = this.#kept.headChars - this.#head.length;
    if (room > 0) this.#head += text.slice(0, room);
    this.#addToTail(room > 0 ? text.slice(room) : text);
  }

  #addToTail(text: string): void {
    if (text === "") return;
    const last = this.#tail.at(-1);
    if (last !== undefined && last.length < PIECE_CHARS_MIN) this.#tail[this.#tail.length - 1] = last + text;
    else this.#tail.push(text);
    this.#tailChars += text.length;
    for (let first = this.#tail[0]; first !== undefined; first = this.#tail[0]) {
      if (this.#tailChars - first.length < this.#kept.tailChars) return;
      this.#tail.shift();
      this.#tailChars -= first.length;
    }
  }

  #keptTail(): string {
    return this.#tail.join("").slice(-this.#kept.tailChars);
  }

  /** All of it, or its head and tail with a line between them that says how much is missing. */
  text(): string {
    const tail = this.#keptTail();
    const leftOut = this.#chars - this.#head.length - tail.length;
    if (leftOut === 0) return (this.#head + tail).toWellFormed();
    const missing = `[${leftOut} characters were left out here]`;
    return [this.#head, missing, tail]
      .filter((part) => part !== "")
      .join("\n")
      .toWellFormed(); // a cut may split a pair
  }

  /** Of the tail, from a position on, at most so many characters. */
  since(from: number, charsMax: number): Part {
    const tail = this.#keptTail();
    const start = this.#chars - tail.length;
    const begin = Math.min(Math.max(from, start), this.#chars);
    const text = tail.slice(begin - start, begin - start + charsMax);
    return { text: text.toWellFormed(), from: begin, to: begin + text.length };
  }
}
