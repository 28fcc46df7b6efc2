// Backup
//
// A copy of everything as it was at one moment, made while the daemon runs or not. The database is copied
// first, in one read transaction; every transcript then up to the length that this copy knows. Transcripts only
// grow, so what is copied later is still what it was. Lines that were only in the journal are in the copied
// journal, and the first start on the copy writes them into their files.

import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
} from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "../base/fault.ts";
import { isMissing, syncDirectory } from "../store/local/files.ts";
import { blobPath, pathsIn, transcriptPath, type Paths } from "../store/local/paths.ts";
import { ROW, unpackRow } from "../store/local/row.ts";

export interface BackedUp {
  readonly sessions: number;
  readonly blobs: number;
  /** Sessions that were deleted while the backup ran: they are not in it. */
  readonly skipped: readonly string[];
}

export function backup(home: string, to: string, progress: (done: number) => void): BackedUp {
  const from = pathsIn(home);
  const target = pathsIn(to);
  if (!existsSync(from.state)) throw new Fault("not_found", `${home} has no state to back up`);
  if (existsSync(to) && readdirSync(to).length > 0)
    throw new Fault("exists", `${to} is not empty; a backup goes into a new directory`);
  mkdirSync(to, { recursive: true, mode: 0o700 });
  copyState(from, target);
  const copy = new DatabaseSync(target.state);
  try {
    const skipped: string[] = [];
    const touched = new Set([to]);
    const rows = copy.prepare(`SELECT n, ${ROW} FROM sessions ORDER BY n`).all();
    for (const [at, found] of rows.entries()) {
      const row = unpackRow(found);
      // Up to where the journal goes on: the copied state knows the rest.
      const first = copy
        .prepare(
          "SELECT min(offset) AS offset FROM (SELECT offset FROM journal_a WHERE session = ?1 UNION ALL SELECT offset FROM journal_b WHERE session = ?1)",
        )
        .get(Number(found["n"]));
      const bytes = first?.["offset"] === null ? row.transcript.bytes : Number(first?.["offset"]);
      const paths = [from, target].map((side) => transcriptPath(side, row.agent, row.transcript.id));
      if (bytes > 0 && !copyPrefix(paths[0] ?? "", paths[1] ?? "", bytes, touched)) {
        skipped.push(row.key);
        copy.prepare("DELETE FROM sessions WHERE n = ?").run(Number(found["n"]));
      }
      progress(at + 1);
    }
    const blobs = copyBlobs(copy, from, target, touched);
    syncCopied(copy);
    for (const directory of touched) syncDirectory(directory);
    return { sessions: rows.length - skipped.length, blobs, skipped };
  } finally {
    copy.close();
  }
}

function copyState(from: Paths, target: Paths): void {
  const live = new DatabaseSync(from.state, { readOnly: true });
  try {
    live.exec("PRAGMA busy_timeout = 10000");
    live.prepare("VACUUM INTO ?").run(target.state);
  } finally {
    live.close();
  }
}

/** VACUUM INTO does not sync what it writes; a transaction on the copy does, and syncs the whole file. */
function syncCopied(copy: DatabaseSync): void {
  copy.exec("PRAGMA synchronous = FULL");
  copy.exec("CREATE TABLE synced (one)");
  copy.exec("DROP TABLE synced");
}

function copyBlobs(copy: DatabaseSync, from: Paths, target: Paths, touched: Set<string>): number {
  let blobs = 0;
  for (const { sha256 } of copy.prepare("SELECT DISTINCT sha256 FROM blobs").all()) {
    if (copyPrefix(blobPath(from, String(sha256)), blobPath(target, String(sha256)), null, touched))
      blobs += 1;
  }
  return blobs;
}

/** `bytes` null: all of it. False: it is not there any more. */
function copyPrefix(from: string, to: string, bytes: number | null, touched: Set<string>): boolean {
  for (let at = dirname(to); !existsSync(at); at = dirname(at)) touched.add(dirname(at));
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  touched.add(dirname(to));
  try {
    copyFileSync(from, to);
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
  const file = openSync(to, "r+");
  try {
    // A file that has lost bytes stays as it is: its copy is damaged in the same way, and says so in the same words.
    if (bytes !== null && fstatSync(file).size > bytes) ftruncateSync(file, bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return true;
}
