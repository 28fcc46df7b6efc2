// Group
//
// Commits that arrived while the last group was being synced, in one SQLite transaction. They are tried all in one
// savepoint, because a savepoint costs as much as a small commit and hardly any is ever refused. When one is, the
// halves are tried, and so on: it ends up alone, leaves no trace, and the others go on.
//
//   Owns:      turning changes into rows, letters and journalled lines.
//   Does not:  sync (SQLite does, in COMMIT), write transcript files (the writer does, from `writes`).
//
// Invariants
//   G1. Lines are in the journal, with their offset, in the same transaction as the row that counts them.
//   G2. `writes` holds the lines of the commits that were accepted, in their order, and no others.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { Fault, faultFrom, type FaultWords } from "../../base/fault.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Session } from "../../sessions/session.ts";
import { encodeHeader, stamp } from "../../transcript/codec.ts";
import { entryId } from "../../transcript/entry.ts";
import { titleFrom } from "../../transcript/fold.ts";
import { feedCursor } from "../cursor.ts";
import type { Leases } from "../leases.ts";
import {
  above,
  appendedRow,
  changedRow,
  chargedAbove,
  checkAppend,
  checkContext,
  checkFence,
  checkRead,
  checkUntouched,
  checkVersion,
  companionOf,
  headerOf,
  openedRow,
  tell,
  type RowChange,
  checkParent,
} from "../rules.ts";
import type { Changed, Posted, Receipt } from "../store.ts";
import { Archiving } from "./archiving.ts";
import { Mailroom } from "./mailroom.ts";
import { Generations } from "./generations.ts";
import { transcriptPath, type Paths } from "./paths.ts";
import { Rotation } from "./rotation.ts";
import type { Rows } from "./rows.ts";
import type { Numbered, Tables, Twin } from "./tables.ts";
import type { Lines, Results, WireChange, WireCommit } from "./wire.ts";

export interface FileWrite {
  readonly path: string;
  readonly offset: number;
  readonly bytes: Buffer;
}

/** What became of one commit. */
type Made = readonly [id: number, one: Omit<Receipt, "cursor"> | FaultWords];

type Wire<Do extends WireChange["do"]> = Extract<WireChange, { readonly do: Do }>;

export class Group {
  readonly #tables: Tables;
  readonly #mail: Mailroom;
  readonly #archives: Archiving;
  readonly #rows: Rows;
  readonly #leases: Leases;
  readonly #paths: Paths;
  readonly #generations: Generations;
  readonly #rotation: Rotation;
  readonly #savepoint: StatementSync;
  readonly #release: StatementSync;
  readonly #rollback: StatementSync;

  // Of the group that is being made.
  #twin: Twin = "a";
  #writes: FileWrite[] = [];
  #erased: string[] = [];
  #named: string[] = [];
  #changed = new Map<string, Changed>();
  #undo: (() => void)[] = [];
  // Of the commits that are tried together.
  #touched: Changed[] = [];
  // Of the commit that is being applied.
  #seqs: Record<string, number> = {};
  #posts: Posted[] = [];
  #forwarded = new Set<SessionKey>();

  constructor(parts: { database: DatabaseSync; tables: Tables; rows: Rows; leases: Leases; paths: Paths }) {
    this.#tables = parts.tables;
    this.#mail = new Mailroom(parts.tables, parts.rows);
    this.#archives = new Archiving(parts);
    this.#rows = parts.rows;
    this.#leases = parts.leases;
    this.#paths = parts.paths;
    this.#generations = new Generations(parts.database);
    this.#rotation = new Rotation(parts.database, parts.tables, this.#generations);
    this.#savepoint = parts.database.prepare("SAVEPOINT one");
    this.#release = parts.database.prepare("RELEASE one");
    this.#rollback = parts.database.prepare("ROLLBACK TO one");
  }

