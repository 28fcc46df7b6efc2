// Apply
//
// Does what a plan says, a little at a time.
//
//   Owns:      how much is done at once, the pauses in between, what is left alone because it changed.
//   Does not:  decide who goes (plan.ts), or remember anything: whoever stops it, or kills it, has the rest found again by
//              the next round, also archives that were not packed yet.
//
// Invariants
//   P1. Each step expects what the plan saw. What was touched meanwhile is left, and counted; nothing is forced.
//   P2. After each piece of work others have at least as long as it took (UPKEEP_PAUSE_MS_MAX at most).
//   P3. On a full disk what needs room is left for the next round; what frees room goes on.

import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import type { World } from "../base/world.ts";
import { unlessAborted } from "../base/waiting.ts";
import { PACK_AT_ONCE, PACK_BYTES_AT_ONCE } from "../limits.ts";
import { wishLetter } from "../mail/wish.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Change, Receipt } from "../store/change.ts";
import type { Collected, Store } from "../store/store.ts";
import { ARCHIVE_AT_ONCE, UPKEEP_PAUSE_MS_MAX, UPKEEP_PAUSE_MS_MIN } from "./limits.ts";
import type { ArchiveStep, Plan, Step } from "./plan.ts";

export interface Applying {
  readonly world: World;
  readonly log: Log;
  readonly store: Pick<Store, "pack" | "collect">;
  readonly commit: (changes: readonly Change[]) => Promise<Receipt>;
  /** Sessions that have a program which runs now. */
  readonly programs: () => ReadonlySet<SessionKey>;
}

/** What was done. */
export interface Report {
  readonly archived: number;
  readonly purged: number;
  readonly rotated: number; //         that were asked to: each does it when its turn is over
  readonly packed: number;
  readonly packedBytes: number; //     before they were packed
  readonly collected: number; //       blobs
  readonly freedBytes: number; //      of what was erased: archives and blobs
  readonly skipped: number; //         it changed meanwhile
  readonly failed: number; //          the log says why
  /** Null: all of it was tried. */
  readonly stopped: "disk_full" | "closed" | null;
}

export interface Progress {
  readonly done: number; //            steps
  readonly of: number;
  readonly bytes: number; //           of the steps that are done
}

export const NOTHING_DONE: Report = {
  archived: 0,
  purged: 0,
  rotated: 0,
  packed: 0,
  packedBytes: 0,
  collected: 0,
  freedBytes: 0,
  skipped: 0,
  failed: 0,
  stopped: null,
};

/** Somebody touched, removed or restored it between looking and doing. */
const CHANGED: ReadonlySet<string> = new Set([
  "stale_writer",
  "not_found",
  "exists",
  "ended",
  "unread",
  "busy",
  "conflict",
]);

type Counts = { -readonly [Name in keyof Omit<Report, "stopped">]: number };
type Of<Do extends Step["do"]> = Extract<Step, { readonly do: Do }>;

/** Never rejects for what a disk or another caller does; only for what is our bug. */
export async function applied(
  parts: Applying,
  plan: Plan,
  { signal, tell }: { readonly signal: AbortSignal; readonly tell: (progress: Progress) => void },
): Promise<Report> {
  return await new Application(parts, signal, tell).run(plan.steps);
}

class Application {
  readonly #parts: Applying;
  readonly #signal: AbortSignal;
  readonly #tell: (progress: Progress) => void;
  readonly #counts: Counts = { ...NOTHING_DONE };
  #isFull = false;

  constructor(parts: Applying, signal: AbortSignal, tell: (progress: Progress) => void) {
    this.#parts = parts;
    this.#signal = signal;
    this.#tell = tell;
  }

