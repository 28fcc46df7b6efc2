// Judge: hears of every commit of these months that is durable, and finds out by itself when each job was due.
//
//   M1. Every time that a job was due is counted once: what a commit counts is as many as the almanac has up to what is due next.
//   M2. No time runs twice, and none runs that the almanac does not have.
//   M3. Under `run` each runs, but for what is more than can be made up for; under `coalesce` one runs for all that are due; under
//       `skip` one runs in time, or none while another runs.
//   M4. What is due runs when it is due, unless nobody was there, or another run of it went on.
//   M5. Every run is begun by one letter, and ends once: as its turn said, or lost when that said nothing.
//   M6. A job that fails too often is disabled, and told of once.
//   M7. Answers are told as often as runs had something to say: once each; at a door at least once, unless the outbox refused it.
//   M8. A heart beats once at a time, only in its hours, and again and again while somebody is there.

import { isWithin } from "../../src/timers/hours.ts";
import { isTimer } from "../../src/mail/task.ts";
import type { Change, Receipt } from "../../src/store/change.ts";
import type { Job, Run } from "../../src/timers/job.ts";
import { JOB_MADE_UP_MAX, ON_TIME_MS, RUN_LOST_MS } from "../../src/timers/limits.ts";
import { staggerOf } from "../../src/timers/schedule.ts";
import { turnEndIn } from "../../src/timers/told.ts";
import { Almanac } from "./almanac.ts";
import type { Plan, PlannedJob } from "./plan.ts";

export interface Tally {
  readonly times: number;
  readonly ran: number;
  readonly skipped: number;
  readonly coalesced: number;
  readonly lost: number;
  readonly timeouts: number;
  readonly disabled: number;
  readonly beats: number;
}

/** What the judge knows of a job. */
interface Known {
  readonly planned: PlannedJob;
  readonly times: readonly number[];
  counted: number; //              of these times
  job: Job | null; //              null: it was not made yet
  freeSinceMs: number; //          since when no run goes on
  readonly due: Set<number>;
}

/** So late something may be because commits and looks take their turns. */
const LATE_MS_MAX = 1_000;

const BEAT_MS = 360 * 60_000;

export class Judge {
  readonly #plan: Plan;
  readonly #jobs = new Map<string, Known>();
  readonly #letters = new Map<string, number>(); // how often each was posted
  /** What a turn said of its end, and when, by the id of the run. */
  readonly #ends = new Map<string, { readonly outcome: string; readonly atMs: number }>();
  readonly #owed = new Map<string, number>(); //   answers, by id: how often each was told
  readonly #refused = new Set<string>(); //        answers that were never to leave, or were given up
  readonly #notices = new Map<string, number>(); // by job
  readonly #beats = new Map<string, number[]>();
  #aliveSinceMs = 0;
  readonly #tally = { lost: 0, timeouts: 0, disabled: 0, beats: 0 };

  constructor(plan: Plan) {
    this.#plan = plan;
    const almanac = new Almanac(plan.months);
    for (const planned of plan.jobs) {
      const known = { planned, times: planned.times(almanac), counted: 0, job: null, freeSinceMs: 0 };
      this.#jobs.set(planned.id, { ...known, due: new Set() });
    }
  }

  begins(nowMs: number): void {
    this.#aliveSinceMs = nowMs;
  }

