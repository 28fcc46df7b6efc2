// Writer
//
// The thread that owns state.sqlite and the transcript files. Everything that changes goes through here, one
// group of commits after the other.
//
//   Owns:      the only connection that writes, the journal, the leases.
//   Does not:  answer questions that only read (reader.ts).
//
// Invariants
//   A1. A caller is answered after COMMIT returned, never before (S2); the files are written after that, in
//       the first lull, or when a few mebibytes of lines have gathered.
//   A2. While a committed line cannot be written to its file because the disk is full, no new commit is taken
//       and no twin is sealed: the line is safe in the journal.
//   A3. An error of a sync or of the database ends the writer. Callers hear `outcome_unknown`: it may have
//       happened, and the next start decides.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { workerData, type MessagePort } from "node:worker_threads";
import { Fault, type FaultCode } from "../../base/fault.ts";
import { CHECKPOINT_EVERY_MS, GROUP_COMMITS_MAX, JOURNAL_BYTES_MAX } from "../../limits.ts";
import { Leases } from "../leases.ts";
import { Checkpoint } from "./checkpoint.ts";
import { Claims } from "./claims.ts";
import { collectBlobs } from "./collect.ts";
import { TranscriptFiles } from "./files.ts";
import { Group, type Applied } from "./group.ts";
import { HeldBlobs } from "./held.ts";
import { ALONE, finishIntents, Leftovers, type Finishing } from "./intents.ts";
import { WriteAheadLog } from "./log.ts";
import { Moves, type Begun } from "./moves.ts";
import { pathsIn, transcriptPath } from "./paths.ts";
import { journalledIn, replayJournal } from "./recover.ts";
import { Rows } from "./rows.ts";
import { epochOf, openState } from "./schema.ts";
import { Sweep } from "./sweep.ts";
import { Tables, type Form } from "./tables.ts";
import { isFull, isOfDisk, wordsOf } from "./trouble.ts";
import { Unwritten } from "./unwritten.ts";
import type { FromWriter, Notice, Results, ToWriter, WireCommit, WriterAnswer, WriterAsk } from "./wire.ts";

/** Lines that wait for their file while commits keep coming. */
const UNWRITTEN_BYTES_MAX = 4 * 1024 * 1024;

/** Long enough that the next commit of a busy session comes first, too short for a person to notice. */
const LULL_MS = 2;

/** How often the journal is emptied for archives to be packed, of which more is written meanwhile. */
const EMPTIED_TIMES_MAX = 4;

const FULL = "the disk is full; what was acknowledged is safe in the journal";

class Writer {
  readonly #port: MessagePort;
  readonly #paths;
  readonly #database: DatabaseSync;
  readonly #leases = new Leases();
  readonly #rows: Rows;
  readonly #group: Group;
  readonly #files: TranscriptFiles;
  readonly #checkpoint: Checkpoint;
  readonly #claims: Claims;
  readonly #held = new HeldBlobs();
  readonly #unwritten = new Unwritten();
  readonly #sweep: Sweep;
  readonly #log: WriteAheadLog;
  readonly #moves: Moves;
  readonly #feed: StatementSync;
  readonly #notify = (notice: Notice): void => this.#say({ say: "notice", notice });
  readonly #leftovers: Leftovers;
  #waiting: WireCommit[] = [];
  #full = false; // A2
  #toldFull = false;
  #scheduled = false;
  #dead = false;
  readonly #epoch: string;
  #groups: number;
  #lastAtMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #lull: NodeJS.Timeout | null = null;

