// Jobs of an old state, for one that is made anew. No transcript knows of them: what cannot be read of them is lost, and named.

import type { DatabaseSync } from "node:sqlite";
import { parseAgent } from "../routing/key.ts";
import type { Tables } from "../store/local/tables.ts";
import type { Job } from "../timers/job.ts";
import { alarmOf } from "../timers/jobs.ts";

/** Throws what SQLite says when the table cannot be read. An older state has none: then there are none (readAsNow). */
export function readJobs(old: DatabaseSync, lost: string[]): readonly Job[] {
  const jobs: Job[] = [];
  for (const { id, body } of old.prepare("SELECT id, body FROM jobs ORDER BY id").all()) {
    const job = jobIn(String(body));
    if (job !== null && job.id === id) jobs.push(job);
    else lost.push(`job ${String(id)}${nameIn(String(body))}: its record cannot be read`);
  }
  return jobs;
}

/** Null: it is none that could be fired. */
function jobIn(body: string): Job | null {
  try {
    const job = JSON.parse(body) as Job;
    parseAgent(job.agent);
    alarmOf(job);
    return Array.isArray(job.runs) && Number.isSafeInteger(job.version) ? job : null;
  } catch {
    return null;
  }
}

/** As much as can be said of what is no record any more. */
function nameIn(body: string): string {
  const [, name = ""] = /"name":"((?:[^"\\]|\\.)*)"/.exec(body) ?? [];
  return name === "" ? "" : ` ("${name}")`;
}

/** With their alarms (J1 of timers/jobs.ts). A timer goes with its session: where there is no main, the next start sets it. */
export function writeJobs(
  { database, tables }: { readonly database: DatabaseSync; readonly tables: Tables },
  jobs: readonly Job[],
): void {
  const isThere = database.prepare("SELECT 1 FROM sessions WHERE key = ?");
  for (const job of jobs) {
    tables.setJob(job);
    const alarm = alarmOf(job);
    if (alarm !== null && isThere.get(alarm.key) !== undefined) tables.setTimer(alarm);
  }
}
