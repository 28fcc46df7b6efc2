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

/** Another shape is thrown away: everything in it can be made again. */
const SHAPE = 2;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS seen (one INTEGER PRIMARY KEY, epoch TEXT NOT NULL, cursor INTEGER NOT NULL, scanned INTEGER);
  CREATE TABLE IF NOT EXISTS transcripts (
    n INTEGER PRIMARY KEY AUTOINCREMENT, -- never given again: one that comes back is another
    id TEXT NOT NULL UNIQUE, key TEXT NOT NULL, agent TEXT NOT NULL, seq INTEGER NOT NULL, offset INTEGER NOT NULL
  );
  CREATE INDEX IF NOT EXISTS transcripts_key ON transcripts (key);
  CREATE TABLE IF NOT EXISTS texts (n INTEGER PRIMARY KEY, transcript INTEGER NOT NULL, seq INTEGER NOT NULL);
  CREATE INDEX IF NOT EXISTS texts_transcript ON texts (transcript);
  CREATE TABLE IF NOT EXISTS forgotten (transcript INTEGER PRIMARY KEY); -- nothing of them is found; their texts go by and by
  CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, tokenize = '${TOKENIZER}');
  PRAGMA user_version = ${SHAPE};
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
  readonly #enter: StatementSync;
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
    this.#enter = this.#database.prepare(
      "INSERT INTO transcripts (id, key, agent, seq, offset) VALUES (?,?,?,0,0) ON CONFLICT DO NOTHING",
    );
    this.#setPlace = this.#database.prepare("UPDATE transcripts SET seq = ?, offset = ? WHERE n = ?");
    this.#getPlace = this.#database.prepare("SELECT n, seq, offset FROM transcripts WHERE id = ?");
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

  /** With the number by which its texts are added. */
  place(
    transcript: string,
    of: { readonly key: SessionKey; readonly agent: string },
  ): Place & { readonly n: number } {
    this.#enter.run(transcript, of.key, of.agent);
    const row = this.#getPlace.get(transcript);
    return { n: Number(row?.["n"]), seq: Number(row?.["seq"]), offset: Number(row?.["offset"]) };
  }

  put(n: number, { seq, offset }: Place): void {
    this.#setPlace.run(seq, offset, n);
  }

  add(n: number, seq: number, text: string): void {
    this.#addWords.run(this.#addText.run(n, seq).lastInsertRowid, text);
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

  /** Nothing of it is found any more. Its texts go by and by (forgetSome), however many they are. */
  forget(transcript: string): void {
    for (const sql of [
      "INSERT INTO forgotten (transcript) SELECT n FROM transcripts WHERE id = ?",
      "DELETE FROM transcripts WHERE id = ?",
    ])
      this.#database.prepare(sql).run(transcript);
  }

  /** Texts of what is forgotten are still there. */
  get isForgetting(): boolean {
    return this.#database.prepare("SELECT 1 FROM forgotten LIMIT 1").get() !== undefined;
  }

  forgetSome(most: number): void {
    const first = this.#database.prepare("SELECT transcript FROM forgotten LIMIT 1").get();
    if (!first) return;
    const transcript = Number(first["transcript"]);
    const some = this.#database
      .prepare("SELECT n FROM texts WHERE transcript = ? LIMIT ?")
      .all(transcript, most);
    const [words, texts] = ["DELETE FROM words WHERE rowid = ?", "DELETE FROM texts WHERE n = ?"].map((sql) =>
      this.#database.prepare(sql),
    );
    for (const { n } of some) for (const each of [words, texts]) each?.run(Number(n));
    if (some.length < most)
      this.#database.prepare("DELETE FROM forgotten WHERE transcript = ?").run(transcript);
  }

  /** The same history under another name. Where both are known, one of them was read again after a loss: that one goes. */
  rename(from: string, to: string): void {
    if (this.#getPlace.get(to) !== undefined) return this.forget(from);
    this.#database.prepare("UPDATE transcripts SET id = ? WHERE id = ?").run(to, from);
  }

  /** Newest first. */
  find(query: SearchQuery): Hits["hits"] {
    const match = matchOf(query.text);
    if (match === null) return [];
    const found = this.#database
      .prepare(
        `SELECT t.key, t.id, texts.seq, snippet(words, 0, '', '', '…', 24) AS snippet
         FROM words JOIN texts ON texts.n = words.rowid JOIN transcripts AS t ON t.n = texts.transcript
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
    const shape = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    const isNew = database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
    if (shape !== SHAPE && !isNew) {
      database.close();
      throwAway(path);
      return prepared(path);
    }
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA synchronous = OFF"); // derived: losing it costs time, not history
    database.exec(SCHEMA);
    return database;
  } catch (error) {
    if (database.isOpen) database.close();
    throw error;
  }
}
