// Backup
//
// A copy of everything as it was at one moment, made while the daemon runs or not. The database is copied
// first, in one read transaction; every transcript then up to the length that this copy knows. Transcripts only
// grow, so what is copied later is still what it was, also if it was packed since. Lines that were only in the journal are in
// the copied journal, and the first start on the copy writes them into their files.

import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { makeDirectory } from "../base/directory.ts";
import { Fault } from "../base/fault.ts";
import { Leases } from "../store/leases.ts";
import { Archiving } from "../store/local/archiving.ts";
import { syncDirectory } from "../store/local/files.ts";
import { packFile, unpackBeginning } from "../store/local/frames.ts";
import { generationsOf, type Generation } from "../store/local/generations.ts";
import { ALONE, finishIntents } from "../store/local/intents.ts";
import { blobPath, packedPath, pathsIn, transcriptPath, type Paths } from "../store/local/paths.ts";
import { ROW, unpackRow } from "../store/local/row.ts";
import { Rows } from "../store/local/rows.ts";
import { checkVersion, readAsNow } from "../store/local/schema.ts";
import { namedIn, Tables, type Form, type Numbered } from "../store/local/tables.ts";
import { isMissing } from "../store/local/trouble.ts";

export interface BackedUp {
  readonly sessions: number;
  readonly blobs: number;
  /** Sessions and archives that were deleted while the backup ran: they are not in it. */
  readonly skipped: readonly string[];
  /** Those of which a file is missing in the home itself, and so in the copy. `fsck` says which. */
  readonly damaged: readonly string[];
}

interface Copying {
  readonly from: Paths;
  readonly target: Paths;
  readonly copy: DatabaseSync;
  /** Blobs that are in the copy. */
  readonly blobs: Set<string>;
  /** Directories that got a new name. */
  readonly touched: Set<string>;
}

export function backup(home: string, to: string, progress: (done: number) => void): BackedUp {
  const from = pathsIn(home);
  const target = pathsIn(to);
  if (!existsSync(from.state)) throw new Fault("not_found", `${home} has no state to back up`);
  if (existsSync(to) && readdirSync(to).length > 0)
    throw new Fault("exists", `${to} is not empty; a backup goes into a new directory`);
  if (`${target.home}/`.startsWith(`${from.home}/`))
    throw new Fault("bad_input", `${to} is inside the home; a backup goes where it survives the home`);
  const touched = new Set<string>();
  makeNoted(to, touched);
  const live = new DatabaseSync(from.state, { readOnly: true });
  try {
    copyState(live, from, target);
    const copy = new DatabaseSync(target.state);
    try {
      readAsNow(copy);
      const copying = { from, target, copy, blobs: new Set<string>(), touched };
      const copied = copySessions(live, copying, progress);
      const archived = copyArchives(live, copying);
      const waiting = namedInWaiting(copy);
      // What had been copied of those that are gone. An older state does not know which blobs letters name.
      finishIntents(copy, target, { ...ALONE, isHeld: (sha256) => waiting.has(sha256) });
      copyTheRest(copying);
      beginFeedAnew(copy);
      for (const directory of touched) syncDirectory(directory);
      // Counted last: what was copied for a session that then turned out to be gone is gone too.
      const named = copy
        .prepare("SELECT sha256 FROM blobs")
        .all()
        .map(({ sha256 }) => String(sha256));
      const kept = new Set(named).union(namedInWaiting(copy));
      return {
        ...{ sessions: copied.sessions, blobs: copying.blobs.intersection(kept).size },
        skipped: [...copied.skipped, ...archived.skipped],
        damaged: [...copied.damaged, ...archived.damaged],
      };
    } finally {
      copy.close();
    }
  } finally {
    live.close();
  }
}

function copyState(live: DatabaseSync, from: Paths, target: Paths): void {
  live.exec("PRAGMA busy_timeout = 10000");
  checkVersion(live, from.state);
  readAsNow(live);
  live.prepare("VACUUM INTO ?").run(target.state);
}

function copySessions(
  live: DatabaseSync,
  copying: Copying,
  progress: (done: number) => void,
): Omit<BackedUp, "blobs"> {
  const { copy } = copying;
  const skipped: string[] = [];
  const damaged: string[] = [];
  const rows = copy.prepare(`SELECT n, ${ROW} FROM sessions ORDER BY n`).all();
  for (const [at, found] of rows.entries()) {
    const numbered = { n: Number(found["n"]), row: unpackRow(found) };
    const { row } = numbered;
    if (!copySession(copying, numbered)) {
      const lives = isKnown(live, row.transcript.id);
      (lives ? damaged : skipped).push(row.key);
      if (!lives) new Tables(copy).erase(numbered, row.updatedAtMs); // with its mail, its timers and its journal
    }
    progress(at + 1);
  }
  return { sessions: rows.length - skipped.length, skipped, damaged };
}

/** Each in the form that the copied state says. */
function copyArchives(live: DatabaseSync, copying: Copying): Pick<BackedUp, "skipped" | "damaged"> {
  const { copy, target: paths } = copying;
  const tables = new Tables(copy);
  const parts = { database: copy, tables, rows: new Rows(tables), leases: new Leases(), paths };
  const skipped: string[] = [];
  const damaged: string[] = [];
  for (const { id, key, packed_bytes: packed } of copy
    .prepare("SELECT id, key, packed_bytes FROM archives")
    .all()) {
    const archive = String(id);
    const form = packed === null ? "plain" : "packed";
    const files = generationsOf(copy, { archive }).map((one) => ({ ...one, number: -one.n, form }) as const);
    if (files.map((file) => copyTranscript(copying, file)).every((isWhole) => isWhole)) continue;
    const lives = isKnown(live, archive);
    (lives ? damaged : skipped).push(`archive ${archive} of ${String(key)}`);
    if (!lives) new Archiving(parts).purge({ archive }, 0);
  }
  return { skipped, damaged };
}

