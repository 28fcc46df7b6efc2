// How a job and a run of it are called, where people and models read of them.

import { cut, oneLine } from "../base/harmless.ts";
import { redacted } from "../base/redact.ts";
import { wallTime } from "../base/wall.ts";
import type { Job, Run } from "./job.ts";

/** Of the message of a job that has no name. */
const WORDS_COLUMNS = 40;
/** What is looked at for them: no secret that begins in them is longer. */
const LOOKED_CHARS = 1_000;

/** One that nobody has named is called by the first words of its message: an id alone tells nobody which it is. */
export function nameOf({ id, name, message }: Pick<Job, "id" | "name" | "message">): string {
  const called = name === "" ? cut(oneLine(redacted(message.slice(0, LOOKED_CHARS))), WORDS_COLUMNS) : name;
  return called === "" ? id : `${JSON.stringify(called)} (${id})`;
}

/** `"news" (1f0c), due at 2026-11-16 09:00 (Europe/Zurich)`. By the clock of the job; `zone` is that of one that has none. */
export function titleOf(
  job: Pick<Job, "id" | "name" | "message" | "schedule">,
  { dueAtMs, isAsked }: Pick<Run, "dueAtMs" | "isAsked">,
  zone: string,
): string {
  const whose = job.schedule.kind === "every" ? zone : job.schedule.zone;
  const why = isAsked ? "run by request at" : "due at"; // Who asked for it is not told that it was due.
  return `${nameOf(job)}, ${why} ${wallTime(dueAtMs, whose)} (${whose})`;
}
