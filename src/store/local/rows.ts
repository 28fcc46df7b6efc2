// Rows the writer holds in memory. Only the writer changes rows, so what it holds is what they are: a hot
// session's row is looked up once and written once per group of commits, however many of them change it.
//
// Invariants
//   B1. After flush() the table and the held rows agree; after forget() nothing is held.
//   B2. A commit that is refused leaves the held rows as it found them (begin / undo).

import { assert } from "../../base/assert.ts";
import { Fault } from "../../base/fault.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import { isColumnTouched } from "./row.ts";
import type { Numbered, Tables } from "./tables.ts";

/** Rows of about 1 KiB each. */
const HELD_MAX = 8_192;

interface Held extends Numbered {
  /** As it stands in the table. */
  readonly stored: Session;
}

export class Rows {
  readonly #tables: Tables;
  readonly #held = new Map<SessionKey, Held>();
  readonly #dirty = new Set<SessionKey>();
  #undo: (readonly [SessionKey, Held | null])[] = [];

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  find(key: SessionKey): Numbered | null {
    const held = this.#held.get(key);
    if (held) return held;
    const found = this.#tables.find(key);
    if (found) this.#held.set(key, { ...found, stored: found.row });
    return found;
  }

  get(key: SessionKey): Numbered {
    const found = this.find(key);
    if (!found) throw new Fault("not_found", `there is no session ${key}`);
    return found;
  }

  /** `had` is the number that it had before; null: it gets one. */
  insert(row: Session, had: number | null = null): number {
    const n = this.#tables.insert(row, had);
    this.#remember(row.key);
    this.#held.set(row.key, { n, row, stored: row });
    return n;
  }

  put(row: Session): void {
    const held = this.#held.get(row.key);
    assert(held !== undefined, `${row.key} was looked up before it was changed`);
    this.#remember(row.key);
    this.#held.set(row.key, { ...held, row });
    this.#dirty.add(row.key);
  }

  /** The table has lost it already. */
  drop(key: SessionKey): void {
    this.#remember(key);
    this.#held.delete(key);
    this.#dirty.delete(key);
  }

  begin(): void {
    this.#undo = [];
  }

  undo(): void {
    for (const [key, held] of this.#undo.toReversed()) {
      if (held === null) this.#held.delete(key);
      else this.#held.set(key, held);
      if (held === null || held.row === held.stored) this.#dirty.delete(key);
      else this.#dirty.add(key);
    }
    this.#undo = [];
  }

  flush(): void {
    for (const key of this.#dirty) {
      const held = this.#held.get(key);
      assert(held !== undefined, `${key} is dirty and held`);
      this.#tables.update(held.n, held.row, isColumnTouched(held.stored, held.row));
      this.#held.set(key, { ...held, stored: held.row });
    }
    this.#dirty.clear();
    // A Map keeps the order of arrival: the first ones have been here longest.
    for (const key of this.#held.keys()) {
      if (this.#held.size <= HELD_MAX) break;
      this.#held.delete(key);
    }
  }

  forget(): void {
    this.#held.clear();
    this.#dirty.clear();
    this.#undo = [];
  }

  #remember(key: SessionKey): void {
    this.#undo.push([key, this.#held.get(key) ?? null]);
  }
}
