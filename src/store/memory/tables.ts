// Everything the memory engine keeps, in maps. Their own order means nothing: what has an order has a number.

import { Fault } from "../../base/fault.ts";
import { BLOB_HELD_MS, MAIL_ID_KEPT_MS } from "../../limits.ts";
import type { Mail, Outgoing } from "../../mail/letter.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import type { Job } from "../../timers/job.ts";
import type { Timer } from "../../timers/timer.ts";
import type { Entry, Header } from "../../transcript/entry.ts";
import { isTranscriptId } from "../local/paths.ts";
import type { Archive } from "../store.ts";

export interface Numbered<Row> {
  /** Larger for what came later. */
  readonly n: number;
  readonly row: Row;
}

/** A letter that waits. */
export interface Waiting extends Numbered<Mail> {
  /** Where it goes if its recipient ends first. */
  readonly others: readonly SessionKey[];
  readonly print: string;
}

/** What is left of a letter that was taken: enough to know a repeat. */
export interface Taken {
  readonly to: SessionKey;
  readonly by: number; // the number of the session
  readonly print: string;
  readonly atMs: number;
}

export class Tables {
  readonly sessions = new Map<SessionKey, Numbered<Session>>();
  /** By transcript, as are the names of blobs. */
  readonly lines = new Map<string, readonly Entry[]>();
  readonly blobNames = new Map<string, ReadonlySet<string>>();
  readonly headers = new Map<string, Header>();
  /** By the id of an older file of a history: the one that it went on in, which has all its lines here, and its own length. */
  readonly older = new Map<
    string,
    { readonly next: string; readonly bytes: number; readonly firstSeq: number }
  >();
  readonly tombstones = new Map<string, SessionKey>();
  readonly waiting = new Map<string, Waiting>();
  readonly taken = new Map<string, Taken>();
  readonly archives = new Map<string, Archive>();
  /** The number of the session that an archive was; none where that session lives on. */
  readonly archivedAs = new Map<string, number>();
  readonly timers = new Map<string, Timer>();
  readonly jobs = new Map<string, Job>();
  readonly outbox = new Map<string, Numbered<Outgoing>>();
  readonly blobs = new Map<string, Uint8Array>();
  /** When each blob was put, as often as nobody has named it since. */
  readonly heldBlobs = new Map<string, number[]>();
  #last = 0;

  next(): number {
    this.#last += 1;
    return this.#last;
  }

  session(key: SessionKey): Numbered<Session> {
    const found = this.sessions.get(key);
    if (!found) throw new Fault("not_found", `there is no session ${key}`);
    return found;
  }

  stateOf(key: SessionKey): Session["state"]["kind"] | null {
    return this.sessions.get(key)?.row.state.kind ?? null;
  }

  waitingFor(key: SessionKey): Waiting[] {
    return [...this.waiting.values()].filter(({ row }) => row.to === key).sort((a, b) => a.n - b.n);
  }

  /** Null: nobody remembers such a letter. One from outside is remembered for a time, others for its reader's life. */
  letter(id: string, nowMs: number): { readonly to: SessionKey; readonly print: string } | null {
    const waiting = this.waiting.get(id);
    if (waiting) return { to: waiting.row.to, print: waiting.print };
    const taken = this.taken.get(id);
    if (!taken || (id.startsWith("ext:") && taken.atMs < nowMs - MAIL_ID_KEPT_MS)) return null;
    return taken;
  }

  /** Refuses what is no id of a transcript, or is one that there is or was. */
  checkNew(transcript: string): void {
    if (!isTranscriptId(transcript))
      throw new Fault("bad_input", `not a transcript id: ${JSON.stringify(transcript)}`);
    if ([this.lines, this.older, this.tombstones].some((known) => known.has(transcript)))
      throw new Fault("exists", `transcript ${transcript} exists already`);
  }

  /** The newest file of a history, by the id of any of them. */
  newest(transcript: string): string {
    let id = transcript;
    for (let at = this.older.get(id); at; at = this.older.get(id)) id = at.next;
    return id;
  }

  /** The older files of a history, by the id of its newest. */
  olderOf(transcript: string): string[] {
    return [...this.older.keys()].filter((id) => this.newest(id) === transcript);
  }

  /** Of all files of a history. */
  bytesOf({ transcript }: Session): number {
    return this.olderOf(transcript.id).reduce(
      (sum, id) => sum + (this.older.get(id)?.bytes ?? 0),
      transcript.bytes,
    );
  }

  /** Of the oldest file of a history. */
  firstSeqOf({ transcript }: Session): number {
    const older = this.olderOf(transcript.id).map((id) => this.older.get(id)?.firstSeq ?? 1);
    return Math.min(transcript.firstSeq, ...older);
  }

  /** The conversation, oldest first. */
  path(row: Session): Entry[] {
    const byId = new Map((this.lines.get(row.transcript.id) ?? []).map((entry) => [entry.id, entry]));
    const path: Entry[] = [];
    for (let entry = byId.get(row.transcript.leafId ?? ""); entry; entry = byId.get(entry.parentId ?? ""))
      path.push(entry);
    return path.reverse();
  }

  hold(sha256: string, nowMs: number): void {
    this.heldBlobs.set(sha256, [...(this.heldBlobs.get(sha256) ?? []), nowMs]);
  }

  /** An entry names it now. */
  release(sha256: string): void {
    this.heldBlobs.get(sha256)?.shift();
  }

  /** A letter or an answer that waits names it. */
  #waits(sha256: string): boolean {
    const rows = [...this.waiting.values(), ...this.outbox.values()];
    return rows.some(({ row }) => JSON.stringify(row.content).includes(sha256));
  }

  /** Whether no transcript names a blob, and nobody is about to. */
  isUnnamed(sha256: string, nowMs: number): boolean {
    const held = this.heldBlobs.get(sha256)?.some((atMs) => atMs > nowMs - BLOB_HELD_MS) ?? false;
    return !held && !this.blobNames.values().some((names) => names.has(sha256)) && !this.#waits(sha256);
  }

  /** Forgets such a blob. */
  collect(sha256: string, nowMs: number): void {
    if (!this.isUnnamed(sha256, nowMs)) return;
    this.blobs.delete(sha256);
    this.heldBlobs.delete(sha256);
  }
}
