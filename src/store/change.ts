// Change
//
// Everything that a store can be told to do. A commit is a list of these, and what comes back is a receipt; store.ts says what is
// promised of them (S1 to S5), rules.ts what each of them means.

import type { Letter, Outgoing, Route } from "../mail/letter.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Origin } from "../routing/route.ts";
import type { RunState, Settings, Signal, Usage } from "../sessions/session.ts";
import type { Job } from "../timers/job.ts";
import type { Timer } from "../timers/timer.ts";
import type { Draft } from "../transcript/entry.ts";
import type { ArchiveWhy } from "./store.ts";

export type Change =
  // Birth, also as a copy of another's history up to an entry of its active path (a fork).
  | {
      readonly do: "open";
      readonly key: SessionKey;
      readonly transcript: string; //          a new id, from the world
      readonly cwd: string;
      readonly parent: SessionKey | null;
      readonly settings: Partial<Settings>;
      readonly copy: {
        readonly of: SessionKey;
        readonly fromSeq: number;
        readonly throughSeq: number;
      } | null;
      readonly ifExists: "refuse" | "keep"; // keep: then this change does nothing
      readonly with?: Companion;
    }
  // Fenced (S4): only the session's owner, in order.
  | {
      readonly do: "append";
      readonly key: SessionKey;
      readonly fence: number;
      readonly after: number; //               the last seq the writer knows
      readonly entries: readonly Draft[];
      readonly rewindTo: { readonly id: string; readonly seq: number } | null; // the entry to continue; null: the last one
      readonly contextSeq: number | null; //   where the context starts from now on; null: where it did
    }
  // The history goes on in a new file, and its numbers go on. With the context: the new file begins with what a model is
  // shown, and what came before is read from the old one, as if it were one. With nothing: the conversation begins anew,
  // and the old one becomes an archive. Usage, settings, mail and children stay either way.
  | {
      readonly do: "rotate";
      readonly key: SessionKey;
      readonly fence: number;
      readonly after: number; //               the last seq the writer knows
      readonly transcript: string; //          a new id, from the world
      readonly cwd: string;
      readonly keep: "context" | "nothing";
    }
  | { readonly do: "take"; readonly key: SessionKey; readonly fence: number; readonly ids: readonly string[] }
  // An end is refused while letters wait that nobody else could read (S7); those with another address go there.
  | { readonly do: "run"; readonly key: SessionKey; readonly fence: number; readonly state: RunState }
  | {
      readonly do: "reroute";
      readonly key: SessionKey;
      readonly fence: number;
      readonly route: Route | null;
      readonly origin: Origin | null;
    }
  // Free (S4): by anyone.
  | {
      readonly do: "post";
      readonly to: readonly SessionKey[]; //   it goes to the first that has not ended
      readonly letter: Letter;
      readonly expect?: Untouched; //          of who gets it, unless it was posted before; without it, anything
    }
  | { readonly do: "signal"; readonly key: SessionKey; readonly signal: Signal }
  // What has ended is idle again, with its transcript, settings and usage, and no signal. To what lives it does nothing.
  | { readonly do: "revive"; readonly key: SessionKey; readonly with?: Companion }
  | {
      readonly do: "set";
      readonly key: SessionKey;
      readonly version: number | null; //      the version the setter saw; null: whatever it is
      readonly settings: Partial<Settings>;
      readonly with?: Companion;
    }
  | { readonly do: "charge"; readonly key: SessionKey; readonly usage: Partial<Usage> } // also to the trees above it
  // Things that wait for a time, and answers that wait for a door.
  | { readonly do: "setTimer"; readonly timer: Timer; readonly expectDueAtMs: number | null } // null: there is none yet
  | { readonly do: "clearTimer"; readonly id: string; readonly expectDueAtMs: number }
  // A record of what is done at times. Its version is one more than the one that was seen; null: there is none yet.
  | { readonly do: "setJob"; readonly job: Job; readonly expectVersion: number | null }
  | { readonly do: "clearJob"; readonly id: string; readonly expectVersion: number }
  | { readonly do: "send"; readonly outgoing: Omit<Outgoing, "postedAtMs" | "refused"> }
  | { readonly do: "settle"; readonly id: string; readonly refused: string | null } // null: it was delivered
  // Out of the way, and back. An archive has everything of a session but mail and timers: it has none when it goes. Its files
  // are packed after that (pack), and unpacked before they come back (unpack): until then a restore is refused.
  // What somebody has pinned, a job writes to, or is a main session goes only when it was asked for (stale_writer).
  | { readonly do: "archive"; readonly key: SessionKey; readonly expect: Untouched; readonly why: ArchiveWhy }
  // Over the session that has its key now, that one becomes an archive in the same moment. What goes by the key stays with it:
  // timers, jobs, answers, children, its own place below its parent, and what was used: of each number the larger one counts,
  // because what a session was before it began anew is counted in what it is now. All else is as the archive has it.
  | { readonly do: "restore"; readonly archive: string; readonly over: Present | null } // null: nobody has its key
  // Erased for good, like a session that is deleted.
  | { readonly do: "purge"; readonly archive: string }
  // The end: row, transcript, mail, timers, blobs, search index, and what was archived under its key; a tombstone stays. Letters that have another
  // address go there. The files go just after it is acknowledged, or with the next start.
  | {
      readonly do: "delete";
      readonly key: SessionKey;
      readonly expect: Untouched | null; //    null: whatever has happened to it
    };

/**
 * The id of a letter that the same commit posts, after this change. If it was posted before, this change does nothing, like
 * the post: what a message brought along happened when it was first sent, and somebody may have decided otherwise since.
 */
export type Companion = string;

/**
 * What somebody saw who found that a session may go: this transcript, up to this entry, no letter that waits, and no session
 * that names it as its parent. Those that go with it are deleted before it, in the same commit.
 */
export interface Untouched {
  readonly transcript: string;
  readonly lastSeq: number;
}

/** The session that has a key now, as somebody saw it: at rest, without a letter that waits. */
export interface Present extends Untouched {
  readonly key: SessionKey;
}

export interface Receipt {
  /** Where the feed stands after this commit. */
  readonly cursor: string;
  /** The last seq of each session that this commit opened or appended to. */
  readonly seqs: Readonly<Record<string, number>>;
  readonly posts: readonly Posted[];
  /** Who has letters now that were another's, who ended or was deleted. */
  readonly forwarded: readonly SessionKey[];
}

export interface Posted {
  readonly id: string;
  readonly to: SessionKey;
  /** True: this id was posted before, and this is its first receipt again. */
  readonly repeated: boolean;
}