  heard(changes: readonly Change[], { posts }: Receipt, nowMs: number): string[] {
    const problems: string[] = [];
    for (const { id, repeated } of posts) {
      if (repeated) problems.push(`M5 ${id} was posted again`);
      this.#letters.set(id, (this.#letters.get(id) ?? 0) + 1);
      const disabled = /^cause:job:([^:]+):[^:]+:disabled$/.exec(id)?.[1];
      if (disabled !== undefined) this.#notices.set(disabled, (this.#notices.get(disabled) ?? 0) + 1);
      if (/^cause:heartbeat:[^:]+:\d+$/.test(id)) problems.push(...this.#beat(id, nowMs));
    }
    for (const change of changes) {
      if (change.do === "send" && isTimer(change.outgoing.route)) {
        const { route } = change.outgoing;
        const outcome = turnEndIn(change.outgoing)?.outcome ?? "?";
        this.#ends.set(route.thread ?? "", { outcome, atMs: nowMs });
      }
      if (change.do === "settle" && change.refused !== null) this.#refused.add(change.id);
      if (change.do === "setJob") problems.push(...this.#set(change.job, nowMs));
    }
    return problems;
  }

  delivered(id: string): void {
    this.#owed.set(id, (this.#owed.get(id) ?? 0) + 1);
  }

  #set(job: Job, nowMs: number): string[] {
    const known = this.#jobs.get(job.id);
    if (!known) return [`there is no job ${job.id}`];
    const before = known.job;
    known.job = job;
    if (before === null) return [];
    const passed = this.#passed(known, before, job, nowMs);
    if (before.current !== null && job.current?.id !== before.current.id) known.freeSinceMs = nowMs;
    const over = job.runs.find(({ id }) => id === before.current?.id);
    const isBegun = job.current !== null && job.current.id !== before.current?.id;
    const problems = [
      ...this.#counted(known, before, passed),
      ...(over ? this.#ended(known, over, nowMs) : []),
    ];
    if (isBegun && job.current) problems.push(...this.#begun(known, { run: job.current, passed, nowMs }));
    else if (passed.length > 0 && job.missed !== "skip" && job.isEnabled)
      problems.push(`M3 ${job.id}: ${passed.length} were counted, and none runs`);
    if (before.isEnabled && !job.isEnabled && job.why !== null) this.#tally.disabled += 1;
    return problems;
  }

  /** The times that this commit counts, by what it says is next. */
  #passed(known: Known, before: Job, job: Job, nowMs: number): readonly number[] {
    const { times, counted } = known;
    const isDisabled = before.isEnabled && job.why !== null;
    const byMs = isDisabled ? nowMs - staggerOf(job.id, job.staggerMs) + 1 : (job.nextAtMs ?? Infinity);
    let to = counted;
    while (to < times.length && (times[to] ?? 0) < byMs) to += 1;
    if (before.nextAtMs === null) to = counted;
    known.counted = to;
    return times.slice(counted, to);
  }

  /** M1. */
  #counted({ job }: Known, before: Job, passed: readonly number[]): string[] {
    const sum = ({ counts: { ran, skipped, coalesced } }: Job): number => ran + skipped + coalesced;
    if (job === null || sum(job) - sum(before) === passed.length) return [];
    return [`M1 ${job.id}: ${passed.length} were due, and ${sum(job) - sum(before)} are counted`];
  }

  /** M2, M3, M4. */
  #begun(
    known: Known,
    { run, passed, nowMs }: { readonly run: Run; readonly passed: readonly number[]; readonly nowMs: number },
  ): string[] {
    const { due, planned, freeSinceMs } = known;
    const { id, spec } = planned;
    const problems: string[] = [];
    if (due.has(run.dueAtMs) || !passed.includes(run.dueAtMs)) problems.push(`M2 ${id}: ${run.dueAtMs} runs`);
    due.add(run.dueAtMs);
    const lateMs = nowMs - run.dueAtMs - staggerOf(id, spec.staggerMs);
    const isNewest = run.dueAtMs === passed.at(-1);
    if (spec.missed === "coalesce" && run.stands !== passed.length)
      problems.push(`M3 ${id}: a run stands for ${run.stands}, and ${passed.length} were due`);
    if (spec.missed === "run" && passed.length > 1) {
      const left = known.times.filter(
        (at) => at >= run.dueAtMs && at <= nowMs - staggerOf(id, spec.staggerMs),
      ).length;
      if (left !== JOB_MADE_UP_MAX) problems.push(`M3 ${id}: ${passed.length - 1} were not made up for`);
    }
    if (spec.missed === "skip" && (lateMs > Math.max(spec.graceMs, ON_TIME_MS) || lateMs < 0))
      problems.push(`M3 ${id}: it runs ${lateMs} ms late, though it would be skipped`);
    if (!isNewest) problems.push(`M3 ${id}: the run stands for an older time than it counts`);
    const freeMs = Math.max(run.dueAtMs + staggerOf(id, spec.staggerMs), this.#aliveSinceMs, freeSinceMs);
    if (lateMs < 0) problems.push(`M4 ${id}: it runs ${-lateMs} ms too early`);
    const isNext = spec.missed !== "run" || passed.length === 1;
    if (isNext && nowMs - freeMs > LATE_MS_MAX) problems.push(`M4 ${id}: it runs ${nowMs - freeMs} ms late`);
    return problems;
  }

  /** M5, M7. */
  #ended({ planned: { id, spec } }: Known, run: Run, nowMs: number): string[] {
    const { outcome } = run;
    const said = this.#ends.get(run.id);
    const posted = this.#letters.get(`cause:job:${id}:${run.id}`) ?? 0;
    const problems: string[] = [];
    if (posted !== 1) problems.push(`M5 ${id}: run ${run.id} has ${posted} letters`);
    if (outcome === "lost") this.#tally.lost += 1;
    if (outcome === "timeout") this.#tally.timeouts += 1;
    if ((outcome === "lost" ? undefined : outcome) !== said?.outcome)
      problems.push(`M5 ${id}: run ${run.id} is ${outcome}, and its turn said ${said?.outcome ?? "nothing"}`);
    if (outcome === "lost" && nowMs < run.startedAtMs + spec.timeoutMs + RUN_LOST_MS)
      problems.push(`M5 ${id}: run ${run.id} is lost too early`);
    const isSilent = outcome === "done" && run.note === "NO_REPLY";
    if (spec.delivery.kind !== "none" && !isSilent) {
      const owed = `job:${id}:${run.id}:answer`;
      const name = spec.delivery.kind === "session" ? `cause:${owed}` : owed;
      // The letter is in the same commit, and was heard of before; a door is asked later.
      this.#owed.set(name, this.#owed.get(name) ?? this.#letters.get(name) ?? 0);
    }
    return problems;
  }

