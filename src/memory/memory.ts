// Memory: what an agent writes down for itself, and for all its sessions. Notes are files of its workspace, so that a person
// reads and edits them with whatever is at hand: `MEMORY.md`, which every session of it begins with, and all that ends in
// `.md` below `memory/`.

/** The notes of agents. A workspace stands for whose they are. Faults: bad_input for a path that is none of a note. */
export interface Memory {
  /** `under`: only those whose path begins so. */
  list(workspace: string, under?: string): Promise<Listed>;
  /** Fault not_found, naming what is there; too_large for what is no note by its size. */
  read(workspace: string, path: string): Promise<NoteText>;
  /**
   * Durable when it resolves; after a crash the note is as before or as after. Made again, it changes nothing. Fault
   * stale_writer, when somebody wrote since the version that the writer knows; too_large; disk_full.
   */
  write(workspace: string, writing: Writing, signal: AbortSignal): Promise<Written>;
  /**
   * All that was written before the question is looked at, by whomever. One that nobody waits for any more is not answered: the signal
   * says so, and its reason is thrown. Fault bad_input for too many words.
   */
  search(workspace: string, question: Question, signal: AbortSignal): Promise<NotesFound>;
  close(): Promise<void>;
}

export interface Listed {
  readonly notes: readonly NoteRow[]; // by path
  readonly more: boolean; //             there are others: more than a memory may have, or than are looked at
  readonly unread: number; //            folders and files that could not be looked at
}

export interface NoteRow {
  readonly path: string; //              from the workspace on
  readonly bytes: number;
  readonly changedAtMs: number;
  /** Another one whenever the file is another, or was written to. */
  readonly stamp: string;
}

export interface NoteText {
  readonly path: string;
  readonly version: string; //           of the content: the same for the same bytes
  readonly bytes: number;
  readonly text: string; //              what is no UTF-8 in it is shown as that
}

/** `cause` is the same whenever this write is made again, and no other's; null: who writes never says the same. */
export type Writing = { readonly path: string; readonly cause: string | null } & (
  | { readonly mode: "append"; readonly text: string }
  | { readonly mode: "replace"; readonly text: string; readonly version: Known }
  | { readonly mode: "delete"; readonly version: Known }
);

/** The version that the writer has read; null: there was no such note. */
type Known = string | null;

export interface Written {
  readonly path: string;
  readonly version: string | null; //    null: it is gone
  readonly bytes: number;
  readonly changed: boolean; //          false: it was so already
}

export interface Question {
  readonly text: string; //              words, as the store's search takes them
  readonly limit: number;
}

export interface NotesFound {
  readonly hits: readonly { readonly path: string; readonly line: number; readonly snippet: string }[]; // the best first
  readonly skipped: number; //           notes that could not be searched: too large, or not to be read
  readonly more: boolean; //             others were found: more than were asked for
}
