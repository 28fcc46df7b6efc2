// Intents: work outside the database that commits decided. It is done after them, a little at a time, because other commits wait
// meanwhile; what is not done when somebody dies, the next start does before it serves anybody.
//
// Invariants
//   I1. Doing it twice, or being cut off in the middle and doing it again, gives the same.
//   I2. An intent goes only when what it says has been done, durably. A file that cannot be removed keeps its intent, is told of, and
//       is in nobody's way: the next start tries again.

import { existsSync, renameSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { makeDirectory } from "../../base/directory.ts";
import { syncDirectory } from "./files.ts";
import { blobPath, packedPath, transcriptPath, unfinished, type Paths } from "./paths.ts";
import { noticeOfLeft, removeDurably } from "./removal.ts";
import type { Form, Intent, PackedFile } from "./tables.ts";
import { inTransaction } from "./transaction.ts";
import type { Notice } from "./wire.ts";

/**
 * What is done in one go. Intents share the syncs of a few directories and one transaction; blobs are in a directory each, which takes
 * a sync of some milliseconds: so all of it is some hundredths of a second.
 */
const INTENTS_AT_ONCE = 16;
const BLOBS_AT_ONCE = 16;

export interface Finishing {
  /** Blobs that were just put and have no entry yet: they stay. */
  readonly isHeld: (sha256: string) => boolean;
  /** Intents that somebody is at work on: they are left to him. */
  readonly isUnderWay: (n: number) => boolean;
  readonly notify: (notice: Notice) => void;
}

/** When nobody else has the home. */
export const ALONE: Finishing = { isHeld: () => false, isUnderWay: () => false, notify: () => {} };

export interface Finished {
  readonly count: number;
  /** To go on after; null: those were the last. */
  readonly next: number | null;
}

/** All of them. Returns how many they were. */
export function finishIntents(database: DatabaseSync, paths: Paths, how: Finishing): number {
  let count = 0;
  for (let after: number | null = 0; after !== null;) {
    const some: Finished = finishSome(database, paths, how, after);
    count += some.count;
    after = some.next;
  }
  return count;
}

/** Some of those after a number, which is 0 for the first. */
export function finishSome(database: DatabaseSync, paths: Paths, how: Finishing, after: number): Finished {
  const found = database
    .prepare("SELECT n, body FROM intents WHERE n > ? ORDER BY n LIMIT ?")
    .all(after, INTENTS_AT_ONCE);
  if (found.length === 0) return { count: 0, next: null };
  return inTransaction(database, () => {
    const slice = new Slice(database, paths, how);
    let last = after;
    for (const { n, body } of found) {
      if (!how.isUnderWay(Number(n)) && !slice.add(Number(n), JSON.parse(String(body)) as Intent)) break;
      last = Number(n);
    }
    const isAll = last === Number(found.at(-1)?.["n"]) && found.length < INTENTS_AT_ONCE;
    return { count: slice.finish(), next: isAll ? null : last };
  });
}

/** What is left to do while commits go on: a little after each group of them. If the disk is too full even for that, it stays for later. */
export class Leftovers {
  readonly #some: (after: number) => Finished;
  readonly #rest: () => void;
  readonly #guard: (work: () => void) => void;
  #after: number | null = null; // where to go on; null: nothing is known to be left

  constructor(database: DatabaseSync, paths: Paths, how: Finishing, guard: (work: () => void) => void) {
    this.#some = (after) => finishSome(database, paths, how, after);
    this.#rest = () => void finishIntents(database, paths, { ...how, isUnderWay: () => false });
    this.#guard = guard;
  }

  /** From the first on, as there are new ones: some at once, the others after the groups that come next. */
  finishSoon(): void {
    const isIdle = this.#after === null;
    this.#after = 0;
    if (isIdle) this.#next();
  }

  /** All of it, also what others were at work on: there are none any more. */
  finishNow(): void {
    this.#after = null;
    this.#rest();
  }

  #next(): void {
    if (this.#after === null) return;
    const after = this.#after;
    this.#after = null; // should it fail
    this.#guard(() => {
      this.#after = this.#some(after).next;
      if (this.#after !== null) setImmediate(() => this.#next());
    });
  }
}

