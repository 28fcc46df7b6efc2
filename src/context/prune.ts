// Prune
//
// Old tool results leave the prompt, not the transcript: a marker stands for each, which says where to read it again. Which ones
// is said by a note among the entries, so that what a model is shown stays a function of them.
//
//   Owns:      the note, what it takes out, and whether another one is worth it.
//   Does not:  decide when to look (turns/), show anything (assemble.ts).
//
// Invariants
//   P1. Only the newest note counts, and a note never shows less far than the one before it. Without the entry that it names it
//       does nothing: all that it took out is gone from the window.
//   P2. Results that no answer has seen, pinned ones, and small ones stay whole.
//   P3. Between two notes nothing that was shown changes. A note is only made when it saves enough to pay for a changed prefix.

import { PRUNED_BYTES_MIN } from "../limits.ts";
import type { Block, Body, Entry, Message } from "../transcript/entry.ts";
import type { Room } from "./room.ts";
import { bytesOf, contentBytes, isPicture } from "./weight.ts";
import { windowOf } from "./window.ts";

export const PRUNED = "sessiond/pruned";

/** What a note says. */
export interface Pruned {
  readonly through: string; //            id of the newest result that is taken out
  readonly results: number; //            how many this note takes out that were whole before it, and how much less that is
  readonly bytes: number;
  readonly except: readonly string[]; //  ids of the pinned ones among them, which stay
}

/** A note as it works on a list of entries. */
export interface Pruning {
  readonly through: number; // index of the entry it names; −1: nothing is taken out
  readonly except: ReadonlySet<string>;
}

type Result = Extract<Message, { role: "toolResult" }>;
type ResultEntry = Extract<Entry, { type: "message" }> & { readonly message: Result };

const NOTHING: Pruning = { through: -1, except: new Set() };

/** The note to append; null: it is not worth a changed prefix. `pins` are ids of entries. */
export function prunePlan(
  entries: readonly Entry[],
  room: Pick<Room, "fresh" | "batch">,
  tokensPerByte: number,
  pins: ReadonlySet<string> = new Set(),
): Body | null {
  const window = windowOf(entries);
  const now = pruningIn(window);
  const before = Math.min(seenBefore(window), oldBefore(window, now, room.fresh / tokensPerByte));
  let [results, bytes, through] = [0, 0, now.through];
  for (let at = 0; at < before; at += 1) {
    const entry = window[at] as Entry;
    if (isPruned(entry, at, now) || !isPrunable(entry) || pins.has(entry.id)) continue;
    results += 1;
    bytes += bytesOf(entry.message) - bytesOf(markerOf(entry));
    through = Math.max(through, at);
  }
  const last = window[through];
  if (results === 0 || last === undefined || bytes * tokensPerByte < room.batch) return null;
  const except = window.slice(0, through + 1).filter((entry) => isPrunable(entry) && pins.has(entry.id));
  const data: Pruned = { through: last.id, results, bytes, except: except.map(({ id }) => id) };
  return { type: "custom", customType: PRUNED, data };
}

/** Of these entries: what is in force. */
export function pruningIn(entries: readonly Entry[]): Pruning {
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    const entry = entries[at];
    if (entry === undefined || !isPruningNote(entry)) continue;
    return pruningOf(entry, (named) => {
      let index = at - 1;
      while (index >= 0 && entries[index]?.id !== named) index -= 1;
      return index;
    });
  }
  return NOTHING;
}

/** `placeOf`: the index of the last entry before the note that has this id; −1: none has. */
export function pruningOf({ data }: PruningNote, placeOf: (id: string) => number): Pruning {
  const { through, except } = (data ?? {}) as Partial<Record<keyof Pruned, unknown>>;
  const named = typeof through === "string" ? placeOf(through) : -1;
  return named < 0 ? NOTHING : { through: named, except: new Set(Array.isArray(except) ? except : []) };
}

type PruningNote = Extract<Entry, { type: "custom" }>;

export function isPruningNote(entry: Entry): entry is PruningNote {
  return entry.type === "custom" && entry.customType === PRUNED;
}

/** P2, but for what is seen and pinned. */
export function isPrunable(entry: Entry): entry is ResultEntry {
  return entry.type === "message" && entry.message?.role === "toolResult" && isLarge(entry.message.content);
}

/** What is long need not be weighed: a character is at least a byte. */
function isLarge(content: unknown): boolean {
  const [first] = Array.isArray(content) ? (content as readonly (Block | null)[]) : [];
  if (first?.type === "text" && !isPicture(first) && typeof first.text === "string")
    if (first.text.length > PRUNED_BYTES_MIN) return true;
  return contentBytes(content) > PRUNED_BYTES_MIN;
}

/** `at`: the entry's index in the list that the pruning is of. */
export function isPruned(entry: Entry, at: number, pruning: Pruning): entry is ResultEntry {
  return at <= pruning.through && isPrunable(entry) && !pruning.except.has(entry.id);
}

/** An entry never changes, so its marker is made once. */
const markers = new WeakMap<Entry, Result>();

/** What is shown in place of a result. */
export function markerOf(entry: ResultEntry): Result {
  let marker = markers.get(entry);
  if (marker === undefined) {
    const text = `[compacted: tool output removed] (${wholeBytes(entry.message)} bytes, ref ${entry.id})`;
    markers.set(entry, (marker = { ...entry.message, content: [{ type: "text", text }] }));
  }
  return marker;
}

/** Of what the tool returned, also where only its head and tail stayed in the entry. */
function wholeBytes({ content }: Result): number {
  if (!Array.isArray(content)) return contentBytes(content);
  let bytes = 0;
  for (const block of content as readonly (Block | null)[]) {
    const blob: unknown = block?.blob?.bytes;
    bytes += typeof blob === "number" ? blob : contentBytes([block]);
  }
  return bytes;
}

/** The index of the last answer: what stands after it, no model has seen. */
function seenBefore(window: readonly Entry[]): number {
  return window.findLastIndex((entry) => entry.type === "message" && entry.message?.role === "assistant");
}

/** The index before which entries are older than the newest `keepBytes` of the window. */
function oldBefore(window: readonly Entry[], now: Pruning, keepBytes: number): number {
  let bytes = 0;
  for (let at = window.length - 1; at >= 0; at -= 1) {
    const entry = window[at];
    if (entry?.type !== "message") continue;
    bytes += bytesOf(isPruned(entry, at, now) ? markerOf(entry) : entry.message);
    if (bytes >= keepBytes) return at;
  }
  return 0;
}
