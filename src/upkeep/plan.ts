// Plan
//
// What a round of upkeep does, decided from what there is and from the policy alone. Nothing is looked up and nothing is
// done here: a dry run shows this plan, and a run applies it (apply.ts).
//
//   Owns:      who may go, who goes, and in which order.
//   Does not:  ask a store, know the clock, or remember anything: the same facts make the same plan.
//
// The order
//   1. purge    archives older than archiveDays
//   2. archive  one-shot sessions that ended: sub-agents after subagentHours, runs of a job after what the job says, counted from
//               their last change, which is their end unless somebody brought them back
//   3. archive  stale: not changed for staleDays
//   4. archive  cap: the least recently changed above sessionsMax
//   5. rotate   transcripts above rotateMiB whose context has moved on since their file began
//   6. pack     archives that are not packed, whoever made them
//   7. collect  blobs that nobody names
//   8. budget   only while the disk has more than diskMiB, down to highWater of it: archives are erased, the oldest first,
//               but none that is younger than a day; then sessions are archived, the least recently changed first
//
// Invariants
//   U1. No protected session is archived (going.ts), whatever the policy says.
//   U2. A parent goes only when all its children have gone before it, in this plan or earlier.
//   U3. What is planned is done whole or left: nothing is planned on a guess of what a step before it will free but for the
//       budget, and there a guess only decides when to stop. The next round measures and goes on.

import { createHash } from "node:crypto";
import type { UpkeepPolicy } from "../config/config.ts";
import type { KeyKind, SessionKey } from "../routing/key.ts";
import type { RunState, Signal } from "../sessions/session.ts";
import type { Use } from "../store/store.ts";
import { Budget } from "./budget.ts";
import { Going, inSlices } from "./going.ts";
import { BUDGET_ARCHIVE_MS_MIN } from "./limits.ts";

/** A session, as far as upkeep cares. */
export interface Item {
  readonly key: SessionKey;
  readonly kind: KeyKind;
  readonly parent: SessionKey | null;
  readonly state: RunState["kind"];
  readonly endedAtMs: number | null; //    null: it has not ended
  readonly job: string | null; //          whose run it is; null: it is no run of a job
  readonly signal: Signal;
  readonly isPinned: boolean;
  readonly updatedAtMs: number;
  readonly transcript: string;
  readonly lastSeq: number;
  readonly firstSeq: number; //            of the file it writes into
  readonly contextSeq: number;
  readonly fileBytes: number; //           of the file it writes into
  readonly bytes: number; //               of all its files
  readonly waits: boolean; //              a letter, an answer or a timer
  readonly children: number;
}

/** An archive, as far as upkeep cares. */
export interface Kept {
  readonly id: string;
  readonly key: SessionKey;
  readonly archivedAtMs: number;
  readonly bytes: number; //               unpacked
  readonly packedBytes: number | null; //  null: it is not packed
}

export interface Facts {
  readonly items: readonly Item[]; //      all sessions, least recently changed first
  readonly archives: readonly Kept[]; //   oldest first; all that are past retention or not packed; with a full disk, all
  readonly use: Use;
  readonly keepMs: ReadonlyMap<string, number>; // by job: how long its runs are kept
  readonly held: ReadonlySet<SessionKey>; // sessions with a program that runs, and those that a job writes to
  readonly blobs: { readonly blobs: number; readonly bytes: number }; // that nobody names
}

export type ArchiveStep = {
  readonly do: "archive";
  readonly key: SessionKey;
  readonly why: "ended" | "stale" | "cap" | "budget";
  readonly isWished: boolean; //           whoever made its job said how long it is kept: it is no matter of policy
  readonly bytes: number;
  readonly transcript: string; //          what was seen of it: whatever differs when it is done is left alone
  readonly lastSeq: number;
};

export type Step =
  | {
      readonly do: "purge";
      readonly archive: string;
      readonly key: SessionKey;
      readonly why: "retention" | "budget";
      readonly bytes: number; //           on the disk
    }
  | ArchiveStep
  | {
      readonly do: "rotate";
      readonly key: SessionKey;
      readonly bytes: number;
      readonly transcript: string;
      readonly contextSeq: number;
    }
  | { readonly do: "pack"; readonly archive: string; readonly key: SessionKey; readonly bytes: number }
  | { readonly do: "collect"; readonly blobs: number; readonly bytes: number };

export interface Plan {
  readonly steps: readonly Step[];
  readonly totals: Totals;
  /** What the archives that it erases are called together: of others it is something else. Null: it erases none. */
  readonly erases: string | null;
  /** Bytes on the disk now, and about how many there are when this is done. */
  readonly usedBytes: number;
  readonly leftBytes: number;
  /** Bytes above the budget that nothing in this plan frees: what is protected, blobs that are named, archives of a day. */
  readonly over: number;
}

