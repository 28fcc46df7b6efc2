// Place
//
// A name in a folder that is held open, and what can be done there. Whoever has a place was led to it by within.ts: the
// folder is inside the workspace, and whatever happens to its path meanwhile, it stays the same folder.
//
//   Owns:      reading, replacing and listing, without following a link.
//   Does not:  find places (within.ts).
//
// Invariants
//   P1. The name is never followed: a link that somebody puts there meanwhile is refused when reading, and replaced itself
//       when writing.
//   P2. Only regular files are opened: a pipe would wait for a writer, and opening a device can do something.
//   P3. A file that is replaced has its old content or its new one, also after a crash or on a full disk. After a crash an
//       unfinished file can be left beside it; writing the same again removes it.

import { createHash } from "node:crypto";
import { constants, type BigIntStats, type Dirent } from "node:fs";
import { lstat, open, opendir, rename, rm, type FileHandle } from "node:fs/promises";
import { Fault } from "../base/fault.ts";
import { instead } from "../base/near.ts";

/** A folder inside a workspace, held open. */
export interface Folder {
  readonly handle: FileHandle;
  readonly path: string; //  for file calls, for as long as the handle is open
  readonly shown: string; // from the workspace on, without links; "." is the workspace
}

export interface Place {
  readonly folder: Folder;
  readonly name: string; //  "." is the folder itself
  readonly shown: string; // from the workspace on, without links
}

/** Names read of one folder. A folder with more is no work of people, and is shown in part. */
export const NAMES_MAX = 10_000;

/** Names that a refusal tells, when none of them is near. */
const NAMES_TOLD_MAX = 20;

/** Writing the same place one after the other, in this process: by folder and name. */
const writing = new Map<string, Promise<void>>();

export function pathOf({ folder, name }: { folder: Folder; name: string }): string {
  return `${folder.path}/${name}`;
}

export function shownIn(folder: Folder, name: string): string {
  if (name === ".") return folder.shown;
  return folder.shown === "." ? name : `${folder.shown}/${name}`;
}

