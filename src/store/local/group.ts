// Group
//
// Commits that arrived while the last group was being synced, in one SQLite transaction. They are tried all in one
// savepoint, because a savepoint costs as much as a small commit and hardly any is ever refused. When one is, the
// halves are tried, and so on: it ends up alone, leaves no trace, and the others go on.
//
//   Owns:      which commits are accepted, and who does what each of their changes says.
//   Does not:  sync (SQLite does, in COMMIT), write transcript files (filing.ts does, from `writes`).
//
// Its invariants are of lines, G1 (journalling.ts), and of what comes of a commit that is refused, G2 (outcome.ts).

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { Fault, type FaultWords } from "../../base/fault.ts";
import { feedCursor } from "../cursor.ts";
import type { Leases } from "../leases.ts";
import { checkRead, companionOf } from "../letters.ts";
import {
  above,
  changedRow,
  chargedAbove,
  checkDue,
  checkFence,
  checkUntouched,
  checkVersion,
  type RowChange,
} from "../rules.ts";
import type { Receipt } from "../change.ts";
import { Archiving } from "./archiving.ts";
import { Journalling } from "./journalling.ts";
import { Mailroom } from "./mailroom.ts";
import { Outcome } from "./outcome.ts";
import { transcriptPath, type Paths } from "./paths.ts";
import type { Rows } from "./rows.ts";
import type { Tables, Twin } from "./tables.ts";
import type { Results, WireChange, WireCommit, WireOf } from "./wire.ts";

export interface Applied extends Pick<Outcome, "writes" | "erased" | "named" | "changed"> {
  readonly results: Results;
}

/** What became of one commit. */
type Made = readonly [id: number, one: Omit<Receipt, "cursor"> | FaultWords];

export class Group {
  readonly #tables: Tables;
  readonly #mail: Mailroom;
  readonly #archives: Archiving;
  readonly #journalling: Journalling;
  readonly #rows: Rows;
  readonly #leases: Leases;
  readonly #paths: Paths;
  readonly #begin: StatementSync;
  readonly #savepoint: StatementSync;
  readonly #release: StatementSync;
  readonly #rollback: StatementSync;
  #outcome: Outcome; // of the group that is being made

  constructor(parts: { database: DatabaseSync; tables: Tables; rows: Rows; leases: Leases; paths: Paths }) {
    this.#tables = parts.tables;
    this.#mail = new Mailroom(parts.tables, parts.rows);
    this.#archives = new Archiving(parts);
    this.#journalling = new Journalling(parts);
    this.#rows = parts.rows;
    this.#leases = parts.leases;
    this.#paths = parts.paths;
    this.#outcome = new Outcome(parts.rows, "a");
    this.#begin = parts.database.prepare("BEGIN IMMEDIATE");
    this.#savepoint = parts.database.prepare("SAVEPOINT one");
    this.#release = parts.database.prepare("RELEASE one");
    this.#rollback = parts.database.prepare("ROLLBACK TO one");
  }

  /**
   * In a transaction, which the caller commits or rolls back. Throws only what makes the whole group fail.
   * `feed` is where it stands, and how many groups it has told of; a group that changed no row is not told.
   */
  apply(
    commits: readonly WireCommit[],
    twin: Twin,
    feed: { readonly epoch: string; readonly groups: number },
  ): Applied {
    this.#outcome = new Outcome(this.#rows, twin); // Before anything can fail: what is reverted then is of this group.
    this.#begin.run();
    const made = this.#together(commits);
    this.#rows.flush();
    const { writes, erased, named, changed } = this.#outcome;
    const cursor = feedCursor(feed.epoch, changed.length > 0 ? feed.groups + 1 : feed.groups);
    const results = made.map(([id, one]) => [id, "code" in one ? one : { cursor, ...one }] as const);
    return { results, writes, erased, named, changed };
  }

  /** The transaction was rolled back: what is kept beside the database goes back too. Rows are the caller's to forget. */
  revert(): void {
    this.#outcome.revert();
  }

