// Search
//
// The thread that keeps search.sqlite, a full-text index over what was said. It follows the feed like any
// subscriber and is always a little behind; it says how much. Everything in it can be made again, so it is
// not synced, and a damaged one is thrown away.
//
// Invariants
//   X1. `seen` and the texts of the groups up to it are committed together.
//   X2. It takes at most a quarter of a core while commits keep coming: people come first.

import { rmSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { workerData, type MessagePort } from "node:worker_threads";
import { PAGE_ROWS_MAX, SEARCH_TEXT_CHARS_MAX } from "../../limits.ts";
import type { SessionKey } from "../../routing/key.ts";
import { textOf } from "../../transcript/entry.ts";
import { readForward, seekSeq } from "../../transcript/read.ts";
import type { Changed, Hits, SearchQuery } from "../store.ts";
import { isFull } from "./files.ts";
import { isDamaged } from "./owner.ts";
import { pathsIn, type Paths } from "./paths.ts";
import { tune } from "./schema.ts";
import { snapshot } from "./spliced.ts";

export type ToSearch =
  | { readonly do: "look" }
  | { readonly do: "search"; readonly id: number; readonly query: SearchQuery };

export type FromSearch = "caught up" | { readonly id: number; readonly answer: Hits };

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS seen (one INTEGER PRIMARY KEY, cursor INTEGER NOT NULL, scanned INTEGER);
  CREATE TABLE IF NOT EXISTS transcripts (id TEXT PRIMARY KEY, key TEXT NOT NULL, agent TEXT NOT NULL, seq INTEGER NOT NULL, offset INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS transcripts_key ON transcripts (key);
  CREATE TABLE IF NOT EXISTS texts (n INTEGER PRIMARY KEY, transcript TEXT NOT NULL, seq INTEGER NOT NULL);
  CREATE INDEX IF NOT EXISTS texts_transcript ON texts (transcript);
  CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, tokenize = 'unicode61 remove_diacritics 2');
`;

/** Groups of commits, or sessions, looked at in one go: a few milliseconds of work. */
const GROUPS_AT_ONCE = 64;
const SESSIONS_AT_ONCE = 64;

/** What is said in quick succession is read in one go. */
const LOOK_AFTER_MS = 20;

/** On a full disk it stays behind, and tries again after this. */
const FULL_AGAIN_MS = 1_000;

interface Seen {
  /** The last group of the feed whose texts are in the index. */
  readonly cursor: number;
  /** The number of the last session looked at while everything is being read again; null: nothing is. */
  readonly scanned: number | null;
}

class Search {
  readonly #caughtUp: () => void;
  readonly #paths: Paths;
  readonly #state: DatabaseSync;
  readonly #index: DatabaseSync;
  readonly #addText: StatementSync;
  readonly #addWords: StatementSync;
  readonly #setPlace: StatementSync;
  readonly #getPlace: StatementSync;
  #timer: NodeJS.Timeout | null = null;
  #restMs = 0;

  /** `caughtUp` is told when the index has everything that the feed had. */
  constructor(home: string, caughtUp: () => void) {
    this.#caughtUp = caughtUp;
    this.#paths = pathsIn(home);
    this.#index = openIndex(this.#paths.search);
    this.#state = new DatabaseSync(this.#paths.state);
    tune(this.#state, "read");
    this.#addText = this.#index.prepare("INSERT INTO texts (transcript, seq) VALUES (?,?)");
    this.#addWords = this.#index.prepare("INSERT INTO words (rowid, text) VALUES (?,?)");
    this.#setPlace = this.#index.prepare(
      "INSERT OR REPLACE INTO transcripts (id, key, agent, seq, offset) VALUES (?,?,?,?,?)",
    );
    this.#getPlace = this.#index.prepare("SELECT seq, offset FROM transcripts WHERE id = ?");
  }

  /** Soon, and not before it has rested three times as long as it worked (X2). */
  look(afterMs: number = LOOK_AFTER_MS): void {
    this.#timer ??= setTimeout(
      () => {
        this.#timer = null;
        const before = performance.now();
        try {
          const more = this.#catchUp();
          this.#restMs = 3 * (performance.now() - before);
          if (more) this.look();
          else this.#caughtUp();
        } catch (error) {
          if (!isFull(error)) throw error;
          if (this.#index.isTransaction) this.#index.exec("ROLLBACK");
          this.look(FULL_AGAIN_MS);
        }
      },
      Math.max(afterMs, this.#restMs),
    );
  }

  answer(query: SearchQuery): Hits {
    // An accent may be a character of its own (\p{M}): it belongs to the letter before it.
    const words = query.text.split(/[^\p{L}\p{N}\p{M}]+/u).filter((word) => /[\p{L}\p{N}]/u.test(word));
    const behind = this.#behind();
    if (words.length === 0) return { hits: [], behind };
    // Each word quoted: what people type is never read as the index's own language. The last may be a beginning.
    const match = words.map((word, at) => `"${word}"${at === words.length - 1 ? "*" : ""}`).join(" ");
    const found = this.#index
      .prepare(
        `SELECT t.key, t.id, texts.seq, snippet(words, 0, '', '', '…', 24) AS snippet
         FROM words JOIN texts ON texts.n = words.rowid JOIN transcripts AS t ON t.id = texts.transcript
         WHERE words MATCH ?1 AND (?2 IS NULL OR t.agent = ?2) AND (?3 IS NULL OR t.key = ?3)
         ORDER BY words.rowid DESC LIMIT ?4`,
      )
      .all(
        match,
        query.agent ?? null,
        query.key ?? null,
        Math.max(1, Math.min(query.limit ?? 20, PAGE_ROWS_MAX)),
      );
    const hits = found.map((row) => ({
      key: String(row["key"]) as SessionKey,
      transcript: String(row["id"]),
      seq: Number(row["seq"]),
      snippet: String(row["snippet"]),
    }));
    return { hits, behind };
  }

  /** True: there is more. */
  #catchUp(): boolean {
    const ends = this.#feedEnds();
    const seen = this.#seen();
    if (seen.scanned === null && seen.cursor === ends.newest) return false;
    this.#index.exec("BEGIN");
    // The feed does not reach back to where we were, or it is another one: read everything again, by the table.
    const lost = seen.cursor < ends.oldest - 1 || seen.cursor > ends.newest;
    if (lost) this.#saw({ cursor: ends.newest, scanned: 0 });
    else if (seen.scanned !== null) this.#addSessions(seen.cursor, seen.scanned);
    else this.#addGroups(seen.cursor);
    this.#index.exec("COMMIT"); // X1
    return this.#behind() > 0;
  }

  #addGroups(cursor: number): void {
    const groups = this.#state
      .prepare("SELECT n, body FROM feed WHERE n > ? ORDER BY n LIMIT ?")
      .all(cursor, GROUPS_AT_ONCE);
    const changed = new Set<SessionKey>();
    for (const group of groups) {
      for (const { key, deleted } of JSON.parse(String(group["body"])) as Changed[]) {
        if (deleted) this.#forget(key);
        else changed.add(key);
      }
    }
    const transcriptOf = this.#state.prepare("SELECT transcript FROM sessions WHERE key = ?");
    for (const key of changed) {
      const found = transcriptOf.get(key);
      if (found) this.#addTranscript(String(found["transcript"])); // else deleted meanwhile; the feed will say so
    }
    this.#saw({ cursor: Number(groups.at(-1)?.["n"] ?? cursor), scanned: null });
  }

  #addSessions(cursor: number, scanned: number): void {
    const some = this.#state
      .prepare("SELECT n, transcript FROM sessions WHERE n > ? ORDER BY n LIMIT ?")
      .all(scanned, SESSIONS_AT_ONCE);
    for (const { transcript } of some) this.#addTranscript(String(transcript));
    this.#saw({ cursor, scanned: some.length < SESSIONS_AT_ONCE ? null : Number(some.at(-1)?.["n"]) });
  }

  #addTranscript(transcript: string): void {
    const taken = snapshot(this.#state, this.#paths, transcript);
    if (taken === null) return;
    const { row, source } = taken;
    const place = this.#getPlace.get(transcript);
    let seq = Number(place?.["seq"] ?? 0);
    // The offset is a shortcut; should the file have been made anew, its lines are found by seq.
    let offset = Number(place?.["offset"] ?? 0);
    if (offset > source.size) offset = seekSeq(source, seq + 1);
    try {
      for (const { item, offset: at, bytes } of readForward(source, offset)) {
        offset = at + bytes;
        if (item.type === "gap" || item.type === "session" || item.seq <= seq) continue;
        seq = item.seq;
        const text = textOf(item).slice(0, SEARCH_TEXT_CHARS_MAX);
        if (text !== "") this.#addWords.run(this.#addText.run(transcript, seq).lastInsertRowid, text);
      }
    } finally {
      source.close();
    }
    this.#setPlace.run(transcript, row.key, row.agent, seq, offset);
  }

  #forget(key: SessionKey): void {
    for (const { id } of this.#index.prepare("SELECT id FROM transcripts WHERE key = ?").all(key)) {
      this.#index
        .prepare("DELETE FROM words WHERE rowid IN (SELECT n FROM texts WHERE transcript = ?)")
        .run(String(id));
      this.#index.prepare("DELETE FROM texts WHERE transcript = ?").run(String(id));
      this.#index.prepare("DELETE FROM transcripts WHERE id = ?").run(String(id));
    }
  }

  #behind(): number {
    const seen = this.#seen();
    const unread =
      seen.scanned === null
        ? 0
        : Number(
            this.#state.prepare("SELECT count(*) AS n FROM sessions WHERE n > ?").get(seen.scanned)?.["n"],
          );
    return this.#feedEnds().newest - seen.cursor + unread;
  }

  #seen(): Seen {
    const row = this.#index.prepare("SELECT cursor, scanned FROM seen").get();
    // A new index begins with the table: the feed of a home that was rebuilt knows nothing of what is there.
    if (!row) return { cursor: this.#feedEnds().newest, scanned: 0 };
    return {
      cursor: Number(row["cursor"]),
      scanned: row["scanned"] === null ? null : Number(row["scanned"]),
    };
  }

  #saw(seen: Seen): void {
    this.#index
      .prepare("INSERT OR REPLACE INTO seen (one, cursor, scanned) VALUES (1, ?, ?)")
      .run(seen.cursor, seen.scanned);
  }

  #feedEnds(): { readonly oldest: number; readonly newest: number } {
    const row = this.#state.prepare("SELECT min(n) AS oldest, max(n) AS newest FROM feed").get();
    return { oldest: Number(row?.["oldest"] ?? 1), newest: Number(row?.["newest"] ?? 0) };
  }
}

function openIndex(path: string): DatabaseSync {
  try {
    return prepared(path);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
    return prepared(path);
  }
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

// On Linux a thread has a priority of its own; elsewhere this would be the whole process's, and X2 has to do.
if (process.platform === "linux") setPriority(0, constants.priority.PRIORITY_LOW);

const { port, home } = workerData as { readonly port: MessagePort; readonly home: string };
const say = (message: FromSearch): void => port.postMessage(message);
let search: Search | null = null;

function hear(message: ToSearch): void {
  try {
    search ??= new Search(home, () => say("caught up")); // by now the writer has made the database
  } catch (error) {
    if (!isFull(error)) throw error;
    if (message.do === "search") say({ id: message.id, answer: { hits: [], behind: 1 } }); // at least
    else setTimeout(() => hear(message), FULL_AGAIN_MS);
    return;
  }
  if (message.do === "search") say({ id: message.id, answer: search.answer(message.query) });
  else search.look();
}

port.on("message", hear);
