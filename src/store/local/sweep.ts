import type { DatabaseSync } from "node:sqlite";
import { FEED_GROUPS_MAX, MAIL_ID_KEPT_MS } from "../../limits.ts";

/** Letters looked at in one go. */
const LETTERS_AT_ONCE = 500;

/** Forgets what nobody can ask for any more: a little each time, so that nobody waits for it. */
export class Sweep {
  readonly #database: DatabaseSync;
  #place = 0; // of the last letter looked at; 0: begin again

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** `groups` is how many the feed has told of. What cannot be forgotten now can be the next time. */
  forget(now: { readonly groups: number; readonly atMs: number }): void {
    this.#database.exec("BEGIN IMMEDIATE"); // one sync for all of it
    try {
      this.#forget(now);
      this.#database.exec("COMMIT");
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  #forget(now: { readonly groups: number; readonly atMs: number }): void {
    this.#database.prepare("DELETE FROM feed WHERE n <= ?").run(now.groups - FEED_GROUPS_MAX);
    const some = this.#database
      .prepare(
        "SELECT n, id, taken_ms, EXISTS (SELECT 1 FROM sessions WHERE n = taken_by) OR EXISTS (SELECT 1 FROM archives WHERE n = taken_by) AS alive FROM mail WHERE n > ? ORDER BY n LIMIT ?",
      )
      .all(this.#place, LETTERS_AT_ONCE);
    for (const { n, id, taken_ms: takenMs, alive } of some) {
      const external = String(id).startsWith("ext:");
      const old = takenMs !== null && Number(takenMs) < now.atMs - MAIL_ID_KEPT_MS;
      if (takenMs !== null && (external ? old : alive === 0))
        this.#database.prepare("DELETE FROM mail WHERE n = ?").run(Number(n));
    }
    this.#place = some.length < LETTERS_AT_ONCE ? 0 : Number(some.at(-1)?.["n"] ?? 0);
  }
}