/** P1, P2. The caller closes it. */
export async function openFile(place: Place): Promise<FileHandle> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const path = pathOf(place);
  mustBeFile(place, (await look(place)) ?? (await noSuch(place, "file")));
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    mustBeFile(place, await file.stat({ bigint: true })); // It may be another one than the one looked at.
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Null: there is nothing. */
export async function look(place: Place): Promise<BigIntStats | null> {
  try {
    return await lstat(pathOf(place), { bigint: true });
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

export interface Replacing {
  readonly bytes: Uint8Array;
  /** What no other writer has: the unfinished file is named by it. */
  readonly cause: string;
  readonly signal: AbortSignal;
  /**
   * The file that was read before, and must still be the one that is replaced; "nothing": there was none, and must be none; null:
   * whatever is there.
   */
  readonly known: BigIntStats | "nothing" | null;
}

/** P3. Says whether there was a file before. Only within `inTurn`. */
export async function replaceFile(place: Place, of: Replacing): Promise<"created" | "replaced"> {
  const { folder, name } = place;
  const before = await replaceable(place, of.known);
  const unfinished = `${folder.path}/${unfinishedName(of.cause, name)}`;
  try {
    await rm(unfinished, { force: true }); // Of this same call, before a crash.
    await writeNew(unfinished, of.bytes, before);
    of.signal.throwIfAborted();
    if (of.known !== null) await replaceable(place, of.known);
    await rename(unfinished, pathOf(place));
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  await folder.handle.sync();
  return before === null ? "created" : "replaced";
}

/** Who reads a file in order to replace it, and who replaces it without: one after the other. */
export async function inTurn<Value>(place: Place, work: () => Promise<Value>): Promise<Value> {
  const { dev, ino } = await place.folder.handle.stat({ bigint: true });
  const key = `${dev}:${ino}:${place.name}`;
  const before = writing.get(key);
  const { promise, resolve } = Promise.withResolvers<void>();
  writing.set(key, promise);
  try {
    await before;
    return await work();
  } finally {
    if (writing.get(key) === promise) writing.delete(key);
    resolve();
  }
}

/** In no order. `more`: there are others. */
export async function namesIn(folder: Folder): Promise<{ readonly names: Dirent[]; readonly more: boolean }> {
  const names: Dirent[] = [];
  for await (const each of await opendir(folder.path)) {
    if (names.length === NAMES_MAX) return { names, more: true };
    names.push(each);
  }
  return { names, more: false };
}

/** Throws: what is not there, and what is. */
export async function noSuch({ folder, name, shown }: Place, what: "file" | "folder"): Promise<never> {
  const { names } = await namesIn(folder);
  const known = names.map((each) => each.name).sort();
  let hint = known.length === 0 ? "its folder is empty" : instead(name, known);
  if (hint.startsWith("there are")) {
    const more = known.length > NAMES_TOLD_MAX ? ` and ${known.length - NAMES_TOLD_MAX} more` : "";
    hint = `in its folder are: ${known.slice(0, NAMES_TOLD_MAX).join(", ")}${more}`;
  }
  throw new Fault("not_found", `there is no ${what} ${shown}; ${hint}`);
}

export function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error ? String(error.code) : null;
}

/** Nobody has written to it, or put another in its place. */
export function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return (["dev", "ino", "size", "mtimeNs", "ctimeNs"] as const).every((each) => one[each] === other[each]);
}

function mustBeFile({ shown }: Place, stats: BigIntStats): void {
  if (stats.isFile()) return;
  if (stats.isDirectory())
    throw new Fault("bad_input", `${shown} is a folder; use list to see what is in it`);
  if (stats.isSymbolicLink()) throw changed(shown);
  throw new Fault("bad_input", `${shown} is no regular file (a pipe, a socket or a device)`);
}

/** Null: there is nothing to be replaced. */
async function replaceable(place: Place, known: Replacing["known"]): Promise<BigIntStats | null> {
  const stats = await look(place);
  if (known === "nothing" && stats !== null) throw changed(place.shown);
  if (known !== null && known !== "nothing" && (stats === null || !isSame(stats, known)))
    throw changed(place.shown);
  if (stats === null) return null;
  if (stats.isSymbolicLink()) throw changed(place.shown);
  if (stats.isDirectory())
    throw new Fault("bad_input", `${place.shown} is a folder; give the path of a file`);
  mustBeFile(place, stats);
  // Renaming needs no right to write the file itself: so it is asked for here.
  if ((stats.mode & 0o222n) === 0n) throw new Fault("bad_input", `${place.shown} is read-only`);
  return stats;
}

function changed(shown: string): Fault {
  return new Fault(
    "bad_input",
    `${shown} was changed by somebody else meanwhile; read it again, then decide`,
  );
}

/** How the names of files begin that are not finished, or were not when somebody died. */
export const UNFINISHED = ".unfinished-";

/** Hidden, and short however long the name is. */
function unfinishedName(cause: string, name: string): string {
  return `${UNFINISHED}${createHash("sha256").update(`${cause}\0${name}`).digest("hex").slice(0, 24)}`;
}

/** With owner and rights of the file that it replaces; bits that lend the owner's rights are not kept. */
async function writeNew(path: string, bytes: Uint8Array, before: BigIntStats | null): Promise<void> {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  await using file = await open(
    path,
    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
    before === null ? 0o666 : 0o600,
  );
  await file.writeFile(bytes);
  if (before !== null) {
    const now = await file.stat({ bigint: true });
    if (now.uid !== before.uid || now.gid !== before.gid) await giveTo(file, before);
    await file.chmod(Number(before.mode & 0o777n));
  }
  await file.sync();
}

async function giveTo(file: FileHandle, { uid, gid }: BigIntStats): Promise<void> {
  try {
    await file.chown(Number(uid), Number(gid));
  } catch (error) {
    if (codeOf(error) !== "EPERM") throw error; // Only root gives files away; others keep what they write.
  }
}
