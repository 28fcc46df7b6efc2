// Decide
//
// What becomes of a job when its alarm rings, and when a run of it has ended. Pure: a record and the time go in, the next record
// comes out, and what is to be started or told because of it.
//
//   Owns:      which times run, which are skipped, and which another run stands for; when a job is disabled.
//   Does not:  commit, post, or look whether a session is there (firing.ts, ended.ts).
//
// Invariants
//   D1. Every time that a job was due while it was enabled is counted once: in `ran`, `skipped` or `coalesced`.
//   D2. At most one run of a job goes on. What is due meanwhile waits for its end, or is skipped.
//   D3. The end of a run that does not go on changes nothing: it may be told again after a crash.
//   D4. What it costs does not grow with how many times were missed (W2 of schedule.ts).

import { cronRunKey, parseAgent, type SessionKey } from "../routing/key.ts";
import type { Route } from "../mail/letter.ts";
import { hasFailed, type Delivery, type Going, type Job, type Run, type RunOutcome } from "./job.ts";
import { JOB_MADE_UP_MAX, JOB_RUNS_KEPT, ON_TIME_MS, RUN_LOST_MS, RUN_NOTE_CHARS_MAX } from "./limits.ts";
import { newestFew, nextAfter, staggerOf, timesUpTo } from "./schedule.ts";

/** What is to happen in one commit. */
export interface Decision {
  /** Its version is one more; the same record as before: nothing has changed. */
  readonly job: Job;
  readonly run: Going | null; //     to be started; null: none
  readonly over: readonly Over[]; // have ended by this
  readonly notice: string | null; // for people, once: it was disabled; null: it was not
}

/** How a run ended, as its turn says. */
export interface RunEnd {
  readonly outcome: RunOutcome;
  readonly reason: string | null; // null: done
  readonly text: string; //          what it said at last; empty: nothing
  readonly answered?: readonly Route[]; // who else wrote into its turn, and heard the same; absent: nobody did
}

export interface Over {
  readonly run: Run;
  readonly end: RunEnd;
  readonly delivery: Delivery; // as it was when the run began
}

/** A job, and what was found out on the way to it. */
type Decided = Omit<Decision, "run">;

/**
 * When the alarm of a job rings. `runId` is the name of the run that may come of it. `goesOn`: of a run that would be given up,
 * something is still there; then it is waited for a while longer.
 */
export function fired(
  before: Job,
  { nowMs, runId, goesOn = false }: Moment & { readonly goesOn?: boolean },
): Decision {
  const given = !isLost(before, nowMs)
    ? unchanged(before)
    : goesOn
      ? unchanged(awaited(before, nowMs))
      : over(before, LOST, nowMs);
  const due = dueBy(given.job, nowMs);
  if (due === null) return next(before, { ...given, run: null });
  return next(before, { ...given, ...started(given.job, due, { nowMs, runId }) });
}

/** When the end of a run is told (D3). */
export function ended(before: Job, runId: string, end: RunEnd, nowMs: number): Decision {
  const decided = before.current?.id === runId ? over(before, end, nowMs) : unchanged(before);
  return next(before, { ...decided, run: null });
}

/** The run that was decided on could not even be started. */
export function notStarted(before: Job, decided: Decision, why: string, nowMs: number): Decision {
  const failed = over(decided.job, { outcome: "failed", reason: why, text: "" }, nowMs);
  const notice = failed.notice ?? decided.notice;
  return next(before, { job: failed.job, over: [...decided.over, ...failed.over], notice, run: null });
}

/** What was due by now and did not run is counted, because the job is disabled or due at other times from now on (D1). */
export function settled(job: Job, nowMs: number, note: string): Job {
  const due = dueBy(job, nowMs);
  return due === null ? job : skipping(job, due, { nowMs, note, id: `${job.id}@${nowMs}` });
}

/** Where a run happens. */
function runKey({ id, agent, target }: Pick<Job, "id" | "agent" | "target">, runId: string): SessionKey {
  return target.kind === "session"
    ? target.key
    : cronRunKey({ agent: parseAgent(agent), job: id, run: runId });
}

