// Writing a note.
//
//   Owns:      what a note becomes, and that nobody's writing is lost.
//   Does not:  put files in place (sandbox/place.ts): an unfinished one beside the note, synced, then renamed.
//
// Invariants
//   N1. Writers of one note come one after the other in this process, the file tools among them. Against other processes the
//       file is looked at once more right before it is replaced; who finds another one begins anew.
//   N2. A replacement happens only over the version that its writer has read. An append is to whatever is there.
//   N3. Made again, a write changes nothing: a note that is as wanted is left alone, and so is one that ends with what is to be
//       appended. A call that a crash cut off has left a receipt (receipts.ts): what it had done is known, also under what others
//       have appended since.
//   N4. What resolved is durable, with the folders that were made for it. When the note is exchanged the write has happened: should
//       the folders above not be synced, or what a crash left not be removed, that is said in the log, and no writer is told to
//       write again what everybody can read already.

import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { makeDirectory } from "../base/directory.ts";
import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import type { World } from "../base/world.ts";
import { NOTE_BYTES_MAX, NOTES_BYTES_MAX, NOTES_MAX, UNFINISHED_KEPT_MS } from "../limits.ts";
import {
  inTurn,
  isSame,
  look,
  namesIn,
  openFile,
  pathOf,
  replaceFile,
  UNFINISHED,
  type Place,
} from "../sandbox/place.ts";
import { inWords, within, withinFolder } from "../sandbox/within.ts";
import { syncDirectory } from "../store/local/files.ts";
import { listNotes, noteAt, unlessMissing, versionOf, type Note } from "./folder.ts";
import type { Writing, Written } from "./memory.ts";
import { mustBeAt, notePath } from "./path.ts";
import type { Receipt, Receipts } from "./receipts.ts";

/** Times that another process may be faster. */
const TRIES_MAX = 4;

export interface WriteParts {
  readonly world: World;
  readonly log: Log;
  readonly receipts: Receipts;
}

export async function writeNote(
  parts: WriteParts,
  workspace: string,
  writing: Writing,
  signal: AbortSignal,
): Promise<Written> {
  const path = notePath(writing.path);
  const { world, log } = parts;
  const isDelete = writing.mode === "delete";
  makeWorkspace(workspace, path);
  const work = within({ workspace, path }, { make: !isDelete }, async (place) => {
    mustBeAt(place.shown, path);
    const written = await inTurn(place, () => tried(place, { ...parts, workspace, writing, signal }));
    if (written.changed)
      await removeLeft(place, world.nowMs() - UNFINISHED_KEPT_MS).catch((error: unknown) =>
        log.error({ err: error, path }, "what a crash left beside a note cannot be removed"),
      );
    return written;
  });
  const gone = { path, version: null, bytes: 0, changed: false };
  const written = await (isDelete ? unlessMissing(work, gone) : work);
  if (written.version !== null)
    await syncAbove(workspace, path).catch((error: unknown) =>
      log.error({ err: error, path }, "the folders of a note cannot be synced; a power cut may take it"),
    );
  return written;
}

interface Work extends WriteParts {
  readonly workspace: string;
  readonly writing: Writing;
  readonly signal: AbortSignal;
}

/** N1. What was decided over another content is decided anew. */
async function tried(place: Place, work: Work): Promise<Written> {
  const { cause } = work.writing;
  const receipt = cause === null ? null : await work.receipts.of(cause);
  for (let tries = 1; ; tries += 1) {
    work.signal.throwIfAborted();
    const now = await unlessMissing<Note | null>(noteAt(place), null);
    try {
      const bytes = hasHappened(now, work.writing, receipt) ? "as it is" : wanted(now, work.writing);
      if (bytes === "as it is") return await leftAlone(place, now, work.writing.path);
      return bytes === null ? await removed(place, now) : await put(place, { now, bytes }, work);
    } catch (error) {
      const isOurs = error instanceof Fault && error.code === "bad_input";
      if (!isOurs || tries === TRIES_MAX || (await isAsBefore(place, now))) throw error;
    }
  }
}

/** N4: whoever wrote it may have died before it was. */
async function leftAlone(place: Place, now: Note | null, path: string): Promise<Written> {
  if (now === null) return { path, version: null, bytes: 0, changed: false };
  await using file = await openFile(place);
  await file.sync();
  await place.folder.handle.sync();
  return { path, version: now.version, bytes: now.bytes.length, changed: false };
}

async function removed(place: Place, now: Note | null): Promise<Written> {
  if (!(await isAsBefore(place, now))) throw changed(place.shown); // N1
  await rm(pathOf(place));
  await place.folder.handle.sync();
  return { path: place.shown, version: null, bytes: 0, changed: true };
}

async function put(
  place: Place,
  { now, bytes }: { readonly now: Note | null; readonly bytes: Buffer },
  { writing, workspace, signal, world, receipts }: Work,
): Promise<Written> {
  const { path, cause } = writing;
  await mustHaveRoom(workspace, { path, isNew: now === null, more: bytes.length - (now?.bytes.length ?? 0) });
  const version = versionOf(bytes);
  if (cause !== null) {
    const times = now !== null && writing.mode === "append" ? timesIn(now.bytes, linesFor(writing.text)) : 0;
    await receipts.put(cause, { before: now?.version ?? null, after: version, bytes: bytes.length, times });
  }
  const known = now?.stats ?? "nothing";
  await replaceFile(place, { bytes, cause: cause ?? world.newId(), signal, known });
  return { path, version, bytes: bytes.length, changed: true };
}

