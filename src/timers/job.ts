// A job: something that is to be done at times. Its record in the store says what, when and for whom, and what became of its
// runs so far. Whoever changes it names the version that it saw, so that a firing, an end of a run and an edit that meet are
// made one after the other, and none is lost.

import type { SessionKey } from "../routing/key.ts";
import type { SessionLimits } from "../sessions/session.ts";
import type { TurnOutcome } from "../turns/where.ts";

export type Schedule =
  /** Once. By the clock of `zone`, an IANA zone, people are told when that is. */
  | { readonly kind: "at"; readonly atMs: number; readonly zone: string }
  /** At `fromMs`, and every so often after it: it does not drift. */
  | { readonly kind: "every"; readonly everyMs: number; readonly fromMs: number }
  /** Five fields, or six with seconds first, by the clock of an IANA zone. */
  | { readonly kind: "cron"; readonly expression: string; readonly zone: string };

/** Where a run happens. */
export type Target =
  /** In a session of its own, which ends with it: it knows nothing of earlier runs. */
  | { readonly kind: "fresh" }
  /** In one session, each time the same: the conversation carries over. */
  | { readonly kind: "session"; readonly key: SessionKey };

/** Where the answer of a run goes. */
export type Delivery =
  | { readonly kind: "none" }
  /** As a letter to a session. */
  | { readonly kind: "session"; readonly key: SessionKey }
  /**
   * To where the first of these that anybody wrote to was last written to from. They are named when the job is made: whoever
   * made it may speak for each of them.
   */
  | { readonly kind: "route"; readonly of: readonly SessionKey[] }
  /** Through a channel of another program. */
  | { readonly kind: "webhook"; readonly channel: string; readonly to: string };

/** What happens to runs that were due while nobody was there to fire them: each, none, or one for all. */
export type Missed = "run" | "skip" | "coalesce";

/** What somebody asked for. */
export interface JobSpec {
  readonly name: string; //                   for people; empty: none
  readonly schedule: Schedule;
  readonly staggerMs: number; //              it fires up to so much later, each time the same, so that many do not at once
  readonly target: Target;
  readonly message: string; //                what is to be done
  readonly model: string | null; //           of fresh sessions, like the two below; null: the agent's own
  readonly thinking: string | null;
  readonly limits: SessionLimits | null;
  readonly timeoutMs: number; //              how long a run may take
  readonly delivery: Delivery;
  readonly missed: Missed;
  readonly graceMs: number; //                so late it is not missed
  readonly keepMs: number; //                 how long fresh sessions are kept after their end
  readonly failuresMax: number; //            after so many failures in a row it is disabled; 0: never
}

export interface Job extends JobSpec {
  readonly id: string;
  readonly agent: string;
  readonly version: number; //                grows by one with every change
  readonly madeAtMs: number;
  readonly madeBy: SessionKey | null; //      whose turn asked for it; null: a person
  readonly asked: string | null; //           a hash of what was asked for under an id of the caller's; null: under none
  readonly isEnabled: boolean;
  readonly why: string | null; //             why sessiond disabled it; null: it did not
  readonly nextAtMs: number | null; //        when it is due next, without the stagger; null: never again, or disabled
  readonly current: Going | null; //          the run that goes on
  readonly failures: number; //               in a row
  readonly counts: Counts;
  readonly runs: readonly Run[]; //           that are over, newest first, at most JOB_RUNS_KEPT
}

/** Every time that it was due is counted in one of them. */
export interface Counts {
  readonly ran: number;
  readonly skipped: number; //                it was missed, or another run of it went on
  readonly coalesced: number; //              another run stood for it
}

export type RunOutcome =
  | "done"
  | "failed"
  | "killed"
  | "timeout"
  | "limit"
  | "interrupted"
  | "lost"
  | "skipped";

/**
 * Somebody should look at these, of a run as of a turn: not what was done or did not run, nor what a person stopped. One that is lost is
 * a failure: nothing of it is there any more and nobody knows why, so somebody is to look before it costs for ever. So is one that was
 * interrupted: the process died in its turn until that was given up, and may die of every run. What a stop in order interrupts is gone
 * on with, and is no end.
 */
const FAILED: ReadonlySet<RunOutcome | TurnOutcome> = new Set([
  "failed",
  "overflow",
  "timeout",
  "limit",
  "interrupted",
  "lost",
]);

export function hasFailed(outcome: RunOutcome | TurnOutcome | null): boolean {
  return outcome !== null && FAILED.has(outcome);
}

export interface Run {
  readonly id: string;
  readonly dueAtMs: number; //                the time it stands for; the newest, when it stands for several
  readonly startedAtMs: number;
  readonly isAsked: boolean; //               somebody asked for it: it stands for no time
  readonly stands: number; //                 for how many times; 0: it was asked for
  readonly key: SessionKey | null; //         where it ran; null: it was skipped
  readonly outcome: RunOutcome | null; //     null: it goes on
  readonly endedAtMs: number | null;
  readonly note: string | null; //            why it failed or was skipped; the beginning of its answer
  readonly untold: string | null; //          why who should hear of it did not; null: they did, or nobody should
}

/** A run that goes on, as it was begun: what an edit of its job changes is for the next one. */
export interface Going extends Run {
  readonly deadlineAtMs: number; //           when its time is up
  readonly lostAtMs: number; //               when it is given up, if nothing is heard of it and nothing of it is there
  readonly delivery: Delivery;
}
