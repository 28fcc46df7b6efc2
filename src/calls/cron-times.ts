// When something is done: of a job further ahead than it tells of itself, and of a time that nobody has saved yet.

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import type { Job } from "../timers/job.ts";
import { nextAfter } from "../timers/schedule.ts";
import { call, just, type Caller, type Done, type System } from "./call.ts";
import { found } from "./cron-found.ts";
import * as shape from "./cron-shapes.ts";
import { timesOf, zoneOf } from "./cron-views.ts";
import { scheduleOf, whenText, type When } from "./cron-when.ts";
import { JOB_TIMES_TOLD } from "./limits.ts";
import { iso } from "./views.ts";

async function times(
  system: System,
  caller: Caller,
  { job: named, limit = JOB_TIMES_TOLD, ...when }: z.output<typeof shape.timesInput>,
): Promise<Done<z.input<typeof shape.times>>> {
  if (named !== undefined && Object.values(when).some((each) => each !== undefined))
    throw new Fault("bad_input", "job: either a job, or a time of its own");
  const timed = named === undefined ? supposed(system, when) : await found(system, caller, named);
  const { schedule } = timed;
  return just({
    when: whenText(schedule),
    timezone: zoneOf({ schedule }),
    times: timesOf(timed, limit).map(iso),
  });
}

/** As of a job that nobody has added. */
function supposed(
  { world, config }: System,
  when: When,
): Pick<Job, "id" | "schedule" | "nextAtMs" | "staggerMs"> {
  const nowMs = world.nowMs();
  const schedule = scheduleOf(when, { nowMs, zone: config.timezone });
  return { id: "", schedule, nextAtMs: nextAfter(schedule, nowMs), staggerMs: 0 };
}

/** Its row in the table. */
export const timesCalls = {
  jobTimes: call({
    about:
      "When a job fires next; or when one would that is not there: so a time can be tried before anything is added. Nothing is changed.",
    who: "person",
    tool: null,
    scope: "read",
    http: "GET /job-times",
    input: shape.timesInput,
    output: shape.times,
    idempotent: true,
    run: times,
  }),
};