  async run(steps: readonly Step[]): Promise<Report> {
    let [done, bytes] = [0, 0];
    try {
      for (const some of piecesOf(steps)) {
        this.#tell({ done, of: steps.length, bytes });
        this.#signal.throwIfAborted();
        await this.#piece(some);
        done += some.length;
        bytes += some.reduce((sum, step) => sum + step.bytes, 0);
      }
    } catch (error) {
      return { ...this.#counts, stopped: this.#stopFor(error) };
    }
    this.#tell({ done, of: steps.length, bytes });
    return { ...this.#counts, stopped: this.#isFull ? "disk_full" : null };
  }

  /** Of one kind. */
  async #piece(steps: readonly Step[]): Promise<void> {
    const [first] = steps;
    if (first === undefined || (this.#isFull && first.do !== "purge" && first.do !== "collect")) return; // P3
    try {
      switch (first.do) {
        case "archive":
          return await this.#archive(steps as readonly Of<"archive">[]);
        case "purge":
          return await this.#purge(steps as readonly Of<"purge">[]);
        case "rotate":
          return await this.#rotate(steps as readonly Of<"rotate">[]);
        case "pack":
          return await this.#paced(() => this.#pack(steps as readonly Of<"pack">[]));
        case "collect":
          return await this.#collect();
      }
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== "disk_full" || this.#isFull) throw error;
      this.#isFull = true;
      const words =
        "upkeep needs room and the disk is full: what frees room goes on, the rest is tried again by the next round";
      this.#parts.log.warn({ err: error }, words);
    }
  }

  /** The store refuses what was touched or pinned since, or what a job writes to now. It knows nothing of programs. */
  async #archive(steps: readonly ArchiveStep[]): Promise<void> {
    const held = this.#parts.programs();
    const still = steps.filter(({ key }) => !held.has(key));
    this.#counts.skipped += steps.length - still.length;
    const changes = still.map(({ key, transcript, lastSeq, why }): Change => {
      return { do: "archive", key, expect: { transcript, lastSeq }, why };
    });
    const done = await this.#paced(() => this.#committed(changes));
    this.#counts.archived += done.length;
    const packs = done.flatMap((at): readonly Of<"pack">[] => {
      const step = still[at];
      if (step === undefined) return [];
      const { transcript: archive, key, bytes } = step;
      return [{ do: "pack", archive, key, bytes }];
    });
    for (const some of piecesOf(packs)) await this.#paced(() => this.#pack(some as readonly Of<"pack">[]));
  }

  async #purge(steps: readonly Of<"purge">[]): Promise<void> {
    const changes = steps.map(({ archive }): Change => ({ do: "purge", archive }));
    for (const at of await this.#paced(() => this.#committed(changes))) {
      this.#counts.purged += 1;
      this.#counts.freedBytes += steps[at]?.bytes ?? 0;
    }
  }

  /**
   * By a letter, because only its owner may write. For the same file and context it has the same id: who was asked before, and
   * had no time yet, is not asked twice (`conflict`, because the new file has another name each time).
   */
  async #rotate(steps: readonly Of<"rotate">[]): Promise<void> {
    const changes = steps.map(({ key, transcript, contextSeq }): Change => {
      const wished = { transcript: this.#parts.world.newId() };
      return { do: "post", to: [key], letter: wishLetter(`${transcript}:${contextSeq}`, "rotate", wished) };
    });
    this.#counts.rotated += (await this.#paced(() => this.#committed(changes))).length;
  }

  /** Together, which costs the disk much less than one after the other. Nobody who stops waits for it: it may be cut off anywhere. */
  async #pack(steps: readonly Of<"pack">[]): Promise<void> {
    const packing = Promise.allSettled(steps.map(({ archive }) => this.#parts.store.pack(archive)));
    const came = await unlessAborted(packing, this.#signal);
    const packed = steps.filter((_, at) => came[at]?.status === "fulfilled");
    this.#counts.packed += packed.length;
    this.#counts.packedBytes += packed.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const [at, one] of came.entries())
      if (one.status === "rejected") this.#passOver(one.reason, { archive: steps[at]?.archive });
  }

  async #collect(): Promise<void> {
    for (let cursor: string | null = null; ;) {
      this.#signal.throwIfAborted();
      const from: string | null = cursor;
      const part: Collected = await this.#paced(() =>
        this.#parts.store.collect({ cursor: from, isDry: false }),
      );
      this.#counts.collected += part.blobs;
      this.#counts.freedBytes += part.bytes;
      if (part.next === null) return;
      cursor = part.next;
    }
  }

  /** Together, or, when one of them is refused, one by one (P1). The places of those that happened. */
  async #committed(changes: readonly Change[]): Promise<readonly number[]> {
    if (changes.length === 0) return [];
    try {
      await this.#parts.commit(changes);
      return [...changes.keys()];
    } catch (error) {
      if (!isChanged(error)) throw error;
      if (changes.length === 1) {
        this.#counts.skipped += 1;
        return [];
      }
    }
    const done: number[] = [];
    for (const [at, change] of changes.entries())
      if ((await this.#committed([change])).length > 0) done.push(at);
    return done;
  }

  /** What concerns this one alone; everything else is thrown on. */
  #passOver(error: unknown, of: Readonly<Record<string, unknown>>): void {
    if (!(error instanceof Fault) || STOPS.has(error.code)) throw error;
    if (isChanged(error)) return void (this.#counts.skipped += 1);
    this.#counts.failed += 1;
    this.#parts.log.warn({ ...of, err: error }, "upkeep passes over what it cannot do");
  }

  /** P2. */
  async #paced<Value>(work: () => Promise<Value>): Promise<Value> {
    const { world } = this.#parts;
    const fromMs = world.nowMs();
    const value = await work();
    const tookMs = world.nowMs() - fromMs;
    await world.sleep(Math.min(UPKEEP_PAUSE_MS_MAX, Math.max(UPKEEP_PAUSE_MS_MIN, tookMs)), this.#signal);
    return value;
  }

  #stopFor(error: unknown): "disk_full" | "closed" {
    if (this.#signal.aborted) return "closed";
    if (!(error instanceof Fault) || !STOPS.has(error.code)) throw error;
    return error.code === "disk_full" ? "disk_full" : "closed";
  }
}

/** After these there is nothing to be gone on with. */
const STOPS: ReadonlySet<string> = new Set(["disk_full", "closed", "outcome_unknown"]);

function isChanged(error: unknown): boolean {
  return error instanceof Fault && CHANGED.has(error.code);
}

/** What is done at once: steps of one kind that follow each other. What is packed together has a bound in bytes too. */
function* piecesOf(steps: readonly Step[]): Generator<readonly Step[]> {
  let piece: Step[] = [];
  let bytes = 0;
  for (const step of steps) {
    const most = step.do === "collect" ? 1 : step.do === "pack" ? PACK_AT_ONCE : ARCHIVE_AT_ONCE;
    const isHeavy = step.do === "pack" && bytes + step.bytes > PACK_BYTES_AT_ONCE;
    if (piece.length > 0 && (piece[0]?.do !== step.do || piece.length >= most || isHeavy)) {
      yield piece;
      piece = [];
      bytes = 0;
    }
    piece.push(step);
    bytes += step.bytes;
  }
  if (piece.length > 0) yield piece;
}
