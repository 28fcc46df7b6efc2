// Where a rewind goes to: any entry of the file, also one of a branch that was left.

import { Fault } from "../base/fault.ts";
import type { Session } from "../sessions/session.ts";
import type { Store } from "../store/store.ts";
import { callsIn, type Entry, type Gap } from "../transcript/entry.ts";

/** An entry, and where the context of the path up to it starts. */
interface Point {
  readonly to: { readonly id: string; readonly seq: number };
  readonly contextSeq: number;
}

interface Goal extends Point {
  readonly isReturn: boolean; // it is of a branch that was left
}

/**
 * Backward from the entry: an answer whose calls are not all settled by then is left out, with what follows it; then to the
 * newest compaction, and to what that kept. A Fault not_found: it is not there, or nothing is before it.
 */
export async function pointOf(store: Pick<Store, "entries">, session: Session, seq: number): Promise<Goal> {
  const { id, lastSeq, copied } = session.transcript;
  if (seq > lastSeq) throw notThere(session, seq);
  const active = pathOf(store.entries(id, { before: seq + 1 }), seq);
  const onPath = await pointIn(active, session);
  const point = onPath ?? (await pointIn(branchTo(store, id, seq), session));
  if (point === null) throw notThere(session, seq);
  // What a fork has of its source begins with what a summary there kept: what came before that is not here.
  if (point.to.seq <= copied && !point.isCompacted && (await hasCompaction(store, id, point.to.seq, copied)))
    throw new Fault(
      "not_found",
      `entry ${seq} of ${session.key} stands before the summary that it was forked with: go back in the session that it came from`,
    );
  return { to: point.to, contextSeq: point.contextSeq, isReturn: onPath === null };
}

/** What has to be known of an entry to go back to it, or past it. */
interface Step {
  readonly id: string;
  readonly parentId: string | null;
  readonly seq: number;
  readonly calls: readonly string[] | null; // of an answer; null: it is none
  readonly settles: string | null; //          the call that it is the result of; null: of none
  readonly kept: string | null; //             by a compaction, the first; null: it is none
  readonly isPlace: boolean; //                a conversation can go on from it
}

function stepOf(entry: Entry): Step {
  const { id, parentId, seq } = entry;
  const message = entry.type === "message" ? entry.message : null;
  return {
    id,
    parentId,
    seq,
    calls: message?.role === "assistant" ? callsIn(entry).map((call) => call.id) : null,
    settles: message?.role === "toolResult" ? message.toolCallId : null,
    kept: entry.type === "compaction" ? entry.firstKeptEntryId : null,
    isPlace: !(entry.type === "custom" && entry.customType === "sessiond/cut"), // It is about the answer after it.
  };
}

/** From the end of a path to its start. Null: it is empty, or has nothing to go back to. */
async function pointIn(
  path: AsyncIterable<Step>,
  { transcript: { contextSeq } }: Session,
): Promise<(Point & { readonly isCompacted: boolean }) | null> {
  let to: Step | null = null;
  let isSettled = false; // the last answer was seen
  let kept: { readonly id: string; readonly seq: number } | null = null; // by the newest compaction, and where that is
  let first = 1;
  const settled = new Set<string>();
  for await (const step of path) {
    first = step.seq;
    if (!isSettled) {
      if (step.settles !== null) settled.add(step.settles);
      isSettled = step.calls !== null;
      if (step.calls?.some((call) => !settled.has(call)) === true) {
        [to, kept] = [null, null];
        continue;
      }
    }
    to ??= step.isPlace ? step : null;
    if (to === null) continue;
    if (step.kept !== null) kept ??= { id: step.kept, seq: step.seq };
    if (kept !== null && step.id === kept.id) return { ...point(to, step.seq), isCompacted: true };
    if (contextSeq === 1 && isSettled && kept === null) return { ...point(to, 1), isCompacted: false }; // It never was.
  }
  return to && { ...point(to, kept?.seq ?? first), isCompacted: kept !== null };
}

function point({ id, seq }: Step, contextSeq: number): Point {
  return { to: { id, seq }, contextSeq };
}

/** Nothing, if it does not begin with the entry of this seq. */
async function* pathOf(backward: AsyncIterable<Entry | Gap>, seq: number): AsyncGenerator<Step> {
  let isFirst = true;
  for await (const entry of backward) {
    if (entry.type === "gap") continue;
    if (isFirst && entry.seq !== seq) return;
    isFirst = false;
    yield stepOf(entry);
  }
}

/** The same of a branch that was left. The file is read up to the entry, and of each line only what is needed is kept. */
async function* branchTo(store: Pick<Store, "entries">, id: string, seq: number): AsyncGenerator<Step> {
  const steps = new Map<string, Step>();
  let last: Step | null = null;
  for await (const entry of store.entries(id, { since: 1 })) {
    if (entry.type === "gap") continue;
    if (entry.seq > seq) break;
    steps.set(entry.id, (last = stepOf(entry)));
  }
  if (last?.seq !== seq) return;
  for (let at: Step | null = last; at !== null; at = steps.get(at.parentId ?? "") ?? null) yield at;
}

async function hasCompaction(
  store: Pick<Store, "entries">,
  id: string,
  from: number,
  to: number,
): Promise<boolean> {
  for await (const entry of store.entries(id, { since: from })) {
    if (entry.type === "gap") continue;
    if (entry.seq > to) return false;
    if (entry.type === "compaction") return true;
  }
  return false;
}

function notThere({ key, transcript }: Session, seq: number): Fault {
  return new Fault("not_found", `${key} has no entry ${seq} to go back to; it has ${transcript.lastSeq}`, {
    todo: "name another: `log` shows the numbers",
  });
}
