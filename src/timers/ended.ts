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
      const changes = await what();
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
): () => Promise<readonly Change[]> {
  const { to, run } = told;
  if (isHeartbeat(to)) return () => beatEnded({ agent: agentIn(to), beat: run }, end);
  if (!to.startsWith("job:")) throw new Refused(`nobody is called ${JSON.stringify(to)} here`);
  const id = to.slice("job:".length);
  return async () => {
    const job = await jobCalled(jobs.store, id);
    const changes = job === null ? [] : await jobEnded(jobs, job, told, end); // null: it was removed
    return [...changes, ...(await inTime(jobs.store, id, run))];
  };
}

async function jobEnded(
  parts: JobParts,
  before: Job,
  { run, by }: Told,
  end: TurnEnd,
): Promise<readonly Change[]> {
  const decision = ended(before, run, runEndOf(end), parts.world.nowMs());
  if (decision.job === before) return [];
  const { job, changes } = await following(parts, decision, by);
  return [...jobChanges(before, job), ...changes];
}

/**
 * Its deadline is of no use any more, and keeps its session from being archived. When it is due is asked of the store: the record
 * may be gone, and the run was bounded nevertheless. If it rings meanwhile, it is looked again.
 */
async function inTime(store: JobParts["store"], job: string, run: string): Promise<readonly Change[]> {
  const id = deadlineId(runLetterId(job, run));
  const { rows } = await store.timers({ id, dueByMs: Infinity, limit: 1 });
  return rows.map(({ dueAtMs }) => ({ do: "clearTimer", id, expectDueAtMs: dueAtMs }));
}

/** For whoever counts: how a run of a job ended, in a commit; null: this change says nothing of that. */
export function runOver(change: Change): TurnEnd["outcome"] | null {
  if (change.do !== "send" || !isOfJob(change.outgoing)) return null;
  return turnEndIn(change.outgoing)?.outcome ?? null;
}

function isOfJob({ route }: Pick<Outgoing, "route">): boolean {
  return route.channel === "timer" && route.to.startsWith("job:");
}
