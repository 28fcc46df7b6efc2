// Flight
//
// A call on its way, and what its arguments stand for.
//
//   Owns:      descriptors: which file stands behind a number, where its next write goes.
//   Does not:  know what a call does (calls.ts), or who shares a table with whom (follow.ts).
//
// Invariants
//   P1. strace prints the path behind every descriptor. It must be what the table says, at each use. So a
//       descriptor that came in a way not seen here is an error and not a silent gap.

import { join } from "node:path";
import type { Files, Inode, Span } from "./files.ts";
import type { Call } from "./line.ts";
import { isSharedMemory } from "./operation.ts";

/** What descriptors made from one another share. "said": standard output; "ignored": nothing is recorded of it. */
export interface Opened {
  readonly target: Inode | "said" | "ignored";
  append: boolean;
  offset: number;
}

export type Table = Map<number, { readonly opened: Opened; closeOnExec: boolean }>;

export interface Thread {
  table: Table;
  readonly place: { cwd: string };
}

export interface Flight {
  readonly files: Files;
  readonly thread: Thread;
  readonly span: Span;
  readonly call: Call;
}

/** Which arguments make a path: itself, and the directory it is seen from (null: the working directory). */
export interface Where {
  readonly path: number;
  readonly from: number | null;
}

/** An assertion that puts the call into words only when it fails: it stands in the way of every line. */
export function must(call: Call, condition: boolean, belief: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${belief}: ${call}`);
}

export function pathAt({ files, thread, call }: Flight, where: Where): string {
  const path = call.path(where.path);
  const base = where.from === null ? thread.place.cwd : (call.descriptor(where.from).path ?? "/");
  const whole = path.startsWith("/") ? join(path) : join(base, path);
  return files.real(whole.length > 1 && whole.endsWith("/") ? whole.slice(0, -1) : whole);
}

/** True for paths below the root, but for those nothing is recorded of. */
export function isOurs({ files }: Flight, path: string): boolean {
  return files.has(path) && !isSharedMemory(path);
}

/** What stands behind the descriptor in argument `index`; null: nothing of ours. */
export function openedAt(flight: Flight, index: number): Opened | null {
  const { files, thread, call } = flight;
  const seen = call.descriptor(index);
  const opened = thread.table.get(seen.number)?.opened ?? null;
  const ours = seen.path !== null && isOurs(flight, seen.path);
  if (opened === null) {
    must(call, !ours, `the trace shows where ${seen.path} was opened (P1)`);
  } else if (typeof opened.target !== "string") {
    // A rename that has begun may have happened already, and strace sees it while the table here does not.
    const same = ours && (seen.deleted || files.at(seen.path) === opened.target || files.renaming);
    must(call, same, `descriptor ${seen.number} is ${files.pathOf(opened.target)} (P1)`);
  }
  return opened;
}

/** The same, when it is a file or directory below the root. */
export function inodeAt(flight: Flight, index: number): Inode | null {
  const target = openedAt(flight, index)?.target ?? "ignored";
  return typeof target === "string" ? null : target;
}
