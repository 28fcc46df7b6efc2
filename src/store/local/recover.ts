// Recovery: what a start does before anybody is served. Its cost follows what was unfinished, never what there is.
//
// Invariants
//   V1. Running it twice, or being cut off in the middle and running it again, gives the same.

import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { makeDirectory } from "../../base/directory.ts";
import { Fault } from "../../base/fault.ts";
import { syncDirectory, type FilesParts, type TranscriptFiles } from "./files.ts";
import { generationFrom, type Generation } from "./generations.ts";
import { blobPath, packedPath, transcriptPath, unfinished, type Paths } from "./paths.ts";
import { ROW, unpackRow } from "./row.ts";
import type { Form, Intent, PackedFile } from "./tables.ts";
import { isMissing } from "./trouble.ts";
import type { Notice } from "./wire.ts";

/** Writes every journalled line into its file again, and what stands beyond goes aside. Returns how many transcripts it was. */
export function replayJournal(
  database: DatabaseSync,
  files: Pick<TranscriptFiles, "write" | "doubt">,
  paths: Paths,
): number {
  const sessions = database
    .prepare("SELECT session FROM journal_a UNION SELECT session FROM journal_b")
    .all();
  const linesOf = database.prepare(
    "SELECT offset, lines FROM journal_a WHERE session = ?1 UNION ALL SELECT offset, lines FROM journal_b WHERE session = ?1 ORDER BY offset",
  );
  for (const { session } of sessions) {
    const file = fileOf(database, Number(session));
    const lines = linesOf.all(Number(session));
    const first = Number(lines[0]?.["offset"] ?? 0);
    const bytes = Buffer.concat(lines.map((each) => each["lines"] as Uint8Array));
    if (first + bytes.length !== file.bytes) {
      throw new Fault(
        "damaged",
        `the journal of ${file.transcript} ends at byte ${first + bytes.length}, the state says ${file.bytes}`,
      );
    }
    const path = transcriptPath(paths, file.agent, file.transcript);
    files.write(path, first, bytes);
    files.doubt(path);
  }
  return sessions.length;
}

/** What the journal has lines of under this number: the file of a session, or an older one. */
function fileOf(database: DatabaseSync, number: number): Pick<Generation, "agent" | "transcript" | "bytes"> {
  const found =
    number > 0
      ? database.prepare(`SELECT ${ROW} FROM sessions WHERE n = ?`).get(number)
      : database
          .prepare("SELECT n, transcript, agent, bytes, cut, skip FROM generations WHERE n = ?")
          .get(-number);
  if (!found) throw new Fault("damaged", `the journal has lines of file number ${number}, which is nobody's`);
  if (number < 0) return generationFrom(found);
  const { agent, transcript } = unpackRow(found);
  return { agent, transcript: transcript.id, bytes: transcript.bytes };
}

/** The lines that the journal has of one transcript, by the path of its file. */
export function journalledIn(database: DatabaseSync): FilesParts["journalled"] {
  const lines = database.prepare(
    `WITH mine AS (SELECT n FROM sessions WHERE transcript = ?1 UNION ALL SELECT -n FROM generations WHERE transcript = ?1)
     SELECT offset, lines FROM journal_a WHERE session = (SELECT n FROM mine)
     UNION ALL SELECT offset, lines FROM journal_b WHERE session = (SELECT n FROM mine) ORDER BY offset`,
  );
  return (path) =>
    lines
      .all(basename(path, ".jsonl"))
      .map((row) => ({ offset: Number(row["offset"]), bytes: row["lines"] as Uint8Array }));
}

export interface Finishing {
  /** Blobs that were just put and have no entry yet: they stay. */
  readonly isHeld: (sha256: string) => boolean;
  /** Intents that somebody is at work on: they are left to him. */
  readonly isUnderWay: (n: number) => boolean;
  readonly notify: (notice: Notice) => void;
}

/** When nobody else has the home. */
export const ALONE: Finishing = { isHeld: () => false, isUnderWay: () => false, notify: () => {} };

/** Does what commits decided and a crash cut off. */
export function finishIntents(database: DatabaseSync, paths: Paths, how: Finishing): number {
  const intents = database.prepare("SELECT n, body FROM intents ORDER BY n").all();
  const mine = intents.filter(({ n }) => !how.isUnderWay(Number(n)));
  for (const { n, body } of mine) {
    const intent = JSON.parse(String(body)) as Intent;
    if (intent.do === "erase") erase(database, paths, intent, how.isHeld);
    else
      for (const file of intent.files)
        keepForm(paths, { ...file, agent: intent.agent }, formOf(database, file.transcript), how.notify);
    database.prepare("DELETE FROM intents WHERE n = ?").run(Number(n));
  }
  return mine.length;
}

/** Of the two forms that a transcript may be in, only this one stays, and what was never finished goes. Null: both go. */
export function keepForm(
  paths: Paths,
  file: PackedFile & { readonly agent: string },
  form: Form | null,
  notify: Finishing["notify"],
): void {
  const { agent, transcript } = file;
  const [plain, packed] = [transcriptPath(paths, agent, transcript), packedPath(paths, agent, transcript)];
  if (form === "packed") setAsideLonger(paths, plain, file.bytes, notify);
  removeDurably([
    unfinished(plain),
    unfinished(packed),
    ...(form === "plain" ? [] : [plain]),
    ...(form === "packed" ? [] : [packed]),
  ]);
}

/** The form that counts, as the state says. Null: it is nobody's. */
function formOf(database: DatabaseSync, transcript: string): Form | null {
  const found = database
    .prepare(
      `SELECT NULL AS packed FROM sessions WHERE transcript = ?1
       UNION ALL SELECT packed_bytes FROM generations LEFT JOIN archives ON id = archive WHERE transcript = ?1`,
    )
    .get(transcript);
  if (!found) return null;
  return found["packed"] === null ? "plain" : "packed";
}

/** What another program has written to a transcript is packed nowhere: the file goes aside as it is. */
function setAsideLonger(paths: Paths, path: string, bytes: number, notify: Finishing["notify"]): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= bytes) return;
  makeDirectory(paths.foreign);
  let aside = "";
  for (let n = 0; aside === "" || existsSync(aside); n += 1)
    aside = join(paths.foreign, `${basename(path)}.${bytes}.whole.${n}`);
  renameSync(path, aside);
  for (const each of [paths.foreign, dirname(path), paths.home]) syncDirectory(each);
  const message = `another program wrote ${size - bytes} bytes into ${path} at ${bytes}; all of it is in ${aside}`;
  notify({ what: "foreign_bytes", message, count: size - bytes });
}

function erase(
  database: DatabaseSync,
  paths: Paths,
  intent: Extract<Intent, { readonly do: "erase" }>,
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
    ...(intent.archived ? [packedPath(paths, intent.agent, intent.transcript)] : []),
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
