// Filing
//
// Committed lines on their way from the journal into the care of their files. They are written in the first lull, or when some
// mebibytes have gathered; a checkpoint makes them safe there and empties the journal.
//
//   Owns:      lines that are not in their files yet, when a checkpoint begins, and whether the disk is full.
//   Does not:  commit, or answer anybody (writer.ts); write to a file (files.ts); sync (checkpoint.ts).
//
// Invariants
//   Q1. No twin is sealed while a committed line is not in its file: it may be in the journal alone.
//   Q2. A line that a full disk keeps from its file waits until there is room, and no other is taken before it is there.
//   Q3. People hear of a full disk once, and once more when it is over.

import type { DatabaseSync } from "node:sqlite";
import { Fault } from "../../base/fault.ts";
import { CHECKPOINT_EVERY_MS, JOURNAL_BYTES_MAX } from "../../limits.ts";
import { Checkpoint } from "./checkpoint.ts";
import type { TranscriptFiles } from "./files.ts";
import type { Applied } from "./group.ts";
import type { Life } from "./life.ts";
import type { WriteAheadLog } from "./log.ts";
import type { Twin } from "./tables.ts";
import { isFull } from "./trouble.ts";
import { Unwritten } from "./unwritten.ts";
import type { Notice } from "./wire.ts";

/** Lines that wait for their file while commits keep coming. */
const UNWRITTEN_BYTES_MAX = 4 * 1024 * 1024;

/** Long enough that the next commit of a busy session comes first, too short for a person to notice. */
const LULL_MS = 2;

export const FULL = "the disk is full; what was acknowledged is safe in the journal";

export class Filing {
  readonly #files: TranscriptFiles;
  readonly #checkpoint: Checkpoint;
  readonly #life: Life;
  readonly #notify: (notice: Notice) => void;
  readonly #over: (isEmptied: boolean) => void;
  readonly #unwritten = new Unwritten();
  #isFull = false; // Q2
  #toldFull = false; // Q3
  #timer: NodeJS.Timeout | null = null;
  #lull: NodeJS.Timeout | null = null;

  /** `over` hears of each checkpoint that began by itself, and whether the disk had room for emptying the journal. */
  constructor(
    parts: {
      database: DatabaseSync;
      log: WriteAheadLog;
      files: TranscriptFiles;
      life: Life;
      notify: (notice: Notice) => void;
    },
    over: (isEmptied: boolean) => void,
  ) {
    this.#files = parts.files;
    this.#checkpoint = new Checkpoint(parts);
    this.#life = parts.life;
    this.#notify = parts.notify;
    this.#over = over;
  }

  /** The journal that takes new lines. */
  get twin(): Twin {
    return this.#checkpoint.active;
  }

  /** No more lines are taken until its sibling is empty. */
  get isTwinFull(): boolean {
    return this.#checkpoint.activeBytes > JOURNAL_BYTES_MAX && this.#checkpoint.running !== null;
  }

  /** Whether a new line may follow those there are (Q2). */
  hasRoom(): boolean {
    return !this.#isFull || this.write();
  }

  /** What both twins had was written again after a crash. */
  async replayed(): Promise<void> {
    await this.#checkpoint.replayed();
  }

  /** What a group committed. So there was room. */
  take({ writes, erased }: Pick<Applied, "writes" | "erased">): void {
    this.noteFull(false);
    for (const write of writes) {
      this.#unwritten.add(write);
      this.#checkpoint.wrote(write.bytes.length);
    }
    for (const path of erased) {
      this.#unwritten.drop(path);
      this.#files.erased(path);
    }
  }

  /** After each group. */
  writeSoon(): void {
    if (this.#unwritten.bytes > UNWRITTEN_BYTES_MAX) this.write();
    else this.#writeInLull();
    this.#checkpointSoon();
  }

  /** After each checkpoint: what came meanwhile gets its own. */
  checkpointRest(): void {
    if (this.#checkpoint.activeBytes > 0) this.#checkpointSoon();
  }

  /** Every committed line is in its file. False: the disk is full, and some are not. */
  write(): boolean {
    const wasFull = this.#isFull;
    this.#isFull = !this.#unwritten.writeTo(this.#files);
    if (this.#isFull || wasFull) this.noteFull(this.#isFull);
    return !this.#isFull;
  }

  /** Q3. */
  noteFull(full: boolean): void {
    if (full === this.#toldFull) return;
    this.#toldFull = full;
    const notice = full
      ? ({ what: "disk_full", message: "the disk is full: no new commits are taken" } as const)
      : ({ what: "disk_free", message: "the disk has room again" } as const);
    this.#notify({ ...notice, count: 1 });
  }

  /** No checkpoint is under way. Whoever began it hears how it went. */
  idle(): Promise<unknown> {
    return Promise.allSettled([this.#checkpoint.running]);
  }

  /** Everything that was committed before is in its file and synced; the journal is empty. Fault disk_full. */
  async finish(): Promise<void> {
    await this.idle();
    try {
      if (!this.write()) throw new Fault("disk_full", FULL);
      await this.#checkpoint.begin(); // perhaps only of a twin that an earlier one could not empty
      // What was committed meanwhile may not be in its file yet (Q1).
      if (!this.#checkpoint.isEmpty && this.write()) await this.#checkpoint.begin();
    } catch (error) {
      throw isFull(error) ? new Fault("disk_full", FULL) : error;
    }
    for (const timer of [this.#timer, this.#lull]) if (timer !== null) clearTimeout(timer);
    this.#timer = null;
    this.#lull = null;
  }

  /** In the first lull. A file that is written to all the time is written when enough has gathered. */
  #writeInLull(): void {
    this.#lull ??= setTimeout(() => {
      this.#lull = null;
      this.#life.guard(() => void this.write());
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
      this.#life.guard(() => this.#beginCheckpoint());
    }, CHECKPOINT_EVERY_MS);
  }

  #beginCheckpoint(): void {
    if (this.#life.isOver || this.#checkpoint.running !== null) return;
    if (!this.write()) return this.#checkpointLater(); // Q1
    this.#checkpoint.begin().then(
      () => {
        this.#over(true);
        this.checkpointRest();
      },
      (error: unknown) => {
        if (!isFull(error)) return this.#life.die(error);
        this.noteFull(true);
        this.#over(false);
        this.#checkpointLater();
      },
    );
  }
}
