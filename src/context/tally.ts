// What entries weigh as they are shown, and which results belong to which calls, without making a prompt of them: whoever asks how
// large a context is asks at every step, about all of it.
//
// Invariants
//   W1. What is tallied is what the messages weigh that assemble() makes of the same entries.
//   W2. The work is linear in the entries, whatever they are. An entry is weighed once, and nothing of it but a number is kept.

import { callsIn, type Entry } from "../transcript/entry.ts";
import { GIVEN_UP, shown } from "./assemble.ts";
import { isPruned, markerOf, pruningIn } from "./prune.ts";
import { bytesOf, RESULT_BYTES, weighed } from "./weight.ts";
import { windowOf } from "./window.ts";

/** Of entries from an index on; those before it weigh nothing. */
export interface Tally {
  readonly whole: readonly number[]; //                by index: bytes of what is shown of it unless it is pruned; 0: nothing is
  readonly uncalled: ReadonlySet<number>; //           indexes of results that are not shown: nobody called, or there was one
  readonly missing: ReadonlyMap<number, number>; //    by index of an answer: how many of its calls have no result
  readonly until: ReadonlyMap<number, number>; //      by index of an answer: where its last result stands
}

/** What is shown in place of a result that is missing. */
export const MISSING_BYTES = RESULT_BYTES + Buffer.byteLength(GIVEN_UP);

const known = { shared: new WeakMap<Entry, number>(), alone: new WeakMap<Entry, number>() };

/** Of one entry while it is not pruned. 0: nothing of it is shown. What is shown weighs something, if it is empty too. */
export function wholeBytes(entry: Entry, shared: boolean): number {
  const before = known[shared ? "shared" : "alone"];
  let bytes = before.get(entry);
  if (bytes === undefined) {
    const message = shown(entry, shared);
    before.set(entry, (bytes = message === null ? 0 : weighed(message)));
  }
  return bytes;
}

/** A result belongs to the last answer before it that has a call of its id, as assemble() has it. */
export function tallyOf(entries: readonly Entry[], shared: boolean, from = 0): Tally {
  const whole: number[] = Array.from({ length: entries.length }, () => 0);
  const uncalled = new Set<number>();
  const missing = new Map<number, number>();
  const until = new Map<number, number>();
  const open = new Map<unknown, { readonly answer: number; left: number }>();
  for (let at = from; at < entries.length; at += 1) {
    const entry = entries[at] as Entry;
    whole[at] = wholeBytes(entry, shared);
    if (entry.type !== "message") continue;
    if (entry.message.role === "toolResult") {
      const place = open.get(entry.message.toolCallId);
      if (place === undefined || place.left === 0) {
        uncalled.add(at);
        continue;
      }
      place.left -= 1;
      missing.set(place.answer, (missing.get(place.answer) ?? 0) - 1);
      until.set(place.answer, at);
      continue;
    }
    const calls = callsIn(entry);
    if (calls.length === 0) continue;
    missing.set(at, calls.length);
    for (const [id, same] of Map.groupBy(calls, (call) => call.id))
      open.set(id, { answer: at, left: same.length });
  }
  return { whole, uncalled, missing, until };
}

/** By index: bytes of what is shown of it now, with the results that are missing at their answer. */
export function bytesByPlace(
  entries: readonly Entry[],
  { whole, uncalled, missing }: Tally,
): readonly number[] {
  const pruning = pruningIn(entries);
  const bytes = [...whole];
  for (let at = 0; at <= pruning.through; at += 1) {
    const entry = entries[at] as Entry;
    if (bytes[at] !== 0 && isPruned(entry, at, pruning)) bytes[at] = bytesOf(markerOf(entry));
  }
  for (const [answer, calls] of missing) bytes[answer] = (bytes[answer] ?? 0) + calls * MISSING_BYTES;
  for (const at of uncalled) bytes[at] = 0;
  return bytes;
}

/** As much as the messages weigh that assemble() makes of these (W1). */
export function bytesShown(entries: readonly Entry[], shared: boolean): number {
  const window = windowOf(entries);
  let sum = 0;
  for (const bytes of bytesByPlace(window, tallyOf(window, shared))) sum += bytes;
  return sum;
}
