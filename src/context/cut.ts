// Where a context is cut when it is compacted: what stands before the cut is summed up, what stands after it stays as it is.
//
// Invariants
//   T1. A call and its results stay on one side, wherever the results were written. Calls that still run are never cut off:
//       their results would come too late for them.
//   T2. The cut is at the beginning of a turn if any turn from there on fits; else inside the last turn, before an answer or
//       what somebody said to it.
//   T3. What is kept is as much as fits. Only when the last step is larger than that, it is kept although it is.
//   T4. A cut that is there cuts off something that is shown: so compacting comes to an end.

import { SUMMARY_BYTES_MIN } from "../limits.ts";
import type { Block, Entry } from "../transcript/entry.ts";
import { assemble } from "./assemble.ts";
import { detailsOf } from "./compaction.ts";
import { bytesOf } from "./weight.ts";

/** What stands before `at` goes. */
export interface Cut {
  readonly at: number; //            index of the first kept entry; `entries.length`: nothing is kept
  readonly isInsideTurn: boolean; // the turn that `at` belongs to loses its beginning
}

/** What of a context's entries can be cut: those from `from` on. An older compaction may stand among them. */
export interface Extent {
  readonly from: number;
  readonly older: Extract<Entry, { type: "compaction" }> | null; // null: nothing was compacted before
}

/** Where a cut would be allowed. */
interface Place {
  readonly at: number;
  readonly isTurn: boolean; // a turn begins here
}

/** Null: there is nothing that could be cut off. `bound`: entries that are never the first kept, because of what is before them. */
export function cutOf(
  entries: readonly Entry[],
  keepBytes: number,
  bound: ReadonlySet<Entry> = new Set(),
): Cut | null {
  const extent = extentOf(entries);
  const places = placesIn(entries, extent).filter(({ at }) => !bound.has(entries[at] as Entry));
  const least = leastOf(entries, extent, keepBytes);
  if (least === null) return null;
  const isSmall = ({ at }: Place): boolean => weightFrom(entries, at) <= keepBytes;
  const turns = places.filter(({ at, isTurn }) => isTurn && at >= least);
  const turn = turns[firstOf(turns, isSmall)];
  if (turn !== undefined) return { at: turn.at, isInsideTurn: false };
  const start = places.findLast(({ isTurn }) => isTurn)?.at ?? -1; // of the last turn; -1: it began before all of this
  const steps = places.filter(({ at }) => at >= least && at > start);
  const step = steps[firstOf(steps, isSmall)] ?? steps.at(-1);
  const isWhole = step === undefined || !entries.slice(start, step.at).some(isShown);
  if (start >= least && isWhole) return { at: start, isInsideTurn: false };
  if (step !== undefined) return { at: step.at, isInsideTurn: true };
  return least === extent.from ? { at: entries.length, isInsideTurn: false } : null; // only an older summary goes
}

/** As a context is shown: what an older compaction cut off is not in it any more. */
export function extentOf(entries: readonly Entry[]): Extent {
  const at = entries.findLastIndex(({ type }) => type === "compaction");
  const older = entries[at];
  if (older?.type !== "compaction") return { from: 0, older: null };
  const from = entries.findIndex(({ id }) => id === older.firstKeptEntryId);
  return { from: from < 0 || from > at ? at + 1 : from, older };
}

/** Where the turns begin that stand in the extent, in their order. */
export function turnsIn(entries: readonly Entry[], extent: Extent): readonly number[] {
  const turns: number[] = [];
  let isOurs = beginsInside(entries, extent); // inside a turn that a note of ours began
  let last: Entry | null = null; // the message before
  for (const [at, entry] of entries.entries()) {
    if (at < extent.from) continue;
    if (isNote(entry, "turn-started")) turns.push(at);
    if (isTurnNote(entry)) isOurs = isNote(entry, "turn-started");
    if (entry.type !== "message") continue;
    if (!isOurs && entry.message.role === "user" && endsTurn(last)) turns.push(at);
    last = entry;
  }
  return turns;
}

/** An older compaction of ours has cut off the beginning of the turn that the extent begins with. */
function beginsInside(entries: readonly Entry[], { from, older }: Extent): boolean {
  if (older === null) return false;
  const isOpen = (detailsOf(older)?.turn ?? null) !== null;
  const note = entries.find((entry, at) => at >= from && (entry === older || isTurnNote(entry)));
  return note === undefined || note === older ? isOpen : isNote(note, "turn-ended");
}

/** True: the last turn, which began at `start`, goes on. False: it is over. */
export function isOpenFrom(entries: readonly Entry[], start: number): boolean {
  const since = entries.slice(start);
  const note = since.findLast(isTurnNote);
  if (note !== undefined) return isNote(note, "turn-started");
  if (beginsInside(entries, extentOf(entries))) return true;
  return !endsTurn(since.findLast(({ type }) => type === "message") ?? null);
}

