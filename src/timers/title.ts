// How a job and a run of it are called, where people and models read of them.

import { wallTime } from "../base/wall.ts";
import type { Job, Run } from "./job.ts";

export function nameOf({ id, name }: Pick<Job, "id" | "name">): string {
  return name === "" ? id : `${JSON.stringify(name)} (${id})`;
}

/** `"news" (1f0c), due at 2026-11-16 09:00 (Europe/Zurich)`. By the clock of the job; `zone` is that of one that has none. */
export function titleOf(
  job: Pick<Job, "id" | "name" | "schedule">,
  { dueAtMs, isAsked }: Pick<Run, "dueAtMs" | "isAsked">,
  zone: string,
): string {
  const whose = job.schedule.kind === "every" ? zone : job.schedule.zone;
  const why = isAsked ? "run by request at" : "due at"; // Who asked for it is not told that it was due.
  return `${nameOf(job)}, ${why} ${wallTime(dueAtMs, whose)} (${whose})`;
}
