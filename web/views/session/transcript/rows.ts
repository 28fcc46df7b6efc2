// Rows
//
// What is shown of a window: entries as what they say, with what belongs together put together. The result of a call stands with the
// call, the report of a child with the card of the child; what is bookkeeping is left out.
//
//   Owns:      which rows there are, in which order, and what is in each.
//   Does not:  make elements.
//
// Invariants
//   S1. Everything that people may be shown is in one row, once. A result whose call is not there is a row of its own.
//   S2. A row that says the same as before is the same object: so it is not drawn again.

import { itemOf, type Item, type ToolCalled } from "../../../../src/calls/told.ts";
import type { Entry, Gap } from "../../../../src/transcript/entry.ts";
import { isNote } from "../../../../src/transcript/note.ts";
import type { Line } from "./window.ts";

type As<What extends Item["what"]> = Extract<Item, { what: What }>;

export interface Result {
  readonly entry: Entry;
  readonly item: As<"result">;
}

export interface Reported {
  readonly entry: Entry;
  readonly item: As<"report">;
}

export interface Called {
  readonly call: ToolCalled;
  readonly result: Result | null;
  /** Without a result: running, never answered (the turn ended before), or not there, because it stands further below. */
  readonly state: "running" | "done" | "failed" | "unanswered" | "below";
  readonly tookMs: number | null; // null: it has no result
  readonly reported: Reported | null; // of a child, by what it was given here
}

export type Row = { readonly id: string } & (
  | { readonly kind: "day"; readonly atMs: number }
  | { readonly kind: "letter"; readonly entry: Entry; readonly item: As<"letter"> }
  | {
      readonly kind: "answer";
      readonly entry: Entry;
      readonly item: As<"answer">;
      readonly calls: readonly Called[];
    }
  | { readonly kind: "result"; readonly entry: Entry; readonly item: As<"result"> }
  | { readonly kind: "report"; readonly entry: Entry; readonly item: As<"report"> }
  | {
      readonly kind: "compaction";
      readonly entry: Extract<Entry, { type: "compaction" }>;
      readonly text: string;
    }
  | { readonly kind: "note"; readonly entry: Entry; readonly text: string }
  | {
      readonly kind: "rewound";
      readonly entry: Entry;
      readonly to: Entry | null; //  what was said last before it; null: that is not here
      readonly isReturn: boolean; // to what had been left before
    }
  | {
      readonly kind: "ended";
      readonly entry: Entry;
      readonly item: As<"ended">;
      readonly isLast: boolean; // nothing came after it: what it says to do is still to be done
    }
  | { readonly kind: "silent"; readonly entry: Entry; readonly entries: readonly Entry[] }
  | { readonly kind: "gap"; readonly gap: Gap }
  | { readonly kind: "restarted"; readonly entry: Entry | null }
);

const items = new WeakMap<Entry, Item>();

/** Entries never change, so what they say is made out once. */
export function told(entry: Entry): Item {
  const known = items.get(entry);
  if (known !== undefined) return known;
  const item = itemOf(entry);
  items.set(entry, item);
  return item;
}

interface Wishes {
  readonly isAtEnd: boolean;
  /** Numbers of the entries that were the last ones when the daemon was found to be another process. */
  readonly restarts: readonly number[];
}

export function rowsOf(
  lines: readonly Line[],
  { isAtEnd, restarts }: Wishes,
  before: readonly Row[] = [],
): Row[] {
  const pairs = pairsIn(lines);
  const rows: Row[] = [];
  let day = "";
  let gaps = 0;
  for (const [at, line] of lines.entries()) {
    if (line.type === "gap") {
      gaps += 1;
      rows.push({ id: `gap-${line.offset}-${line.bytes}-${gaps}`, kind: "gap", gap: line });
      continue;
    }
    const item = told(line);
    const row = rowOf(line, item, { pairs, at, isAtEnd, last: rows.at(-1), lines });
    if (row?.kind === "silent" && rows.at(-1)?.kind === "silent") rows[rows.length - 1] = row;
    else if (row !== null) {
      const named = new Date(item.atMs).toDateString();
      if (named !== day && item.atMs > 0)
        rows.push({ id: `day-${line.seq}`, kind: "day", atMs: new Date(named).getTime() });
      if (item.atMs > 0) day = named;
      rows.push(row);
    }
    if (restarts.includes(line.seq)) rows.push({ id: `restart-${line.seq}`, kind: "restarted", entry: null });
  }
  return kept(
    rows.flatMap((row, at) => saidOnce(row, rows[at + 1], isAtEnd)),
    before,
  );
}

