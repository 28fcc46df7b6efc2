import type { DatabaseSync } from "node:sqlite";
import type { Session } from "../../sessions/session.ts";
import { FileSource, type Source } from "../../transcript/lines.ts";
import { transcriptPath, type Paths } from "./paths.ts";
import { ROW, unpackRow } from "./row.ts";
import { isMissing } from "./trouble.ts";

/**
 * A transcript as it was at one moment: its file up to the first line that the journal has, then the journal.
 * What was committed is always here, whether or not the writer has got round to the file. Committed bytes that
 * the file has lost read as one blank line, which is how a reader learns of them.
 */
export class SplicedSource implements Source {
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

  /** Bytes of it were committed, and there is no file. */
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

export interface Snapshot {
  readonly row: Session;
  readonly source: SplicedSource;
}

/** Row and journal in one read transaction, so that they speak of the same moment. Null: no such transcript. */
export function snapshot(database: DatabaseSync, paths: Paths, transcript: string): Snapshot | null {
  const taken = snapshotNow(database, paths, transcript);
  if (taken === null || !taken.source.isMissing) return taken;
  // Its file is not there. If its row is not either by now, it has been deleted while we looked.
  const again = database.prepare("SELECT 1 FROM sessions WHERE transcript = ?").get(transcript);
  return again === undefined ? null : taken;
}

function snapshotNow(database: DatabaseSync, paths: Paths, transcript: string): Snapshot | null {
  database.exec("BEGIN");
  try {
    const found = database.prepare(`SELECT n, ${ROW} FROM sessions WHERE transcript = ?`).get(transcript);
    if (!found) return null;
    const row = unpackRow(found);
    const lines = database
      .prepare(
        "SELECT offset, lines FROM journal_a WHERE session = ?1 UNION ALL SELECT offset, lines FROM journal_b WHERE session = ?1 ORDER BY offset",
      )
      .all(Number(found["n"]));
    const boundary = Number(lines[0]?.["offset"] ?? row.transcript.bytes);
    const journal = Buffer.concat(lines.map((line) => line["lines"] as Uint8Array));
    return {
      row,
      source: new SplicedSource(transcriptPath(paths, row.agent, transcript), boundary, journal),
    };
  } finally {
    database.exec("COMMIT");
  }
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
