// What a compaction entry of ours keeps beside its summary: everything of the part it cut off that must not depend on what a
// model wrote. Readers of pi's format find `summary`, `firstKeptEntryId` and `tokensBefore`, and pass the rest over.

import type { Body, Entry, MessageUsage } from "../transcript/entry.ts";
import type { Task } from "../turns/tasks.ts";
import type { OpenTurn } from "../turns/where.ts";

/** Why the context was made smaller: it reached its size, the model refused it, or somebody asked for it. */
export type Occasion = "size" | "overflow" | "asked";

/** A message that stays as it was said. */
export interface Verbatim {
  readonly id: string; //   of its entry
  readonly from: string; // who said it, in words
  readonly text: string;
}

export interface CompactionDetails {
  readonly by: "sessiond";
  readonly occasion: Occasion;
  /** The sections, without what is added to them below: what the next summary goes on from. */
  readonly sections: string;
  /** Why no model's summary stands here; null: one does. */
  readonly truncated: string | null;
  /** Pinned messages that were cut off, and those of the open turn: what is being worked on. */
  readonly pinned: readonly Verbatim[];
  readonly asked: readonly Verbatim[];
  /** The turn that was under way; null: none was. What it rests on is in `awaits`. */
  readonly turn: OpenTurn | null;
  readonly awaits: readonly string[];
  /** Given to children and not heard of, all of them. */
  readonly tasks: readonly Task[];
  /** About, as the model in force would count them, `<provider>/<name>`. */
  readonly tokensAfter: number;
  readonly model: string;
  /** What the summary cost. */
  readonly usage: MessageUsage;
  /** The letter that asked for it; null: nobody did. */
  readonly order: string | null;
}

/** Null: another program wrote it, or it is no compaction. */
export function detailsOf(entry: Body | Entry | undefined): CompactionDetails | null {
  if (entry?.type !== "compaction") return null;
  const details = entry.details as Partial<CompactionDetails> | null | undefined;
  return details?.by === "sessiond" ? (details as CompactionDetails) : null;
}
