import type { DatabaseSync } from "node:sqlite";
import type { SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import { FileSource, type Source } from "../../transcript/lines.ts";
import { generationsOf, type Generation } from "./generations.ts";
import { transcriptPath, type Paths } from "./paths.ts";
import { ROW, unpackRow } from "./row.ts";
import { isMissing } from "./trouble.ts";

/**
 * A transcript as it was at one moment: its file up to the first line that the journal has, then the journal.
 * What was committed is always here, whether or not the writer has got round to the file. Committed bytes that
 * the file has lost read as one blank line, which is how a reader learns of them.
 */
export class SplicedSource implements Opened {
  readonly size: number;
  readonly #file: FileSource | null;
  readonly #boundary: number;
  readonly #journal: Buffer;

  constructor(path: string, boundary: number, journal: Buffer) {
    this.#file = openIfThere(path, boundary);
    this.#boundary = boundary;
    this.#journal = journal;
    this.size = boundary + journal.length;
  }

  get isMissing(): boolean {
    return this.#boundary > 0 && this.#file === null;
  }

  read(at: number, length: number): Buffer {
    const end = Math.min(this.size, at + length);
    if (end <= at) return Buffer.alloc(0);
    if (at >= this.#boundary) return this.#journal.subarray(at - this.#boundary, end - this.#boundary);
    if (end <= (this.#file?.size ?? 0)) return this.#file?.read(at, end - at) ?? Buffer.alloc(0);
    // Across a seam: fill from the file, then blanks where it is too short, then the journal.
    const bytes = Buffer.alloc(end - at, " ");
    this.#file?.read(at, end - at).copy(bytes);
    const lost = this.#boundary > (this.#file?.size ?? 0);
    if (lost && this.#boundary - 1 >= at && this.#boundary - 1 < end) bytes[this.#boundary - 1 - at] = 0x0a;
    if (end > this.#boundary) this.#journal.copy(bytes, this.#boundary - at, 0, end - this.#boundary);
    return bytes;
  }

  close(): void {
    this.#file?.close();
  }
}

/** What a reader needs of a history: its bytes by position, and an end. */
export interface Opened extends Source {
  /** Bytes of it were committed, and a file that was looked at is not there. */
  readonly isMissing: boolean;
  close(): void;
}

/** A part of one file, at its place in the whole. */
interface Part {
  readonly start: number; //   its first byte in the whole
  readonly end: number;
  readonly skip: number; //    its first byte in its file
  readonly open: () => SplicedSource;
}

/**
 * A history that went on in new files, as if it were one: of each older file what the next one has not, of the newest
 * all but its first line (Y2). An older file is opened when something of it is read, so the end costs what it always did.
 */
export class JoinedSource implements Opened {
  readonly size: number;
  readonly #parts: readonly Part[];
  readonly #open = new Map<Part, SplicedSource>();

  /** The newest file, which the last part is of, is open already. */
  constructor(parts: readonly Part[], newest: SplicedSource) {
    const last = parts.at(-1);
    this.#parts = parts;
    this.size = last?.end ?? 0;
    if (last) this.#open.set(last, newest);
  }

  get isMissing(): boolean {
    return this.#open.values().some((source) => source.isMissing);
  }

  read(at: number, length: number): Buffer {
    const to = Math.min(this.size, at + length);
    const touched = this.#parts.filter(({ start, end }) => start < to && end > at);
    const pieces = touched.map((part) => {
      const from = Math.max(at, part.start);
      return this.#source(part).read(from - part.start + part.skip, Math.min(to, part.end) - from);
    });
    return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
  }

  close(): void {
    for (const source of this.#open.values()) source.close();
    this.#open.clear();
  }

  #source(part: Part): SplicedSource {
    const known = this.#open.get(part);
    if (known) return known;
    const opened = part.open();
    this.#open.set(part, opened);
    return opened;
  }
}

export interface Snapshot {
  readonly row: Session;
  readonly source: Opened;
  /** The length of the newest file, as far as it and the journal go. */
  readonly bytes: number;
  /** Where in the whole the first line of the newest file is, or the first that it copied. */
  readonly newestAt: number;
}

/** Row and journal in one read transaction, so that they speak of the same moment. Null: no such transcript. */
export function snapshot(database: DatabaseSync, paths: Paths, transcript: string): Snapshot | null {
  const taken = snapshotNow(database, paths, transcript);
  if (taken === null || !taken.source.isMissing) return taken;
  // Its file is not there. If its row is not either by now, it has been deleted while we looked.
  if (numberOf(database, transcript) !== null) return taken;
  taken.source.close();
  return null;
}

/** The session whose history this is, also by the id of an older file of it; null: none. */
export function numberOf(database: DatabaseSync, transcript: string): number | null {
  const found =
    database.prepare("SELECT n FROM sessions WHERE transcript = ?").get(transcript) ??
    database
      .prepare("SELECT session AS n FROM generations WHERE transcript = ? AND session IS NOT NULL")
      .get(transcript);
  return found ? Number(found["n"]) : null;
}

function snapshotNow(database: DatabaseSync, paths: Paths, transcript: string): Snapshot | null {
  database.exec("BEGIN");
  try {
    const n = numberOf(database, transcript);
    const found = n === null ? undefined : database.prepare(`SELECT ${ROW} FROM sessions WHERE n = ?`).get(n);
    if (n === null || !found) return null;
    const row = unpackRow(found);
    const { id, bytes, firstSeq } = row.transcript;
    const newest = splicedIn(database, n, { path: transcriptPath(paths, row.agent, id), bytes })();
    const older = firstSeq > 1 ? generationsOf(database, { session: n }) : [];
    if (older.length === 0) return { row, source: newest, bytes: newest.size, newestAt: 0 };
    const parts = older.map((one) => ({ ...one, open: olderFile(database, paths, one) }));
    const source = joined(parts, newest);
    const newestAt = source.size - (newest.size - (older.at(-1)?.skip ?? 0));
    return { row, source, bytes: newest.size, newestAt };
  } finally {
    database.exec("COMMIT");
  }
}

/** The file that a session is written to, alone. Null: no such session. */
export function newestFile(
  database: DatabaseSync,
  paths: Paths,
  key: SessionKey,
): { readonly row: Session; readonly source: SplicedSource } | null {
  database.exec("BEGIN");
  try {
    const found = database.prepare(`SELECT n, ${ROW} FROM sessions WHERE key = ?`).get(key);
    if (!found) return null;
    const row = unpackRow(found);
    const file = { path: transcriptPath(paths, row.agent, row.transcript.id), bytes: row.transcript.bytes };
    return { row, source: splicedIn(database, Number(found["n"]), file)() };
  } finally {
    database.exec("COMMIT");
  }
}

/** An older file, alone. The journal is read now, the file is opened later. */
export function olderFile(database: DatabaseSync, paths: Paths, one: Generation): () => SplicedSource {
  const path = transcriptPath(paths, one.agent, one.transcript);
  return splicedIn(database, -one.n, { path, bytes: one.bytes });
}

/** Files of one history, oldest first, and the newest. */
export function joined(
  older: readonly (Pick<Generation, "cut" | "skip"> & { readonly open: () => SplicedSource })[],
  newest: SplicedSource,
): JoinedSource {
  let start = 0;
  let skip = 0;
  const parts = older.map((one): Part => {
    const part = { start, end: start + one.cut - skip, skip, open: one.open };
    start = part.end;
    skip = one.skip;
    return part;
  });
  const last: Part = { start, end: start + newest.size - skip, skip, open: () => newest };
  return new JoinedSource([...parts, last], newest);
}

/** `number` is the one that the journal has its lines under. */
function splicedIn(
  database: DatabaseSync,
  number: number,
  file: { readonly path: string; readonly bytes: number },
): () => SplicedSource {
  const lines = database
    .prepare(
      "SELECT offset, lines FROM journal_a WHERE session = ?1 UNION ALL SELECT offset, lines FROM journal_b WHERE session = ?1 ORDER BY offset",
    )
    .all(number);
  const boundary = Number(lines[0]?.["offset"] ?? file.bytes);
  const journal = Buffer.concat(lines.map((line) => line["lines"] as Uint8Array));
  return () => new SplicedSource(file.path, boundary, journal);
}

function openIfThere(path: string, boundary: number): FileSource | null {
  if (boundary === 0) return null;
  try {
    return new FileSource(path, boundary);
  } catch (error) {
    if (isMissing(error)) return null; // Its bytes read as missing.
    throw error;
  }
}
