// Whether every job has its alarm, and every alarm its job (J1 of timers/jobs.ts).

import type { DatabaseSync } from "node:sqlite";
import { isArmed } from "../timers/arming.ts";
import type { Job } from "../timers/job.ts";
import { alarmedBy, alarmOf } from "../timers/jobs.ts";
import type { Timer } from "../timers/timer.ts";
import type { Finding } from "./fsck.ts";

export function checkJobs(database: DatabaseSync, where: string): Finding[] {
  const alarms = new Map<string, Timer>();
  for (const { id, key, due_ms: dueAtMs } of database
    .prepare("SELECT id, key, due_ms FROM timers WHERE id GLOB 'job:*'")
    .all()) {
    const timer = { id, key, dueAtMs, body: null } as Timer;
    alarms.set(alarmedBy(timer) ?? "", timer);
  }
  const findings: Finding[] = [];
  for (const { id, version, body } of database
    .prepare("SELECT id, version, body FROM jobs ORDER BY id")
    .all()) {
    const wrong = wrongWith({ id, version, body }, alarms.get(String(id)) ?? null);
    if (wrong !== null) findings.push({ grade: "damage", where, message: `job ${String(id)}: ${wrong}` });
    alarms.delete(String(id));
  }
  for (const { id } of alarms.values())
    findings.push({ grade: "note", where, message: `timer ${id} is of no job; it comes to nothing` });
  return findings;
}

/** Null: nothing. */
function wrongWith(
  { id, version, body }: Record<"id" | "version" | "body", unknown>,
  timer: Timer | null,
): string | null {
  try {
    const job = JSON.parse(String(body)) as Job;
    if (job.id !== id || job.version !== version)
      return `its record is that of ${job.id} at version ${job.version}, and the row has version ${String(version)}`;
    if (isArmed(job, timer)) return null;
    return `its alarm is ${shown(timer)}, by the record ${shown(alarmOf(job))}; the next start sets it`;
  } catch (error) {
    return `its record cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function shown(timer: Timer | null): string {
  return timer === null ? "not set" : `of ${timer.key} at ${new Date(timer.dueAtMs).toISOString()}`;
}
