// Firing
//
// What the alarm of a job comes to: the record as it is then, the letter that begins a run, and the session that it needs. All of
// it is one commit, with the alarm's being over.
//
//   Owns:      how a run is begun, and by when it must have ended.
//   Does not:  decide whether one is (decide.ts), or run it: it is a turn like any other (turns/).
//
// Invariants
//   F1. A run and its letter are there, or neither is; and the record expects the version that was read. So no time runs twice,
//       whoever crashes and however many gateways have a clock.
//   F2. A run that cannot be begun has failed, and its record says why. It is not tried again by the clock.
//   F3. Nothing of an earlier run is in the session of a fresh one.

import { assert } from "../base/assert.ts";
import { Fault } from "../base/fault.ts";
import type { World } from "../base/world.ts";
import { deadlineId, isOfJob, isTimer, runLetterId, timerRoute } from "../mail/task.ts";
import type { Letter } from "../mail/letter.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Change } from "../store/change.ts";
import type { Store } from "../store/store.ts";
import { ended, fired, isLost, notStarted } from "./decide.ts";
import { following, type DeliveryParts, type Followed } from "./delivering.ts";
import { endTold } from "./told.ts";
import type { Going, Job, Run } from "./job.ts";
import { alarmOf, runNow, type Done } from "./jobs.ts";
import { titleOf } from "./title.ts";

export interface JobParts extends DeliveryParts {
  readonly store: Pick<Store, "session" | "jobs" | "outbox" | "timers" | "waiting">;
  readonly world: Pick<World, "nowMs" | "newId">;
  /** A session as a message opens it. A Fault: no message opens one like that. */
  readonly opening: (key: SessionKey) => Promise<Change>;
  /** The folder of an agent; null: it is not configured. */
  readonly workspaceOf: (agent: string) => string | null;
}

/** What the alarm of a job comes to, beside its being over. */
export async function jobDue(parts: JobParts, id: string): Promise<readonly Change[]> {
  const job = await jobCalled(parts.store, id);
  if (job === null) return []; // It was removed, and its alarm just not yet.
  const nowMs = parts.world.nowMs();
  const { job: next, changes } = await decided(parts, job, nowMs);
  const alarm = alarmOf(next);
  // Else it would ring again at once, for ever; so the clock takes its time before it tries again.
  assert(next !== job || alarm === null || alarm.dueAtMs > nowMs, "an alarm that comes to nothing is later");
  return [
    ...(next === job ? [] : [{ do: "setJob", job: next, expectVersion: job.version } as const]),
    ...(alarm === null ? [] : [{ do: "setTimer", timer: alarm, expectDueAtMs: null } as const]),
    ...changes,
  ];
}

async function decided(parts: JobParts, job: Job, nowMs: number): Promise<Followed> {
  // First: a run that ends meanwhile is seen to go on, or its end is in the outbox.
  const goesOn = isLost(job, nowMs) && (await isThere(parts.store, job));
  // Who was away long finds ends that nobody has been told of yet: such a run is not lost.
  const told = isLost(job, nowMs) ? await endTold(parts.store, job) : null;
  if (told !== null && job.current !== null)
    return await following(parts, ended(job, job.current.id, told, nowMs), null);
  const decision = fired(job, { nowMs, runId: parts.world.newId(), goesOn });
  if (decision.run === null) return await following(parts, decision, null);
  const ready = await readied(parts, job, decision.run);
  if (typeof ready === "string") return await following(parts, notStarted(job, decision, ready, nowMs), null); // F2
  const followed = await following(parts, decision, null);
  return { ...followed, changes: [...ready, ...begun(parts, job, decision.run), ...followed.changes] };
}

/**
 * Whether something of a run may be there still: its session does something, or mail waits for it. A machine that slept finds the
 * time of its runs up in the moment in which it goes on with them, and a session that was paused ends what it has when it goes on.
 */