/** What two rows say, one of them says: the turn that was gone on with says that it was restarted, its end why its answer failed. */
function saidOnce(row: Row, after: Row | undefined, isAtEnd: boolean): readonly Row[] {
  if (isSaidAgain(row, after) || isDamageAgain(row, after)) return [];
  if (row.kind === "ended") return [{ ...row, isLast: isAtEnd && after === undefined }];
  if (row.kind !== "answer" || row.item.trouble === null) return [row];
  if (after?.kind !== "ended" || !isSameTrouble(row.item.trouble, after.item.reason)) return [row];
  const { entry, item } = row;
  const isEmpty = entry.type === "message" && entry.message.content.length === 0;
  return isEmpty ? [] : [{ ...row, item: { ...item, trouble: null } }];
}

/** One of them may have been cut. */
function isSameTrouble(one: string, other: string | null): boolean {
  return other !== null && (one.startsWith(other) || other.startsWith(one));
}

function isDamageAgain(row: Row, after: Row | undefined): boolean {
  return [row, after].every((each) => each?.kind === "note" && isNote(each.entry, "damage"));
}

function isSaidAgain(row: Row, after: Row | undefined): boolean {
  return row.kind === "restarted" && row.entry === null && after?.kind === "restarted";
}

// ── What belongs together ───────────────────────────────────────────────────────────────────────────────────

interface Pairs {
  readonly results: ReadonlyMap<string, readonly (Result & { readonly at: number })[]>; // by the id of the call
  readonly reports: ReadonlyMap<string, Reported>; //                                     by the task
  readonly calls: ReadonlyMap<string, readonly number[]>; //     by the id of the call: where it was made
  readonly breaks: readonly number[]; //                         where a call that has no result yet gets none any more
}

function pairsIn(lines: readonly Line[]): Pairs {
  const results = new Map<string, (Result & { readonly at: number })[]>();
  const reports = new Map<string, Reported>();
  const calls = new Map<string, number[]>();
  const breaks: number[] = [];
  for (const [at, entry] of lines.entries()) {
    if (entry.type === "gap") continue;
    const item = told(entry);
    if (item.what === "result") listed(results, item.id).push({ entry, item, at });
    if (item.what === "report") reports.set(item.report.task, { entry, item });
    if (item.what === "answer") for (const { id } of item.calls) listed(calls, id).push(at);
    if (item.what === "answer" || item.what === "ended") breaks.push(at);
  }
  return { results, reports, calls, breaks };
}

function listed<Of>(map: Map<string, Of[]>, key: string): Of[] {
  const found = map.get(key) ?? [];
  map.set(key, found);
  return found;
}

/** The first result after a call, before the same id is used again: ids are the models', and some count from 1 in every answer. */
function resultOf(pairs: Pairs, id: string, at: number): Result | null {
  const again = pairs.calls.get(id)?.find((each) => each > at) ?? Infinity;
  const found = pairs.results.get(id)?.find((each) => each.at > at && each.at < again);
  return found === undefined ? null : { entry: found.entry, item: found.item };
}

/** S1 */
function hasCall(pairs: Pairs, { id, seq }: As<"result">, at: number): boolean {
  const call = pairs.calls.get(id)?.findLast((each) => each < at);
  return call !== undefined && resultOf(pairs, id, call)?.entry.seq === seq;
}

interface Around {
  readonly pairs: Pairs;
  readonly at: number;
  readonly isAtEnd: boolean;
  readonly last: Row | undefined;
  readonly lines: readonly Line[];
}

function calledOf(call: ToolCalled, madeMs: number, { pairs, at, isAtEnd }: Around): Called {
  const result = resultOf(pairs, call.id, at);
  const task = result?.item.spawned?.task;
  return {
    call,
    result,
    state: result === null ? openOf(pairs, at, isAtEnd) : result.item.isError ? "failed" : "done",
    tookMs: result === null ? null : Math.max(0, result.item.atMs - madeMs),
    reported: (task === undefined ? undefined : pairs.reports.get(task)) ?? null,
  };
}