/** What is done in one transaction: the names of blobs go at once, so that the next one sees it; the files all together. */
class Slice {
  readonly #database: DatabaseSync;
  readonly #paths: Paths;
  readonly #how: Finishing;
  readonly #named: StatementSync;
  readonly #isNamed: StatementSync;
  readonly #unname: StatementSync;
  readonly #files = new Map<number, readonly string[]>(); // by intent
  readonly #orphaned: string[] = [];
  #blobsLeft = BLOBS_AT_ONCE;

  constructor(database: DatabaseSync, paths: Paths, how: Finishing) {
    this.#database = database;
    this.#paths = paths;
    this.#how = how;
    this.#named = database.prepare("SELECT sha256 FROM blobs WHERE transcript = ? ORDER BY sha256 LIMIT ?");
    // Also by a letter or an answer that waits.
    this.#isNamed = database.prepare("SELECT 1 FROM blobs WHERE sha256 = ? LIMIT 1");
    this.#unname = database.prepare("DELETE FROM blobs WHERE sha256 = ? AND transcript = ?");
  }

  /** False: it names more blobs than are removed in one go, and there will be less of it the next time. */
  add(n: number, intent: Intent): boolean {
    if (intent.do === "tidy") {
      const { agent, files } = intent;
      const gone = files.flatMap((file) =>
        goneOf(this.#paths, { ...file, agent }, formOf(this.#database, file.transcript), this.#how.notify),
      );
      this.#files.set(n, gone);
      return true;
    }
    const { agent, transcript, archived } = intent;
    const named = this.#named.all(transcript, this.#blobsLeft + 1).map(({ sha256 }) => String(sha256));
    const isLast = named.length <= this.#blobsLeft;
    for (const sha256 of named.slice(0, this.#blobsLeft)) {
      this.#unname.run(sha256, transcript);
      if (this.#isNamed.get(sha256) === undefined && !this.#how.isHeld(sha256))
        this.#orphaned.push(blobPath(this.#paths, sha256));
    }
    this.#blobsLeft = Math.max(0, this.#blobsLeft - named.length);
    if (!isLast) return false;
    const packed = archived ? [packedPath(this.#paths, agent, transcript)] : [];
    this.#files.set(n, [transcriptPath(this.#paths, agent, transcript), ...packed]);
    return true;
  }

  /** How many are done. A blob that stays is found again when blobs are collected. */
  finish(): number {
    const left = removeDurably([...[...this.#files.values()].flat(), ...this.#orphaned]);
    const notice = noticeOfLeft(left);
    if (notice !== null) this.#how.notify(notice);
    const done = [...this.#files].filter(([, files]) => !files.some((path) => left.has(path))); // I2
    const forget = this.#database.prepare("DELETE FROM intents WHERE n = ?");
    for (const [n] of done) forget.run(n);
    return done.length;
  }
}

/**
 * Of the two forms that a transcript may be in, only this one stays, and what was never finished goes: returns what has to be removed.
 * Null: both go.
 */
export function goneOf(
  paths: Paths,
  file: PackedFile & { readonly agent: string },
  form: Form | null,
  notify: Finishing["notify"],
): readonly string[] {
  const { agent, transcript } = file;
  const [plain, packed] = [transcriptPath(paths, agent, transcript), packedPath(paths, agent, transcript)];
  if (form === "packed") setAsideLonger(paths, plain, file.bytes, notify);
  return [
    unfinished(plain),
    unfinished(packed),
    ...(form === "plain" ? [] : [plain]),
    ...(form === "packed" ? [] : [packed]),
  ];
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
