// Trails
//
// Which entries before the last rewind are on the active path. Only a walk up from there tells, so what was walked is
// remembered: of a long history that was rewound late, every page would else cost as much as all that stands below it.
//
//   Owns:      the walks of the histories that were read last.
//   Does not:  read pages (history.ts). What it forgets is walked again.
//
// Invariants
//   T1. What stands before a rewind never changes: a trail holds until there is another rewind, or another file.
//   T2. A trail is of a whole history. Where something cannot be read, or an entry does not stand where its number is looked for, there
//       is none: what is found by that number is another's.
//   T3. A trail is short. With more than TRAIL_SPANS_MAX rewinds there is none.

import { TRAIL_SPANS_MAX, TRAILS_MAX } from "../../limits.ts";
import { readForward, readPathBackward, seekSeq, type Spans, type Upwards } from "../../transcript/read.ts";
import type { Snapshot } from "./spliced.ts";

interface Trail {
  readonly spans: [first: number, last: number][]; // newest first
  /** The last entry that was walked to, and what it continues; null: nothing, it is the first. */
  lowest: { readonly seq: number; readonly wanted: string | null };
}

export class Trails {
  /** By transcript and rewind, the one that was asked for last at the end. */
  readonly #trails = new Map<string, Trail>();

  /** Seqs of the active path, at least all from this one on; null: there is no trail (T2, T3). */
  spansFrom(taken: Snapshot, from: number): Spans | null {
    const { id, jumpSeq } = taken.row.transcript;
    const name = `${id} ${jumpSeq}`;
    const trail = this.#trails.get(name) ?? begun(taken);
    this.#trails.delete(name);
    if (trail === null || !walkedTo(taken, trail, from)) return null;
    this.#trails.set(name, trail);
    for (const oldest of this.#trails.keys()) {
      if (this.#trails.size <= TRAILS_MAX) break;
      this.#trails.delete(oldest);
    }
    return trail.spans.toReversed();
  }
}

/** All from the rewind on is on the path, whatever is still to come. */
function begun(taken: Snapshot): Trail | null {
  const { jumpSeq } = taken.row.transcript;
  const entry = entryAt(taken, jumpSeq);
  if (entry?.seq !== jumpSeq) return null;
  return { spans: [[jumpSeq, Infinity]], lowest: { seq: jumpSeq, wanted: entry.above.wanted } };
}

/** False: it cannot be followed that far. */
function walkedTo(taken: Snapshot, trail: Trail, from: number): boolean {
  const { seq, wanted } = trail.lowest;
  if (seq <= from || wanted === null) return true;
  let below = seek(taken, seq); // where the entry that continues the next one begins
  for (const { item, offset, bytes } of readPathBackward(taken.source, { to: below, wanted })) {
    if (item.type === "gap" || item.seq >= trail.lowest.seq) return false;
    const isNext = item.seq === trail.lowest.seq - 1;
    // Directly above, and one less: so it is the one of that number. Of any other the number may be wrong (T2).
    if (!(isNext && offset + bytes === below) && seek(taken, item.seq) !== offset) return false;
    below = offset;
    const lowest = trail.spans.at(-1);
    if (lowest && isNext) lowest[0] = item.seq;
    else trail.spans.push([item.seq, item.seq]);
    if (trail.spans.length > TRAIL_SPANS_MAX) return false;
    trail.lowest = { seq: item.seq, wanted: item.parentId };
    if (item.seq <= from) return true;
  }
  return trail.lowest.wanted === null;
}

/** The first entry from a seq on, and where to go on upwards from it; null: there is none, or it cannot be read. */
export function entryAt(
  taken: Snapshot,
  seq: number,
): { readonly seq: number; readonly above: Upwards } | null {
  const to = seek(taken, seq);
  for (const { item } of readForward(taken.source, to, taken.row.transcript.lastSeq)) {
    if (item.type === "gap" || item.type === "session") return null;
    return { seq: item.seq, above: { to, wanted: item.parentId } };
  }
  return null;
}

/** What is in the newest file is looked for there alone: earlier ones are not even opened. */
export function seek({ row, source, newestAt }: Snapshot, seq: number): number {
  return seekSeq(source, seq, seq >= row.transcript.firstSeq ? newestAt : 0);
}
