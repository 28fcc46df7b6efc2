// Where a rewind goes to.

import { Fault } from "../base/fault.ts";
import type { Session } from "../sessions/session.ts";
import type { Store } from "../store/store.ts";
import type { Entry } from "../transcript/entry.ts";
import { callIdsIn } from "../children/copy.ts";

/** An entry of the active path, and where the context of the path up to it starts. */
export interface Point {
  readonly to: { readonly id: string; readonly seq: number };
  readonly contextSeq: number;
}

/**
 * Backward from the entry: an answer whose calls are not all settled by then is left out, with what follows it; then to the
 * newest compaction, and to what that kept. A Fault not_found: it is not on the path, or nothing is before it.
 */
export async function pointOf(store: Pick<Store, "entries">, session: Session, seq: number): Promise<Point> {
  const { id, contextSeq } = session.transcript;
  let to: Entry | null = null;
  let isSettled = false; // the last answer was seen
  let kept: { readonly id: string; readonly seq: number } | null = null; // by the newest compaction, and where that is
  let isFirst = true;
  let first = seq; //       the oldest that was read
  const settled = new Set<string>();
  for await (const entry of store.entries(id, { before: seq + 1 })) {
    if (entry.type === "gap") continue;
    if (isFirst && entry.seq !== seq) throw notThere(session, seq);
    isFirst = false;
    first = entry.seq;
    if (!isSettled && entry.type === "message") {
      if (entry.message.role === "toolResult") settled.add(entry.message.toolCallId);
      isSettled = entry.message.role === "assistant";
      if (isSettled && callIdsIn(entry.message.content).some((call) => !settled.has(call))) {
        [to, kept] = [null, null];
        continue;
      }
    }
    to ??= entry;
    if (entry.type === "compaction") kept ??= { id: entry.firstKeptEntryId, seq: entry.seq };
    if (kept !== null && entry.id === kept.id) return point(to, entry.seq);
    if (contextSeq === 1 && isSettled && kept === null) return point(to, contextSeq); // There was no compaction on this path.
  }
  if (to === null) throw notThere(session, seq);
  return point(to, kept?.seq ?? first);
}

function point({ id, seq }: Entry, contextSeq: number): Point {
  return { to: { id, seq }, contextSeq };
}

function notThere({ key, transcript }: Session, seq: number): Fault {
  return new Fault(
    "not_found",
    `${key} has no entry ${seq} on its active path to go back to; name one from 1 to ${transcript.lastSeq} that no rewind left behind`,
  );
}
