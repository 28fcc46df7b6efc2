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
import { callsIn, type Entry } from "../transcript/entry.ts";
import { isNote, isTurnNote } from "../transcript/note.ts";
import { detailsOf } from "./compaction.ts";
import { bytesByPlace, tallyOf, type Tally } from "./tally.ts";
import { extentOf, type Extent } from "./window.ts";

export { extentOf, type Extent } from "./window.ts";

/** What stands before `at` goes. */
export interface Cut {
  readonly at: number; //            index of the first kept entry; `entries.length`: nothing is kept
  readonly isInsideTurn: boolean; // the turn that `at` belongs to loses its beginning
}

/** Where a cut would be allowed. */
interface Place {
  readonly at: number;
  readonly isTurn: boolean; // a turn begins here
}

/**
 * Null: there is nothing that could be cut off. `bound`: entries that are never the first kept, because of what is before them.
 * `shared`: as for `assemble`; if nobody says, names of speakers count.
 */
export function cutOf(
  entries: readonly Entry[],
  keepBytes: number,
  bound: ReadonlySet<Entry> = new Set(),
  shared = true,
): Cut | null {
  const extent = extentOf(entries);
  const tally = tallyOf(entries, shared, extent.from);
  const isShown = (at: number): boolean => isShownAlone(entries, at, tally);
  const least = leastOf(entries, extent, { keepBytes, isShown });
  if (least === null) return null;
  const places = placesIn(entries, extent, tally).filter(({ at }) => !bound.has(entries[at] as Entry));
  const bytesFrom = sumsFrom(entries, tally);
  const isSmall = ({ at }: Place): boolean => (bytesFrom[at] ?? 0) <= keepBytes;
  const turn = places.find((place) => place.isTurn && place.at >= least && isSmall(place));
  if (turn !== undefined) return { at: turn.at, isInsideTurn: false };
  const start = places.findLast(({ isTurn }) => isTurn)?.at ?? -1; // of the last turn; -1: it began before all of this
  const steps = places.filter(({ at }) => at >= least && at > start);
  const step = steps.find(isSmall) ?? steps.at(-1);
  if (start >= least && !isAnyIn(start, step?.at ?? start, isShown))
    return { at: start, isInsideTurn: false };
  if (step !== undefined) return { at: step.at, isInsideTurn: true };
  return least === extent.from ? { at: entries.length, isInsideTurn: false } : null; // only an older summary goes
}

function isAnyIn(from: number, to: number, is: (at: number) => boolean): boolean {
  for (let at = from; at < to; at += 1) if (is(at)) return true;
  return false;
}

/** Where the turns begin that stand in the extent, in their order. */
export function turnsIn(entries: readonly Entry[], extent: Extent): readonly number[] {
  const turns: number[] = [];
  let isOurs = beginsInside(entries, extent); // inside a turn that a note of ours began
  let last: Entry | null = null; // the message before
  for (let at = extent.from; at < entries.length; at += 1) {
    const entry = entries[at] as Entry;
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
function leastOf(
  entries: readonly Entry[],
  { from, older }: Extent,
  { keepBytes, isShown }: { readonly keepBytes: number; readonly isShown: (at: number) => boolean },
): number | null {
  // Made by another program, or for a larger window, a summary may be larger than all that fits: then it alone is worth a cut.
  const summary = older === null ? "" : (detailsOf(older)?.sections ?? older.summary);
  if (Buffer.byteLength(summary) > Math.max(keepBytes, SUMMARY_BYTES_MIN)) return from;
  const first = entries.findIndex(({ type }, at) => at >= from && type !== "compaction" && isShown(at));
  return first < 0 ? null : first + 1;
}

/** In their order. Steps are what is said, and not what was found out about it. */
function placesIn(entries: readonly Entry[], extent: Extent, tally: Tally): readonly Place[] {
  const turns = new Set(turnsIn(entries, extent));
  const splits = splitsIn(entries, tally);
  const places: Place[] = [];
  for (let at = extent.from; at < entries.length; at += 1) {
    if (splits.has(at)) continue;
    const type = entries[at]?.type;
    if (turns.has(at)) places.push({ at, isTurn: true });
    else if (type !== "custom" && type !== "compaction" && isShownAlone(entries, at, tally))
      places.push({ at, isTurn: false });
  }
  return places;
}

/** A result alone is not shown: it is with its call. */
function isShownAlone(entries: readonly Entry[], at: number, { whole }: Tally): boolean {
  const entry = entries[at];
  return (whole[at] ?? 0) > 0 && !(entry?.type === "message" && entry.message.role === "toolResult");
}

/** Indexes at which a cut would part a call from its result (T1). */
function splitsIn(entries: readonly Entry[], { missing, until }: Tally): ReadonlySet<number> {
  const running = entries.findLastIndex((entry) => callsIn(entry).length > 0 || isTurnNote(entry));
  const parted = new Map(until);
  if ((missing.get(running) ?? 0) > 0) parted.set(running, entries.length);
  const splits = new Set<number>();
  let reached = 0; // so that each index is added once, however the answers overlap
  for (const [answer, last] of [...parted].toSorted(([a], [b]) => a - b)) {
    for (let at = Math.max(answer + 1, reached); at <= last; at += 1) splits.add(at);
    reached = Math.max(reached, last + 1);
  }
  return splits;
}

/** By index: what is shown from there on once all before it is cut off. Where calls are not parted from results, that is a sum. */
function sumsFrom(entries: readonly Entry[], tally: Tally): readonly number[] {
  const sums = [...bytesByPlace(entries, tally)];
  let sum = 0;
  for (let at = sums.length - 1; at >= 0; at -= 1) {
    if (entries[at]?.type !== "compaction") sum += sums[at] ?? 0; // An older one goes too.
    sums[at] = sum;
  }
  return sums;
}
