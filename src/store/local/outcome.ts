// Outcome
//
// What a group of commits comes to, beside what it puts into the tables: rows that are held, lines for files, files that go,
// blobs that are named, what the feed tells, and a receipt for each commit.
//
// Invariants
//   G2. It has what the accepted commits made, in their order, and nothing of the others.

import type { SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import { tell } from "../rules.ts";
import type { Posted, Receipt } from "../change.ts";
import type { Changed } from "../store.ts";
import type { Rows } from "./rows.ts";
import type { Twin } from "./tables.ts";

export interface FileWrite {
  readonly path: string;
  readonly offset: number;
  readonly bytes: Buffer;
}

export class Outcome {
  readonly twin: Twin; // the journal that takes its lines
  readonly writes: FileWrite[] = [];
  /** Transcript files whose sessions are gone. */
  readonly erased: string[] = [];
  /** Blobs that new entries name, once for each time. */
  readonly named: string[] = [];
  readonly #rows: Rows;
  readonly #changed = new Map<string, Changed>();
  readonly #undo: (() => void)[] = [];

  // Of the commits that are tried together.
  #touched: Changed[] = [];
  #before = { writes: 0, erased: 0, named: 0, undo: 0 };

  // Of the commit that is being applied.
  seqs: Record<string, number> = {};
  posts: Posted[] = [];
  forwarded = new Set<SessionKey>();

  constructor(rows: Rows, twin: Twin) {
    this.#rows = rows;
    this.twin = twin;
  }

  get changed(): Changed[] {
    return [...this.#changed.values()];
  }

  /** Some commits are tried, which are accepted or refused together. */
  begin(): void {
    const { writes, erased, named } = this;
    this.#before = {
      ...{ writes: writes.length, erased: erased.length, named: named.length, undo: this.#undo.length },
    };
    this.#touched = [];
    this.#rows.begin();
  }

  accept(): void {
    for (const changed of this.#touched) tell(this.#changed, changed);
  }

  refuse(): void {
    this.#rows.undo();
    this.#undoFrom(this.#before.undo);
    this.writes.length = this.#before.writes;
    this.erased.length = this.#before.erased;
    this.named.length = this.#before.named;
  }

  /** The transaction was rolled back. Rows are the caller's to forget. */
  revert(): void {
    this.#undoFrom(0);
  }

  beginCommit(): void {
    this.seqs = {};
    this.posts = [];
    this.forwarded = new Set();
  }

  receipt(): Omit<Receipt, "cursor"> {
    return { seqs: this.seqs, posts: this.posts, forwarded: [...this.forwarded] };
  }

  /** What is kept beside the database goes back like this, should it be refused. */
  undoBy(step: () => void): void {
    this.#undo.push(step);
  }

  keep(row: Session): void {
    this.#rows.put(row);
    this.touch(row);
  }

  /** The feed tells that it has changed. */
  touch(row: Session): void {
    this.#touched.push({ key: row.key, lastSeq: row.transcript.lastSeq, deleted: false });
  }

  /** The feed tells that it is gone. */
  gone(key: SessionKey): void {
    this.#touched.push({ key, lastSeq: 0, deleted: true });
  }

  #undoFrom(first: number): void {
    for (const step of this.#undo.splice(first).toReversed()) step();
  }
}
