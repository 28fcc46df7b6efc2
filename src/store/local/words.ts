// The full-text index: which words stand in which entry, in search.sqlite. Everything in it can be made again from the
// transcripts, so it is not synced, and one that cannot be used is thrown away.

import { rmSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { SessionKey } from "../../routing/key.ts";
import { limitOf } from "../cursor.ts";
import type { Hits, SearchQuery } from "../store.ts";
import { isFull } from "./trouble.ts";

/** How text becomes words: without accents and case. */
export const TOKENIZER = "unicode61 remove_diacritics 2";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS seen (one INTEGER PRIMARY KEY, epoch TEXT NOT NULL, cursor INTEGER NOT NULL, scanned INTEGER);
  CREATE TABLE IF NOT EXISTS transcripts (id TEXT PRIMARY KEY, key TEXT NOT NULL, agent TEXT NOT NULL, seq INTEGER NOT NULL, offset INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS transcripts_key ON transcripts (key);
  CREATE TABLE IF NOT EXISTS texts (n INTEGER PRIMARY KEY, transcript TEXT NOT NULL, seq INTEGER NOT NULL);
  CREATE INDEX IF NOT EXISTS texts_transcript ON texts (transcript);
  CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, tokenize = '${TOKENIZER}');
`;

const HITS_USUALLY = 20;

/** How far the feed has been read. */
export interface Seen {
  /** Which feed it was; see changesSince. */
  readonly epoch: string;
  /** The last group whose texts are in the index. */
  readonly cursor: number;
  /** The number of the last session looked at while everything is being read again; null: nothing is. */
  readonly scanned: number | null;
}

/** How far one transcript has been read. The offset is a shortcut: the line after that seq was there. */
export interface Place {
  readonly seq: number;
  readonly offset: number;
}

export class Words {
  readonly #database: DatabaseSync;
  readonly #addText: StatementSync;
  readonly #addWords: StatementSync;
  readonly #setPlace: StatementSync;
  readonly #getPlace: StatementSync;

  /** One that cannot be used is thrown away: damage shows here, or only when it is read. */
  static open(path: string): Words {
    try {
      return new Words(path);
    } catch (error) {
      if (!(error instanceof Error && "errcode" in error) || isFull(error)) throw error;
      throwAway(path);
      return new Words(path);
    }
  }

  private constructor(path: string) {
    this.#database = prepared(path);
    this.#addText = this.#database.prepare("INSERT INTO texts (transcript, seq) VALUES (?,?)");
    this.#addWords = this.#database.prepare("INSERT INTO words (rowid, text) VALUES (?,?)");
    this.#setPlace = this.#database.prepare(
      "INSERT OR REPLACE INTO transcripts (id, key, agent, seq, offset) VALUES (?,?,?,?,?)",
    );
    this.#getPlace = this.#database.prepare("SELECT seq, offset FROM transcripts WHERE id = ?");
  }

  /** All of it, or nothing. */
  together(work: () => void): void {
    this.#database.exec("BEGIN");
    try {
      work();
      this.#database.exec("COMMIT");
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  /** Null: nothing has been read yet. */
  seen(): Seen | null {
    const row = this.#database.prepare("SELECT epoch, cursor, scanned FROM seen").get();
    if (!row) return null;
    const { epoch, cursor, scanned } = row;
    return {
      epoch: String(epoch),
      cursor: Number(cursor),
      scanned: scanned === null ? null : Number(scanned),
    };
  }

  saw({ epoch, cursor, scanned }: Seen): void {
    this.#database
      .prepare("INSERT OR REPLACE INTO seen (one, epoch, cursor, scanned) VALUES (1, ?, ?, ?)")
      .run(epoch, cursor, scanned);
  }

  place(transcript: string): Place {
    const row = this.#getPlace.get(transcript);
    return { seq: Number(row?.["seq"] ?? 0), offset: Number(row?.["offset"] ?? 0) };
  }

  put(
    transcript: string,
    of: { readonly key: SessionKey; readonly agent: string },
    { seq, offset }: Place,
  ): void {
    this.#setPlace.run(transcript, of.key, of.agent, seq, offset);
  }

  add(transcript: string, seq: number, text: string): void {
    this.#addWords.run(this.#addText.run(transcript, seq).lastInsertRowid, text);
  }

  transcripts(): readonly string[] {
    return this.#database
      .prepare("SELECT id FROM transcripts")
      .all()
      .map(({ id }) => String(id));
  }

  ofKey(key: SessionKey): readonly string[] {
    return this.#database
      .prepare("SELECT id FROM transcripts WHERE key = ?")
      .all(key)
      .map(({ id }) => String(id));
  }

  forget(transcript: string): void {
    for (const sql of [
      "DELETE FROM words WHERE rowid IN (SELECT n FROM texts WHERE transcript = ?)",
      "DELETE FROM texts WHERE transcript = ?",
      "DELETE FROM transcripts WHERE id = ?",
    ])
      this.#database.prepare(sql).run(transcript);
  }

  /** The same history under another name. Where both are known, one of them was read again after a loss: that one goes. */
  rename(from: string, to: string): void {
    if (this.#getPlace.get(to) !== undefined) return this.forget(from);
    this.#database.prepare("UPDATE texts SET transcript = ? WHERE transcript = ?").run(to, from);
    this.#database.prepare("UPDATE transcripts SET id = ? WHERE id = ?").run(to, from);
  }

  /** Newest first. */
  find(query: SearchQuery): Hits["hits"] {
    const match = matchOf(query.text);
    if (match === null) return [];
    const found = this.#database
      .prepare(
        `SELECT t.key, t.id, texts.seq, snippet(words, 0, '', '', '…', 24) AS snippet
         FROM words JOIN texts ON texts.n = words.rowid JOIN transcripts AS t ON t.id = texts.transcript
         WHERE words MATCH ?1 AND (?2 IS NULL OR t.agent = ?2) AND (?3 IS NULL OR t.key = ?3)
           AND (?4 IS NULL OR t.key IN (SELECT value FROM json_each(?4)))
         ORDER BY words.rowid DESC LIMIT ?5`,
      )
      .all(
        match,
        query.agent ?? null,
        query.key ?? null,
        query.keys === undefined ? null : JSON.stringify(query.keys),
        limitOf(query.limit === undefined ? {} : { limit: query.limit }, HITS_USUALLY),
      );
    return found.map((row) => ({
      key: String(row["key"]) as SessionKey,
      transcript: String(row["id"]),
      seq: Number(row["seq"]),
      snippet: String(row["snippet"]),
    }));
  }

  close(): void {
    this.#database.close();
  }
}

/** What is asked of the index, for what people typed; null: there is no word in it. */
export function matchOf(text: string): string | null {
  // An accent may be a character of its own (\p{M}): it belongs to the letter before it.
  const words = text.split(/[^\p{L}\p{N}\p{M}]+/u).filter((word) => /[\p{L}\p{N}]/u.test(word));
  if (words.length === 0) return null;
  // Each word quoted: what people type is never read as the index's own language. The last may be a beginning.
  return words.map((word, at) => `"${word}"${at === words.length - 1 ? "*" : ""}`).join(" ");
}

export function throwAway(path: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(`${path}${suffix}`, { force: true });
}

function prepared(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  try {
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA synchronous = OFF"); // derived: losing it costs time, not history
    database.exec(SCHEMA);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
