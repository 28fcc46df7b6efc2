// The door of timers: the end of a turn that a timer began comes here, through the outbox of its session, and what follows is
// committed. It comes at least once, and what follows happens once (D3 of decide.ts, `over` of pulse.ts).

import { Fault } from "../base/fault.ts";
import type { Outgoing } from "../mail/letter.ts";
import { Refused, type Deliver } from "../mail/outbox.ts";
import { deadlineId, runLetterId } from "../mail/task.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Change, Receipt } from "../store/change.ts";
import { ended } from "./decide.ts";
import { following } from "./delivering.ts";
import { jobCalled, type JobParts } from "./firing.ts";
import type { Job } from "./job.ts";
import { jobChanges } from "./jobs.ts";
import { JOB_TRIES_MAX } from "./limits.ts";
import { agentIn, isHeartbeat } from "./pulse.ts";
import { runEndOf, turnEndIn, type TurnEnd } from "./told.ts";

export interface DoorParts {
  readonly jobs: JobParts;
  readonly commit: (changes: readonly Change[]) => Promise<Receipt>;
  /** What the end of a beat comes to; []: nothing. It may be asked again for the same one. */
  readonly beatEnded: (
    beat: { readonly agent: string; readonly beat: string },
    end: TurnEnd,
  ) => Promise<readonly Change[]>;
}

/** Somebody changed the record, or a session that is told of it ended or went: it is looked at again. */
const OVERTAKEN: ReadonlySet<string> = new Set(["stale_writer", "ended", "not_found"]);

export function timerDoor(parts: DoorParts): Deliver {
  return async (outgoing) => {
    const { to, thread: run } = outgoing.route;
    const end = turnEndIn(outgoing);
    if (end === null || run === null) throw new Refused("it does not say how a turn ended");
    const what = whatFollows(parts, { to, run, by: outgoing.key }, end);
    for (let tries = 1; ; tries += 1) {
      const changes = await what(tries);
      if (changes.length === 0) return;
      try {
        await parts.commit(changes);
        return;
      } catch (error) {
        const isOvertaken = error instanceof Fault && OVERTAKEN.has(error.code);
        if (!isOvertaken || tries >= JOB_TRIES_MAX) throw error;
      }
    }
  };
}

interface Told {
  readonly to: string;
  readonly run: string;
  readonly by: SessionKey;
}

/** The changes of each try, made from what there is then. */
function whatFollows(
  { jobs, beatEnded }: DoorParts,
  told: Told,
  end: TurnEnd,
): (tries: number) => Promise<readonly Change[]> {
  const { to, run } = told;
  if (isHeartbeat(to)) return () => beatEnded({ agent: agentIn(to), beat: run }, end);
  if (!to.startsWith("job:")) throw new Refused(`nobody is called ${JSON.stringify(to)} here`);
  return async (tries) => {
    const job = await jobCalled(jobs.store, to.slice("job:".length));
    return job === null ? [] : await jobEnded(jobs, job, { ...told, end, isFirst: tries === 1 }); // []: it was removed
  };
}

async function jobEnded(
  parts: JobParts,
  before: Job,
  { run, by, end, isFirst }: Told & { readonly end: TurnEnd; readonly isFirst: boolean },
): Promise<readonly Change[]> {
  const nowMs = parts.world.nowMs();
  const decision = ended(before, run, runEndOf(end), nowMs);
  if (decision.job === before) return [];
  const { job, changes } = await following(parts, decision, by);
  return [...jobChanges(before, job), ...(isFirst ? inTime(before, nowMs) : []), ...changes];
}

/** Its deadline is of no use any more. Where it is not as we think, it is left: whatever it ends then is over (deadline.ts). */
function inTime(job: Job, nowMs: number): readonly Change[] {
  if (job.current === null) return [];
  const expectDueAtMs = job.current.deadlineAtMs;
  if (expectDueAtMs <= nowMs) return [];
  return [{ do: "clearTimer", id: deadlineId(runLetterId(job.id, job.current.id)), expectDueAtMs }];
}

/** For whoever counts: how a run of a job ended, in a commit; null: this change says nothing of that. */
export function runOver(change: Change): TurnEnd["outcome"] | null {
  if (change.do !== "send" || !isOfJob(change.outgoing)) return null;
  return turnEndIn(change.outgoing)?.outcome ?? null;
}

function isOfJob({ route }: Pick<Outgoing, "route">): boolean {
  return route.channel === "timer" && route.to.startsWith("job:");
}