function openOf({ breaks }: Pairs, at: number, isAtEnd: boolean): Called["state"] {
  if (breaks.some((each) => each > at)) return "unanswered";
  return isAtEnd ? "running" : "below";
}

/** Null: nothing of it is shown here. */
function rowOf(entry: Entry, item: Item, around: Around): Row | null {
  const id = `entry-${entry.seq}`;
  switch (item.what) {
    case "letter":
      return { id, kind: "letter", entry, item };
    case "answer":
      return {
        id,
        kind: "answer",
        entry,
        item,
        calls: item.calls.map((call) => calledOf(call, item.atMs, around)),
      };
    case "result":
      return hasCall(around.pairs, item, around.at) ? null : { id, kind: "result", entry, item };
    case "report":
      return { id, kind: "report", entry, item };
    case "ended":
      return item.outcome === "done" ? null : { id, kind: "ended", entry, item, isLast: false };
    case "resumed":
      return item.why === "restarted"
        ? { id, kind: "restarted", entry }
        : { id, kind: "note", entry, text: `gone on with (${item.why})` };
    case "note":
    case "setting":
      if (isRewind(entry)) return rewoundOf(entry, item.text, around);
      return entry.type === "compaction"
        ? { id, kind: "compaction", entry, text: item.text }
        : { id, kind: "note", entry, text: item.text };
    case "silent": {
      const earlier = around.last?.kind === "silent" ? around.last.entries : [];
      return {
        id: earlier.length === 0 ? id : (around.last?.id ?? id),
        kind: "silent",
        entry,
        entries: [...earlier, entry],
      };
    }
    case "began":
    case "nothing":
      return null;
  }
}

/** What the menu of a line that says that it went back has. */
export const RETURN = "Return to what was left …";

/** The last entry of what a rewind left behind; null: it is no note of one, does not say, or nothing was left. */
export function leftBy(line: Line): number | null {
  if (!isRewind(line)) return null;
  const { from, left } = (line.data ?? {}) as { readonly from?: unknown; readonly left?: unknown };
  if (left === 0) return null; // Older notes do not say.
  return typeof from === "number" && Number.isSafeInteger(from) && from > 0 ? from : null;
}

export function isRewind(line: Line): line is Extract<Entry, { type: "custom" }> {
  return line.type === "custom" && isNote(line, "rewound");
}

/** Null: it changed nothing that anybody could see. */
function rewoundOf(entry: Extract<Entry, { type: "custom" }>, text: string, around: Around): Row | null {
  const id = `entry-${entry.seq}`;
  const { isReturn, left } = (entry.data ?? {}) as { readonly isReturn?: unknown; readonly left?: unknown };
  if (isReturn === true || leftBy(entry) !== null)
    return { id, kind: "rewound", entry, to: saidBefore(around), isReturn: isReturn === true };
  return left === 0 ? null : { id, kind: "note", entry, text };
}

/** What had no words is not known again by them. */
function saidBefore({ lines, at }: Around): Entry | null {
  const isSaid = (line: Line): line is Entry => {
    if (line.type === "gap") return false;
    const item = told(line);
    return (item.what === "letter" || item.what === "answer") && item.text.trim() !== "";
  };
  return lines.slice(0, at).findLast(isSaid) ?? null;
}

// ── What is the same as before ──────────────────────────────────────────────────────────────────────────────

/** S2 */
function kept(rows: readonly Row[], before: readonly Row[]): Row[] {
  const known = new Map(before.map((row) => [row.id, row]));
  return rows.map((row) => {
    const was = known.get(row.id);
    return was !== undefined && isSame(was, row) ? was : row;
  });
}

function isSame(one: unknown, other: unknown, depth = 0): boolean {
  if (Object.is(one, other)) return true;
  if (depth > 3 || typeof one !== "object" || typeof other !== "object" || one === null || other === null)
    return false;
  const [parts, others] = [Object.entries(one), Object.entries(other)];
  return (
    parts.length === others.length &&
    parts.every(([name, part]) => isSame(part, (other as Record<string, unknown>)[name], depth + 1))
  );
}
