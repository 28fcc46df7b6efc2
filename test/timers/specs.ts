// Jobs for tests.

import type { Job, JobSpec } from "../../src/timers/job.ts";
import { addJob } from "../../src/timers/jobs.ts";

export const MINUTE_MS = 60_000;

export function specOf(more: Partial<JobSpec> = {}): JobSpec {
  return {
    name: "",
    schedule: { kind: "every", everyMs: MINUTE_MS, fromMs: 0 },
    staggerMs: 0,
    target: { kind: "fresh" },
    message: "look after it",
    model: null,
    thinking: null,
    limits: null,
    timeoutMs: 10 * MINUTE_MS,
    delivery: { kind: "none" },
    missed: "coalesce",
    graceMs: 1_000,
    keepMs: 0,
    failuresMax: 0,
    ...more,
  };
}

/** As it is when it was just added, in the beginning of time. */
export function jobOf(more: Partial<JobSpec> = {}, nowMs = 0): Job {
  return addJob(specOf(more), { id: "j", agent: "main", nowMs }).job;
}
