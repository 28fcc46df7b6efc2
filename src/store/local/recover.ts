// Recovery: what a start does before anybody is served. Its cost follows what was unfinished, never what there is.
//
// Invariants
//   V1. Running it twice, or being cut off in the middle and running it again, gives the same.

import { rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Fault } from "../../base/fault.ts";
import { syncDirectory, type FilesParts, type TranscriptFiles } from "./files.ts";
import { blobPath, transcriptPath, type Paths } from "./paths.ts";
import { ROW, unpackRow } from "./row.ts";
import type { Intent } from "./tables.ts";
import { isMissing } from "./trouble.ts";

/** Writes every journalled line into its file again, and what stands beyond goes aside. Returns how many transcripts it was. */
export function replayJournal(
  database: DatabaseSync,
  files: Pick<TranscriptFiles, "write" | "doubt">,
  paths: Paths,
): number {
  const sessions = database
    .prepare("SELECT session FROM journal_a UNION SELECT session FROM journal_b")
    .all();
  const rowOf = database.prepare(`SELECT ${ROW} FROM sessions WHERE n = ?`);
  const linesOf = database.prepare(
    "SELECT offset, lines FROM journal_a WHERE session = ?1 UNION ALL SELECT offset, lines FROM journal_b WHERE session = ?1 ORDER BY offset",
  );
  for (const { session } of sessions) {
    const found = rowOf.get(Number(session));
    if (!found)
      throw new Fault(
        "damaged",
        `the journal has lines of session number ${String(session)}, which has no row`,
      );
    const row = unpackRow(found);
    const lines = linesOf.all(Number(session));
    const first = Number(lines[0]?.["offset"] ?? 0);
    const bytes = Buffer.concat(lines.map((each) => each["lines"] as Uint8Array));
    if (first + bytes.length !== row.transcript.bytes) {
      throw new Fault(
        "damaged",
        `the journal of ${row.key} ends at byte ${first + bytes.length}, its row says ${row.transcript.bytes}`,
      );
    }
    const path = transcriptPath(paths, row.agent, row.transcript.id);
    files.write(path, first, bytes);
    files.doubt(path);
  }
  return sessions.length;
}

/** The lines that the journal has of one transcript, by the path of its file. */
export function journalledIn(database: DatabaseSync): FilesParts["journalled"] {
  const lines = database.prepare(
    `WITH mine AS (SELECT n FROM sessions WHERE transcript = ?)
     SELECT offset, lines FROM journal_a WHERE session = (SELECT n FROM mine)
     UNION ALL SELECT offset, lines FROM journal_b WHERE session = (SELECT n FROM mine) ORDER BY offset`,
  );
  return (path) =>
    lines
      .all(basename(path, ".jsonl"))
      .map((row) => ({ offset: Number(row["offset"]), bytes: row["lines"] as Uint8Array }));
}

/** Does what commits decided and a crash cut off. `held` are blobs that were just put and have no entry yet. */
export function finishIntents(
  database: DatabaseSync,
  paths: Paths,
  isHeld: (sha256: string) => boolean,
): number {
  const intents = database.prepare("SELECT n, body FROM intents ORDER BY n").all();
  for (const { n, body } of intents) {
    const intent = JSON.parse(String(body)) as Intent;
    erase(database, paths, intent, isHeld);
    database.prepare("DELETE FROM intents WHERE n = ?").run(Number(n));
  }
  return intents.length;
}

function erase(
  database: DatabaseSync,
  paths: Paths,
  intent: Intent,
  isHeld: (sha256: string) => boolean,
): void {
  const only = database.prepare(
    "SELECT sha256 FROM blobs AS mine WHERE transcript = ?1 AND NOT EXISTS (SELECT 1 FROM blobs WHERE sha256 = mine.sha256 AND transcript <> ?1)",
  );
  const blobs = only.all(intent.transcript).map(({ sha256 }) => String(sha256));
  const waiting = blobs.length === 0 ? new Set() : namedInWaiting(database);
  const orphaned = blobs.filter((sha256) => !isHeld(sha256) && !waiting.has(sha256));
  removeDurably([
    transcriptPath(paths, intent.agent, intent.transcript),
    ...orphaned.map((sha256) => blobPath(paths, sha256)),
  ]);
  database.prepare("DELETE FROM blobs WHERE transcript = ?").run(intent.transcript);
}

/** Blobs that letters and answers name which wait. Sixty-four hexadecimal digits in them may mean something else: then too much is kept. */
export function namedInWaiting(database: DatabaseSync): ReadonlySet<string> {
  const named = new Set<string>();
  for (const sql of ["SELECT body FROM mail WHERE taken_ms IS NULL", "SELECT body FROM outbox"])
    for (const { body } of database.prepare(sql).iterate())
      for (const [sha256] of String(body).matchAll(/\b[0-9a-f]{64}\b/g)) named.add(sha256);
  return named;
}

/** Removing what is not there is fine: a crash may have come after the removal. */
function removeDurably(gone: readonly string[]): void {
  for (const path of gone) rmSync(path, { force: true });
  for (const directory of new Set(gone.map((path) => dirname(path)))) {
    try {
      syncDirectory(directory);
    } catch (error) {
      if (!isMissing(error)) throw error; // The directory never came to be, and so neither did the file.
    }
  }
}
