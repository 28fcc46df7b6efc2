// What stands above a byte, for whoever climbs a damaged path. Made when the first parent is found nowhere, by one
// reading to the start of the file, and used for all that follow: without it every bad line would cost such a reading.
//
// It knows only entries that some other one does not continue directly: rewinds and damage. Where lines continue each
// other nobody asks.

import { decodeLine } from "./codec.ts";
import { linesBackward, type Source } from "./lines.ts";

export class Above {
  /** By the parent's id: where the first line begins that continues it and does not stand directly below it. */
  readonly #children = new Map<string, number>();
  /** By the id of such a parent: where the lines end that have it, lowest in the file first. */
  readonly #ends = new Map<string, number[]>();

  constructor(source: Source, to: number) {
    let below: { readonly parentId: string | null; readonly offset: number } | null = null; // null: none, or a bad line
    for (const line of linesBackward(source, to)) {
      const entry = line.text === null ? "not_json" : decodeLine(line.text);
      const id = typeof entry === "string" ? null : entry.id;
      this.#meet(below, id, line.offset + line.bytes);
      below = typeof entry === "string" ? null : { parentId: entry.parentId, offset: line.offset };
    }
    this.#meet(below, null, 0);
  }

  #meet(below: { parentId: string | null; offset: number } | null, id: string | null, end: number): void {
    if (below !== null && below.parentId !== null && below.parentId !== id)
      this.#children.set(below.parentId, below.offset); // going up, so the last one that is set stands first
    if (id === null || !this.#children.has(id)) return;
    const ends = this.#ends.get(id);
    if (ends) ends.push(end);
    else this.#ends.set(id, [end]);
  }

  /** Where the nearest line above `to` ends that has this id; null: there is none. */
  endOf(id: string, to: number): number | null {
    return this.#ends.get(id)?.find((end) => end <= to) ?? null;
  }

  /** Where the first line begins that continues this id; `to` itself when there is none above it. */
  childOf(id: string, to: number): number {
    return Math.min(to, this.#children.get(id) ?? to);
  }
}