/** In a transcript without our notes: nobody was still at work when this was said. */
function endsTurn(last: Entry | null): boolean {
  if (last?.type !== "message") return true;
  const { message } = last;
  if (message.role !== "assistant") return false; // Somebody went on speaking, or spoke into the work.
  return callsIn(last).length === 0 || message.stopReason === "aborted" || message.stopReason === "error";
}

/** The first index at which a cut takes away something that is shown (T4). Null: none does. */
function leastOf(entries: readonly Entry[], { from, older }: Extent, keepBytes: number): number | null {
  // Made by another program, or for a larger window, a summary may be larger than all that fits: then it alone is worth a cut.
  const summary = older === null ? "" : (detailsOf(older)?.sections ?? older.summary);
  if (Buffer.byteLength(summary) > Math.max(keepBytes, SUMMARY_BYTES_MIN)) return from;
  const first = entries.findIndex((entry, at) => at >= from && entry.type !== "compaction" && isShown(entry));
  return first < 0 ? null : first + 1;
}

function placesIn(entries: readonly Entry[], extent: Extent): readonly Place[] {
  const { from } = extent;
  const turns = new Set(turnsIn(entries, extent));
  const splits = splitsIn(entries, from);
  const places: Place[] = [];
  for (const [at, entry] of entries.entries()) {
    if (at < from || splits.has(at)) continue;
    if (turns.has(at)) places.push({ at, isTurn: true });
    else if (isStep(entry)) places.push({ at, isTurn: false });
  }
  return places;
}

/** Something that is said, and not what was found out about it. */
function isStep(entry: Entry): boolean {
  return entry.type !== "custom" && entry.type !== "compaction" && isShown(entry);
}

/** A result alone is not shown: it is with its call. */
function isShown(entry: Entry): boolean {
  return assemble([entry], false).length > 0;
}

/**
 * Indexes at which a cut would part a call from its result (T1). A result belongs to the last answer before it that has a call
 * of its id, as assemble() has it.
 */
function splitsIn(entries: readonly Entry[], from: number): ReadonlySet<number> {
  const open = new Map<unknown, { readonly answer: number; left: number }>();
  const until = new Map<number, number>(); // by answer: where its last result stands
  for (const [at, entry] of entries.entries()) {
    if (at < from || entry.type !== "message") continue;
    if (entry.message.role === "toolResult") {
      const place = open.get(entry.message.toolCallId);
      if (place === undefined || place.left === 0) continue;
      place.left -= 1;
      until.set(place.answer, at);
    }
    for (const [id, same] of Map.groupBy(callsIn(entry), (call) => call.id))
      open.set(id, { answer: at, left: same.length });
  }
  const running = entries.findLastIndex((entry) => callsIn(entry).length > 0 || isTurnNote(entry));
  if ([...open.values()].some(({ answer, left }) => answer === running && left > 0))
    until.set(running, entries.length);
  const splits = new Set<number>();
  let reached = 0; // so that each index is added once, however the answers overlap
  for (const [answer, last] of [...until].toSorted(([a], [b]) => a - b)) {
    for (let at = Math.max(answer + 1, reached); at <= last; at += 1) splits.add(at);
    reached = Math.max(reached, last + 1);
  }
  return splits;
}

function isTurnNote(entry: Entry): boolean {
  return isNote(entry, "turn-started") || isNote(entry, "turn-ended");
}

function isNote(entry: Entry, what: "turn-started" | "turn-ended"): boolean {
  return entry.type === "custom" && entry.customType === `sessiond/${what}`;
}

/** A file may hold anything in place of an answer's content. */
export function callsIn(entry: Entry): readonly Extract<Block, { type: "toolCall" }>[] {
  if (entry.type !== "message" || entry.message.role !== "assistant") return [];
  const content: unknown = entry.message.content;
  if (!Array.isArray(content)) return [];
  return content.filter((block: Partial<Block> | null) => block?.type === "toolCall");
}

/** What is shown from here on once all before it is cut off. Names of speakers count, whether they are shown or not. */
function weightFrom(entries: readonly Entry[], at: number): number {
  return weightOf(entries.slice(at).filter(({ type }) => type !== "compaction"));
}

function weightOf(entries: readonly Entry[]): number {
  let bytes = 0;
  for (const message of assemble(entries, true)) bytes += bytesOf(message);
  return bytes;
}

/** The index of the first that is; each after it is too. `places.length`: none is. */
function firstOf(places: readonly Place[], is: (place: Place) => boolean): number {
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const place = places[middle];
    if (place !== undefined && is(place)) high = middle;
    else low = middle + 1;
  }
  return low;
}
