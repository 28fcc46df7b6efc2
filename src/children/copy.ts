// Copy
//
// What a session starts with that begins as a part of another: a fork, a thread of a chat, a sub-agent that knows what its
// parent knows. It is the context as a model would have been shown it at an entry, or the newest part of that.
//
//   Owns:      where such a part begins and where it ends.
//   Does not:  copy. The store does, when the session is opened, and refuses what is not there any more.
//
// Invariants
//   Y1. It never ends between a call and its result: an answer whose calls are not all settled is left out, with all that
//       follows it. So a turn can be copied while it runs.
//   Y2. It begins where the context starts, or later, at a message of a user, or at the summary of what came before it:
//       never at a result whose call is left out.
//   Y3. It is bounded, and reading it costs what is copied: the walk is backward, and ends with the copy.
//   Y4. There is no damage in it. Where a line cannot be read, the copy begins after it.

import { Fault } from "../base/fault.ts";
import { FORK_BYTES_MAX, FORK_ENTRIES_MAX } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Session } from "../sessions/session.ts";
import type { Store } from "../store/store.ts";
import { callsIn, type Entry } from "../transcript/entry.ts";

/** A part of the active path of a session, both ends included: what `open` takes. */
export interface Copy {
  readonly of: SessionKey;
  readonly fromSeq: number;
  readonly throughSeq: number;
}

/** A copy, and the ids of the entries in it: they keep them. */
export interface Copied {
  readonly copy: Copy;
  readonly ids: ReadonlySet<string>;
}

/**
 * What a new session starts with: the active path of `session` up to the entry `through` (null: to the end), from where its
 * context started then. Null: there is nothing to copy. A Fault not_found: that entry is not on the path.
 */
export async function copyOf(
  store: Pick<Store, "entries">,
  session: Session,
  through: number | null,
  entriesMax = FORK_ENTRIES_MAX,
): Promise<Copy | null> {
  return (await copiedOf(store, session, through, entriesMax))?.copy ?? null;
}

export async function copiedOf(
  store: Pick<Store, "entries">,
  session: Session,
  through: number | null,
  entriesMax = FORK_ENTRIES_MAX,
): Promise<Copied | null> {
  const { id, lastSeq } = session.transcript;
  if (through !== null && (through < 1 || through > lastSeq)) throw notOnPath(session, through);
  const part = new Part(entriesMax);
  let isFirst = true;
  for await (const entry of store.entries(id, { before: through === null ? null : through + 1 })) {
    if (entry.type === "gap") {
      if (part.isEmpty) continue; // What is behind the end of the copy is nobody's concern.
      return part.copied(session.key); // Y4
    }
    if (isFirst && through !== null && entry.seq !== through) throw notOnPath(session, through);
    isFirst = false;
    if (part.isAllWith(entry)) return part.copied(session.key);
  }
  if (isFirst && through !== null) throw notOnPath(session, through);
  part.reachedStart();
  return part.copied(session.key);
}

function notOnPath({ key, transcript }: Session, seq: number): Fault {
  const { lastSeq, leafId } = transcript;
  const range =
    leafId === null ? "it has none yet" : `name one from 1 to ${lastSeq} that no rewind left behind`;
  return new Fault("not_found", `${key} has no entry ${seq} on its active path that can be read: ${range}`);
}

/** What has been read of a path so far, newest first. */
class Part {
  readonly #entriesMax: number;
  #looked = 0;
  #bytes = 0;
  #kept: { readonly id: string; readonly seq: number }[] = [];
  /** How many of these a copy can begin with (Y2); 0: with none of them. */
  #whole = 0;
  /** Ids of calls whose results were read, and they themselves not yet. */
  readonly #open = new Set<string>();
  /** Whether the last answer is among what is kept: only that one can have calls that still run. */
  #isSettled = false;
  /** The first entry that the newest compaction kept; null: there was no compaction yet. */
  #firstKept: string | null = null;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get isEmpty(): boolean {
    return this.#kept.length === 0;
  }

  /** True: no older entry is needed, or there is no room for it. */
  isAllWith(entry: Entry): boolean {
    this.#looked += 1;
    this.#bytes += Buffer.byteLength(JSON.stringify(entry));
    if (this.#looked > this.#entriesMax || this.#bytes > FORK_BYTES_MAX) return true; // Y3
    if (!this.#isSettled && hasOpenCalls(entry, this.#open)) {
      this.#dropAll(); // Y1
      return false;
    }
    this.#kept.push({ id: entry.id, seq: entry.seq });
    if (entry.type === "message") this.#pair(entry);
    if (entry.type === "compaction" && this.#firstKept === null) {
      if (this.#open.size === 0) this.#whole = this.#kept.length;
      this.#firstKept = entry.firstKeptEntryId;
    }
    if (entry.id !== this.#firstKept) return false;
    this.#whole = this.#kept.length;
    return true;
  }

  /** The path begins here, and with it the context, unless a summary stands for it whose first entry was not found. */
  reachedStart(): void {
    if (this.#firstKept === null) this.#whole = this.#kept.length;
  }

  copied(of: SessionKey): Copied | null {
    const part = this.#kept.slice(0, this.#whole);
    const [last, first] = [part[0], part.at(-1)];
    if (first === undefined || last === undefined) return null;
    const copy = { of, fromSeq: first.seq, throughSeq: last.seq };
    return { copy, ids: new Set(part.map(({ id }) => id)) };
  }

  #pair(entry: Extract<Entry, { type: "message" }>): void {
    const { message } = entry;
    if (message.role === "toolResult") this.#open.add(message.toolCallId);
    if (message.role === "assistant") {
      this.#isSettled = true;
      for (const { id } of callsIn(entry)) this.#open.delete(id);
    }
    // Before a compaction a copy begins with all that it kept or with none of it: a part would not be shown.
    if (message.role === "user" && this.#open.size === 0 && this.#firstKept === null)
      this.#whole = this.#kept.length;
  }

  #dropAll(): void {
    this.#kept = [];
    this.#whole = 0;
    this.#open.clear();
    this.#firstKept = null;
  }
}

function hasOpenCalls(entry: Entry, settled: ReadonlySet<string>): boolean {
  if (entry.type !== "message" || entry.message.role !== "assistant") return false;
  return callsIn(entry).some(({ id }) => !settled.has(id));
}
