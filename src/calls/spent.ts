// What was used in a while, read back from transcripts: what today.ts cannot have heard of. How much is read has a bound.

import { Fault } from "../base/fault.ts";
import { PAGE_ROWS_MAX } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";
import { lastAt } from "../sessions/fresh.ts";
import type { Session } from "../sessions/session.ts";
import type { Page, Range, Store } from "../store/store.ts";
import type { Draft, Entry, Gap } from "../transcript/entry.ts";
import { tokensOf, type TokenUsage } from "../transcript/fold.ts";
import { isNote } from "../transcript/note.ts";
import { TODAY_ARCHIVES_MAX, TODAY_BYTES_MAX, TODAY_ENTRIES_MAX, TODAY_SESSIONS_MAX } from "./limits.ts";

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

/** What was there before this process wrote anything. */
export interface Before {
  readonly sessions: readonly Known[]; // that changed since, newest first
  readonly isWhole: boolean; //           false: there are more, or some are in the archive
  readonly newestMs: number; //           when any of it last changed, by the clock of that time; -Infinity: none has since
}

/** How far a session was. */
interface Known {
  readonly key: SessionKey;
  readonly transcript: string;
  readonly copied: number;
  readonly lastSeq: number;
}

interface Found {
  readonly spent: Spent;
  readonly isWhole: boolean; // false: there may have been more
}

/** How much is looked at. */
interface Bound {
  readonly sessions: number;
  readonly entries: number; // of all of them together, as are bytes
  readonly bytes: number;
}

export const BOUND: Bound = {
  sessions: TODAY_SESSIONS_MAX,
  entries: TODAY_ENTRIES_MAX,
  bytes: TODAY_BYTES_MAX,
};

export type Readable = Pick<Store, "sessions" | "session" | "entries" | "archives">;

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

/** The archives are asked for last: what goes there meanwhile is in one of the two. */
export async function changedSince(store: Readable, fromMs: number, bound = BOUND): Promise<Before> {
  const rows: Session[] = [];
  let cursor: string | null = null;
  do {
    const page: Page<Session> = await store.sessions({
      updatedSinceMs: fromMs,
      cursor,
      limit: PAGE_ROWS_MAX,
    });
    rows.push(...page.rows);
    cursor = page.next;
  } while (cursor !== null && rows.length <= bound.sessions);
  const archives = await archivedSince(store, fromMs);
  return {
    sessions: rows.slice(0, bound.sessions).map(knownOf),
    isWhole: rows.length <= bound.sessions && archives.isWhole,
    newestMs: rows.reduce((newest, { updatedAtMs }) => Math.max(newest, updatedAtMs), archives.newestMs),
  };
}

function knownOf({ key, transcript: { id, copied, lastSeq } }: Session): Known {
  return { key, transcript: id, copied, lastSeq };
}

/** Whether nothing that was used since is out of reach: archives are not read for this. */
async function archivedSince(store: Readable, fromMs: number): Promise<Pick<Before, "isWhole" | "newestMs">> {
  const { rows, next } = await store.archives({ newest: true, limit: TODAY_ARCHIVES_MAX });
  const since = rows.filter(({ archivedAtMs }) => archivedAtMs >= fromMs);
  const isUsed = since.some(({ session }) => session.updatedAtMs >= fromMs);
  const hasOlder = since.length < rows.length || next === null;
  return { isWhole: !isUsed && hasOlder, newestMs: since[0]?.archivedAtMs ?? -Infinity };
}

/** What these had used in that while when they were listed. Rejects with the signal's reason. */
export async function spentBefore(
  store: Readable,
  { before, span, signal }: { readonly before: Before; readonly span: Span; readonly signal: AbortSignal },
  bound = BOUND,
): Promise<Found> {
  const { spent, isWhole } = await new LookingBack({ store, span, signal }, bound).all(before.sessions);
  return { spent, isWhole: isWhole && before.isWhole };
}

/** Through transcripts, as far as may be looked. Their pages come from another thread: between two of them everybody has a turn. */
class LookingBack {
  readonly #store: Readable;
  readonly #span: Span;
  readonly #signal: AbortSignal;
  #left: number; // entries
  #leftBytes: number;
  #isCut = false; // there was more than may be looked at

  constructor(
    { store, span, signal }: { readonly store: Readable; readonly span: Span; readonly signal: AbortSignal },
    { entries, bytes }: Bound,
  ) {
    this.#store = store;
    this.#span = span;
    this.#signal = signal;
    this.#left = entries;
    this.#leftBytes = bytes;
  }

  async all(sessions: readonly Known[]): Promise<Found> {
    let all: Found = { spent: NOTHING, isWhole: true };
    for (const session of sessions) {
      this.#signal.throwIfAborted();
      const { spent, isWhole } = await this.#spentBy(session);
      all = { spent: plus(all.spent, spent), isWhole: all.isWhole && isWhole };
      if (this.#isCut) break;
    }
    return all;
  }

  /**
   * Backward, to what is older or was copied (T2). Was something left behind on the way, all from there on is read (T3); also when
   * that was since it was listed.
   */
  async #spentBy({ key, transcript, copied, lastSeq }: Known): Promise<Found> {
    let seq = copied; // of the last that does not count
    const isCounted = (entry: Entry): boolean => {
      const counts = entry.seq > copied && !(Date.parse(entry.timestamp) < this.#span.fromMs);
      if (!counts) seq = Math.max(seq, entry.seq);
      return counts;
    };
    const back = await this.#read(transcript, { before: lastSeq + 1 }, isCounted);
    const now = (await this.#store.session(key))?.transcript;
    if (now?.id !== transcript) return { ...back, isWhole: false }; // Nobody can say any more what was left behind.
    if (now.jumpSeq <= seq) return back;
    return await this.#read(transcript, { since: seq + 1 }, (entry) => entry.seq <= lastSeq);
  }

  /** Until one does not count. What cannot be read may have cost something. */
  async #read(transcript: string, range: Range, isCounted: (entry: Entry) => boolean): Promise<Found> {
    let spent = NOTHING;
    let isWhole = true;
    try {
      for await (const entry of this.#store.entries(transcript, range)) {
        this.#signal.throwIfAborted();
        if (this.#left === 0 || this.#leftBytes <= 0) {
          this.#isCut = true;
          return { spent, isWhole: false };
        }
        this.#left -= 1;
        this.#leftBytes -= bytesOf(entry);
        if (entry.type === "gap") isWhole = false;
        else if (isCounted(entry)) spent = plus(spent, spentIn(entry, this.#span));
        else break;
      }
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== "not_found") throw error;
      isWhole = false; // It was removed, or went to the archive, since it was listed.
    }
    return { spent, isWhole };
  }
}

function bytesOf(entry: Entry | Gap): number {
  return entry.type === "gap" ? entry.bytes : Buffer.byteLength(JSON.stringify(entry));
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