  /** M8. */
  #beat(letter: string, nowMs: number): string[] {
    const [, , agent = "", due = ""] = letter.split(":");
    const beats = this.#beats.get(agent) ?? [];
    this.#beats.set(agent, [...beats.slice(-1), nowMs]);
    this.#tally.beats += 1;
    const n = Number(agent.slice(1));
    const zone = n % 2 === 0 ? "Europe/Berlin" : "America/New_York";
    const hours = { fromMinute: 8 * 60, toMinute: 20 * 60, zone };
    if (n % 2 !== 0) return [`M8 ${agent} beats, and has nothing to do`];
    if (n % 3 === 0 && !isWithin(hours, nowMs)) return [`M8 ${agent} beats outside of its hours`];
    const last = beats.at(-1) ?? 0;
    const isLate = last >= Number(due);
    return isLate ? [`M8 ${agent} beats for ${due}, and did so before`] : [];
  }

  /** When the months are over. */
  verdict(nowMs: number): { readonly problems: readonly string[]; readonly tally: Tally } {
    const problems: string[] = [];
    const sums = { times: 0, ran: 0, skipped: 0, coalesced: 0 };
    for (const known of this.#jobs.values()) {
      const { planned, job, times, counted } = known;
      if (job === null) {
        problems.push(`${planned.id} was never made`);
        continue;
      }
      sums.times += counted;
      for (const name of ["ran", "skipped", "coalesced"] as const) sums[name] += job.counts[name];
      problems.push(...this.#rest(known, job));
      const next = times[counted] ?? Infinity;
      const byMs = nowMs - staggerOf(job.id, job.staggerMs) - LATE_MS_MAX;
      const isFree = job.current === null && job.why === null && nowMs - this.#aliveSinceMs > LATE_MS_MAX;
      if (isFree && next < byMs) problems.push(`M4 ${job.id}: ${next} was due, and nobody has seen to it`);
    }
    problems.push(...this.#told());
    if (nowMs - this.#aliveSinceMs > 2 * 86_400_000)
      for (const agent of this.#plan.agents.filter((_, n) => n % 2 === 0)) {
        const sinceMs = nowMs - (this.#beats.get(agent)?.at(-1) ?? 0);
        if (sinceMs > BEAT_MS + 13 * 3_600_000) problems.push(`M8 ${agent} has not beaten for ${sinceMs} ms`);
      }
    return { problems, tally: { ...sums, ...this.#tally } };
  }

  /** M7. A door may be asked again after a death, under the same id; a letter is there once. */
  #told(): string[] {
    const wrong = [...this.#owed].filter(([id, count]) =>
      id.startsWith("cause:") ? count !== 1 : count === 0 && !this.#refused.has(id),
    );
    return wrong.map(([id, count]) => `M7 ${id} was told ${count} times`);
  }

  /** M6. */
  #rest({ planned }: Known, job: Job): string[] {
    const notices = this.#notices.get(job.id) ?? 0;
    if (planned.isFailing !== (job.why !== null)) return [`M6 ${job.id}: ${job.why ?? "it is not disabled"}`];
    return notices === (planned.isFailing ? 1 : 0) ? [] : [`M6 ${job.id}: ${notices} notices`];
  }
}
