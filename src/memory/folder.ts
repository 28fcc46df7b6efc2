// Looking at notes: which there are, and what one says. Both the main thread and the one that searches do.
//
// Every file is walked to as the file tools do it (sandbox/within.ts), and no link is followed: a link in the folder is no
// note, wherever it leads.

import { createHash } from "node:crypto";
import type { BigIntStats, Dirent } from "node:fs";
import { stat, type FileHandle } from "node:fs/promises";
import { Fault } from "../base/fault.ts";
import { NOTE_BYTES_MAX, NOTES_DEEP_MAX, NOTES_MAX, NOTES_NAMES_MAX } from "../limits.ts";
import { codeOf, look, namesIn, openFile, shownIn, type Folder, type Place } from "../sandbox/place.ts";
import { enter, within, withinFolder } from "../sandbox/within.ts";
import type { Listed, NoteRow, NoteText } from "./memory.ts";
import { FIRST, FOLDER, isNoteName, isVisible, mustBeAt, notePath } from "./path.ts";

/** What stands at a place, and which file it was. */
export interface Note {
  readonly bytes: Buffer;
  readonly version: string;
  readonly stats: BigIntStats;
}

/** Characters of a version: nobody has two notes by chance that have the same. */
const VERSION_CHARS = 16;

export function versionOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, VERSION_CHARS);
}

/**
 * An agent that has no workspace yet has no notes; none is made for looking. What stands in the place of a note, or of the folder of
 * notes, and is neither, such as a link, is no note there: it takes nothing from the others.
 */
export async function listNotes(workspace: string, under = ""): Promise<Listed> {
  if (!(await isThere(workspace))) return { notes: [], more: false, unread: 0 };
  const looking = new Looking(under);
  await withinFolder({ workspace, path: "." }, async (root) => {
    if (FIRST.startsWith(under)) await looking.at(root, FIRST);
    await looking.below(root, FOLDER, 1);
  });
  const { found, more, unread } = looking;
  return { notes: found.toSorted((a, b) => (a.path < b.path ? -1 : 1)), more, unread };
}

export async function readNote(workspace: string, path: string): Promise<NoteText> {
  notePath(path);
  if (!(await isThere(workspace)))
    throw new Fault("not_found", `there is no note ${path}; the agent has no notes yet`);
  return await within({ workspace, path }, { make: false }, async (place) => {
    mustBeAt(place.shown, path);
    const { bytes, version } = await noteAt(place);
    return { path, version, bytes: bytes.length, text: bytes.toString("utf8") };
  });
}

/** Fault not_found, and too_large. */
export async function noteAt(place: Place): Promise<Note> {
  await using file = await openFile(place);
  const stats = await file.stat({ bigint: true });
  const bytes = await beginningOf(file);
  if (bytes.length > NOTE_BYTES_MAX)
    throw new Fault(
      "too_large",
      `${place.shown} has ${stats.size} bytes, and a note at most ${NOTE_BYTES_MAX}; split it, or read it as the file it is`,
    );
  return { bytes, version: versionOf(bytes), stats };
}

/** One byte more than a note may have, should there be so many: the file may grow while it is read. */
async function beginningOf(file: FileHandle): Promise<Buffer> {
  const bytes = Buffer.alloc(NOTE_BYTES_MAX + 1);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return Buffer.from(bytes.subarray(0, length)); // Kept for longer than what was set aside for it.
}

/** A walk through all notes whose path begins with something. */
class Looking {
  readonly found: NoteRow[] = [];
  more = false; // not all were looked at
  unread = 0; //   of what there is, could not be looked at
  readonly #under: string;
  #names = 0;

  constructor(under: string) {
    this.#under = under;
  }

  /** A file, if it is one. */
  async at(folder: Folder, name: string): Promise<void> {
    const path = shownIn(folder, name);
    const row = rowOf(path, await this.#unlessGone(look({ folder, name, shown: path })));
    if (row !== null) this.found.push(row);
  }

  /** A folder, if it is one, and all that is below it. */
  async below(above: Folder, name: string, depth: number): Promise<void> {
    const path = `${shownIn(above, name)}/`;
    if (depth > NOTES_DEEP_MAX) return; // No note can be so deep.
    if (!path.startsWith(this.#under) && !this.#under.startsWith(path)) return;
    if (this.#names > NOTES_NAMES_MAX) {
      this.more = true;
      return;
    }
    const folder = await this.#unlessGone(enter(above, name));
    if (folder === null) return;
    try {
      const { names, more } = await namesIn(folder);
      this.#names += names.length;
      this.more ||= more;
      for (const each of names.filter((entry) => isVisible(entry.name))) await this.#on(folder, each, depth);
    } finally {
      await folder.handle.close();
    }
  }

  /** By what the folder says of it: there may be thousands of files that are no notes. Some file systems say nothing. */
  async #on(folder: Folder, entry: Dirent, depth: number): Promise<void> {
    const { name } = entry;
    const isUnknown = !entry.isFile() && !entry.isDirectory() && !isOdd(entry);
    const isNote = isNoteName(name) && shownIn(folder, name).startsWith(this.#under);
    if (isNote && (entry.isFile() || isUnknown)) {
      if (this.found.length === NOTES_MAX) this.more = true;
      else await this.at(folder, name);
    }
    if (entry.isDirectory() || isUnknown) await this.below(folder, name, depth + 1);
  }

  /** Null: somebody took it away, or put another thing there, since its name was read; or nobody lets us look. */
  async #unlessGone<Value>(work: Promise<Value>): Promise<Value | null> {
    return await work.catch((error: unknown) => {
      const code = codeOf(error) ?? "";
      if (["EACCES", "EPERM"].includes(code)) this.unread += 1;
      else if (!["ENOENT", "ENOTDIR", "ELOOP"].includes(code)) throw error;
      return null;
    });
  }
}

/** Neither a note nor a folder, whatever its name. */
function isOdd(entry: Dirent): boolean {
  return (
    entry.isSymbolicLink() ||
    entry.isFIFO() ||
    entry.isSocket() ||
    entry.isBlockDevice() ||
    entry.isCharacterDevice()
  );
}

/** Null: there is nothing, or it is no file. */
function rowOf(path: string, stats: BigIntStats | null): NoteRow | null {
  if (stats === null || !stats.isFile()) return null;
  const { size, ino, mtimeNs, ctimeNs, mtimeMs, ctimeMs } = stats;
  return {
    path,
    bytes: Number(size),
    changedAtMs: Number(mtimeMs > ctimeMs ? mtimeMs : ctimeMs),
    stamp: [mtimeNs, ctimeNs, size, ino].join(" "),
  };
}

/** What else is wrong with it is told by who goes there. */
async function isThere(workspace: string): Promise<boolean> {
  return await stat(workspace).then(
    () => true,
    (error: unknown) => codeOf(error) !== "ENOENT",
  );
}

export async function unlessMissing<Value>(work: Promise<Value>, otherwise: Value): Promise<Value> {
  return await work.catch((error: unknown) => {
    if (error instanceof Fault && error.code === "not_found") return otherwise;
    throw error;
  });
}
