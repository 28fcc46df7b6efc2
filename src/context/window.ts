// The part of a session's entries that a model is shown something of.

import type { Entry } from "../transcript/entry.ts";
import { withoutFlushes } from "./flush.ts";

/** What of these entries is not cut off: those from `from` on. An older compaction may stand among them. */
export interface Extent {
  readonly from: number;
  readonly older: Extract<Entry, { type: "compaction" }> | null; // null: nothing was compacted before
}

/** Only the last compaction counts. */
export function extentOf(entries: readonly Entry[]): Extent {
  const at = entries.findLastIndex(({ type }) => type === "compaction");
  const older = entries[at];
  if (older?.type !== "compaction") return { from: 0, older: null };
  const from = entries.findIndex(({ id }) => id === older.firstKeptEntryId);
  return { from: from < 0 || from > at ? at + 1 : from, older };
}

/** After a compaction: it first, then what it kept, then what came after it. What it cut off is nobody's any more. */
export function windowOf(all: readonly Entry[]): readonly Entry[] {
  const entries = withoutFlushes(all);
  const { from, older } = extentOf(entries);
  if (older === null) return entries;
  return [older, ...entries.slice(from).filter(({ type }) => type !== "compaction")];
}