  /**
   * Inside a transaction that the caller opened and will commit. Throws only what makes the whole group fail.
   * `feed` is where it stands, and how many groups it has told of; a group that changed no row is not told.
   */
  apply(
    commits: readonly WireCommit[],
    twin: Twin,
    feed: { readonly epoch: string; readonly groups: number },
  ): Applied {
    this.#twin = twin;
    this.#writes = [];
    this.#erased = [];
    this.#named = [];
    this.#changed = new Map();
    this.#undo = [];
    const made = this.#together(commits);
    this.#rows.flush();
    const changed = [...this.#changed.values()];
    const cursor = feedCursor(feed.epoch, changed.length > 0 ? feed.groups + 1 : feed.groups);
    const results = made.map(([id, one]) => [id, "code" in one ? one : { cursor, ...one }] as const);
    return { results, writes: this.#writes, erased: this.#erased, named: this.#named, changed };
  }

  /** The transaction was rolled back: what is kept beside the database goes back too. Rows are the caller's to forget. */
  revert(): void {
    this.#undoFrom(0);
  }

  /** All of them, in their order, or all but those that are refused. */
  #together(commits: readonly WireCommit[]): Made[] {
    const writes = this.#writes.length;
    const erased = this.#erased.length;
    const named = this.#named.length;
    const undo = this.#undo.length;
    this.#touched = [];
    this.#rows.begin();
    this.#savepoint.run();
    try {
      const made = commits.map((commit): Made => [commit.id, this.#one(commit)]);
      this.#release.run();
      for (const changed of this.#touched) tell(this.#changed, changed);
      return made;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.#rollback.run();
      this.#release.run();
      this.#rows.undo();
      this.#undoFrom(undo);
      this.#writes.length = writes;
      this.#erased.length = erased;
      this.#named.length = named;
      const [only] = commits;
      if (only && commits.length === 1) return [[only.id, { code: error.code, message: error.message }]];
      const half = commits.length >> 1;
      return [...this.#together(commits.slice(0, half)), ...this.#together(commits.slice(half))];
    }
  }

  #undoFrom(first: number): void {
    for (const step of this.#undo.splice(first).toReversed()) step();
  }

  #one(commit: WireCommit): Omit<Receipt, "cursor"> {
    this.#seqs = {};
    this.#posts = [];
    this.#forwarded = new Set();
    for (const change of commit.changes) this.#change(change, commit.atMs);
    return { seqs: this.#seqs, posts: this.#posts, forwarded: [...this.#forwarded] };
  }

  #change(change: WireChange, atMs: number): void {
    const letter = companionOf(change);
    if (letter !== null && this.#mail.isKnown(letter)) return;
    switch (change.do) {
      case "open":
        return this.#open(change, atMs);
      case "append":
        return this.#append(change, atMs);
      case "take":
        this.#rows.get(change.key);
        checkFence(change.key, change.fence, this.#leases.fenceOf(change.key));
        return this.#mail.take(change, atMs);
      case "post":
        this.#posts.push(this.#mail.post(change, atMs));
        return;
      case "setTimer":
        this.#expectTimer(change.timer.id, change.expectDueAtMs);
        this.#rows.get(change.timer.key);
        return this.#tables.setTimer(change.timer);
      case "clearTimer":
        this.#expectTimer(change.id, change.expectDueAtMs);
        return this.#tables.clearTimer(change.id);
      case "setJob":
        checkVersion(change, this.#tables.jobVersion(change.job.id));
        return this.#tables.setJob(change.job);
      case "clearJob":
        checkVersion(change, this.#tables.jobVersion(change.id));
        return this.#tables.clearJob(change.id);
      case "send":
        this.#rows.get(change.outgoing.key);
        if (!this.#tables.send(change.outgoing, atMs))
          throw new Fault("conflict", `${change.outgoing.id} is in the outbox already`);
        return;
      case "settle":
        if (!this.#tables.settle(change.id, change.refused))
          throw new Fault("not_found", `nothing in the outbox is called ${change.id}`);
        return;
      case "rotate":
        return this.#rotate(change, atMs);
      case "archive":
        this.#undo.push(this.#archives.archive(change, atMs));
        this.#touched.push({ key: change.key, lastSeq: 0, deleted: true });
        return;
      case "restore":
        return this.#restore(change, atMs);
      case "purge":
        this.#erased.push(...this.#archives.purge(change, atMs));
        return;
      case "delete":
        return this.#delete(change, atMs);
      default:
        return this.#row(change, atMs);
    }
  }

  #row(change: RowChange, atMs: number): void {
    const { row } = this.#rows.get(change.key);
    this.#keep(changedRow(row, change, this.#leases.fenceOf(change.key), atMs));
    if (change.do === "charge")
      for (const ancestor of above(row, (key) => this.#rows.find(key)?.row ?? null))
        this.#keep(chargedAbove(ancestor, change.usage));
    if (change.do === "run" && change.state.kind === "ended")
      checkRead(
        change.key,
        this.#mail.forward(change.key, this.#tables.waiting(change.key), this.#forwarded),
      );
  }

  #open(change: Wire<"open">, atMs: number): void {
    const existing = this.#rows.find(change.key);
    if (existing && change.ifExists === "refuse") throw new Fault("exists", `${change.key} exists already`);
    if (existing) return;
    this.#tables.checkNew(change.transcript);
    const parent = change.parent === null ? null : this.#rows.get(change.parent).row;
    checkParent(parent);
    const source = change.copy === null ? null : this.#rows.get(change.copy.of).row; // a source that is gone cannot be copied
    if (change.copy?.missing) throw faultFrom(change.copy.missing);
    if (change.copy !== null) this.#checkSame(change.copy.of, change.copy.readOf);
    const copied = change.copy?.lines.drafts.length ?? 0;
    const header = encodeHeader(headerOf(change, { parent, source, copied, atMs }));
    const born = openedRow(change, parent, Buffer.byteLength(header), atMs);
    const row = { ...born, transcript: { ...born.transcript, copied } };
    const n = this.#rows.insert(row);
    if (change.copy === null) {
      this.#journal(n, row, Buffer.from(header), 0);
      this.#touch(row);
    } else {
      this.#write({ n, row }, change.copy.lines, {
        atMs,
        header,
        rewindTo: null,
        contextSeq: change.copy.contextSeq,
      });
    }
    this.#seqs[change.key] = copied;
  }

  #append(change: Wire<"append">, atMs: number): void {
    const numbered = this.#rows.get(change.key);
    checkAppend(numbered.row, change, this.#leases.fenceOf(change.key));
    if (change.missing) throw faultFrom(change.missing);
    if (change.rewindTo !== null) this.#checkSame(change.key, change.readOf);
    checkContext(numbered.row, change);
    this.#named.push(...change.lines.blobs);
    this.#write(numbered, change.lines, {
      atMs,
      header: "",
      rewindTo: change.rewindTo?.id ?? null,
      contextSeq: change.contextSeq,
    });
  }

  #restore(change: Wire<"restore">, atMs: number): void {
    const { row, undo } = this.#archives.restore(change, atMs);
    this.#undo.push(undo);
    if (change.over !== null) this.#touched.push({ key: row.key, lastSeq: 0, deleted: true });
    this.#touch(row);
  }

  #rotate(change: Wire<"rotate">, atMs: number): void {
    const numbered = this.#rows.get(change.key);
    const { row, bytes } = this.#rotation.rotate(numbered, change, this.#leases.fenceOf(change.key), atMs);
    this.#keep(row);
    this.#journal(numbered.n, row, bytes, 0);
  }

  #write(
    { n, row }: Numbered,
    lines: Lines,
    how: { atMs: number; header: string; rewindTo: string | null; contextSeq: number | null },
  ): void {
    const { transcript } = row;
    let seq = transcript.lastSeq;
    let leafId = how.rewindTo ?? transcript.leafId;
    let text = how.header;
    for (const draft of lines.drafts) {
      seq += 1;
      const id = draft.id ?? entryId(transcript.id, seq);
      text += stamp(draft, id, leafId, seq);
      leafId = id;
    }
    const bytes = Buffer.from(text);
    const headerBytes = how.header === "" ? 0 : transcript.bytes;
    this.#journal(n, row, bytes, transcript.bytes - headerBytes);
    for (const sha256 of lines.blobs) this.#tables.nameBlob(sha256, transcript.id);
    const appended = {
      count: lines.drafts.length,
      bytes: bytes.length - headerBytes,
      leafId: leafId ?? "",
      jumped: how.rewindTo !== null && how.rewindTo !== transcript.leafId,
      title: row.title === "" && lines.opening !== null ? titleFrom(lines.opening) : null,
      contextSeq: how.contextSeq,
      isPersonal: how.header === "" && lines.isPersonal,
    };
    this.#keep(appendedRow(row, appended, how.atMs));
    this.#seqs[row.key] = seq;
  }

  /** G1, G2. */
  #journal(n: number, row: Session, bytes: Buffer, offset: number): void {
    this.#tables.journal(this.#twin, n, offset, bytes);
    this.#writes.push({ path: transcriptPath(this.#paths, row.agent, row.transcript.id), offset, bytes });
  }

  #delete(change: Wire<"delete">, atMs: number): void {
    const numbered = this.#rows.get(change.key);
    const { row } = numbered;
    const waiting = this.#tables.waiting(row.key);
    const children = change.expect !== null && this.#tables.hasChild(row.key);
    checkUntouched(row, change.expect, { mail: waiting.length > 0, children });
    const files = [
      ...this.#generations.list({ session: numbered.n }).map((one) => one.transcript),
      row.transcript.id,
    ];
    this.#mail.forward(row.key, waiting, this.#forwarded);
    this.#tables.erase(numbered, atMs);
    this.#rows.drop(row.key);
    this.#erased.push(...this.#archives.purgeAll(row.key, atMs)); // what it was before it began anew
    this.#undo.push(this.#leases.forget(row.key));
    this.#erased.push(...files.map((file) => transcriptPath(this.#paths, row.agent, file)));
    this.#touched.push({ key: row.key, lastSeq: 0, deleted: true });
  }

  /** What was read for a change is of this history; meanwhile the session may be another one of the same key. */
  #checkSame(key: SessionKey, readOf: string | null): void {
    const { n, row } = this.#rows.get(key);
    if (readOf === row.transcript.id || (readOf !== null && this.#generations.isOf(readOf, n))) return;
    throw new Fault("stale_writer", `${row.key} was deleted, or began anew, meanwhile`);
  }

  #expectTimer(id: string, dueAtMs: number | null): void {
    const due = this.#tables.timerDue(id);
    if (due !== dueAtMs) throw new Fault("stale_writer", `timer ${id} is due at ${due}, not at ${dueAtMs}`);
  }

  #keep(row: Session): void {
    this.#rows.put(row);
    this.#touch(row);
  }

  #touch(row: Session): void {
    this.#touched.push({ key: row.key, lastSeq: row.transcript.lastSeq, deleted: false });
  }
}

export interface Applied {
  readonly results: Results;
  readonly writes: readonly FileWrite[];
  /** Transcript files whose sessions are gone. */
  readonly erased: readonly string[];
  /** Blobs that new entries name, once for each time. */
  readonly named: readonly string[];
  readonly changed: readonly Changed[];
}