/** As a session's, or as an archive's. */
function isKnown(live: DatabaseSync, transcript: string): boolean {
  const known =
    "SELECT 1 FROM sessions WHERE transcript = ?1 UNION ALL SELECT 1 FROM generations WHERE transcript = ?1";
  return live.prepare(known).get(transcript) !== undefined;
}

/** Blobs that letters and answers name which wait. */
function namedInWaiting(copy: DatabaseSync): ReadonlySet<string> {
  const named = new Set<string>();
  for (const sql of ["SELECT body FROM mail WHERE taken_ms IS NULL", "SELECT body FROM outbox"])
    for (const { body } of copy.prepare(sql).iterate())
      for (const sha256 of namedIn(String(body))) named.add(sha256);
  return named;
}

/** What no transcript names: pictures in letters and answers that wait, and what other programs had left. */
function copyTheRest({ from, target, copy, blobs, touched }: Copying): void {
  for (const sha256 of namedInWaiting(copy)) {
    if (!blobs.has(sha256) && copyPrefix(blobPath(from, sha256), blobPath(target, sha256), null, touched))
      blobs.add(sha256);
  }
  if (!existsSync(from.foreign)) return;
  for (const name of readdirSync(from.foreign))
    copyPrefix(join(from.foreign, name), join(target.foreign, name), null, touched);
}

/** Its transcript and the earlier ones, each with what it names. False: not all of it is there any more. */
function copySession(copying: Copying, { n, row }: Numbered): boolean {
  const { id, bytes } = row.transcript;
  const newest = { number: n, agent: row.agent, transcript: id, bytes };
  const older = generationsOf(copying.copy, { session: n }).map((one) => ({ ...one, number: -one.n }));
  return [newest, ...older].map((file) => copyTranscript(copying, file)).every((isWhole) => isWhole);
}

/** `number` is the one that the journal has its lines under. False: not all of it is there any more. */
function copyTranscript(
  { from, target, copy, blobs, touched }: Copying,
  file: File & { readonly number: number },
): boolean {
  // Up to where the journal goes on: the copied state knows the rest.
  const first = copy
    .prepare(
      "SELECT min(offset) AS offset FROM (SELECT offset FROM journal_a WHERE session = ?1 UNION ALL SELECT offset FROM journal_b WHERE session = ?1)",
    )
    .get(file.number);
  const bytes = first?.["offset"] === null ? file.bytes : Number(first?.["offset"]);
  let whole = bytes === 0 || copyForm({ from, target, touched }, { ...file, bytes });
  for (const { sha256 } of copy
    .prepare("SELECT sha256 FROM blobs WHERE transcript = ?")
    .all(file.transcript)) {
    const name = String(sha256);
    if (blobs.has(name)) continue;
    if (copyPrefix(blobPath(from, name), blobPath(target, name), null, touched)) blobs.add(name);
    else whole = false;
  }
  return whole;
}

interface File extends Pick<Generation, "agent" | "transcript" | "bytes"> {
  readonly form?: Form; // plain, unless it says otherwise
}

/** A file that was packed since, or is not packed any more, is brought into the form that is wanted. */
function copyForm(
  { from, target, touched }: Pick<Copying, "from" | "target" | "touched">,
  file: File,
): boolean {
  const { agent, transcript, bytes, form = "plain" } = file;
  const [plain, goal] = [from, target].map((side) => transcriptPath(side, agent, transcript)) as [
    string,
    string,
  ];
  const [packed, packedGoal] = [from, target].map((side) => packedPath(side, agent, transcript)) as [
    string,
    string,
  ];
  const ways =
    form === "plain"
      ? [
          () => copyPrefix(plain, goal, bytes, touched),
          () => made(() => unpackBeginning(packed, goal, bytes)),
        ]
      : [
          () => copyPrefix(packed, packedGoal, null, touched),
          () => made(() => packFile(plain, packedGoal, bytes)),
        ];
  // Twice, as it may have been moved back and forth while we looked.
  return [...ways, ...ways].some((way) => way());
}

/** False: it is not there, or cannot be read; `fsck` says what is wrong with it. */
function made(make: () => unknown): boolean {
  try {
    make();
    return true;
  } catch (error) {
    if (error instanceof Fault && error.code === "damaged") return false;
    throw error;
  }
}

/**
 * Whoever follows the feed of the home must not go on with that of the copy, which will tell of other things under the
 * same numbers. VACUUM INTO does not sync what it writes; this transaction does, and syncs the whole file.
 */
function beginFeedAnew(copy: DatabaseSync): void {
  copy.exec("PRAGMA synchronous = FULL");
  copy.exec("UPDATE epoch SET id = lower(hex(randomblob(8)))");
}

/** `bytes` null: all of it. False: it is not there any more. */
function copyPrefix(from: string, to: string, bytes: number | null, touched: Set<string>): boolean {
  makeNoted(dirname(to), touched);
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

function makeNoted(path: string, touched: Set<string>): void {
  for (const made of makeDirectory(path)) touched.add(dirname(made));
}