  constructor(port: MessagePort, home: string) {
    this.#port = port;
    this.#paths = pathsIn(home);
    this.#database = openState(this.#paths);
    const database = this.#database;
    this.#log = new WriteAheadLog(database);
    this.#feed = database.prepare("INSERT INTO feed (n, body) VALUES (?,?)");
    const notify = this.#notify;
    const journalled = journalledIn(database);
    this.#files = new TranscriptFiles(this.#paths, { notify, journalled });
    this.#checkpoint = new Checkpoint({ database, log: this.#log, files: this.#files, notify });
    this.#sweep = new Sweep(database);
    this.#moves = new Moves(database);
    const how: Finishing = {
      isHeld: (sha256) => this.#held.isHeld(sha256, this.#lastAtMs),
      isUnderWay: (n) => this.#moves.isUnderWay(n),
      notify,
    };
    this.#leftovers = new Leftovers(database, this.#paths, how, (work) => this.#guard(work));
    const tables = new Tables(database);
    this.#rows = new Rows(tables);
    this.#claims = new Claims({ database, rows: this.#rows, leases: this.#leases });
    this.#group = new Group({ database, tables, rows: this.#rows, leases: this.#leases, paths: this.#paths });
    this.#epoch = epochOf(database);
    this.#groups = Number(database.prepare("SELECT max(n) AS n FROM feed").get()?.["n"] ?? 0);
  }

  /** Recovery first; whoever opened the store waits for it. */
  async start(): Promise<void> {
    const transcripts = replayJournal(this.#database, this.#files, this.#paths);
    if (transcripts > 0) await this.#checkpoint.replayed();
    const intents = finishIntents(this.#database, this.#paths, { ...ALONE, notify: this.#notify });
    if (transcripts + intents > 0) {
      const message = `after an unclean stop: transcripts written again: ${transcripts}, deletions and moves finished: ${intents}`;
      this.#notice("recovered", message, transcripts + intents);
    }
    this.#port.on("message", (message: ToWriter) => this.#hear(message));
  }

  #hear(message: ToWriter): void {
    if (this.#dead) return;
    if (message.do === "ask") {
      void this.#answer(message.id, message.ask);
      return;
    }
    this.#waiting.push(...message.commits);
    this.#schedule();
  }

  /** Messages that are already there are heard first, so that they share one group and one sync. */
  #schedule(): void {
    if (this.#scheduled || this.#dead) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#guard(() => this.#commitGroup());
    });
  }

