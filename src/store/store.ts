// Store
//
// Where sessions live: one verb that changes, a few that read. memory.ts and local/ implement it, contract.ts
// says what it means, and nobody else imports the engines but main.ts and the offline commands.
//
//   Owns:      rows, mail, timers, outbox, transcripts, blobs, and the order of everything that happened.
//   Does not:  decide anything. It keeps what it is told, or refuses whole.
//
// Invariants
//   S1. A commit happens whole or not at all, also across sessions and across a crash.
//   S2. commit() resolves only when what it did would survive a power cut.
//   S3. Each change names what it expects. If one expectation fails, nothing of its commit happens.
//   S4. Fenced changes (append, rotate, take, run, reroute) are the owner's: they carry the fence of its claim, and an
//       older fence is refused. Free changes (post, signal, revive, set, charge) are anybody's and never wait
//       for it.
//   S5. Posting a letter never writes the recipient's row.
//   S6. Lists and pages cost what they return, not what there is.
//   S7. A session does not end over unread mail: letters that nobody else could read are taken first, or it goes on.

import type { Letter, Mail, Outgoing, Route } from "../mail/letter.ts";
import type { KeyKind, SessionKey } from "../routing/key.ts";
import type { Origin } from "../routing/route.ts";
import type { RunState, Session, Settings, Signal, Usage } from "../sessions/session.ts";
import type { Job } from "../timers/job.ts";
import type { Timer } from "../timers/timer.ts";
import type { BlobName, Draft, Entry, Gap } from "../transcript/entry.ts";

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

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Null: there are no more. A page may be short, even empty, while there are (S6). */
  readonly next: string | null;
}

export interface PageOf {
  readonly cursor?: string | null;
  readonly limit?: number;
}

/**
 * Every given property must match. Newest first by the second of the last change, then the youngest; by title when
 * `titlePrefix` is given.
 */
export interface SessionQuery extends PageOf {
  readonly agent?: string;
  readonly kind?: KeyKind;
  readonly state?: RunState["kind"];
  readonly parent?: SessionKey;
  readonly label?: string;
  /** Of the label, or else of the first words a person wrote; letters of either case. */
  readonly titlePrefix?: string;
  readonly updatedSinceMs?: number;
}

export interface OutboxQuery extends PageOf {
  readonly refused: boolean;
  /** Of one session. */
  readonly key?: SessionKey;
}

/** Why something is in the archive: somebody asked; it was old; there were too many; the disk was full; it began anew. */
export type ArchiveWhy = "asked" | "stale" | "cap" | "ended" | "budget" | "reset";

/** A session that is out of the way, or what a session was before it began anew. */
export interface Archive {
  readonly id: string; //                  of its newest transcript
  readonly key: SessionKey;
  readonly agent: string;
  readonly why: ArchiveWhy;
  readonly archivedAtMs: number;
  readonly session: Session; //            as it was
  readonly bytes: number; //               of its transcripts, unpacked
  readonly packedBytes: number | null; //  null: they are not packed yet, or were unpacked
}

/** Oldest first, unless the newest are asked for first: a cursor is of one of these orders. */
export interface ArchiveQuery extends PageOf {
  readonly newest?: boolean;
  readonly agent?: string;
  readonly key?: SessionKey;
  readonly id?: string;
  /** Only those that are packed, or that are not. */
  readonly packed?: boolean;
}

/** What upkeep has to know of a session. Least recently changed first. */
export interface Holding {
  readonly session: Session;
  readonly bytes: number; //               of all its transcripts
  readonly waits: boolean; //              a letter, an answer or a timer
  readonly children: number;
}

/** Bytes on the disk. */
export interface Use {
  readonly sessions: number; //            how many
  readonly transcripts: number;
  readonly archives: number;
  readonly blobs: number;
}

/** Blobs that nobody names, in one part of where they are. */
export interface Collected {
  readonly blobs: number;
  readonly bytes: number;
  /** Null: that was the last part. */
  readonly next: string | null;
}

export interface TimerQuery extends PageOf {
  readonly dueByMs: number;
  /** The one of this name. */
  readonly id?: string;
}

export interface JobQuery extends PageOf {
  readonly agent?: string;
  readonly id?: string;
}

export type Range =
  /** What a model is shown: from where the context starts to the end. */
  | { readonly from: "context" }
  /** Along the active path, from this seq to the end. */
  | { readonly from: number }
  /** Everything from this seq on, also what a rewind left behind: what a follower has not seen. */
  | { readonly since: number }
  /** Newest first, from just before this seq; null: from the end. */
  | { readonly before: number | null };