/** How many steps of each kind. */
export interface Totals {
  readonly purge: number;
  readonly archive: number;
  readonly rotate: number;
  readonly pack: number;
  readonly collect: number; //             blobs
}

const DAY_MS = 24 * 60 * 60 * 1_000;
const HOUR_MS = 60 * 60 * 1_000;
const MIB = 1024 * 1024;
/** Of a digest: no two plans of a home have the same 132 bits. */
const ERASES_CHARS = 22;

/** All of it at once. Who has other things to do takes it in slices: `planning`. */
export function planOf(facts: Facts, policy: UpkeepPolicy, nowMs: number): Plan {
  const slices = planning(facts, policy, nowMs);
  for (;;) {
    const slice = slices.next();
    if (slice.done === true) return slice.value;
  }
}

/** The same, with a stop after every few thousand sessions or archives. */
export function* planning(facts: Facts, policy: UpkeepPolicy, nowMs: number): Generator<undefined, Plan> {
  const { archives, use, blobs } = facts;
  const steps: Step[] = [];
  const stay: Kept[] = [];
  yield* inSlices(archives, (each) => {
    if (!isPast(each.archivedAtMs, policy.archiveDays * DAY_MS, nowMs)) stay.push(each);
    else steps.push(purgeOf(each, "retention"));
  });
  const going = new Going(facts, steps);
  yield* going.begin();
  // From when it last changed: what a person brought back, or labelled, is kept as long again.
  const overAtMs = ({ endedAtMs, updatedAtMs }: Item): number | null =>
    endedAtMs === null ? null : Math.max(endedAtMs, updatedAtMs);
  yield* going.take("ended", (item) => isPast(overAtMs(item), keptMs(item, facts, policy), nowMs));
  yield* going.take("stale", (item) => isPast(item.updatedAtMs, policy.staleDays * DAY_MS, nowMs));
  const { sessionsMax } = policy;
  if (sessionsMax > 0) yield* going.take("cap", everybody, () => going.left <= sessionsMax);
  if (policy.rotateMiB > 0) yield* going.rotate(policy.rotateMiB * MIB);
  yield* inSlices(stay, ({ id, key, bytes, packedBytes }) => {
    if (packedBytes === null) steps.push({ do: "pack", archive: id, key, bytes });
  });
  if (blobs.blobs > 0) steps.push({ do: "collect", ...blobs });
  const usedBytes = use.transcripts + use.archives + use.blobs;
  const budget = new Budget(usedBytes, steps);
  yield* inSlices(archives, (each) => budget.learn(each));
  const mostBytes = policy.diskMiB * MIB;
  const isOver = mostBytes > 0 && usedBytes > mostBytes;
  if (isOver) {
    const isEnough = (): boolean => budget.leftBytes <= mostBytes * policy.highWater;
    yield* inSlices(stay, (each) => {
      // Those that are not packed yet are packed by this plan, and wait for the next one.
      const mayGo = each.packedBytes !== null && isPast(each.archivedAtMs, BUDGET_ARCHIVE_MS_MIN, nowMs);
      if (mayGo && !isEnough()) steps.push(purgeOf(each, "budget"));
    });
    yield* going.take("budget", everybody, isEnough);
  }
  const totals = { purge: 0, archive: 0, rotate: 0, pack: 0, collect: 0 };
  const erased = createHash("sha256");
  yield* inSlices(steps, (step) => {
    totals[step.do] += step.do === "collect" ? step.blobs : 1;
    if (step.do === "purge") erased.update(`${step.archive}\n`);
  });
  const erases = totals.purge === 0 ? null : erased.digest("base64url").slice(0, ERASES_CHARS);
  const { leftBytes } = budget;
  const over = isOver ? Math.max(0, leftBytes - mostBytes) : 0;
  return { steps, totals, erases, usedBytes, leftBytes, over };
}

function everybody(): boolean {
  return true;
}

/** A time, or a length, that nobody set never passes. */
function isPast(atMs: number | null, afterMs: number, nowMs: number): boolean {
  return atMs !== null && afterMs > 0 && atMs + afterMs <= nowMs;
}

/** 0: not for its end alone. Runs of a job that is gone are kept as sub-agents are. */
function keptMs({ kind, job }: Item, { keepMs }: Facts, { subagentHours }: UpkeepPolicy): number {
  const usual = subagentHours * HOUR_MS;
  const own = job === null ? undefined : keepMs.get(job);
  if (own !== undefined) return Math.max(1, own);
  if (job !== null) return usual;
  return kind === "subagent" ? usual : 0;
}

function purgeOf({ id, key, bytes, packedBytes }: Kept, why: "retention" | "budget"): Step {
  return { do: "purge", archive: id, key, why, bytes: packedBytes ?? bytes };
}
