// Whether every job has its alarm (J1 of jobs.ts). No commit parts the two; but a state that was made anew has only what could be
// saved of the old one, and a job without its alarm would be silent for ever. So each start looks.

import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import type { Change, Receipt } from "../store/change.ts";
import type { Page, Store } from "../store/store.ts";
import type { Job } from "./job.ts";
import { alarmedBy, alarmOf } from "./jobs.ts";
import { START_TRIES_MAX } from "./limits.ts";
import type { Timer } from "./timer.ts";

export interface ArmingParts {
  readonly store: Pick<Store, "jobs" | "timers">;
  readonly log: Log;
}

/** It commits only where something is wrong. An alarm without its job needs nothing: it comes to nothing when it rings. */
export async function armJobs(
  parts: ArmingParts,
  commit: (changes: readonly Change[]) => Promise<Receipt>,
): Promise<void> {
  const { store } = parts;
  const alarms = new Map<string, Timer>();
  for await (const timer of all((cursor) => store.timers({ dueByMs: Infinity, cursor }))) {
    const job = alarmedBy(timer);
    if (job !== null) alarms.set(job, timer);
  }
  for await (const job of all((cursor) => store.jobs({ cursor })))
    if (!isArmed(job, alarms.get(job.id) ?? null)) await arm(parts, job.id, commit);
}

/** What was read in pages may be older than what another gateway did meanwhile: so it is looked once more, at this job alone. */
async function arm(
  { store, log }: ArmingParts,
  id: string,
  commit: (changes: readonly Change[]) => Promise<Receipt>,
): Promise<void> {
  for (let tries = 1; tries <= START_TRIES_MAX; tries += 1) {
    // First: whoever changes the record after that changes the alarm too, and then it is not as we expect.
    const [timer = null] = (await store.timers({ dueByMs: Infinity, id: `job:${id}`, limit: 1 })).rows;
    const [job] = (await store.jobs({ id, limit: 1 })).rows;
    if (job === undefined || isArmed(job, timer)) return;
    try {
      await commit(setting(job, timer));
      log.warn({ job: id }, "a job did not have its alarm; it has it again");
      return;
    } catch (error) {
      if (!(error instanceof Fault) || !OVERTAKEN.has(error.code)) throw error;
      log.debug({ job: id, err: error }, "the alarm of a job could not be set");
    }
  }
}

/** Somebody was faster; or the agent is not configured any more, and its main session is gone: nothing is due for it. */
const OVERTAKEN: ReadonlySet<string> = new Set(["stale_writer", "not_found"]);

/** J1. `timer`: the alarm that there is; null: there is none. */
export function isArmed(job: Job, timer: Timer | null): boolean {
  const right = alarmOf(job);
  return right?.dueAtMs === timer?.dueAtMs && right?.key === timer?.key;
}

function setting(job: Job, timer: Timer | null): readonly Change[] {
  const right = alarmOf(job);
  if (right !== null) return [{ do: "setTimer", timer: right, expectDueAtMs: timer?.dueAtMs ?? null }];
  return timer === null ? [] : [{ do: "clearTimer", id: timer.id, expectDueAtMs: timer.dueAtMs }];
}

async function* all<Row>(page: (cursor: string | null) => Promise<Page<Row>>): AsyncGenerator<Row> {
  for (let cursor: string | null = null; ;) {
    const { rows, next }: Page<Row> = await page(cursor);
    yield* rows;
    if (next === null) return;
    cursor = next;
  }
}
