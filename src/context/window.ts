// The part of a session's entries that a model is shown something of.

import type { Entry } from "../transcript/entry.ts";
import { withoutFlushes } from "./flush.ts";

/** After a compaction: it first, then what it kept, then what came after it. What it cut off is nobody's any more. */
export function windowOf(all: readonly Entry[]): readonly Entry[] {
  const entries = withoutFlushes(all);
  const at = entries.findLastIndex(({ type }) => type === "compaction");
  const compaction = entries[at];
  if (compaction?.type !== "compaction") return entries;
  const from = entries.findIndex(({ id }) => id === compaction.firstKeptEntryId);
  const before = from < 0 || from > at ? [] : entries.slice(from, at);
  return [compaction, ...before.filter(({ type }) => type !== "compaction"), ...entries.slice(at + 1)];
}