async function isThere(store: JobParts["store"], { current }: Job): Promise<boolean> {
  if (current === null || current.key === null) return false;
  const mail = await store.waiting(current.key, 1); // First: a letter that is taken meanwhile shows in the row.
  const session = await store.session(current.key);
  if (session === null || session.state.kind === "ended") return false;
  return mail > 0 || session.state.kind !== "idle";
}

/** A run at once, because somebody asks for it. Faults: busy, and whatever keeps it from being begun. */
export async function runAsked(parts: JobParts, job: Job): Promise<Done & { readonly run: Going }> {
  const [runId, nowMs] = [parts.world.newId(), parts.world.nowMs()];
  const { run } = runNow(job, { runId, nowMs }, () => []);
  const ready = await readied(parts, job, run);
  if (typeof ready === "string") throw new Fault("ended", `job ${job.id} cannot run: ${ready}`);
  return runNow(job, { runId, nowMs }, () => [...ready, ...begun(parts, job, run)]);
}

/** Null: there is none. */
export async function jobCalled(store: Pick<Store, "jobs">, id: string): Promise<Job | null> {
  const { rows } = await store.jobs({ id, limit: 1 });
  return rows[0] ?? null;
}

/** What has to be there before a run begins; or why it cannot. */
async function readied(parts: JobParts, job: Job, { key }: Run): Promise<readonly Change[] | string> {
  const cwd = parts.workspaceOf(job.agent);
  if (cwd === null) return `there is no agent ${JSON.stringify(job.agent)} any more`;
  if (key === null) return "it has no session";
  if (job.target.kind === "fresh") return [fresh(job, { key, transcript: parts.world.newId(), cwd })];
  const session = await parts.store.session(key);
  if (session?.state.kind === "ended") return `its session ${key} has ended`;
  if (session !== null) return [];
  try {
    return [await parts.opening(key)];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return `its session is gone: ${error.message}`;
  }
}

/** F3. */
function fresh(
  { model, thinking, limits, timeoutMs }: Job,
  { key, transcript, cwd }: { readonly key: SessionKey; readonly transcript: string; readonly cwd: string },
): Change {
  const own = limits ?? { stepsPerTurn: null, turnSeconds: null, tokens: null, cost: null };
  const turnSeconds = own.turnSeconds ?? Math.ceil(timeoutMs / 1_000); // It may be more than its agent usually has.
  return {
    do: "open",
    key,
    transcript,
    cwd,
    parent: null,
    settings: { model, thinking, limits: { ...own, turnSeconds } },
    copy: null,
    ifExists: "refuse",
  };
}

/** The letter, and the time by which its turn ends: also one that waits in line, or is gone on with after a crash. */
function begun({ zone }: JobParts, job: Job, run: Going): readonly Change[] {
  if (run.key === null) return [];
  const id = runLetterId(job.id, run.id);
  const letter: Letter = {
    id,
    from: { kind: "internal_system", cause: "cron" },
    class: "scheduled",
    mode: "followup",
    content: [{ type: "text", text: `${headOf(job, run, zone)}\n\n${job.message}`.toWellFormed() }],
    replyTo: timerRoute(`job:${job.id}`, run.id),
    origin: null,
  };
  const body = { deadline: id, seconds: Math.ceil(job.timeoutMs / 1_000) };
  return [
    { do: "post", to: [run.key], letter },
    {
      do: "setTimer",
      timer: { id: deadlineId(id), key: run.key, dueAtMs: run.deadlineAtMs, body },
      expectDueAtMs: null,
    },
  ];
}

/** For whoever counts: a letter that begins a run. Answers and notices of jobs have longer names. */
export function isRunLetter({ id, replyTo }: Pick<Letter, "id" | "replyTo">): boolean {
  return isOfJob(id) && replyTo !== null && isTimer(replyTo);
}

/** So that the model knows why it is asked, and for when. */
function headOf(job: Job, run: Run, zone: string): string {
  const { stands } = run;
  return `Job ${titleOf(job, run, zone)}${stands > 1 ? `, standing for ${stands} times that were due` : ""}:`;
}