/** Nothing was heard of the run that goes on for so long that it is looked for, and given up if nothing of it is there. */
export function isLost({ current }: Pick<Job, "current">, nowMs: number): boolean {
  return current !== null && current.lostAtMs <= nowMs;
}

function awaited(job: Job, nowMs: number): Job {
  return { ...job, current: job.current && { ...job.current, lostAtMs: nowMs + RUN_LOST_MS } };
}

/** What a run is begun with, of its job as it is then. */
export function going(
  job: Job,
  { nowMs, runId }: Moment,
  of: Pick<Run, "dueAtMs" | "isAsked" | "stands">,
): Going {
  const deadlineAtMs = nowMs + job.timeoutMs;
  return {
    ...of,
    id: runId,
    startedAtMs: nowMs,
    key: runKey(job, runId),
    outcome: null,
    endedAtMs: null,
    note: null,
    untold: null,
    deadlineAtMs,
    lostAtMs: deadlineAtMs + RUN_LOST_MS,
    delivery: job.delivery,
  };
}

const LOST: RunEnd = { outcome: "lost", reason: "nothing was heard of its end", text: "" };

function unchanged(job: Job): Decided {
  return { job, over: [], notice: null };
}

function next(before: Job, decision: Decision): Decision {
  if (decision.job === before) return decision;
  return { ...decision, job: { ...decision.job, version: before.version + 1 } };
}

// ── What is due ─────────────────────────────────────────────────────────────────────────────────────────────

/** The times that are due and not counted yet: from `oldestMs`, one of them, to `newestMs`. */
interface Due {
  readonly oldestMs: number;
  readonly newestMs: number;
  readonly count: number;
}

/** Null: none is. */
function dueBy({ id, schedule, staggerMs, nextAtMs }: Job, nowMs: number): Due | null {
  const byMs = nowMs - staggerOf(id, staggerMs);
  if (nextAtMs === null || nextAtMs > byMs) return null;
  return { oldestMs: nextAtMs, ...timesUpTo(schedule, nextAtMs, byMs) };
}

interface Moment {
  readonly nowMs: number;
  readonly runId: string;
}

function started(job: Job, due: Due, { nowMs, runId }: Moment): Pick<Decision, "job" | "run"> {
  if (job.current !== null) {
    if (job.missed !== "skip") return { job, run: null }; // It waits (D2).
    return { job: skipping(job, due, { nowMs, note: "another run of it went on", id: runId }), run: null };
  }
  switch (job.missed) {
    case "coalesce":
      return running(job, { newestMs: due.newestMs, stands: due.count }, { nowMs, runId });
    case "skip":
      return newestOrNone(job, due, { nowMs, runId });
    case "run":
      return oneByOne(job, due, { nowMs, runId });
  }
}

/** The newest, if it is not too late for it. */
function newestOrNone(job: Job, due: Due, { nowMs, runId }: Moment): Pick<Decision, "job" | "run"> {
  const lateMs = nowMs - staggerOf(job.id, job.staggerMs) - due.newestMs;
  const note = "it was missed";
  if (lateMs > Math.max(job.graceMs, ON_TIME_MS))
    return { job: skipping(job, due, { nowMs, note, id: runId }), run: null };
  const earlier = earlierThan(job, due, due.newestMs);
  const left = due.count === 1 ? job : skipping(job, earlier, { nowMs, note, id: `${runId}-` });
  return running(left, { newestMs: due.newestMs, stands: 1 }, { nowMs, runId });
}

/** The oldest; the next one follows when it has ended. Of very many only the newest are made up for. */
function oneByOne(job: Job, due: Due, { nowMs, runId }: Moment): Pick<Decision, "job" | "run"> {
  const byMs = nowMs - staggerOf(job.id, job.staggerMs);
  const isMany = due.count > JOB_MADE_UP_MAX;
  const firstMs = isMany ? newestFew(job.schedule, due.oldestMs, byMs, JOB_MADE_UP_MAX) : due.oldestMs;
  const note = `more than ${JOB_MADE_UP_MAX} were missed; these are not made up for`;
  const earlier = earlierThan(job, due, firstMs);
  const left = isMany ? skipping(job, earlier, { nowMs, note, id: `${runId}-` }) : job;
  return running(left, { newestMs: firstMs, stands: 1 }, { nowMs, runId });
}

