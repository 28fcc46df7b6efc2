// One page of a transcript. The reader keeps no place between pages: where it stopped goes with the page and
// comes back with the next question, so a slow caller costs nothing and a restart of the caller loses nothing.

import { READ_BYTES_MAX, READ_ENTRIES_MAX } from "../../limits.ts";
import type { Entry, Gap } from "../../transcript/entry.ts";
import {
  hurtBefore,
  pathSpans,
  readForward,
  readPathBackward,
  type Placed,
  type Spans,
  type Upwards,
} from "../../transcript/read.ts";
import type { Range } from "../store.ts";
import type { Snapshot } from "./spliced.ts";
import { entryAt, seek, type Trails } from "./trails.ts";

export type Stop =
  // Forward: the seq to go on with, the last one that belongs to the reading, and which are on the path; null: all.
  | { readonly way: "down"; readonly seq: number; readonly lastSeq: number; readonly spans: Spans | null }
  // Backward: the seq above which all was read, and the entry that comes next.
  | { readonly way: "up"; readonly seq: number; readonly wanted: string | null };

export interface HistoryPage {
  /** Entries as their lines, which the asker decodes. */
  readonly items: readonly (string | Gap)[];
  /** Null: that was the last page. */
  readonly stop: Stop | null;
}

/** How far a reading is, and what is known of the way. */
interface Reading {
  readonly stop: Stop | null;
  readonly trails: Trails;
}

export function readPage(from: Snapshot, range: Range, reading: Reading): HistoryPage {
  const { stop, trails } = reading;
  if (stop?.way === "up" || (stop === null && "before" in range)) return pageUp(from, range, reading);
  if (stop !== null) return pageDown(from, stop, placeOf(from, stop.seq));
  const start = startDown(from, range, trails);
  return pageDown(from, start, "since" in range ? placeSince(from, start) : placeOf(from, start.seq));
}

function placeOf(taken: Snapshot, seq: number): number {
  return seq <= 1 ? 0 : seek(taken, seq);
}

/** With the lines that cannot be read where it should be: one of them may have been it. */
function placeSince(taken: Snapshot, { seq, lastSeq }: Extract<Stop, { way: "down" }>): number {
  const at = placeOf(taken, seq);
  if (at === 0 || seq > lastSeq) return at;
  const first = readForward(taken.source, at).next().value?.item;
  return first?.type !== "gap" && first?.type !== "session" && first?.seq === seq
    ? at
    : hurtBefore(taken.source, at);
}

function startDown(taken: Snapshot, range: Range, trails: Trails): Extract<Stop, { way: "down" }> {
  const { lastSeq, contextSeq, jumpSeq } = taken.row.transcript;
  if ("since" in range) {
    const through = Math.min(lastSeq, range.through ?? lastSeq);
    return { way: "down", seq: range.since, lastSeq: through, spans: null };
  }
  const seq = "from" in range && range.from !== "context" ? range.from : contextSeq;
  // After the last jump every entry continues the one before it, and nothing was left behind.
  const spans = jumpSeq <= seq ? null : (trails.spansFrom(taken, seq) ?? pathSpans(taken.source, seq));
  return { way: "down", seq, lastSeq, spans };
}

function pageDown(
  { row, source }: Snapshot,
  stop: Extract<Stop, { way: "down" }>,
  from: number,
): HistoryPage {
  const page = new Filling();
  for (const placed of readForward(source, from, row.transcript.lastSeq)) {
    const { item } = placed;
    if (item.type === "session") continue;
    if (item.type === "gap") {
      page.add(item, placed);
      continue;
    }
    if (item.seq > stop.lastSeq) break; // added since the first page
    if (page.isFull) return { items: page.items, stop: { ...stop, seq: item.seq } };
    if (isOnPath(stop.spans, item.seq)) page.add(item, placed);
    if (item.seq === stop.lastSeq && item.seq < row.transcript.lastSeq) break; // What is hurt after it was not asked for.
  }
  return { items: page.items, stop: null };
}

function pageUp(from: Snapshot, range: Range, reading: Reading): HistoryPage {
  const page = new Filling();
  const below = "before" in range ? (range.before ?? Infinity) : Infinity;
  let gaps: Placed<Gap>[] = []; // after the entry that comes next: they are told where that is
  const add = (gap: Placed<Gap>): void => page.add(gap.item, gap);
  for (const placed of readPathBackward(from.source, startUp(from, below, reading))) {
    const { item } = placed;
    if (item.type === "gap") {
      gaps.push({ ...placed, item });
      continue;
    }
    if (item.seq < below) {
      gaps.forEach(add);
      page.add(item, placed);
    } // else it had to be walked to find the path
    gaps = [];
    // Between two entries, so that a gap is on one page only.
    if (page.isFull) return { items: page.items, stop: { way: "up", seq: item.seq, wanted: item.parentId } };
  }
  gaps.forEach(add);
  return { items: page.items, stop: null };
}

function startUp(taken: Snapshot, below: number, { stop, trails }: Reading): Upwards | undefined {
  const { jumpSeq, lastSeq } = taken.row.transcript;
  if (stop?.way === "up") return { to: seek(taken, stop.seq), wanted: stop.wanted };
  if (below > lastSeq) return undefined;
  if (below > jumpSeq) return entryAt(taken, below)?.above;
  const spans = trails.spansFrom(taken, below);
  // Without a trail only a walk from the rewind tells what is on the path.
  const from = spans === null ? jumpSeq + 1 : firstFrom(spans, below);
  return from > lastSeq ? undefined : entryAt(taken, from)?.above;
}

/** The first seq on the path that is not before this one. */
function firstFrom(spans: Spans, seq: number): number {
  const [first] = spans.find(([, last]) => last >= seq) ?? [seq];
  return Math.max(first, seq);
}

function isOnPath(spans: Spans | null, seq: number): boolean {
  if (spans === null) return true;
  return spans.some(([first, last]) => first <= seq && seq <= last);
}

class Filling {
  readonly items: (string | Gap)[] = [];
  #bytes = 0;

  get isFull(): boolean {
    return this.items.length >= READ_ENTRIES_MAX || this.#bytes >= READ_BYTES_MAX;
  }

  add(item: Entry | Gap, placed: Placed<unknown>): void {
    this.items.push(item.type === "gap" ? item : placed.text);
    this.#bytes += placed.bytes;
  }
}
