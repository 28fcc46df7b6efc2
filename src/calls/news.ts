// What happens while nobody looks, for the log: from commits once they are durable, so a line is never ahead of what a crash
// would leave. Who counts it (gateway/metrics.ts) finds it in commits in the same way.

import type { Log } from "../base/log.ts";
import type { Letter } from "../mail/letter.ts";
import { wishOf } from "../mail/wish.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Change } from "../store/change.ts";
import { hasFailed, type Job, type Run } from "../timers/job.ts";
import type { Failures } from "./failures.ts";

export interface Reset {
  readonly key: SessionKey;
  /** By the configuration (session.reset), or because a person asked for it. */
  readonly why: "policy" | "asked";
}

/** Conversations that a commit has begun anew. */
export function resetsIn(changes: readonly Change[]): readonly Reset[] {
  const isAsked = changes.some(
    (change) => change.do === "take" && change.ids.some((id) => wishOf({ id }) === "reset"),
  );
  return changes.flatMap((change) =>
    change.do === "rotate" && change.keep === "nothing"
      ? [{ key: change.key, why: isAsked ? "asked" : "policy" } as const]
      : [],
  );
}

/** The letter that goes with a job's being disabled (timers/delivering.ts). */
export function isDisabling({ id }: Pick<Letter, "id">): boolean {
  return id.startsWith("cause:job:") && id.endsWith(":disabled");
}

/** What was said of a job, so that the same is not said with every change of its record. */
interface Said {
  readonly over: string; //   the newest of its runs that are over
  readonly begun: string; //  the newest that began
}

const NOTHING: Said = { over: "", begun: "" };

export class News {
  readonly #log: Log;
  readonly #failures: Pick<Failures, "runFailed">;
  readonly #sinceMs: number; // what was before is in the log of whoever was there
  readonly #said = new Map<string, Said>();

  constructor(log: Log, nowMs: number, failures: Pick<Failures, "runFailed">) {
    this.#log = log;
    this.#failures = failures;
    this.#sinceMs = nowMs;
  }

  told(changes: readonly Change[]): void {
    for (const { key, why } of resetsIn(changes))
      this.#log.info({ key, why }, "a conversation was begun anew; what was said is an archive");
    const isDisabled = changes.some((change) => change.do === "post" && isDisabling(change.letter));
    for (const change of changes) {
      if (change.do === "clearJob") this.#said.delete(change.id);
      if (change.do !== "setJob") continue;
      const { job } = change;
      this.#jobIs(job);
      if (isDisabled && !job.isEnabled) this.#log.warn({ ...named(job), why: job.why }, "a job was disabled");
    }
  }

  #jobIs(job: Job): void {
    const said = this.#said.get(job.id) ?? NOTHING;
    const at = job.runs.findIndex((run) => this.#isOld(run) || stampOf(run) === said.over);
    for (const run of (at === -1 ? job.runs : job.runs.slice(0, at)).toReversed()) this.#over(job, run);
    const { current } = job;
    if (current !== null && current.startedAtMs >= this.#sinceMs && current.id !== said.begun)
      this.#begun(job, current);
    const [newest] = job.runs;
    this.#said.set(job.id, {
      over: newest === undefined ? "" : stampOf(newest),
      begun: current?.id ?? said.begun,
    });
  }

  #isOld({ endedAtMs }: Run): boolean {
    return (endedAtMs ?? 0) < this.#sinceMs;
  }

  #over(job: Job, run: Run): void {
    const { outcome, key, note, stands } = run;
    if (hasFailed(outcome)) {
      this.#log.warn(
        { ...named(job), run: run.id, key, outcome, reason: note },
        "a run of a job was not done",
      );
      this.#failures.runFailed(job, run);
    }
    // What is skipped because a run goes on is skipped in time.
    if (outcome === "skipped" && isLate(job, run, run.endedAtMs ?? 0))
      this.#log.info({ ...named(job), times: stands, why: note }, "runs of a job were missed, and skipped");
  }

  #begun(job: Job, run: Run): void {
    const { key, stands, isAsked } = run;
    const of = { ...named(job), run: run.id, key };
    if (!isAsked && (stands > 1 || isLate(job, run, run.startedAtMs)))
      this.#log.info({ ...of, times: stands }, "runs of a job were missed; this one makes up for them");
    else this.#log.debug(of, "a run of a job begins");
  }
}

function named({ id, name, agent }: Job): object {
  return { job: id, agent, ...(name === "" ? {} : { name }) };
}

/** One that is skipped again has the same id, and another end. */
function stampOf({ id, endedAtMs }: Run): string {
  return `${id} ${endedAtMs}`;
}

function isLate({ graceMs, staggerMs }: Job, { dueAtMs }: Run, nowMs: number): boolean {
  return nowMs - dueAtMs > graceMs + staggerMs;
}
