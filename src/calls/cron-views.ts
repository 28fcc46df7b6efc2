// Jobs and their runs, as people and models are shown them.

import type { z } from "zod";
import { redacted } from "../base/redact.ts";
import type { Delivery, Job, Run } from "../timers/job.ts";
import { nextAfter, staggerOf } from "../timers/schedule.ts";
import type { history, listed, whole } from "./cron-shapes.ts";
import { spanText, whenText } from "./cron-when.ts";
import { JOB_MESSAGE_CHARS_TOLD, JOB_TIMES_TOLD } from "./limits.ts";
import { iso } from "./views.ts";

type Row = z.input<typeof listed>["jobs"][number];
type Whole = z.input<typeof whole>;
type ToldRun = z.input<typeof history>["runs"][number];

export function rowOf(job: Job, nowMs: number): Row {
  const [last] = job.runs;
  return {
    ...headOf(job, nowMs),
    message: cut(redacted(job.message)),
    last: last === undefined ? null : { outcome: last.outcome, endedAt: isoOr(last.endedAtMs) },
  };
}

export function wholeOf(job: Job, nowMs: number): Whole {
  const { schedule, limits, runs, current } = job;
  return {
    ...headOf(job, nowMs),
    message: redacted(job.message),
    at: schedule.kind === "at" ? iso(schedule.atMs) : null,
    every: schedule.kind === "every" ? spanText(schedule.everyMs) : null,
    cron: schedule.kind === "cron" ? schedule.expression : null,
    times: timesOf(job, JOB_TIMES_TOLD).map(iso),
    model: job.model,
    thinking: job.thinking,
    limits: limits && { stepsPerTurn: limits.stepsPerTurn, tokens: limits.tokens, cost: limits.cost },
    timeout: spanText(job.timeoutMs),
    missed: job.missed,
    grace: spanText(job.graceMs),
    stagger: spanText(job.staggerMs),
    keep: spanText(job.keepMs),
    failuresMax: job.failuresMax,
    counts: job.counts,
    current: current && runOf(current),
    last: runs[0] === undefined ? null : runOf(runs[0]),
    madeAt: iso(job.madeAtMs),
    madeBy: job.madeBy,
    version: job.version,
  };
}

function headOf(job: Job, nowMs: number): Omit<Row, "message" | "last"> {
  return {
    id: job.id,
    agent: job.agent,
    name: redacted(job.name),
    state: stateOf(job, nowMs),
    enabled: job.isEnabled,
    why: job.why && redacted(job.why),
    when: whenText(job.schedule),
    next: job.nextAtMs === null ? null : iso(job.nextAtMs + staggerOf(job.id, job.staggerMs)),
    timezone: zoneOf(job),
    target: job.target.kind === "fresh" ? "fresh" : job.target.key,
    delivery: deliveryText(job.delivery),
    failures: job.failures,
  };
}

/** Null: it is the same by all clocks. */
export function zoneOf({ schedule }: Pick<Job, "schedule">): string | null {
  return schedule.kind === "every" ? null : schedule.zone;
}

/** One whose times are all over is not enabled any more; somebody may give it another. */
function stateOf({ current, isEnabled, schedule }: Job, nowMs: number): Row["state"] {
  if (current !== null) return "running";
  if (isEnabled) return "waiting";
  return nextAfter(schedule, nowMs) === null ? "over" : "disabled";
}

/** As it is written in what is asked for. */
export function deliveryText(delivery: Delivery): string {
  switch (delivery.kind) {
    case "none":
    case "route":
      return delivery.kind;
    case "session":
      return delivery.key;
    case "webhook":
      return `webhook:${delivery.channel}:${delivery.to}`;
  }
}

/** When it fires, from the next time on; none of a job that is disabled. */
export function timesOf(
  { id, nextAtMs, schedule, staggerMs }: Pick<Job, "id" | "nextAtMs" | "schedule" | "staggerMs">,
  most: number,
): number[] {
  const laterMs = staggerOf(id, staggerMs);
  const times: number[] = [];
  for (let at = nextAtMs; at !== null && times.length < most; at = nextAfter(schedule, at))
    times.push(at + laterMs);
  return times;
}

export function runOf(run: Run): ToldRun {
  const { id, dueAtMs, startedAtMs, endedAtMs, isAsked, stands, key, outcome, note, untold } = run;
  return {
    id,
    dueAt: iso(dueAtMs),
    startedAt: iso(startedAtMs),
    endedAt: isoOr(endedAtMs),
    durationMs: endedAtMs === null || key === null ? null : Math.max(0, endedAtMs - startedAtMs),
    asked: isAsked,
    stands,
    sessionKey: key,
    outcome,
    note: note === null ? null : cut(redacted(note)),
    untold: untold === null ? null : cut(redacted(untold)),
  };
}

function isoOr(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}

function cut(text: string): string {
  return text.length > JOB_MESSAGE_CHARS_TOLD
    ? `${text.slice(0, JOB_MESSAGE_CHARS_TOLD).toWellFormed()}…`
    : text;
}
