// Writer
//
// The thread that owns state.sqlite and the transcript files. Everything that changes goes through here, one
// group of commits after the other.
//
//   Owns:      the only connection that writes, who is answered when, the leases.
//   Does not:  answer questions that only read (reader.ts); say when lines go to their files (filing.ts).
//
// Invariants
//   A1. A caller is answered after COMMIT returned, never before (S2); the files are written after that, in
//       the first lull, or when a few mebibytes of lines have gathered.
//   A2. While a committed line cannot be written to its file because the disk is full, no new commit is taken:
//       the line is safe in the journal (Q1, Q2).
//   A3. An error of a sync or of the database ends the writer. Callers hear `outcome_unknown`: it may have
//       happened, and the next start decides.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { workerData, type MessagePort } from "node:worker_threads";
import { Fault, type FaultCode } from "../../base/fault.ts";
import { GROUP_COMMITS_MAX } from "../../limits.ts";
import { Leases } from "../leases.ts";
import { Claims } from "./claims.ts";
import { collectBlobs } from "./collect.ts";
import { TranscriptFiles } from "./files.ts";
import { Filing, FULL } from "./filing.ts";
import { Group, type Applied } from "./group.ts";
import { HeldBlobs } from "./held.ts";
import { ALONE, finishIntents, Leftovers, type Finishing } from "./intents.ts";
import { Life } from "./life.ts";
import { WriteAheadLog } from "./log.ts";
import { Moves, type Begun } from "./moves.ts";
import { pathsIn, transcriptPath } from "./paths.ts";
import { journalledIn, replayJournal } from "./recover.ts";
import { Rows } from "./rows.ts";
import { epochOf, openState } from "./schema.ts";
import { Sweep } from "./sweep.ts";
import { Tables, type Form } from "./tables.ts";
import { READY } from "./thread.ts";
import { isFull, isOfDisk, wordsOf } from "./trouble.ts";
import type { FromWriter, Notice, Results, ToWriter, WireCommit, WriterAnswer, WriterAsk } from "./wire.ts";

/** How often the journal is emptied for archives to be packed, of which more is written meanwhile. */
const EMPTIED_TIMES_MAX = 4;

