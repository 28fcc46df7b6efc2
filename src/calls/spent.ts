// What was used in a while, read back from transcripts: what today.ts cannot have heard of. How much is read has a bound.

import { Fault } from "../base/fault.ts";
import type { SessionKey } from "../routing/key.ts";
import { lastAt } from "../sessions/fresh.ts";
import type { Session } from "../sessions/session.ts";
import type { Page, Range, Store } from "../store/store.ts";
import type { Draft, Entry } from "../transcript/entry.ts";
import { tokensOf, type TokenUsage } from "../transcript/fold.ts";
import { isNote } from "../transcript/note.ts";
import { TODAY_ARCHIVES_MAX, TODAY_ENTRIES_MAX, TODAY_SESSIONS_MAX } from "./limits.ts";

export interface Spent {
  readonly cost: number;
  readonly tokens: number;
  readonly turns: number;
}

export const NOTHING: Spent = { cost: 0, tokens: 0, turns: 0 };

/** From the first moment on, and before the second. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Found {
  readonly spent: Spent;
  readonly isWhole: boolean; // false: there may have been more
}

/** How much is looked at. */
interface Bound {
  readonly sessions: number;
  readonly entries: number; // of all of them together
}

const BOUND: Bound = { sessions: TODAY_SESSIONS_MAX, entries: TODAY_ENTRIES_MAX };

export type Readable = Pick<Store, "sessions" | "entries" | "archives">;

/** More than half a day and less than a day and a half: so much after a midnight it is the next day, also where clocks are set. */
const INTO_NEXT_DAY_MS = 36 * 60 * 60 * 1_000;

export function dayOf(zone: string, nowMs: number): Span {
  const fromMs = lastAt(0, zone, nowMs);
  return { fromMs, toMs: lastAt(0, zone, fromMs + INTO_NEXT_DAY_MS) };
}

/** What one entry says was used in that while. Others write files too: a time that is none is in no while. */
export function spentIn(entry: Draft, { fromMs, toMs }: Span): Spent {
  const atMs = Date.parse(entry.timestamp);
  if (!(atMs >= fromMs && atMs < toMs)) return NOTHING;
  const usage = tokensOf(entry);
  return { cost: usage.cost, tokens: allOf(usage), turns: isNote(entry, "turn-ended") ? 1 : 0 };
}

/** Of all sessions that changed since, newest first. Rejects with the signal's reason. */
export async function spentBefore(
  store: Readable,
  span: Span,
  signal: AbortSignal,
  bound = BOUND,
): Promise<Found> {
  const isInReach = await hasNoArchive(store, span);
  const { spent, isWhole } = await new LookingBack({ store, span, signal }, bound).all();
  return { spent, isWhole: isWhole && isInReach };
}

/** Whether nothing that was used today is out of reach: archives are not read for this. */
async function hasNoArchive(store: Readable, { fromMs }: Span): Promise<boolean> {
  const { rows, next } = await store.archives({ newest: true, limit: TODAY_ARCHIVES_MAX });
  const isOld = rows.some(({ archivedAtMs }) => archivedAtMs < fromMs);
  const isUsed = rows.some(
    ({ archivedAtMs, session }) => archivedAtMs >= fromMs && session.updatedAtMs >= fromMs,
  );
  return !isUsed && (isOld || next === null);
}

/** Through transcripts, as far as may be looked. */
class LookingBack {
  readonly #store: Readable;
  readonly #span: Span;
  readonly #signal: AbortSignal;
  readonly #seen = new Set<SessionKey>();
  readonly #bound: Bound;
  #left: number; // entries
  #spent = NOTHING;
  #isWhole = true;

  constructor(
    { store, span, signal }: { readonly store: Readable; readonly span: Span; readonly signal: AbortSignal },
    bound: Bound,
  ) {
    this.#store = store;
    this.#span = span;
    this.#signal = signal;
    this.#bound = bound;
    this.#left = bound.entries;
  }

  /** Who changes meanwhile comes to the front of the list, where it was looked already: so it is looked there again (T4). */
  async all(): Promise<Found> {
    let sinceMs = this.#span.fromMs;
    for (let before = -1; before < this.#seen.size && this.#isWithin(); sinceMs = this.#span.toMs) {
      before = this.#seen.size;
      await this.#changedSince(sinceMs);
    }
    return { spent: this.#spent, isWhole: this.#isWhole && this.#isWithin() };
  }

  #isWithin(): boolean {
    return this.#seen.size <= this.#bound.sessions;
  }

  async #changedSince(updatedSinceMs: number): Promise<void> {
    for (let cursor: string | null = null; ;) {
      this.#signal.throwIfAborted();
      const page: Page<Session> = await this.#store.sessions({ updatedSinceMs, cursor });
      for (const session of page.rows) {
        if (session.bornAtMs >= this.#span.toMs || this.#seen.has(session.key)) continue;
        this.#seen.add(session.key);
        if (!this.#isWithin()) return;
        const found = await this.#spentBy(session);
        this.#spent = plus(this.#spent, found.spent);
        this.#isWhole &&= found.isWhole;
      }
      if (page.next === null) return;
      cursor = page.next;
    }
  }

  /** Backward, to what is older or was copied (T2). Was something left behind on the way, all from there on is read (T3). */
  async #spentBy({ transcript: { id, copied, jumpSeq } }: Session): Promise<Found> {
    let seq = copied; // of the last that does not count
    const isCounted = (entry: Entry): boolean => {
      const counts = entry.seq > copied && !(Date.parse(entry.timestamp) < this.#span.fromMs);
      if (!counts) seq = Math.max(seq, entry.seq);
      return counts;
    };
    const back = await this.#read(id, { before: null }, isCounted);
    return jumpSeq > seq ? await this.#read(id, { since: seq + 1 }, () => true) : back;
  }

  /** Until one does not count. What cannot be read may have cost something. */
  async #read(transcript: string, range: Range, isCounted: (entry: Entry) => boolean): Promise<Found> {
    let spent = NOTHING;
    let isWhole = true;
    try {
      for await (const entry of this.#store.entries(transcript, range)) {
        this.#signal.throwIfAborted();
        if (this.#left === 0) return { spent, isWhole: false };
        this.#left -= 1;
        if (entry.type === "gap") isWhole = false;
        else if (isCounted(entry)) spent = plus(spent, spentIn(entry, this.#span));
        else break;
      }
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== "not_found") throw error;
      isWhole = false; // It was removed, or went to the archive, while it was looked for.
    }
    return { spent, isWhole };
  }
}

export function allOf({ input, output, cacheRead, cacheWrite }: TokenUsage): number {
  return input + output + cacheRead + cacheWrite;
}

export function plus(one: Spent, other: Spent): Spent {
  if (other === NOTHING) return one;
  return {
    cost: one.cost + other.cost,
    tokens: one.tokens + other.tokens,
    turns: one.turns + other.turns,
  };
}
