// The files of a history before the one that it goes on in (the table `generations`): the writer's part of it.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Session, Tail } from "../../sessions/session.ts";
import type { Twin } from "./tables.ts";

/** One file, as the table has it. */
export interface Generation {
  readonly n: number;
  readonly transcript: string;
  readonly agent: string;
  readonly bytes: number;
  readonly cut: number;
  readonly skip: number;
}

/** Whose they are: a session's, by its number, or an archive's. */
export type Whose = { readonly session: number } | { readonly archive: string };

export class Generations {
  readonly #database: DatabaseSync;
  readonly #isOf: StatementSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#isOf = database.prepare("SELECT 1 FROM generations WHERE transcript = ? AND session = ?");
  }

  has(transcript: string): boolean {
    return (
      this.#database.prepare("SELECT 1 FROM generations WHERE transcript = ?").get(transcript) !== undefined
    );
  }

  /** Whether it is an older file of the history that this session goes on with. */
  isOf(transcript: string, session: number): boolean {
    return this.#isOf.get(transcript, session) !== undefined;
  }

  list(whose: Whose): Generation[] {
    return generationsOf(this.#database, whose);
  }

  /**
   * The file of a session, which is no longer the one that it is written to. Lines of it that only the journal has stay
   * there, under its own number.
   */
  add(
    { n, row }: { readonly n: number; readonly row: Session },
    whose: Whose,
    { cut, skip }: Pick<Generation, "cut" | "skip">,
  ): number {
    const { id: transcript, bytes, firstSeq } = row.transcript;
    const number = this.insert({ transcript, agent: row.agent, bytes, cut, skip, firstSeq }, whose);
    for (const twin of ["a", "b"] satisfies Twin[])
      this.#database.prepare(`UPDATE journal_${twin} SET session = ? WHERE session = ?`).run(-number, n);
    return number;
  }

  /** Of a file that the journal has nothing of. Returns its number. */
  insert(file: Omit<Generation, "n"> & Pick<Tail, "firstSeq">, whose: Whose): number {
    const { transcript, agent, bytes, cut, skip, firstSeq } = file;
    const [session, archive] = "session" in whose ? [whose.session, null] : [null, whose.archive];
    const added = this.#database
      .prepare(
        "INSERT INTO generations (transcript, agent, session, archive, bytes, cut, skip, first_seq) VALUES (?,?,?,?,?,?,?,?)",
      )
      .run(transcript, agent, session, archive, bytes, cut, skip, firstSeq);
    return Number(added.lastInsertRowid);
  }

  /** From a session to an archive. */
  toArchive(session: number, archive: string): void {
    this.#database
      .prepare("UPDATE generations SET session = NULL, archive = ? WHERE session = ?")
      .run(archive, session);
  }

  /** From an archive to a session, which is written to the newest of them again. */
  toSession(archive: string, session: number): void {
    const newest = this.#database.prepare("SELECT n FROM generations WHERE transcript = ?").get(archive);
    const number = Number(newest?.["n"]);
    for (const twin of ["a", "b"] satisfies Twin[])
      this.#database
        .prepare(`UPDATE journal_${twin} SET session = ? WHERE session = ?`)
        .run(session, -number);
    this.#database.prepare("DELETE FROM generations WHERE n = ?").run(number);
    this.#database
      .prepare("UPDATE generations SET session = ?, archive = NULL WHERE archive = ?")
      .run(session, archive);
  }

  /** They are nobody's any more; the files are the caller's to erase. */
  forget(whose: Whose): void {
    for (const { n } of this.list(whose)) {
      for (const twin of ["a", "b"] satisfies Twin[])
        this.#database.prepare(`DELETE FROM journal_${twin} WHERE session = ?`).run(-n);
      this.#database.prepare("DELETE FROM generations WHERE n = ?").run(n);
    }
  }
}

/** Oldest first. */
export function generationsOf(database: DatabaseSync, whose: Whose): Generation[] {
  const [name, value] =
    "session" in whose ? (["session", whose.session] as const) : (["archive", whose.archive] as const);
  return database
    .prepare(`SELECT n, transcript, agent, bytes, cut, skip FROM generations WHERE ${name} = ? ORDER BY n`)
    .all(value)
    .map(generationFrom);
}

export function generationFrom(row: Record<string, unknown>): Generation {
  return {
    n: Number(row["n"]),
    transcript: String(row["transcript"]),
    agent: String(row["agent"]),
    bytes: Number(row["bytes"]),
    cut: Number(row["cut"]),
    skip: Number(row["skip"]),
  };
}
