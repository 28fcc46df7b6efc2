// When something is done: of a job further ahead than it tells of itself, and of a time that nobody has saved yet.

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { nextAfter } from "../timers/schedule.ts";
import { call, just, type Caller, type Done, type System } from "./call.ts";
import { found } from "./cron-found.ts";
import * as shape from "./cron-shapes.ts";
import { timesOf, zoneOf } from "./cron-views.ts";
import { scheduleOf, whenText } from "./cron-when.ts";
import { JOB_TIMES_TOLD } from "./limits.ts";
import { iso } from "./views.ts";

async function times(
  system: System,
  caller: Caller,
  { job: named, limit = JOB_TIMES_TOLD, ...when }: z.output<typeof shape.timesInput>,
): Promise<Done<z.input<typeof shape.times>>> {
  if (named !== undefined && Object.values(when).some((each) => each !== undefined))
    throw new Fault("bad_input", "job: either a job, or a time of its own");
  const nowMs = system.world.nowMs();
  const { schedule, fires } = await (async () => {
    if (named !== undefined) {
      const job = await found(system, caller, named);
      return { schedule: job.schedule, fires: timesOf(job, limit) };
    }
    const made = scheduleOf(when, { nowMs, zone: system.config.timezone });
    const first = nextAfter(made, nowMs);
    return {
      schedule: made,
      fires: timesOf({ id: "", schedule: made, nextAtMs: first, staggerMs: 0 }, limit),
    };
  })();
  return just({ when: whenText(schedule), timezone: zoneOf({ schedule }), times: fires.map(iso) });
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
