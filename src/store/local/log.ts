import type { DatabaseSync, StatementSync } from "node:sqlite";
import { WAL_BYTES_MAX } from "../../limits.ts";
import { isFull } from "./trouble.ts";

/** Groups between two looks at the length of the log. */
const LOOK_EVERY_GROUPS = 16;

const PAGE_BYTES = 4_096;

/** Keeps SQLite's write-ahead log short. It is overwritten from its beginning, which is cheaper than letting it grow. */
export class WriteAheadLog {
  readonly #database: DatabaseSync;
  readonly #length: StatementSync;
  #groups = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#length = database.prepare("PRAGMA wal_checkpoint(NOOP)");
  }

  /** Call after each group. */
  foldIfLong(): void {
    this.#groups += 1;
    if (this.#groups % LOOK_EVERY_GROUPS !== 0) return;
    const { log: pages } = this.#length.get() as { readonly log: number };
    if (pages * PAGE_BYTES > WAL_BYTES_MAX) this.fold();
  }

  /** Readers of the database may hold it up, or a full disk; then the rest is folded back the next time. */
  fold(): void {
    try {
      this.#database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch (error) {
      if (!isFull(error)) throw error;
    }
  }
}
