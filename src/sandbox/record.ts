// Records of what runs: one small file for each start, written before anything is executed and removed when nothing of
// it is left. After a daemon was killed they say what to look for.
//
// They are not synced. A record has to outlive the daemon, not the machine: after a power cut there is no process left
// that it could be about, and its boot id says so.
//
// A record is of our own making, but it is read as a stranger's. It kills nobody by itself: the processes that are ended
// carry its id in their environment, and it only says that this id is to be looked for.

import { constants } from "node:fs";
import { mkdir, open, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { count, is, mustFit, orNull, record, text, wholeFrom, type Check } from "../base/fits.ts";
import { KEY_BYTES_MAX } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";
import { codeOf } from "./place.ts";

export interface ProcessRecord {
  readonly id: string; //                 the file's name, and the marker
  readonly pid: number; //                of the launcher
  readonly startTicks: number;
  readonly bootId: string;
  readonly session: SessionKey | null; // null: of the gateway itself
  readonly owner: { readonly pid: number; readonly startTicks: number }; // the daemon that started it
}

/** Bytes of a record: the key of a session fits several times. */
const RECORD_BYTES_MAX = 4_096;

/** Records that one start looks at. There are never more than processes; the rest is for the next start. */
const RECORDS_MAX = 10_000;

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const NAME = /^(.{36})\.json$/;

const pid: Check = wholeFrom(2);
const short: Check = is(
  "a short text",
  (value) => typeof value === "string" && value.length <= KEY_BYTES_MAX,
);
const shape = record({
  id: text,
  pid,
  startTicks: count,
  bootId: short,
  session: orNull(short),
  owner: record({ pid, startTicks: count }),
});

export async function writeRecord(folder: string, of: ProcessRecord): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(pathOf(folder, of.id), JSON.stringify(of), { flag: "wx", mode: 0o600 });
}

export async function removeRecord(folder: string, id: string): Promise<void> {
  await rm(pathOf(folder, id), { force: true });
}

/** Ids of all records that are there. Files of other names are not ours. */
export async function recordIds(folder: string): Promise<string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const ids = (await readdir(folder)).map((name) => NAME.exec(name)?.[1] ?? "");
  return ids.filter((id) => ID.test(id)).slice(0, RECORDS_MAX);
}

/**
 * Null: it is none of ours. It was torn by a crash, before anything was executed; or a stranger put it there. Rejects
 * when it cannot be read now: files have run out, or the disk failed.
 */
export async function readRecord(folder: string, id: string): Promise<ProcessRecord | null> {
  const text = await textOf(pathOf(folder, id));
  try {
    const found = JSON.parse(text ?? "") as ProcessRecord;
    mustFit("a record of a process", shape, found);
    return found.id === id ? found : null;
  } catch {
    return null; // What is wrong with it does not matter: nobody is killed for it.
  }
}

/** What is at the place of a record but can be none: a link, a folder, a socket, or nothing any more. */
const NO_RECORD = new Set(["ELOOP", "EISDIR", "ENXIO", "ENOENT"]);

/** Null: there is no file, or more than a record. */
async function textOf(path: string): Promise<string | null> {
  try {
    // Neither through a link nor waiting for whoever writes into a pipe.
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const bytes = Buffer.alloc(RECORD_BYTES_MAX + 1);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    return bytesRead > RECORD_BYTES_MAX ? null : bytes.toString("utf8", 0, bytesRead);
  } catch (error) {
    if (NO_RECORD.has(codeOf(error) ?? "")) return null;
    throw error;
  }
}

function pathOf(folder: string, id: string): string {
  return join(folder, `${id}.json`);
}
