// Bus
//
// Tells whoever follows a session what happens in it, after it is durable. What a model says while it speaks is told too,
// marked as a piece: it is no entry yet, and may never become one.
//
//   Owns:      who follows what, and what each of them has not read yet.
//   Does not:  keep history. Whoever comes late, or was cut off, reads the store from the seq it knows (follow.ts).
//
// Invariants
//   B1. Entries of a session are told in the order of their seq, and only after their commit.
//   B2. Telling never waits for anybody. A follower that does not keep up is cut off, and hears so.
//   B3. A follower costs nothing to sessions that it does not follow.
//   B4. Who follows a session that is deleted or archived, or gives its place to an archive, hears so, after all that was told:
//       another of its key is not the one it followed.

import { FOLLOWER_BYTES_MAX, FOLLOWER_EVENTS_MAX } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";
import type { RunState } from "../sessions/session.ts";
import type { Entry } from "../transcript/entry.ts";

export type Event =
  | { readonly type: "entry"; readonly key: SessionKey; readonly seq: number; readonly entry: Entry }
  | { readonly type: "state"; readonly key: SessionKey; readonly state: RunState }
  | {
      readonly type: "delta";
      readonly key: SessionKey;
      readonly turn: string;
      readonly step: number;
      readonly kind: "text" | "thinking";
      readonly text: string;
      /** The first of what a model says. What was told of the same step before it comes from a try that failed, and is over. */
      readonly begins?: true;
    };

export class Bus {
  readonly #followers = new Map<SessionKey, Set<Follower>>();

  /** Everything told from now on, until the follower leaves. */
  join(key: SessionKey): Follower {
    const follower = new Follower(() => this.#leave(key, follower));
    const others = this.#followers.get(key);
    if (others) others.add(follower);
    else this.#followers.set(key, new Set([follower]));
    return follower;
  }

  /** Nobody follows: then nothing need be made to be told. */
  isQuiet(key: SessionKey): boolean {
    return !this.#followers.has(key);
  }

  tell(event: Event): void {
    const followers = this.#followers.get(event.key);
    if (followers === undefined) return;
    const bytes = bytesOf(event); // once, however many follow
    for (const follower of followers) follower.hear(event, bytes);
  }

  /** The session was deleted, and all that is to be told of it was told. */
  deleted(key: SessionKey): void {
    for (const follower of this.#followers.get(key) ?? []) follower.end("deleted");
  }

  /** The same, of one that is out of the way now, as this archive. */
  archived(key: SessionKey, archive: string): void {
    for (const follower of this.#followers.get(key) ?? []) follower.end(`archived ${archive}`);
  }

  /** The same, of one whose place another history has now. */
  swapped(key: SessionKey, archive: string): void {
    for (const follower of this.#followers.get(key) ?? []) follower.end(`swapped ${archive}`);
  }

  /** Nothing will be told any more. */
  close(): void {
    for (const followers of this.#followers.values()) for (const follower of followers) follower.end();
  }

  #leave(key: SessionKey, follower: Follower): void {
    const followers = this.#followers.get(key);
    followers?.delete(follower);
    if (followers?.size === 0) this.#followers.delete(key);
  }
}

/** Why nothing more is told. */
type Over = "ended" | "deleted" | "cut off" | `archived ${string}` | `swapped ${string}`;

/** One who listens: what it was told and has not read yet. */
export class Follower {
  readonly #leave: () => void;
  #heard: Event[] = [];
  #bytes = 0;
  #over: "no" | Over = "no";
  #wake: (() => void) | null = null;

  constructor(leave: () => void) {
    this.#leave = leave;
  }

  hear(event: Event, bytes: number): void {
    if (this.#over !== "no") return;
    this.#bytes += bytes;
    if (this.#heard.length >= FOLLOWER_EVENTS_MAX || this.#bytes > FOLLOWER_BYTES_MAX) {
      // B2. What it has not read is dropped with it: it can be read again from the store.
      this.#heard = [];
      this.#stop("cut off");
      return;
    }
    this.#heard.push(event);
    this.#wakeUp();
  }

  /** What was told since the last call, at least one; or why there is nothing more to come. */
  async next(): Promise<readonly Event[] | Over> {
    while (this.#heard.length === 0) {
      if (this.#over !== "no") return this.#over;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
    const heard = this.#heard;
    this.#heard = [];
    this.#bytes = 0;
    return heard;
  }

  end(why: Exclude<Over, "cut off"> = "ended"): void {
    this.#stop(why);
  }

  #stop(why: Over): void {
    if (this.#over !== "no") return;
    this.#over = why;
    this.#leave();
    this.#wakeUp();
  }

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = null;
  }
}

/** About what it holds in memory: the text of an entry is what counts. */
function bytesOf(event: Event): number {
  if (event.type === "delta") return event.text.length;
  return event.type === "entry" ? JSON.stringify(event.entry).length : 0;
}
