import type { DatabaseSync } from "node:sqlite";

/** All of it, with one sync, or nothing. */
export function inTransaction<Answer>(database: DatabaseSync, work: () => Answer): Answer {
  database.exec("BEGIN IMMEDIATE");
  try {
    const answer = work();
    database.exec("COMMIT");
    return answer;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}
