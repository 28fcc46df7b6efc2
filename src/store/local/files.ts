// Transcript files, as the writer sees them.
//
// Lines are written by position, after the commit that made them durable in the journal. A file is therefore
// never ahead of the journal, and whatever stands beyond the committed length is somebody else's.
//
//   Owns:      open descriptors, and the list of what has to be synced.
//   Does not:  decide when (checkpoint.ts).
//
// Invariants
//   T1. Bytes before the committed length are never changed or cut.
//   T2. Bytes of a stranger are moved aside before we write over them.
//   T3. A descriptor that is closed was either never written to, or its path is still in the list to sync.
//   T4. Lines go into the file that has the name when they are written, not into one that had it before.
//   T5. What a stranger took away is written again from the journal, as far as that reaches back.

import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  fstatSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
  constants,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { makeDirectory } from "../../base/directory.ts";
import { OPEN_FILES_MAX } from "../../limits.ts";
import type { Paths } from "./paths.ts";
import { isMissing } from "./trouble.ts";
import type { Notice } from "./wire.ts";

export interface Dirty {
  readonly files: ReadonlySet<string>;
  readonly directories: ReadonlySet<string>;
}

export interface FilesParts {
  readonly notify: (notice: Notice) => void;
  /** The lines of a transcript that are in the journal, one after the other. */
  readonly journalled: (path: string) => readonly FileLines[];
}

export interface FileLines {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** The file that had the name when it was opened. */
interface Opened {
  readonly file: number;
  readonly ino: number;
}

export class TranscriptFiles {
  readonly #paths: Paths;
  readonly #parts: FilesParts;
  readonly #open = new Map<string, Opened>(); // in the order of last use
  #files = new Set<string>();
  #directories = new Set<string>();
  #gone = new Set<string>();

  constructor(paths: Paths, parts: FilesParts) {
    this.#paths = paths;
    this.#parts = parts;
  }

  /** Throws what the system says, ENOSPC among it; writing the same bytes again is harmless. */
  write(path: string, offset: number, bytes: Uint8Array): void {
    const file = this.#descriptor(path);
    const { size } = fstatSync(file);
    if (size > offset) this.#reconcile(path, file, { offset, size, bytes });
    else if (size < offset) this.#restore(path, file, size, offset);
    writeAll(file, bytes, offset);
    this.#files.add(path);
    this.#gone.delete(path); // it may be back from an archive
  }

  /** Whoever wrote or made it may have crashed before it was synced: its bytes and its names may not survive a power cut. */
  doubt(path: string): void {
    this.#files.add(path);
    this.#named(path);
  }

