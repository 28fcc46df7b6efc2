// Recovery: what a start does before anybody is served, with what is in intents.ts. Its cost follows what was unfinished, never what
// there is.
//
// Invariants
//   V1. Running it twice, or being cut off in the middle and running it again, gives the same.

import { basename } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Fault } from "../../base/fault.ts";
import type { FilesParts, TranscriptFiles } from "./files.ts";
import { generationFrom, type Generation } from "./generations.ts";
import { transcriptPath, type Paths } from "./paths.ts";
import { ROW, unpackRow } from "./row.ts";

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
