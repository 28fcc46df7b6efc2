// What people and agents do to jobs: each comes to the changes of one commit. The record and its alarm are changed together, and
// each expects what was seen (J1): so whoever was overtaken, by a firing or by somebody else, is refused, and looks again.
//
// Invariants
//   J1. The alarm of a job is the timer `job:<id>`, due at alarmAtMs(job), and there is none when that is null. It belongs to the
//       agent's main session, which always exists; a target may come and go, and what is due for it is not forgotten with it.

import { Fault } from "../base/fault.ts";
import { mainKey, parseAgent } from "../routing/key.ts";
import type { Change } from "../store/store.ts";
import { runKey, settled } from "./decide.ts";
import type { Job, JobSpec, Run } from "./job.ts";
import { alarmAtMs, checkSchedule, nextAfter } from "./schedule.ts";
import type { Timer } from "./timer.ts";

const ALARM = "job:";

export interface Done {
  readonly job: Job;
  readonly changes: readonly Change[];
}

export function addJob(
  spec: JobSpec,
  { id, agent, nowMs }: { readonly id: string; readonly agent: string; readonly nowMs: number },
): Done {
  checkSchedule(spec.schedule);
  const job: Job = {
    ...spec,
    id,
    agent,
    version: 1,
    madeAtMs: nowMs,
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

/** What is not named stays. A run that goes on goes on as it was begun. */
export function editJob(
  before: Job,
  patch: Partial<JobSpec> & { readonly isEnabled?: boolean },
  nowMs: number,
): Done {
  if (patch.schedule !== undefined) checkSchedule(patch.schedule);
  const { schedule = before.schedule, isEnabled = before.isEnabled } = patch;
  const isMoved = JSON.stringify(schedule) !== JSON.stringify(before.schedule);
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
  open: (run: Run) => readonly Change[],
): Done & { readonly run: Run } {
  const { current } = before;
  if (current !== null)
    throw new Fault(
      "busy",
      `a run of job ${before.id} goes on, in ${current.key ?? "no session"}: one at a time`,
    );
  const run: Run = {
    id: runId,
    dueAtMs: nowMs,
    startedAtMs: nowMs,
    isAsked: true,
    stands: 0,
    key: runKey(before, runId),
    outcome: null,
    endedAtMs: null,
    note: null,
  };
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

function dueNext({ schedule }: Pick<JobSpec, "schedule">, nowMs: number): number {
  const next = nextAfter(schedule, nowMs);
  if (next === null)
    throw new Fault(
      "bad_input",
      "the time of the job is past: it would never run; name another, or run it now",
    );
  return next;
}
