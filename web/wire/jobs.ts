// Jobs and heartbeats, as views ask for them.

import type { Output } from "../../src/calls/door.ts";
import { call } from "./call.ts";

export type JobRow = Output<"jobs">["jobs"][number];
export type Job = Output<"job">;
export type Heartbeat = Output<"heartbeats">["heartbeats"][number];

/** What is done at times. */
export interface TimedOnes {
  readonly jobs: readonly JobRow[];
  readonly heartbeats: readonly Heartbeat[];
}

const PAGE_ROWS = 200;

/** All of them: pages are by id, and which are due soonest is known when all are here. An agent has at most a thousand. */
async function everyJob(signal: AbortSignal): Promise<readonly JobRow[]> {
  const jobs: JobRow[] = [];
  let cursor: string | null = null;
  do {
    const page: Output<"jobs"> = await call(
      "jobs",
      { limit: PAGE_ROWS, ...(cursor === null ? {} : { cursor }) },
      signal,
    );
    jobs.push(...page.jobs);
    cursor = page.next;
  } while (cursor !== null);
  return jobs;
}

export async function timedOnes(signal: AbortSignal): Promise<TimedOnes> {
  const [jobs, { heartbeats }] = await Promise.all([everyJob(signal), call("heartbeats", {}, signal)]);
  return { jobs, heartbeats };
}