/** Of what is due, those before a time. */
function earlierThan({ schedule }: Job, due: Due, beforeMs: number): Due {
  return { ...due, ...timesUpTo(schedule, due.oldestMs, beforeMs - 1) };
}

/** A run that stands for the newest time, and for so many. */
function running(
  job: Job,
  { newestMs, stands }: { readonly newestMs: number; readonly stands: number },
  { nowMs, runId }: Moment,
): { readonly job: Job; readonly run: Going } {
  const run = going(job, { nowMs, runId }, { dueAtMs: newestMs, isAsked: false, stands });
  const { ran, skipped, coalesced } = job.counts;
  const counts = { ran: ran + 1, skipped, coalesced: coalesced + stands - 1 };
  return { job: { ...after(job, newestMs), current: run, counts }, run };
}

/** What is skipped again for the same reason is told in one line: a run that takes all day would fill the list otherwise. */
function skipping(
  job: Job,
  { newestMs, count }: Due,
  { nowMs, note, id }: { readonly nowMs: number; readonly note: string; readonly id: string },
): Job {
  const [last, ...others] = job.runs;
  const isSame = last?.outcome === "skipped" && last.note === note;
  const skipped: Run = {
    id: isSame ? last.id : id,
    dueAtMs: newestMs,
    startedAtMs: isSame ? last.startedAtMs : nowMs,
    isAsked: false,
    stands: count + (isSame ? last.stands : 0),
    key: null,
    outcome: "skipped",
    endedAtMs: nowMs,
    note,
    untold: null,
  };
  const counts = { ...job.counts, skipped: job.counts.skipped + count };
  return { ...after(job, newestMs), runs: kept([skipped, ...(isSame ? others : job.runs)]), counts };
}

/** What is due next, now that all up to a time are counted. One that is never due again is over. */
function after(job: Job, countedMs: number): Job {
  const nextAtMs = nextAfter(job.schedule, countedMs);
  return { ...job, nextAtMs, isEnabled: job.isEnabled && nextAtMs !== null };
}

// ── What has ended ──────────────────────────────────────────────────────────────────────────────────────────

function over(job: Job, end: RunEnd, nowMs: number): Decided {
  const { outcome, reason, text } = end;
  if (job.current === null) return unchanged(job);
  const { deadlineAtMs: _deadline, lostAtMs: _lost, delivery, ...begun } = job.current;
  const note = brief(outcome === "done" ? text : (reason ?? outcome));
  const run: Run = { ...begun, outcome, endedAtMs: nowMs, note: note === "" ? null : note };
  const failures = outcome === "done" ? 0 : job.failures + (hasFailed(outcome) ? 1 : 0);
  const closed: Job = { ...job, current: null, failures, runs: kept([run, ...job.runs]) };
  if (!closed.isEnabled || job.failuresMax === 0 || failures < job.failuresMax)
    return { job: closed, over: [{ run, end, delivery }], notice: null };
  const last = `${outcome}${note === "" || note === outcome ? "" : `: ${note}`}`;
  const why = `${failures} ${failures === 1 ? "run" : "runs in a row"} failed, the last one ${last}`;
  const left = settled(closed, nowMs, "it was disabled");
  return {
    job: { ...left, isEnabled: false, nextAtMs: null, why },
    over: [{ run, end, delivery }],
    notice: why,
  };
}

function kept(runs: readonly Run[]): readonly Run[] {
  return runs.slice(0, JOB_RUNS_KEPT);
}

/** Who should hear of a run that is over did not. */
export function untold(job: Job, runId: string, why: string): Job {
  const runs = job.runs.map((run) => (run.id === runId ? { ...run, untold: brief(why) } : run));
  return { ...job, runs };
}

/** One line of it. */
function brief(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= RUN_NOTE_CHARS_MAX
    ? line
    : `${line.slice(0, RUN_NOTE_CHARS_MAX - 1).toWellFormed()}…`;
}
