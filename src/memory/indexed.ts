// The words of one agent's notes, in memory. All of it can be read again from the notes, which are small and few: so nothing of
// it is on the disk, where it could be behind, damaged or left over. After a start the first question reads them all.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { Fault } from "../base/fault.ts";
import type { World } from "../base/world.ts";
import { NOTES_BYTES_MAX } from "../limits.ts";
import { matchOf, TOKENIZER } from "../store/local/words.ts";
import { listNotes, readNote } from "./folder.ts";
import type { NoteRow, NotesFound, Question } from "./memory.ts";
import { snippetOf } from "./snippet.ts";

const SCHEMA = `CREATE VIRTUAL TABLE words USING fts5(path, text, tokenize = '${TOKENIZER}');`;

/** How much a word in a note's name counts for, beside one in its text. */
const NAME_WEIGHT = 4;

/**
 * How old a change must be to be told from the next one: file systems tell times in steps of some milliseconds, so that two
 * changes may have the same.
 */
const SETTLED_MS = 100;

interface Known {
  readonly row: number | bigint; // in the index
  readonly stamp: string | null; // null: it may have changed again without showing it
  readonly bytes: number;
}

export class NoteIndex {
  readonly #workspace: string;
  readonly #world: World;
  readonly #database = new DatabaseSync(":memory:");
  readonly #known = new Map<string, Known>(); // by path
  readonly #add: StatementSync;
  readonly #remove: StatementSync;
  readonly #find: StatementSync;
  readonly #get: StatementSync;

  constructor(world: World, workspace: string) {
    this.#world = world;
    this.#workspace = workspace;
    this.#database.exec(SCHEMA);
    this.#add = this.#database.prepare("INSERT INTO words (path, text) VALUES (?,?)");
    this.#remove = this.#database.prepare("DELETE FROM words WHERE rowid = ?");
    // Only their numbers: what stands in a note is fetched of those that are told.
    this.#find = this.#database.prepare(
      `SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words, ${NAME_WEIGHT}), rowid LIMIT ?`,
    );
    this.#get = this.#database.prepare("SELECT path, text FROM words WHERE rowid = ?");
  }

  /** The notes as they are now. One question at a time. */
  async answer({ text, limit }: Question): Promise<NotesFound> {
    const match = matchOf(text);
    if (match === null) return { hits: [], skipped: 0 };
    const skipped = await this.#catchUp();
    const hits = this.#find.all(match, limit).map((found) => {
      const row = this.#get.get(Number(found["rowid"]));
      return { path: String(row?.["path"]), ...snippetOf(String(row?.["text"]), text) };
    });
    return { hits, skipped };
  }

  close(): void {
    this.#database.close();
  }

  /** How many notes are left out. */
  async #catchUp(): Promise<number> {
    const nowMs = this.#world.nowMs();
    const { notes, more } = await listNotes(this.#workspace);
    const paths = new Set(notes.map(({ path }) => path));
    for (const path of this.#known.keys()) if (!paths.has(path)) this.#forget(path);
    let skipped = more ? 1 : 0; // at least
    let bytes = 0;
    for (const note of notes) {
      if (!(await this.#has(note, nowMs - SETTLED_MS, NOTES_BYTES_MAX - bytes))) skipped += 1;
      bytes += this.#known.get(note.path)?.bytes ?? 0;
    }
    return skipped;
  }

  /** Reads it if it is another than before. False: it cannot be searched. */
  async #has({ path, stamp, changedAtMs }: NoteRow, settledMs: number, room: number): Promise<boolean> {
    if (this.#known.get(path)?.stamp === stamp) return true;
    this.#forget(path);
    try {
      const { text, bytes } = await readNote(this.#workspace, path);
      if (bytes > room) return false;
      const row = this.#add.run(path, text).lastInsertRowid;
      this.#known.set(path, { row, stamp: changedAtMs < settledMs ? stamp : null, bytes });
      return true;
    } catch (error) {
      if (!(error instanceof Fault) || error.code === "bug") throw error;
      return error.code === "not_found"; // It is gone by now. Any other is there, and is told as left out.
    }
  }

  #forget(path: string): void {
    const known = this.#known.get(path);
    if (known === undefined) return;
    this.#remove.run(known.row);
    this.#known.delete(path);
  }
}