class Writer {
  readonly #port: MessagePort;
  readonly #paths;
  readonly #database: DatabaseSync;
  readonly #leases = new Leases();
  readonly #rows: Rows;
  readonly #group: Group;
  readonly #files: TranscriptFiles;
  readonly #filing: Filing;
  readonly #claims: Claims;
  readonly #held = new HeldBlobs();
  readonly #sweep: Sweep;
  readonly #log: WriteAheadLog;
  readonly #moves: Moves;
  readonly #feed: StatementSync;
  readonly #notify = (notice: Notice): void => this.#say({ say: "notice", notice });
  readonly #leftovers: Leftovers;
  readonly #life = new Life((fault) => this.#say({ say: "dead", fault }));
  #waiting: WireCommit[] = [];
  #scheduled = false;
  readonly #epoch: string;
  #groups: number;
  #lastAtMs = 0;

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
    const parts = { database, log: this.#log, files: this.#files, life: this.#life, notify };
    this.#filing = new Filing(parts, (isEmptied) => {
      if (isEmptied) this.#life.guard(() => this.#forget());
      this.#schedule(); // Somebody may have waited for the twin, and hears at least that the disk is full.
    });
    this.#sweep = new Sweep(database);
    this.#moves = new Moves(database);
    const how: Finishing = {
      isHeld: (sha256) => this.#held.isHeld(sha256, this.#lastAtMs),
      isUnderWay: (n) => this.#moves.isUnderWay(n),
      notify,
    };
    this.#leftovers = new Leftovers(database, this.#paths, how, (work) => this.#life.guard(work));
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
    if (transcripts > 0) await this.#filing.replayed();
    const intents = finishIntents(this.#database, this.#paths, { ...ALONE, notify: this.#notify });
    if (transcripts + intents > 0) {
      const message = `after an unclean stop: transcripts written again: ${transcripts}, deletions and moves finished: ${intents}`;
      this.#notify({ what: "recovered", message, count: transcripts + intents });
    }
    this.#port.on("message", (message: ToWriter) => this.#hear(message));
  }

  #hear(message: ToWriter): void {
    if (this.#life.isOver) return;
    if (message.do === "ask") {
      void this.#answer(message.id, message.ask);
      return;
    }
    this.#waiting.push(...message.commits);
    this.#schedule();
  }

  /** Messages that are already there are heard first, so that they share one group and one sync. */
  #schedule(): void {
    if (this.#scheduled || this.#life.isOver) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#life.guard(() => this.#commitGroup());
    });
  }

  #commitGroup(): void {
    if (this.#waiting.length === 0) return;
    if (this.#filing.isTwinFull) return; // whoever empties its sibling schedules this again
    const commits = this.#waiting.splice(0, GROUP_COMMITS_MAX);
    if (this.#waiting.length > 0) this.#schedule();
    if (!this.#filing.hasRoom()) return this.#refuse(commits, "disk_full", FULL); // A2
    const applied = this.#transact(commits);
    if (applied === null) return;
    this.#lastAtMs = commits.at(-1)?.atMs ?? this.#lastAtMs;
    for (const sha256 of applied.named) this.#held.named(sha256);
    this.#filing.take(applied);
    if (applied.erased.length > 0) this.#leftovers.finishSoon();
    this.#filing.writeSoon();
    this.#log.foldIfLong();
  }

  /** One transaction; everybody has been told when it returns. Null: it was refused as a whole. */
  #transact(commits: readonly WireCommit[]): Applied | null {
    try {
      const feed = { epoch: this.#epoch, groups: this.#groups };
      const applied = this.#group.apply(commits, this.#filing.twin, feed);
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
      this.#filing.noteFull(true);
      this.#refuse(commits, "disk_full", "the disk is full; nothing of this commit happened");
      return null;
    }
  }

  #forget(): void {
    this.#sweep.forget({ groups: this.#groups, atMs: this.#lastAtMs });
    this.#held.forgetOld(this.#lastAtMs);
  }

  async #answer(id: number, ask: WriterAsk): Promise<void> {
    try {
      this.#say({ say: "answer", id, answer: await this.#ask(ask) });
    } catch (error) {
      if (!(error instanceof Fault)) return this.#life.die(error);
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
        this.#life.guard(() => this.#leftovers.finishNow());
        this.#files.close();
        this.#database.close();
        this.#life.close();
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
    this.#life.guard(() => this.#forget());
    this.#filing.checkpointRest();
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
    while (this.#waiting.length > 0 && !this.#life.isOver) {
      this.#commitGroup();
      // It may have to wait for a checkpoint, as a twin has its bound.
      if (this.#waiting.length > 0) await this.#filing.idle();
    }
  }

  /** Everything handed in before is committed, in its file and synced; the journal is empty. */
  async #settle(): Promise<void> {
    await this.#filing.idle();
    await this.#commitAll();
    await this.#filing.finish();
  }

  #refuse(commits: readonly WireCommit[], code: FaultCode, message: string): void {
    const results: Results = commits.map((commit) => [commit.id, { code, message }]);
    this.#say({ say: "done", results: JSON.stringify(results) });
  }

  #say(message: FromWriter): void {
    this.#port.postMessage(message);
  }
}

const { port, home } = workerData as { readonly port: MessagePort; readonly home: string };
try {
  const writer = new Writer(port, home);
  await writer.start();
  port.postMessage({ say: "answer", id: READY, answer: null } satisfies FromWriter);
} catch (error) {
  port.postMessage({ say: "answer", id: READY, answer: wordsOf(error) } satisfies FromWriter);
}
