// One page of a transcript. The reader keeps nothing between pages: where it stopped goes with the page and
// comes back with the next question, so a slow caller costs nothing and a restart of the caller loses nothing.

import { READ_BYTES_MAX, READ_ENTRIES_MAX } from "../../limits.ts";
import type { Entry, Gap } from "../../transcript/entry.ts";
import {
  pathSpans,
  readForward,
  readPathBackward,
  seekSeq,
  type Placed,
  type Spans,
  type Upwards,
} from "../../transcript/read.ts";
import type { Range } from "../store.ts";
import type { Snapshot } from "./spliced.ts";

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

export function readPage(from: Snapshot, range: Range, stop: Stop | null): HistoryPage {
  if (stop?.way === "up" || (stop === null && "before" in range)) return pageUp(from, range, stop);
  return pageDown(from, stop ?? startDown(from, range));
}

function startDown({ row, source }: Snapshot, range: Range): Extract<Stop, { way: "down" }> {
  const { lastSeq, contextSeq, jumpSeq } = row.transcript;
  if ("since" in range) return { way: "down", seq: range.since, lastSeq, spans: null };
  const seq = "from" in range && range.from !== "context" ? range.from : contextSeq;
  // After the last jump every entry continues the one before it, and nothing was left behind.
  const spans = jumpSeq <= seq ? null : pathSpans(source, seq);
  return { way: "down", seq, lastSeq, spans };
}

function pageDown(taken: Snapshot, stop: Extract<Stop, { way: "down" }>): HistoryPage {
  const { row, source } = taken;
  const page = new Filling();
  const from = stop.seq <= 1 ? 0 : seek(taken, stop.seq);
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
  }
  return { items: page.items, stop: null };
}

function pageUp(from: Snapshot, range: Range, stop: Stop | null): HistoryPage {
  const page = new Filling();
  const below = "before" in range ? range.before : null;
  for (const placed of readPathBackward(from.source, startUp(from, below, stop))) {
    const { item } = placed;
    if (item.type !== "gap" && below !== null && item.seq >= below) continue; // had to be walked to find the path
    page.add(item, placed);
    // Between two entries, so that a gap is on one page only.
    if (item.type !== "gap" && page.isFull) {
      return { items: page.items, stop: { way: "up", seq: item.seq, wanted: item.parentId } };
    }
  }
  return { items: page.items, stop: null };
}

function startUp(taken: Snapshot, below: number | null, stop: Stop | null): Upwards | undefined {
  const { row } = taken;
  if (stop?.way === "up") return { to: seek(taken, stop.seq), wanted: stop.wanted };
  // Before the last jump only a walk from the end tells what is on the path.
  if (below === null || below > row.transcript.lastSeq || below <= row.transcript.jumpSeq) return undefined;
  return { to: seek(taken, below), wanted: "whatever comes" };
}

/** What is in the newest file is looked for there alone: earlier ones are not even opened. */
function seek({ row, source, newestAt }: Snapshot, seq: number): number {
  return seekSeq(source, seq, seq >= row.transcript.firstSeq ? newestAt : 0);
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
