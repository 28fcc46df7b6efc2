// What people and agents do to jobs: each comes to the changes of one commit. The record and its alarm are changed together, and
// each expects what was seen (J1): so whoever was overtaken, by a firing or by somebody else, is refused, and looks again.
//
// Invariants
//   J1. The alarm of a job is the timer `job:<id>`, due at alarmAtMs(job), and there is none when that is null. It belongs to the
//       agent's main session, which always exists; a target may come and go, and what is due for it is not forgotten with it.

import { Fault } from "../base/fault.ts";
import { mainKey, parseAgent, type SessionKey } from "../routing/key.ts";
import type { Change } from "../store/change.ts";
import { going, settled } from "./decide.ts";
import type { Going, Job, JobSpec } from "./job.ts";
import { alarmAtMs, checkSchedule, nextAfter } from "./schedule.ts";
import type { Timer } from "./timer.ts";

const ALARM = "job:";

export interface Done {
  readonly job: Job;
  readonly changes: readonly Change[];
}

/** Whose, and by whom: a person, unless a session is named; under no id of theirs, unless `asked` says what they asked for. */
interface Made {
  readonly id: string;
  readonly agent: string;
  readonly nowMs: number;
  readonly madeBy?: SessionKey | null;
  readonly asked?: string | null;
}

export function addJob(spec: JobSpec, { id, agent, nowMs, madeBy = null, asked = null }: Made): Done {
  checkSchedule(spec.schedule);
  const job: Job = {
    ...spec,
    id,
    agent,
    version: 1,
    madeAtMs: nowMs,
    madeBy,
    asked,
    isEnabled: true,
    why: null,
    nextAtMs: dueNext(spec, nowMs),
    current: null,
    failures: 0,
    counts: { ran: 0, skipped: 0, coalesced: 0 },
    runs: [],
  };
  return { job, changes: [{ do: "setJob", job, expectVersion: null }, ...alarmChanges(null, job)] };
}

/**
 * What is not named stays. A run that goes on goes on as it was begun. One whose times are all over is enabled by being given
 * others; one that somebody disabled is not.
 */
export function editJob(
  before: Job,
  patch: Partial<JobSpec> & { readonly isEnabled?: boolean },
  nowMs: number,
): Done {
  if (patch.schedule !== undefined) checkSchedule(patch.schedule);
  const { schedule = before.schedule } = patch;
  const isMoved = JSON.stringify(schedule) !== JSON.stringify(before.schedule);
  const { isEnabled = before.isEnabled || (isMoved && isOver(before, nowMs)) } = patch;
  const isOther = isMoved || isEnabled !== before.isEnabled;
  const counted = isOther ? settled(before, nowMs, "it was changed before it could run") : before;
  const job: Job = {
    ...counted,
    ...patch,
    isEnabled,
    nextAtMs: !isEnabled ? null : isOther ? dueNext({ schedule }, nowMs) : counted.nextAtMs,
    ...(isEnabled && !before.isEnabled ? { failures: 0, why: null } : {}),
    version: before.version + 1,
  };
  return { job, changes: jobChanges(before, job) };
}

/** A run that goes on ends as it would; nobody is told what came of it. */
export function removeJob(job: Job): readonly Change[] {
  return [{ do: "clearJob", id: job.id, expectVersion: job.version }, ...alarmChanges(job, null)];
}

/** Beside its times: it stands for none of them. `open`: what starts a run (firing.ts). */
export function runNow(
  before: Job,
  { runId, nowMs }: { readonly runId: string; readonly nowMs: number },
  open: (run: Going) => readonly Change[],
): Done & { readonly run: Going } {
  const { current } = before;
  if (current !== null)
    throw new Fault(
      "busy",
      `a run of job ${before.id} goes on, in ${current.key ?? "no session"}: one at a time`,
    );
  const run = going(before, { runId, nowMs }, { dueAtMs: nowMs, isAsked: true, stands: 0 });
  const job: Job = { ...before, current: run, version: before.version + 1 };
  return { job, run, changes: [...jobChanges(before, job), ...open(run)] };
}

/** Of a record that was seen, to another; with its alarm. */
export function jobChanges(before: Job, job: Job): readonly Change[] {
  return [{ do: "setJob", job, expectVersion: before.version }, ...alarmChanges(before, job)];
}

/** Null: there is none to be set. */
export function alarmOf(job: Job): Timer | null {
  const dueAtMs = alarmAtMs(job);
  if (dueAtMs === null) return null;
  return { id: `${ALARM}${job.id}`, key: mainKey(parseAgent(job.agent)), dueAtMs, body: { job: job.id } };
}

/** Whose alarm a timer is; null: it is not that of a job. */
export function alarmedBy({ id }: Timer): string | null {
  return id.startsWith(ALARM) ? id.slice(ALARM.length) : null;
}

/** J1. Null: there was none before, or there is none any more. */
function alarmChanges(before: Job | null, job: Job | null): readonly Change[] {
  const was = before && alarmOf(before);
  const timer = job && alarmOf(job);
  if (timer === null)
    return was === null ? [] : [{ do: "clearTimer", id: was.id, expectDueAtMs: was.dueAtMs }];
  if (was?.dueAtMs === timer.dueAtMs) return [];
  return [{ do: "setTimer", timer, expectDueAtMs: was?.dueAtMs ?? null }];
}

/** It is disabled because it is never due again, and not because of failures. */
function isOver({ isEnabled, why, schedule }: Job, nowMs: number): boolean {
  return !isEnabled && why === null && nextAfter(schedule, nowMs) === null;
}

function dueNext({ schedule }: Pick<JobSpec, "schedule">, nowMs: number): number {
  const next = nextAfter(schedule, nowMs);
  if (next === null)
    throw new Fault(
      "bad_input",
      "the time of the job is past: it would never run; name another, or run it now",
    );
  return next;
}
