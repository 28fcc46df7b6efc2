// The words of one agent's notes, in memory. All of it can be read again from the notes, which are small and few: so nothing of
// it is on the disk, where it could be behind, damaged or left over. After a start the first question reads them all.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { Fault } from "../base/fault.ts";
import type { World } from "../base/world.ts";
import { NOTE_BYTES_MAX, NOTE_WORDS_MAX, NOTES_BYTES_MAX } from "../limits.ts";
import { matchOf, TOKENIZER } from "../store/local/words.ts";
import { listNotes, readNote } from "./folder.ts";
import type { NoteRow, NotesFound, Question } from "./memory.ts";
import { nameOf } from "./path.ts";
import { snippetOf, wordsOf } from "./snippet.ts";

const SCHEMA = `CREATE VIRTUAL TABLE words USING fts5(name, text, path UNINDEXED, tokenize = '${TOKENIZER}');`;

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
    this.#add = this.#database.prepare("INSERT INTO words (name, path, text) VALUES (?,?,?)");
    this.#remove = this.#database.prepare("DELETE FROM words WHERE rowid = ?");
    // Only their numbers: what stands in a note is fetched of those that are told.
    this.#find = this.#database.prepare(
      `SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words, ${NAME_WEIGHT}), rowid LIMIT ?`,
    );
    this.#get = this.#database.prepare("SELECT path, text FROM words WHERE rowid = ?");
  }

  /** Of the notes that are in it. */
  get bytes(): number {
    return this.#known.values().reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The notes as they are now. One question at a time. What was read for one that is aborted is kept for the next. */
  async answer({ text, limit }: Question, signal: AbortSignal): Promise<NotesFound> {
    const asked = distinctIn(text);
    const match = matchOf(asked);
    if (match === null) return { hits: [], skipped: 0, more: false };
    const skipped = await this.#catchUp(signal);
    const found = this.#find.all(match, limit + 1);
    const hits = found.slice(0, limit).map(({ rowid }) => {
      const row = this.#get.get(Number(rowid));
      return { path: String(row?.["path"]), ...snippetOf(String(row?.["text"]), asked) };
    });
    return { hits, skipped, more: found.length > limit };
  }

  close(): void {
    this.#database.close();
  }

  /** How many notes are left out. */
  async #catchUp(signal: AbortSignal): Promise<number> {
    const nowMs = this.#world.nowMs();
    const { notes, more, unread } = await listNotes(this.#workspace);
    const paths = new Set(notes.map(({ path }) => path));
    for (const path of this.#known.keys()) if (!paths.has(path)) this.#forget(path);
    let skipped = unread + (more ? 1 : 0); // at least
    let bytes = 0;
    for (const note of notes) {
      signal.throwIfAborted();
      if (!(await this.#has(note, nowMs - SETTLED_MS, NOTES_BYTES_MAX - bytes))) skipped += 1;
      bytes += this.#known.get(note.path)?.bytes ?? 0;
    }
    return skipped;
  }

  /** Reads it if it is another than before, and there is room for it. False: it cannot be searched. */
  async #has(note: NoteRow, settledMs: number, room: number): Promise<boolean> {
    const { path, stamp, changedAtMs } = note;
    const isTooLarge = note.bytes > Math.min(room, NOTE_BYTES_MAX); // Then it is not even opened.
    if (!isTooLarge && this.#known.get(path)?.stamp === stamp) return true;
    this.#forget(path);
    if (isTooLarge) return false;
    try {
      const { text, bytes } = await readNote(this.#workspace, path);
      if (bytes > room) return false;
      const row = this.#add.run(nameOf(path), path, text).lastInsertRowid;
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

/** Each word once, the last one last: it may be a beginning. */
function distinctIn(text: string): string {
  const asked = new Map<string, string>(); // by how the index reads it
  for (const word of text.split(/[^\p{L}\p{N}\p{M}]+/u)) {
    const read = wordsOf(word).join(" ");
    asked.delete(read);
    if (read !== "") asked.set(read, word);
  }
  if (asked.size <= NOTE_WORDS_MAX) return [...asked.values()].join(" ");
  throw new Fault(
    "bad_input",
    `text: it has ${asked.size} different words, and may have ${NOTE_WORDS_MAX}; ask for those that say most`,
  );
}
