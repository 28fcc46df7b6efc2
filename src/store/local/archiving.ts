// What a commit does with archives: a session's row becomes one, comes back, or is gone for good. Files are not touched
// here: they stay under their names, packed or not, and what is to be erased is an intent (recover.ts).

import type { DatabaseSync } from "node:sqlite";
import type { Leases } from "../leases.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import {
  checkAtRest,
  checkGivesWay,
  checkMayGo,
  checkRestore,
  noSuchArchive,
  restoredRow,
  swappedRow,
} from "../archived.ts";
import { checkUntouched, type Of } from "../rules.ts";
import type { Archive, ArchiveWhy } from "../store.ts";
import { Generations } from "./generations.ts";
import { transcriptPath, type Paths } from "./paths.ts";
import { recordFrom } from "./row.ts";
import type { Rows } from "./rows.ts";
import type { Numbered, Tables } from "./tables.ts";

export class Archiving {
  readonly #database: DatabaseSync;
  readonly #tables: Tables;
  readonly #rows: Rows;
  readonly #leases: Leases;
  readonly #paths: Paths;
  readonly #generations: Generations;

  constructor(parts: { database: DatabaseSync; tables: Tables; rows: Rows; leases: Leases; paths: Paths }) {
    this.#database = parts.database;
    this.#tables = parts.tables;
    this.#rows = parts.rows;
    this.#leases = parts.leases;
    this.#paths = parts.paths;
    this.#generations = new Generations(parts.database);
  }

  /** Returns how to undo what is not in the database. What was refused for good stays in the outbox, under its key. */
  archive({ key, expect, why }: Of<"archive">, atMs: number): () => void {
    const numbered = this.#rows.get(key);
    checkUntouched(numbered.row, expect, {
      mail: this.#tables.waiting(key).length > 0,
      children: this.#tables.hasChild(key),
    });
    checkAtRest(numbered.row, {
      timer: this.#has("SELECT 1 FROM timers WHERE key = ? LIMIT 1", key),
      answer: this.#has("SELECT 1 FROM outbox WHERE key = ? AND refused IS NULL LIMIT 1", key),
    });
    checkMayGo(numbered.row, why, this.#has("SELECT 1 FROM jobs WHERE target = ? LIMIT 1", key));
    return this.#putAway(numbered, why, atMs);
  }

  #putAway(numbered: Numbered, why: ArchiveWhy, atMs: number): () => void {
    const { key } = numbered.row;
    putAway(this.#database, numbered, why, atMs);
    this.#rows.drop(key);
    return this.#leases.forget(key);
  }

  /**
   * The session is what it was, under the number that it had: its letters are known by that. What a session was before it began
   * anew has the number of that one, if it lives: it lives on. Returns how to undo what is not in the database, too.
   */
  restore(change: Of<"restore">, atMs: number): { readonly row: Session; readonly undo: () => void } {
    const { archive: id, over } = change;
    const found = this.#find(id);
    const archive = found?.archive ?? null;
    const present = archive === null ? null : this.#rows.find(archive.key);
    checkRestore(change, archive, present?.row ?? null);
    let undo = (): void => {};
    if (present !== null) {
      checkGivesWay(present.row, over, this.#tables.waiting(archive.key).length > 0);
      undo = this.#putAway(present, "asked", atMs);
    }
    const row = present === null ? restoredRow(archive, atMs) : swappedRow(archive, present.row, atMs);
    const had = found?.n ?? null;
    if (present !== null && had === null)
      this.#database.prepare("UPDATE archives SET n = NULL WHERE id = ?").run(present.row.transcript.id);
    const n = this.#rows.insert(row, had ?? present?.n ?? null);
    this.#generations.toSession(id, n);
    this.#database.prepare("DELETE FROM archives WHERE id = ?").run(id);
    return { row, undo };
  }

  /** Returns the transcripts that are to be erased. Fault not_found. */
  purge({ archive: id }: Pick<Of<"purge">, "archive">, atMs: number): readonly string[] {
    const found = this.#find(id);
    if (found === null) throw noSuchArchive(id);
    const { key } = found.archive;
    const files = this.#generations.list({ archive: id });
    this.#generations.forget({ archive: id });
    this.#database.prepare("DELETE FROM archives WHERE id = ?").run(id);
    for (const { agent, transcript } of files)
      this.#tables.bury({ key, agent, transcript, archived: true }, atMs);
    const lives =
      this.#rows.find(key) !== null || this.#has("SELECT 1 FROM archives WHERE key = ? LIMIT 1", key);
    if (!lives) this.#database.prepare("DELETE FROM outbox WHERE key = ?").run(key);
    return files.map(({ agent, transcript }) => transcriptPath(this.#paths, agent, transcript));
  }

  /** All that were put away under a key. */
  purgeAll(key: SessionKey, atMs: number): readonly string[] {
    const ids = this.#database.prepare("SELECT id FROM archives WHERE key = ?").all(key);
    return ids.flatMap(({ id }) => this.purge({ archive: String(id) }, atMs));
  }

  #find(id: string): { readonly n: number | null; readonly archive: Archive } | null {
    const found = this.#database
      .prepare(`SELECT n, ${ARCHIVE}, ${FIRST_SEQ} FROM archives WHERE id = ?`)
      .get(id);
    if (!found) return null;
    return { n: found["n"] === null ? null : Number(found["n"]), archive: archiveFrom(found) };
  }

  #has(sql: string, value: string): boolean {
    return this.#database.prepare(sql).get(value) !== undefined;
  }
}

/** The row of a session becomes an archive. What it waits for, or who waits for it, is not looked at here. */
export function putAway(database: DatabaseSync, { n, row }: Numbered, why: ArchiveWhy, atMs: number): void {
  const generations = new Generations(database);
  const { id, bytes } = row.transcript;
  generations.toArchive(n, id);
  generations.add({ n, row }, { archive: id }, { cut: bytes, skip: 0 });
  const all = generations.list({ archive: id }).reduce((sum, each) => sum + each.bytes, 0);
  database
    .prepare(
      "INSERT INTO archives (id, key, agent, why, archived_ms, bytes, n, session) VALUES (?,?,?,?,?,?,?,?)",
    )
    .run(id, row.key, row.agent, why, atMs, all, n, JSON.stringify(row));
  database.prepare("DELETE FROM sessions WHERE n = ?").run(n);
}

/** What recordedFrom needs, and archiveFrom with what follows; begin a SELECT with it. */
export const ARCHIVE = "id, key, agent, why, archived_ms, bytes, packed_bytes, session";
export const FIRST_SEQ =
  "(SELECT first_seq FROM generations WHERE archive = archives.id ORDER BY generations.n LIMIT 1) AS first_seq";

export function archiveFrom(found: Record<string, unknown>): Archive {
  return { ...recordedFrom(found), firstSeq: Number(found["first_seq"] ?? 1) };
}

/** As much of an archive as a state of any version has. */
export type Recorded = Omit<Archive, "firstSeq">;

export function recordedFrom(found: Record<string, unknown>): Recorded {
  const packed = found["packed_bytes"];
  return {
    id: String(found["id"]),
    key: String(found["key"]) as SessionKey,
    agent: String(found["agent"]),
    why: String(found["why"]) as ArchiveWhy,
    archivedAtMs: Number(found["archived_ms"]),
    session: recordFrom(String(found["session"])),
    bytes: Number(found["bytes"]),
    packedBytes: packed === null ? null : Number(packed),
  };
}