  /** Hands over what has been written since the last call. */
  takeDirty(): Dirty {
    const dirty = { files: this.#files, directories: this.#directories };
    this.#files = new Set();
    this.#directories = new Set();
    this.#gone = new Set();
    return dirty;
  }

  /** Somebody has taken it away; what the journal has of it is written again. */
  bringBack(path: string): void {
    const lines = this.#parts.journalled(path);
    const [first] = lines;
    if (first) this.write(path, first.offset, Buffer.concat(lines.map(({ bytes }) => bytes)));
  }

  /** The session is gone, and its file goes: nobody has to sync it. */
  erased(path: string): void {
    const known = this.#open.get(path);
    if (known !== undefined) closeSync(known.file);
    this.#open.delete(path);
    this.#files.delete(path);
    this.#gone.add(path);
  }

  /** Asked by a checkpoint that began before. */
  wasErased(path: string): boolean {
    return this.#gone.has(path);
  }

  close(): void {
    for (const { file } of this.#open.values()) closeSync(file);
    this.#open.clear();
  }

  #descriptor(path: string): number {
    const known = this.#open.get(path);
    if (known !== undefined) {
      this.#open.delete(path); // to the end: last used
      if (statSync(path, { throwIfNoEntry: false })?.ino === known.ino) {
        this.#open.set(path, known);
        return known.file;
      }
      // Another program removed or replaced it: in what we have open nobody would find the lines (T4).
      closeSync(known.file);
      this.#directories.add(dirname(path));
    }
    const file = this.#openOrCreate(path);
    this.#open.set(path, { file, ino: fstatSync(file).ino });
    if (this.#open.size > OPEN_FILES_MAX) {
      const [oldest] = this.#open;
      if (oldest) {
        closeSync(oldest[1].file); // T3: its path is in #files if it was written to
        this.#open.delete(oldest[0]);
      }
    }
    return file;
  }

  #openOrCreate(path: string): number {
    try {
      return openSync(path, constants.O_RDWR);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    makeDirectories(this.#paths.home, dirname(path));
    const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.#named(path);
    return file;
  }

  /** A new name is durable when its directory is synced, and a new directory when its own is, up to the home. */
  #named(path: string): void {
    let at = dirname(path);
    this.#directories.add(at);
    while (relative(this.#paths.home, at) !== "") {
      at = dirname(at);
      this.#directories.add(at);
    }
  }

  /** More bytes than committed: our own, written before a crash, whole or torn; then perhaps a stranger's. */
  #reconcile(path: string, file: number, at: { offset: number; size: number; bytes: Uint8Array }): void {
    const there = Buffer.alloc(at.size - at.offset);
    readSync(file, there, 0, there.length, at.offset);
    const ours =
      there.length <= at.bytes.length && there.every((byte, i) => byte === at.bytes[i] || byte === 0);
    if (ours) return;
    const end = at.offset + sharedLines(there, at.bytes);
    this.#setAside(path, file, end, at.size);
    ftruncateSync(file, end);
  }

  #setAside(path: string, file: number, from: number, to: number): void {
    const bytes = Buffer.alloc(to - from);
    readSync(file, bytes, 0, bytes.length, from);
    makeDirectories(this.#paths.home, this.#paths.foreign);
    const name = `${path.split("/").at(-1) ?? "transcript"}.${from}`;
    const aside = createNew(this.#paths.foreign, name);
    try {
      writeAll(aside.file, bytes, 0);
      fsyncSync(aside.file);
    } catch (error) {
      rmSync(aside.path, { force: true }); // They are all still where they were.
      throw error;
    } finally {
      closeSync(aside.file);
    }
    for (const directory of [this.#paths.foreign, this.#paths.home]) syncDirectory(directory);
    const message = `another program wrote ${bytes.length} bytes into ${path} at ${from}; they are in ${aside.path}`;
    this.#parts.notify({ what: "foreign_bytes", message, count: bytes.length });
  }

  /** Committed bytes are gone. The journal may still have the last of them (T5). */
  #restore(path: string, file: number, from: number, to: number): void {
    const kept = this.#parts
      .journalled(path)
      .filter(({ offset, bytes }) => offset < to && offset + bytes.length > from);
    const until = kept[0]?.offset ?? to;
    if (until > from) this.#pad(path, file, from, until);
    for (const { offset, bytes } of kept) writeAll(file, bytes, offset);
  }

  /** What nobody has any more becomes one blank line, so that what follows can still be read. */
  #pad(path: string, file: number, from: number, to: number): void {
    this.#parts.notify({
      what: "missing_bytes",
      message: `${path} lacks ${to - from} committed bytes at ${from}`,
      count: to - from,
    });
    const chunk = Buffer.alloc(64 * 1024, " ");
    for (let at = from; at < to - 1; at += chunk.length)
      writeAll(file, chunk.subarray(0, Math.min(chunk.length, to - 1 - at)), at);
    writeAll(file, Buffer.from("\n"), to - 1);
  }
}

/** Below the home only: should the home itself be gone, it is not made again behind everybody's back. */
function makeDirectories(home: string, directory: string): void {
  if (existsSync(home)) makeDirectory(directory);
}

export function syncDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** The length of the whole lines with which both begin. */
function sharedLines(a: Uint8Array, b: Uint8Array): number {
  const differ = a.findIndex((byte, at) => byte !== b[at]);
  return a.subarray(0, differ < 0 ? a.length : differ).lastIndexOf(0x0a) + 1;
}

function createNew(directory: string, name: string): { readonly file: number; readonly path: string } {
  for (let n = 0; ; n += 1) {
    const path = join(directory, `${name}.${n}`);
    try {
      return { path, file: openSync(path, "wx", 0o600) };
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  }
}

function writeAll(file: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length;)
    done += writeSync(file, bytes, done, bytes.length - done, at + done);
}