export interface SearchQuery {
  readonly text: string;
  readonly agent?: string;
  readonly key?: SessionKey;
  /** Only in these sessions. */
  readonly keys?: readonly SessionKey[];
  readonly limit?: number;
}

export interface Hits {
  readonly hits: readonly {
    readonly key: SessionKey;
    readonly transcript: string;
    readonly seq: number;
    readonly snippet: string;
  }[];
  /** Groups of commits that search has not seen yet. 0: what you see is all there is. */
  readonly behind: number;
}

/**
 * The right to make fenced changes to a session, until the lease runs out. No two claims have the same fence. Fence 0
 * is that of a session which nobody has claimed yet: a program that is alone with its store can do without claims.
 */
export interface Claim {
  readonly key: SessionKey;
  readonly fence: number;
}

/** A session whose row changed, or that is gone. Its entries are read by seq, its work is found by claim(). */
export interface Changed {
  readonly key: SessionKey;
  readonly lastSeq: number;
  readonly deleted: boolean;
}

export interface Store {
  /** S1–S3. Faults: stale_writer, exists, not_found, unread, ended, conflict, mailbox_full, disk_full, outcome_unknown, closed. */
  commit(changes: readonly Change[]): Promise<Receipt>;

  session(key: SessionKey): Promise<Session | null>;
  sessions(query: SessionQuery): Promise<Page<Session>>;
  /** Fault not_found when there is no such transcript. What cannot be read comes as a Gap in its place. */
  entries(transcript: string, range: Range): AsyncIterable<Entry | Gap>;
  /** What waits for a session, oldest first. */
  mail(key: SessionKey, page: PageOf): Promise<Page<Mail>>;
  /** How many letters wait for a session. They are not read for that, and counted only up to `most`. */
  waiting(key: SessionKey, most: number): Promise<number>;
  /** What waits to be delivered, or was refused; oldest first. A session's owner delivers: so no two do. */
  outbox(query: OutboxQuery): Promise<Page<Outgoing>>;
  /** What is due by a time, soonest first. */
  timers(query: TimerQuery): Promise<Page<Timer>>;
  /** Of one agent, or all; by id. Faults: none; one that is not there is not in the page. */
  jobs(query: JobQuery): Promise<Page<Job>>;
  search(query: SearchQuery): Promise<Hits>;

  // Upkeep. None of it holds up a commit.
  archives(query: ArchiveQuery): Promise<Page<Archive>>;
  holdings(page: PageOf): Promise<Page<Holding>>;
  use(): Promise<Use>;
  /** Compresses the files of an archive; durable when it resolves. One that is packed is left alone. Fault not_found. */
  pack(archive: string): Promise<void>;
  /** The files as they were, byte for byte; durable when it resolves. Fault not_found, damaged, disk_full. */
  unpack(archive: string): Promise<void>;
  /** Removes blobs that no transcript, archive, letter or answer names; `isDry`: only says which. */
  collect(part: { readonly cursor: string | null; readonly isDry: boolean }): Promise<Collected>;

  /** Durable when it resolves, and kept for an hour until a commit names it. */
  putBlob(bytes: Uint8Array): Promise<BlobName>;
  /** Null when there is no such blob. */
  readBlob(
    sha256: string,
    range: { readonly from: number; readonly bytes: number },
  ): Promise<Uint8Array | null>;

  /**
   * Sessions that have work (mail, a signal, a turn that stopped in the middle, an answer to deliver) and no owner: now
   * they have one. In no order that could be relied upon, but whoever asks again and again gets every one of them.
   */
  claim(owner: string, leaseMs: number, limit: number): Promise<readonly Claim[]>;
  /** Returns the claims that still hold; a missing one was lost, and its fence is stale. */
  renew(claims: readonly Claim[], leaseMs: number): Promise<readonly Claim[]>;
  release(claims: readonly Claim[]): Promise<void>;

  /** What changed after a cursor, in commit order; null: from now on. Fault cursor_expired when that is forgotten. */
  changesSince(
    cursor: string | null,
  ): Promise<{ readonly changes: readonly Changed[]; readonly cursor: string }>;
  /** A hint that something changed, never relied upon. Returns how to stop it. */
  watch(listener: () => void): () => void;

  /** Waits for what was handed in, then lets go of everything. */
  close(): Promise<void>;
}