  /** All of them, in their order, or all but those that are refused. */
  #together(commits: readonly WireCommit[]): Made[] {
    this.#outcome.begin();
    this.#savepoint.run();
    try {
      const made = commits.map((commit): Made => [commit.id, this.#one(commit)]);
      this.#release.run();
      this.#outcome.accept();
      return made;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.#rollback.run();
      this.#release.run();
      this.#outcome.refuse();
      const [only] = commits;
      if (only && commits.length === 1) return [[only.id, { code: error.code, message: error.message }]];
      const half = commits.length >> 1;
      return [...this.#together(commits.slice(0, half)), ...this.#together(commits.slice(half))];
    }
  }

  #one(commit: WireCommit): Omit<Receipt, "cursor"> {
    this.#outcome.beginCommit();
    for (const change of commit.changes) this.#change(change, commit.atMs);
    return this.#outcome.receipt();
  }

  #change(change: WireChange, atMs: number): void {
    const letter = companionOf(change);
    if (letter !== null && this.#mail.isKnown(letter)) return;
    switch (change.do) {
      case "open":
        return this.#journalling.open(change, atMs, this.#outcome);
      case "append":
        return this.#journalling.append(change, atMs, this.#outcome);
      case "take":
        this.#rows.get(change.key);
        checkFence(change.key, change.fence, this.#leases.fenceOf(change.key));
        return this.#mail.take(change, atMs);
      case "post":
        this.#outcome.posts.push(this.#mail.post(change, atMs));
        return;
      case "setTimer":
        checkDue(change.timer.id, this.#tables.timerDue(change.timer.id), change.expectDueAtMs);
        this.#rows.get(change.timer.key);
        return this.#tables.setTimer(change.timer);
      case "clearTimer":
        checkDue(change.id, this.#tables.timerDue(change.id), change.expectDueAtMs);
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
        return this.#journalling.rotate(change, atMs, this.#outcome);
      case "archive":
        this.#outcome.undoBy(this.#archives.archive(change, atMs));
        this.#outcome.gone(change.key);
        return;
      case "restore":
        return this.#restore(change, atMs);
      case "purge":
        this.#outcome.erased.push(...this.#archives.purge(change, atMs));
        return;
      case "delete":
        return this.#delete(change, atMs);
      default:
        return this.#row(change, atMs);
    }
  }

  #row(change: RowChange, atMs: number): void {
    const { row } = this.#rows.get(change.key);
    this.#outcome.keep(changedRow(row, change, this.#leases.fenceOf(change.key), atMs));
    if (change.do === "charge")
      for (const ancestor of above(row, (key) => this.#rows.find(key)?.row ?? null))
        this.#outcome.keep(chargedAbove(ancestor, change.usage));
    if (change.do === "run" && change.state.kind === "ended")
      checkRead(
        change.key,
        this.#mail.forward(change.key, this.#tables.waiting(change.key), this.#outcome.forwarded),
      );
  }

  #restore(change: WireOf<"restore">, atMs: number): void {
    const { row, undo } = this.#archives.restore(change, atMs);
    this.#outcome.undoBy(undo);
    if (change.over !== null) this.#outcome.gone(row.key);
    this.#outcome.touch(row);
  }

  #delete(change: WireOf<"delete">, atMs: number): void {
    const numbered = this.#rows.get(change.key);
    const { row } = numbered;
    const waiting = this.#tables.waiting(row.key);
    const children = change.expect !== null && this.#tables.hasChild(row.key);
    checkUntouched(row, change.expect, { mail: waiting.length > 0, children });
    this.#mail.forward(row.key, waiting, this.#outcome.forwarded);
    const files = this.#tables.erase(numbered, atMs);
    this.#rows.drop(row.key);
    this.#outcome.erased.push(...this.#archives.purgeAll(row.key, atMs)); // what it was before it began anew
    this.#outcome.undoBy(this.#leases.forget(row.key));
    this.#outcome.erased.push(...files.map((file) => transcriptPath(this.#paths, row.agent, file)));
    this.#outcome.gone(row.key);
  }
}
