// What a traced program did to the files below one directory, as plain records.
//
// Files and directories are known by a number that never changes (the root is 0), because a name moves
// from one file to another and two files can have had the same name. `path` is the name at that moment, for
// people; the disk model does not read it.
//
// An operation is a span, not an instant. `begun` and `done` are lines of the trace, and no two calls share a
// line. A sync is worth something only for what was done before it began.

/** A directory as a flat list, parents before children. null: a directory; bytes: a file. */
export type Tree = ReadonlyMap<string, Uint8Array | null>;

/** A place where a name can stand. */
export interface Slot {
  readonly directory: number;
  readonly name: string;
}

export type Effect =
  | { readonly op: "create" | "mkdir" | "link"; readonly inode: number; readonly at: Slot }
  | { readonly op: "unlink" | "rmdir"; readonly inode: number; readonly at: Slot }
  // `replaced` is what stood at `to` before, null when nothing did.
  | {
      readonly op: "rename";
      readonly inode: number;
      readonly from: Slot;
      readonly to: Slot;
      readonly replaced: number | null;
    }
  | { readonly op: "write"; readonly inode: number; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly op: "truncate"; readonly inode: number; readonly size: number } // also to a larger size
  | { readonly op: "sync"; readonly inode: number } // of a file or of a directory
  | { readonly op: "said"; readonly bytes: Uint8Array }; // written to standard output

export type Operation = Effect & { readonly path: string; readonly begun: number; readonly done: number };

export type NameOperation = Extract<
  Operation,
  { op: "create" | "mkdir" | "link" | "unlink" | "rmdir" | "rename" }
>;

export interface Recording {
  /** What stood in the root before. Taken as durable; its n-th path, counted from 1, is inode n. */
  readonly initial: Tree;
  readonly operations: readonly Operation[];
}

/** SQLite's shared memory: rebuilt after every crash, and changed by mmap, which no trace shows. */
export function isSharedMemory(path: string): boolean {
  return path.endsWith("-shm");
}

/** Everything the program had said when the power went, as text: what it promised up to there. */
export function saidBefore(operations: readonly Operation[], at: number): string {
  const said = operations
    .slice(0, at)
    .flatMap((operation) => (operation.op === "said" ? operation.bytes : []));
  return Buffer.concat(said).toString("utf8");
}