  #commitGroup(): void {
    if (this.#waiting.length === 0) return;
    if (this.#checkpoint.activeBytes > JOURNAL_BYTES_MAX && this.#checkpoint.running !== null) return; // the twin is full: wait for its sibling
    const commits = this.#waiting.splice(0, GROUP_COMMITS_MAX);
    if (this.#waiting.length > 0) this.#schedule();
    if (this.#full && !this.#writeFiles()) return this.#refuse(commits, "disk_full", FULL);
    const applied = this.#transact(commits);
    if (applied === null) return;
    this.#noteFull(this.#full);
    this.#lastAtMs = commits.at(-1)?.atMs ?? this.#lastAtMs;
    for (const sha256 of applied.named) this.#held.named(sha256);
    for (const write of applied.writes) {
      this.#unwritten.add(write);
      this.#checkpoint.wrote(write.bytes.length);
    }
    if (applied.erased.length > 0) this.#erase(applied.erased);
    if (this.#unwritten.bytes > UNWRITTEN_BYTES_MAX) this.#writeFiles();
    else this.#writeSoon();
    this.#checkpointSoon();
    this.#log.foldIfLong();
  }

  /** One transaction; everybody has been told when it returns. Null: it was refused as a whole. */
  #transact(commits: readonly WireCommit[]): Applied | null {
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      const feed = { epoch: this.#epoch, groups: this.#groups };
      const applied = this.#group.apply(commits, this.#checkpoint.active, feed);
      if (applied.changed.length > 0) this.#feed.run(this.#groups + 1, JSON.stringify(applied.changed));
      this.#database.exec("COMMIT");
      if (applied.changed.length > 0) this.#groups += 1;
      this.#say({ say: "done", results: JSON.stringify(applied.results) }); // A1
      return applied;
    } catch (error) {
      this.#rows.forget();
      this.#group.revert();
      if (!isFull(error)) {
        const what = isOfDisk(error) ? "the disk failed" : "sessiond failed";
        this.#refuse(commits, "outcome_unknown", `${what} during the commit: ${wordsOf(error).message}`);
        throw error;
      }
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      this.#noteFull(true);
      this.#refuse(commits, "disk_full", "the disk is full; nothing of this commit happened");
      return null;
    }
  }

  #erase(paths: readonly string[]): void {
    for (const path of paths) {
      this.#unwritten.drop(path);
      this.#files.erased(path);
    }
    this.#leftovers.finishSoon();
  }

  /** Every committed line is in its file. False: the disk is full, and some are not (A2). */
  #writeFiles(): boolean {
    const wasFull = this.#full;
    this.#full = !this.#unwritten.writeTo(this.#files);
    if (this.#full || wasFull) this.#noteFull(this.#full);
    return !this.#full;
  }

  /** People hear of it once, and once more when it is over. */
  #noteFull(full: boolean): void {
    if (full === this.#toldFull) return;
    this.#toldFull = full;
    if (full) this.#notice("disk_full", "the disk is full: no new commits are taken");
    else this.#notice("disk_free", "the disk has room again");
  }

  /** In the first lull. A file that is written to all the time is written when enough has gathered. */
  #writeSoon(): void {
    this.#lull ??= setTimeout(() => {
      this.#lull = null;
      this.#guard(() => void this.#writeFiles());
    }, LULL_MS);
    this.#lull.refresh();
  }

  #checkpointSoon(): void {
    if (this.#checkpoint.activeBytes > JOURNAL_BYTES_MAX) return this.#beginCheckpoint();
    this.#checkpointLater();
  }

  #checkpointLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#guard(() => this.#beginCheckpoint());
    }, CHECKPOINT_EVERY_MS);
  }

  #beginCheckpoint(): void {
    if (this.#dead || this.#checkpoint.running !== null) return;
    if (!this.#writeFiles()) return this.#checkpointLater();
    this.#checkpoint.begin().then(
      () => {
        this.#guard(() => this.#forget());
        this.#schedule(); // Somebody may have waited for the twin.
        if (this.#checkpoint.activeBytes > 0) this.#checkpointSoon();
      },
      (error: unknown) => {
        if (!isFull(error)) return this.#die(error);
        this.#noteFull(true);
        this.#schedule(); // Whoever waited for the twin hears at least that it is full.
        this.#checkpointLater();
      },
    );
  }

  #forget(): void {
    this.#sweep.forget({ groups: this.#groups, atMs: this.#lastAtMs });
    this.#held.forgetOld(this.#lastAtMs);
  }

  async #answer(id: number, ask: WriterAsk): Promise<void> {
    try {
      this.#say({ say: "answer", id, answer: await this.#ask(ask) });
    } catch (error) {
      if (!(error instanceof Fault)) return this.#die(error);
      this.#say({ say: "answer", id, answer: { code: error.code, message: error.message } });
    }
  }

  async #ask(ask: WriterAsk): Promise<WriterAnswer> {
    await this.#commitAll(); // what was handed in before the question
    switch (ask.what) {
      case "claim":
        return this.#claims.claim(ask);
      case "renew":
        return this.#leases.renew(ask.claims, ask.untilMs);
      case "release":
        this.#leases.release(ask.claims);
        return null;
      case "hold":
        this.#held.put(ask.sha256, ask.nowMs);
        return null;
      case "move":
        return await this.#beginMoves(ask.archives, ask.to);
      case "moved":
        return this.#orFull(() =>
          // The old files are gone, or will be: nobody writes to them.
          this.#moves.done(ask.moves, ({ agent, transcript }) =>
            this.#files.erased(transcriptPath(this.#paths, agent, transcript)),
          ),
        );
      case "left":
        return this.#orFull(() => this.#moves.end(ask.moves));
      case "collect":
        return collectBlobs(this.#database, this.#paths, ask.names, {
          isHeld: (sha256) => this.#held.isHeld(sha256, ask.nowMs),
          notify: this.#notify,
        });
      case "checkpoint":
        await this.#checkpointNow();
        return null;
      case "close":
        await this.#settle();
        this.#guard(() => this.#leftovers.finishNow());
        this.#files.close();
        this.#database.close();
        this.#dead = true;
        return null;
    }
  }

  /** What was committed while the journal was emptied may be of these archives too: they may have come back, and gone again. */
  async #beginMoves(archives: readonly string[], to: Form): Promise<readonly Begun[]> {
    const isJournalled = (): boolean => archives.some((archive) => this.#moves.isJournalled(archive));
    for (let times = 0; to === "packed" && times < EMPTIED_TIMES_MAX && isJournalled(); times += 1)
      await this.#checkpointNow();
    return this.#orFull(() => this.#moves.begin(archives, to));
  }

  async #checkpointNow(): Promise<void> {
    await this.#settle().finally(() => this.#schedule()); // somebody may have waited for the twin
    this.#guard(() => this.#forget());
    if (this.#checkpoint.activeBytes > 0) this.#checkpointSoon(); // what came meanwhile
  }

  /** A transaction that a full disk refuses has not happened, and only who asked for it hears of that. */
  #orFull<Answer>(work: () => Answer): Answer {
    try {
      return work();
    } catch (error) {
      throw isFull(error) ? new Fault("disk_full", "the disk is full; nothing of this happened") : error;
    }
  }

  async #commitAll(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#dead) {
      this.#commitGroup();
      // It may have to wait for a checkpoint, as a twin has its bound.
      if (this.#waiting.length > 0) await Promise.allSettled([this.#checkpoint.running]);
    }
  }

  /** Everything handed in before is committed, in its file and synced; the journal is empty. */
  async #settle(): Promise<void> {
    await Promise.allSettled([this.#checkpoint.running]); // whoever began it hears how it went
    await this.#commitAll();
    await Promise.allSettled([this.#checkpoint.running]);
    try {
      if (!this.#writeFiles()) throw new Fault("disk_full", FULL);
      await this.#checkpoint.begin(); // perhaps only of a twin that an earlier one could not empty
      // What was committed meanwhile may not be in its file yet, and a twin is sealed only when all is (P1).
      if (!this.#checkpoint.isEmpty && this.#writeFiles()) await this.#checkpoint.begin();
    } catch (error) {
      throw isFull(error) ? new Fault("disk_full", FULL) : error;
    }
    for (const timer of [this.#timer, this.#lull]) if (timer !== null) clearTimeout(timer);
    this.#timer = null;
    this.#lull = null;
  }

  #refuse(commits: readonly WireCommit[], code: FaultCode, message: string): void {
    const results: Results = commits.map((commit) => [commit.id, { code, message }]);
    this.#say({ say: "done", results: JSON.stringify(results) });
  }

  #notice(what: Notice["what"], message: string, count = 1): void {
    this.#say({ say: "notice", notice: { what, message, count } });
  }

  /** A full disk ends nothing: whatever could not be done is done again the next time. */
  #guard(work: () => void): void {
    if (this.#dead) return;
    try {
      work();
    } catch (error) {
      if (!isFull(error)) this.#die(error);
    }
  }

  /** A3. */
  #die(error: unknown): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#say({ say: "dead", fault: wordsOf(error) });
  }

  #say(message: FromWriter): void {
    this.#port.postMessage(message);
  }
}

const { port, home } = workerData as { readonly port: MessagePort; readonly home: string };
try {
  const writer = new Writer(port, home);
  await writer.start();
  port.postMessage({ say: "answer", id: 0, answer: null } satisfies FromWriter); // ready
} catch (error) {
  port.postMessage({ say: "answer", id: 0, answer: wordsOf(error) } satisfies FromWriter);
}
