// What the system and SQLite say when something fails, sorted. Whatever is thrown and is neither theirs nor a Fault is
// a bug of ours.

import { Fault, type FaultWords } from "../../base/fault.ts";

/** Said by the system or by SQLite, perhaps in the words of whoever asked them. */
export function isOfDisk(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return "errcode" in error || "syscall" in error || isOfDisk(error.cause);
}

export function isMissing(error: unknown): boolean {
  return systemCode(error) === "ENOENT";
}

/** No room. */
export function isFull(error: unknown): boolean {
  if (sqliteCode(error) !== 0) return sqliteCode(error) === 13 || isShared(error); // SQLITE_FULL
  return systemCode(error) === "ENOSPC" || systemCode(error) === "EDQUOT";
}

/** SQLITE_BUSY. */
export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === 5;
}

/** SQLITE_CORRUPT, SQLITE_NOTADB. Not the end: the transcripts are elsewhere, and rebuild reads them. */
export function isDamaged(error: unknown): boolean {
  return sqliteCode(error) === 11 || sqliteCode(error) === 26;
}

/** SQLITE_IOERR, or what is behind it. */
export function isIo(error: unknown): boolean {
  return sqliteCode(error) === 10 || systemCode(error) === "EIO";
}

/** As a caller hears it. */
export function wordsOf(error: unknown): FaultWords {
  if (error instanceof Fault) return { code: error.code, message: error.message };
  return { code: codeOf(error), message: messageOf(error) };
}

function codeOf(error: unknown): FaultWords["code"] {
  if (isFull(error)) return "disk_full";
  if (isDamaged(error)) return "damaged";
  return isOfDisk(error) ? "disk_failed" : "bug";
}

/** With its cause: "x could not be synced" alone does not say why. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

function systemCode(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : null;
}

/** SQLITE_IOERR_SHMSIZE: the file that readers share could not grow. SQLite says itself that it means a full disk. */
function isShared(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && Number(error.errcode) === 4_874;
}

/** The primary code; 0: it is not of SQLite. */
function sqliteCode(error: unknown): number {
  return error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : 0;
}

/** Throws what the system refused as a Fault that says what came of it. Anything else is our bug, and stays what it is. */
export function asDiskFault(what: string): (error: unknown) => never {
  return (error) => {
    if (!isOfDisk(error)) throw error;
    const { code, message } = wordsOf(error);
    throw new Fault(code, `${what}: ${message}`, { cause: error });
  };
}
