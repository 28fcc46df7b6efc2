// Window
//
// The part of a transcript that is there: entries one after the other, with what could not be read in its place. It is moved by
// pages before and after it, and by what happens while somebody looks.
//
//   Owns:      which entries are there, and where to go on in both directions.
//   Does not:  ask for pages, or show anything (reading.ts, rows.ts).
//
// Invariants
//   W1. It has no hole and nothing twice: between its first and its last entry is all of the active path.
//   W2. It has at most ENTRIES_MAX entries, and what a page adds. What goes, goes at the end that nobody looks at.
//   W3. Its first line is an entry, or the transcript begins there: gaps belong to the entry that they follow, as in pages.
//   W4. It is at the end (`next` is null) only if it has the newest entry that anybody has told of, from wherever that was heard.

import type { Entry, Gap } from "../../../../src/transcript/entry.ts";

export type Line = Entry | Gap;

export interface Page {
  readonly transcript: string;
  readonly lastSeq: number;
  readonly lines: readonly Line[];
  readonly prev: number | null;
  readonly next: number | null;
}

export interface Window {
  readonly transcript: string;
  readonly lines: readonly Line[];
  readonly prev: number | null; //  what comes before it; null: it has the beginning
  readonly next: number | null; //  what comes after it; null: it has the end
  readonly lastSeq: number; //      of the newest entry of all
}

export const ENTRIES_MAX = 600;

/** `heard`: the newest entry that was told of while the page was on its way (W4). */
export function opened(page: Page, heard = 0): Window {
  return reached(page, page.lastSeq, heard);
}

/** What stands before it. A page that was asked for elsewhere changes nothing. */
export function withEarlier(window: Window, page: Page, asked: number): Window {
  if (window.prev !== asked || window.transcript !== page.transcript) return window;
  const lines = [...page.lines, ...window.lines];
  const lastSeq = Math.max(window.lastSeq, page.lastSeq);
  return withoutEnd({ ...window, lines, prev: page.prev, lastSeq });
}

/** What stands after it. */
export function withLater(window: Window, page: Page, asked: number): Window {
  if (window.next !== asked || window.transcript !== page.transcript) return window;
  const lines = [...window.lines, ...page.lines];
  const grown = { ...window, lines, next: page.next };
  return withoutBeginning(reached(grown, page.lastSeq, window.lastSeq));
}

/** `keep`: what somebody looks at. Null: the path is another one now, and has to be read anew. */
export function withNew(window: Window, entry: Entry, keep: "beginning" | "end"): Window | null {
  if (entry.seq <= window.lastSeq) return window;
  const last = lastIn(window.lines);
  if (isTurn(entry)) return null;
  if (window.next !== null) return { ...window, lastSeq: entry.seq };
  if (entry.parentId !== (last?.id ?? null)) return null;
  const grown = { ...window, lines: [...window.lines, entry], lastSeq: entry.seq };
  return keep === "end" ? withoutBeginning(grown) : withoutEnd(grown);
}

/** With it a history goes on elsewhere than at its end, or begins anew. */
function isTurn(entry: Entry): boolean {
  if (entry.type === "branch_summary" || entry.parentId === null) return entry.seq > 1;
  return entry.type === "custom" && entry.customType === "sessiond/rewound";
}

/** W4. `made`: the newest entry when the page was made. What stands at the end and cannot be read is not waited for. */
function reached(window: Window, made: number, heard: number): Window {
  const { transcript, lines, prev, next } = window;
  const last = lastIn(lines)?.seq ?? 0;
  const isShort = next === null && heard > Math.max(made, last);
  return { transcript, lines, prev, next: isShort ? last + 1 : next, lastSeq: Math.max(made, heard, last) };
}

function withoutBeginning(window: Window): Window {
  const seqs = seqsIn(window.lines);
  const first = seqs[seqs.length - ENTRIES_MAX];
  if (seqs.length <= ENTRIES_MAX || first === undefined) return window;
  const at = window.lines.findIndex((line) => line.type !== "gap" && line.seq === first);
  return { ...window, lines: window.lines.slice(at), prev: first };
}

function withoutEnd(window: Window): Window {
  const next = seqsIn(window.lines)[ENTRIES_MAX];
  if (next === undefined) return window;
  const at = window.lines.findIndex((line) => line.type !== "gap" && line.seq === next);
  return { ...window, lines: window.lines.slice(0, at), next };
}

/** Whether an entry is there, or what is shown in its place; null: the newest. */
export function holds({ lines, prev, next }: Window, seq: number | null): boolean {
  if (seq === null) return next === null;
  const seqs = seqsIn(lines);
  return seqs.includes(seq) || (prev === null && seq < (seqs[0] ?? 0));
}

export function seqsIn(lines: readonly Line[]): readonly number[] {
  return lines.flatMap((line) => (line.type === "gap" ? [] : [line.seq]));
}

export function lastIn(lines: readonly Line[]): Entry | undefined {
  return lines.findLast((line): line is Entry => line.type !== "gap");
}
