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

import type { Mail, Outgoing } from "../mail/letter.ts";
import type { KeyKind, SessionKey } from "../routing/key.ts";
import type { RunState, Session } from "../sessions/session.ts";
import type { Job } from "../timers/job.ts";
import type { Timer } from "../timers/timer.ts";
import type { BlobName, Entry, Gap } from "../transcript/entry.ts";
import type { Change, Receipt } from "./change.ts";

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
  /** Of the label, or else of the first words a person wrote, as far as they are shown; letters of either case. */
  readonly titlePrefix?: string;
  /** Words, each of which stands somewhere in the key or in the title as it is shown; letters of either case. */
  readonly text?: string;
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
  readonly firstSeq: number; //            of the oldest of its transcripts; the last is the session's
  readonly bytes: number; //               of its transcripts, unpacked
  readonly packedBytes: number | null; //  null: they are not packed yet, or were unpacked
}

/**
 * Every given property must match. Oldest first, or by id when `idPrefix` is given; the other way round with `newest`. A cursor is
 * of one of these orders.
 */
export interface ArchiveQuery extends PageOf {
  readonly newest?: boolean;
  readonly agent?: string;
  readonly key?: SessionKey;
  /** Of the session that it was born below, whether or not that is still there. */
  readonly parent?: SessionKey;
  readonly id?: string;
  readonly idPrefix?: string;
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
  | { readonly since: number; readonly through?: number } // up to this seq; without it, to the end
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
