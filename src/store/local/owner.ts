// Owner
//
// One process has a home at a time. It holds an open write transaction on owner.sqlite for as long as it
// lives; the lock is the kernel's, so it vanishes with the process however that ends, and there is no stale
// lock to break. Its name stands in the file for the one who comes second.
//
// Invariants
//   O1. The lock is held before any other file of the home is opened, and let go after all are closed.

import { accessSync, constants, existsSync, rmSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { makeDirectory } from "../../base/directory.ts";
import { Fault } from "../../base/fault.ts";
import { syncDirectory } from "./files.ts";
import type { Paths } from "./paths.ts";
import { isBusy, isDamaged, isFull, isIo } from "./trouble.ts";

export interface Owner {
  /** What the person should know about the filesystem; null: nothing. */
  readonly warning: string | null;
  release(): void;
}

export function takeHome(paths: Paths, nowMs: number): Owner {
  const warning = lookAt(paths);
  const database = openOwner(paths.owner);
  try {
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("CREATE TABLE IF NOT EXISTS owner (one INTEGER PRIMARY KEY, pid INTEGER, started TEXT)");
    database.exec("BEGIN IMMEDIATE");
    database
      .prepare("INSERT OR REPLACE INTO owner VALUES (1, ?, ?)")
      .run(process.pid, new Date(nowMs).toISOString());
    database.exec("COMMIT"); // so that others can read it …
    database.exec("BEGIN IMMEDIATE"); // … while this is never committed, only held (O1)
  } catch (error) {
    const other = isBusy(error) ? nameOfOwner(database) : null;
    database.close();
    if (other === null) throw asHomeFault(error, paths.home);
    throw new Fault("in_use", `${paths.home} is in use by ${other}`);
  }
  return { warning, release: () => database.close() };
}

/** Kinds of filesystems by the magic number that statfs reports. */
const NETWORK = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x01021997, "9p"],
  [0x5346414f, "AFS"],
  [0x00c36400, "Ceph"],
]);
const DOUBTFUL = new Map([
  [0x794c7630, "overlay"],
  [0x65735546, "FUSE"],
]);

/** Locks and syncs of a network filesystem promise less than we need; of a stacked one, it depends. */
export function judgeFilesystem(magic: number, home: string): string | null {
  const unsigned = magic >>> 0;
  const network = NETWORK.get(unsigned);
  if (network !== undefined) {
    throw new Fault(
      "network_filesystem",
      `${home} is on ${network}, whose locks and syncs cannot be relied upon. Choose a home on a local disk.`,
    );
  }
  const doubtful = DOUBTFUL.get(unsigned);
  if (doubtful === undefined) return null;
  return `${home} is on ${doubtful}: what is acknowledged is as durable as what lies beneath it`;
}

function lookAt({ home, owner }: Paths): string | null {
  try {
    makeDirectory(home);
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK); // SQLite would not say why it may not
    // The name of a new home, and those of new directories above it, must survive a power cut too. Whether this
    // process made them or one that crashed right after it: the owner's file comes later, so without it they are new.
    if (!existsSync(owner))
      for (let at = home; dirname(at) !== at; at = dirname(at)) syncIfAllowed(dirname(at));
    return judgeFilesystem(statfsSync(home).type, home);
  } catch (error) {
    throw asHomeFault(error, home);
  }
}

/** A directory that we may not look into is not one that we made. */
function syncIfAllowed(directory: string): void {
  try {
    syncDirectory(directory);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code !== "EACCES" && code !== "EPERM" && code !== "EROFS" && code !== "EINVAL") throw error;
  }
}

/** A power cut while it was being made can leave a file that is no database. Nothing in it is worth keeping. */
function openOwner(path: string): DatabaseSync {
  const database = open(path);
  try {
    database.exec("PRAGMA journal_mode = WAL");
    return database;
  } catch (error) {
    if (isBusy(error)) return database; // Somebody else is making it: who comes second hears so in a moment.
    database.close();
    if (!isDamaged(error)) throw asHomeFault(error, path);
    for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(`${path}${suffix}`, { force: true });
    return open(path);
  }
}

function open(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path);
  } catch (error) {
    throw asHomeFault(error, path);
  }
}

function nameOfOwner(database: DatabaseSync): string {
  try {
    const row = database.prepare("SELECT pid, started FROM owner").get();
    const todo =
      row?.["pid"] === process.pid
        ? "That is this process: close it there first."
        : "Stop it, or choose another home.";
    return `sessiond pid ${String(row?.["pid"])} (started ${String(row?.["started"])}). ${todo}`;
  } catch {
    return "another sessiond, which is just starting. Stop it, or choose another home."; // It is just starting: it has the lock, but not yet a name.
  }
}

function asHomeFault(error: unknown, path: string): Fault {
  if (error instanceof Fault) return error;
  const why = error instanceof Error ? error.message : String(error);
  if (isFull(error)) return new Fault("disk_full", `${path} cannot be taken: ${why}`, { cause: error });
  if (isIo(error)) return new Fault("disk_failed", `${path} cannot be taken: ${why}`, { cause: error });
  return new Fault("unreadable_home", `${path} cannot be used: ${why}`, { cause: error });
}
