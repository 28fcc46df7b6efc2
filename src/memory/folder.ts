// Looking at notes: which there are, and what one says. Both the main thread and the one that searches do.
//
// Every file is walked to as the file tools do it (sandbox/within.ts), and no link is followed: a link in the folder is no
// note, wherever it leads.

import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { lstat, stat, type FileHandle } from "node:fs/promises";
import { Fault } from "../base/fault.ts";
import { NOTE_BYTES_MAX, NOTES_DEEP_MAX, NOTES_MAX } from "../limits.ts";
import {
  codeOf,
  look,
  namesIn,
  openFile,
  pathOf,
  shownIn,
  type Folder,
  type Place,
} from "../sandbox/place.ts";
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

/** An agent that has no workspace yet has no notes; none is made for looking. */
export async function listNotes(workspace: string): Promise<Listed> {
  if (!(await isThere(workspace))) return { notes: [], more: false };
  const found: NoteRow[] = [];
  const first = await within({ workspace, path: FIRST }, { make: false }, async (place) =>
    place.shown === FIRST ? rowOf(place.shown, await look(place)) : null,
  );
  if (first !== null) found.push(first);
  const more = await unlessMissing(
    withinFolder({ workspace, path: FOLDER }, async (folder) =>
      folder.shown === FOLDER ? await collect(folder, found, 1) : false,
    ),
    false,
  );
  return { notes: found.toSorted((a, b) => (a.path < b.path ? -1 : 1)), more };
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

/** Adds what is in a folder and below it. True: not all of it. */
async function collect(folder: Folder, found: NoteRow[], depth: number): Promise<boolean> {
  const { names, more: hasMore } = await namesIn(folder);
  let more = hasMore;
  for (const { name } of names.filter((each) => isVisible(each.name))) {
    if (found.length >= NOTES_MAX) return true;
    const stats = await lstat(pathOf({ folder, name }), { bigint: true }).catch(gone);
    if (stats?.isDirectory()) {
      if (depth >= NOTES_DEEP_MAX) continue; // No note can be so deep.
      const below = await enter(folder, name).catch(gone);
      if (below === null) continue;
      try {
        more = (await collect(below, found, depth + 1)) || more;
      } finally {
        await below.handle.close();
      }
      continue;
    }
    const row = isNoteName(name) ? rowOf(shownIn(folder, name), stats) : null;
    if (row !== null) found.push(row);
  }
  return more;
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

/** Somebody took it away, or put another thing there, since its name was read. */
function gone(error: unknown): null {
  if (["ENOENT", "ENOTDIR", "ELOOP"].includes(codeOf(error) ?? "")) return null;
  throw error;
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