/** N3. Whether this very write was made before a crash. */
function hasHappened(now: Note | null, writing: Writing, receipt: Receipt | null): boolean {
  if (receipt === null || now === null || now.version === receipt.before) return false;
  const begins = receipt.bytes > 0 && versionOf(now.bytes.subarray(0, receipt.bytes)) === receipt.after;
  if (begins) return true; // Others have only appended.
  // Others have changed what stands around it. That the lines are there proves nothing: they may have been there before.
  return writing.mode === "append" && timesIn(now.bytes, linesFor(writing.text)) > receipt.times;
}

/** What the note is to be; null: gone. N2, N3. */
function wanted(now: Note | null, writing: Writing): Buffer | null | "as it is" {
  if (writing.mode === "delete") {
    if (now === null) return "as it is";
    mustKnow(now, writing.version, writing.path);
    return null;
  }
  if (writing.mode === "replace") {
    const bytes = Buffer.from(writing.text, "utf8");
    if (now?.bytes.equals(bytes)) return "as it is";
    mustKnow(now, writing.version, writing.path);
    return fitting(bytes, writing.path);
  }
  const text = linesFor(writing.text);
  const before = withLineEnd(now?.bytes ?? Buffer.alloc(0));
  if (endsWith(before, text)) return "as it is";
  return fitting(Buffer.concat([before, text]), writing.path);
}

const LINE_END = 10;

function withLineEnd(bytes: Buffer): Buffer {
  return bytes.length === 0 || bytes.at(-1) === LINE_END ? bytes : Buffer.concat([bytes, Buffer.from("\n")]);
}

function linesFor(text: string): Buffer {
  return Buffer.from(text.endsWith("\n") ? text : `${text}\n`, "utf8");
}

/** How often these lines stand there; after an append of them it is once more. */
function timesIn(bytes: Buffer, text: Buffer): number {
  const all = Buffer.concat([Buffer.from("\n"), withLineEnd(bytes)]);
  const lines = Buffer.concat([Buffer.from("\n"), text]);
  let times = 0;
  for (let at = all.indexOf(lines); at >= 0; at = all.indexOf(lines, at + text.length)) times += 1;
  return times;
}

/** With whole lines. */
function endsWith(bytes: Buffer, text: Buffer): boolean {
  const from = bytes.length - text.length;
  if (from < 0 || !bytes.subarray(from).equals(text)) return false;
  return from === 0 || bytes[from - 1] === LINE_END;
}

function fitting(bytes: Buffer, path: string): Buffer {
  if (bytes.length <= NOTE_BYTES_MAX) return bytes;
  throw new Fault(
    "too_large",
    `${path} would have ${bytes.length} bytes, and a note at most ${NOTE_BYTES_MAX}; write the rest into another, or make this one shorter`,
  );
}

function mustKnow(now: Note | null, version: string | null, path: string): void {
  if ((now?.version ?? null) === version) return;
  const was = version === null ? "as if there were none" : `over version ${version}`;
  const is = now === null ? `there is no ${path} any more` : `${path} is at version ${now.version}`;
  throw new Fault(
    "stale_writer",
    `${is}; you write ${was}. Somebody else wrote: read it again, and put yours into what is there now`,
  );
}

/**
 * A memory that is full takes nothing that makes it larger. Others who write at this moment are not counted, nor is what nobody looks
 * at (folder.ts): files that are no notes keep nobody from writing one.
 */
async function mustHaveRoom(
  workspace: string,
  { path, isNew, more }: { readonly path: string; readonly isNew: boolean; readonly more: number },
): Promise<void> {
  if (more <= 0 && !isNew) return;
  const { notes } = await listNotes(workspace);
  const bytes = notes.reduce((sum, note) => sum + note.bytes, more);
  const todo = "put some together, or delete what is no longer true";
  if (isNew && notes.length >= NOTES_MAX)
    throw new Fault(
      "too_large",
      `${path} would be one note too many: there are ${NOTES_MAX}, the most; ${todo}`,
    );
  if (bytes > NOTES_BYTES_MAX)
    throw new Fault(
      "too_large",
      `with ${path} all notes would have ${bytes} bytes, and may have ${NOTES_BYTES_MAX}; ${todo}`,
    );
}

async function isAsBefore(place: Place, now: Note | null): Promise<boolean> {
  const stats = await look(place);
  if (stats === null || now === null) return stats === null && now === null;
  return isSame(stats, now.stats);
}

function changed(path: string): Fault {
  return new Fault("bad_input", `${path} was changed by somebody else meanwhile; read it again, then decide`);
}

/** What a crash left in this folder. A young one may be somebody's who writes right now. */
async function removeLeft({ folder }: Place, beforeMs: number): Promise<void> {
  const { names } = await namesIn(folder);
  for (const { name } of names.filter((each) => each.name.startsWith(UNFINISHED))) {
    const stats = await look({ folder, name, shown: name });
    if (stats?.isFile() && stats.mtimeMs < beforeMs) await rm(pathOf({ folder, name }), { force: true });
  }
}

/** N4. The folder of the note is synced by who put it there. */
async function syncAbove(workspace: string, path: string): Promise<void> {
  for (let at = dirname(path); at !== "."; at = dirname(at))
    await withinFolder({ workspace, path: dirname(at) }, (folder) => folder.handle.sync());
}

/** N4. */
function makeWorkspace(workspace: string, path: string): void {
  try {
    for (const made of makeDirectory(workspace)) syncDirectory(dirname(made));
  } catch (error) {
    throw inWords(error, path);
  }
}
