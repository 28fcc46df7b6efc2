// Rounds
//
// Upkeep while the daemon runs: every so often it looks at what there is, and says what it would do (warn) or does it
// (enforce). People may ask for a run at any time; there is one at a time.
//
//   Owns:      when there is a round, what was done since the start, what is logged.
//   Does not:  decide (plan.ts) or do (apply.ts). Nothing is kept over a restart: the next round finds it all again.
//
// In either mode archives are packed, and runs of jobs archived when the job says so: whoever archived something, began a
// conversation anew, or made the job, has decided that already.

import { Fault } from "../base/fault.ts";
import { CALLED_OFF, unlessAborted } from "../base/waiting.ts";
import type { Use } from "../store/store.ts";
import { applied, NOTHING_DONE, type Applying, type Progress, type Report } from "./apply.ts";
import { gatheredPlan, type Gathering } from "./gather.ts";
import {
  PLAN_KEPT_MS,
  PLAN_LONG_MS,
  UPKEEP_FIRST_MS,
  UPKEEP_NEWS_SHARE,
  UPKEEP_SAID_AGAIN_MS,
} from "./limits.ts";
import type { Plan, Totals } from "./plan.ts";

export type UpkeepParts = Omit<Applying, "store"> &
  Omit<Gathering, "store"> & { readonly store: Applying["store"] & Gathering["store"] };

/** The archives that a run may erase, as the plan that was shown calls them together; null: none. Undefined: whatever is due. */
export type Agreed = string | null | undefined;

/** A run that somebody asked for, or that was due. */
export interface Run {
  readonly id: string;
  readonly agreed: Agreed;
  readonly startedAtMs: number;
  readonly progress: Progress;
  readonly plan: Plan | null; //       null: it is being made
  readonly report: Report | null; //   null: it is under way
  readonly isRefused: boolean; //      it would have erased others than were agreed to: nothing was done
  /** Rejects when it could not be done, or our code is wrong. */
  readonly ended: Promise<void>;
}

/** A plan that somebody looks at, page by page. */
export interface Shown {
  readonly id: string;
  readonly madeAtMs: number;
  readonly plan: Plan;
}

/** How things stand, as the last look has it. */
export interface Standing {
  readonly rounds: number; //          since the start
  readonly lookedAtMs: number | null; // null: there was no look yet
  readonly use: Use | null;
  readonly planned: Totals | null; //  what there was to do
  readonly over: number;
  readonly done: Report; //            all runs since the start together
}

type Mutable<Of> = { -readonly [Name in keyof Of]: Of[Name] };

const NO_PROGRESS: Progress = { done: 0, of: 0, bytes: 0 };

export class Upkeep {
  readonly #parts: UpkeepParts;
  readonly #closing = new AbortController();
  readonly #standing: Mutable<Standing> = {
    rounds: 0,
    lookedAtMs: null,
    use: null,
    planned: null,
    over: 0,
    done: NOTHING_DONE,
  };
  #looking: Promise<Plan> | null = null; //  null: nobody looks
  #shown: (Shown & { readonly tookMs: number }) | null = null; // null: nobody asked lately
  #showing: Promise<Shown> | null = null; // null: nobody asks
  #runs: readonly Mutable<Run>[] = []; //    the newest, and before it those that have not ended
  #busy: Promise<unknown> = Promise.resolve(); // one run after the other
  #packing: Promise<unknown> = Promise.resolve();
  #running: Promise<void> = Promise.resolve();
  #said: { readonly atMs: number; readonly planned: number; readonly over: number } | null = null;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
  }

  /** To be called once. */
  start(): void {
    this.#running = this.#rounds();
  }

  /** Resolves when nothing is under way. The rest is for whoever starts next. */
  async close(): Promise<void> {
    this.#closing.abort(CALLED_OFF);
    await this.#running;
    await Promise.allSettled([this.#busy, this.#looking, this.#packing]);
  }

  get standing(): Standing {
    return this.#standing;
  }

  /** What a run would do now. Who asks while another does gets the same. */
  plan(): Promise<Plan> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  /**
   * The plan for people: made once for all who ask meanwhile, and kept for a while (PLAN_KEPT_MS), until the next is made. One that
   * took long is also what they get who ask soon after it (PLAN_LONG_MS), unless there was a run since.
   */
  show(): Promise<Shown> {
    const { world } = this.#parts;
    const last = this.#shown;
    if (last !== null && last.tookMs > PLAN_LONG_MS && world.nowMs() - last.madeAtMs < last.tookMs)
      return Promise.resolve(last);
    this.#showing ??= this.#show().finally(() => {
      this.#showing = null;
    });
    return this.#showing;
  }

  /** Null: it was another start's, there is a newer one, or it is too old. */
  shown(id: string): Shown | null {
    const last = this.#shown;
    return last?.id === id && this.#parts.world.nowMs() - last.madeAtMs < PLAN_KEPT_MS ? last : null;
  }

  async #show(): Promise<Shown> {
    const { world } = this.#parts;
    const fromMs = world.nowMs();
    const plan = await this.plan();
    const madeAtMs = world.nowMs();
    const shown = { id: world.newId(), madeAtMs, tookMs: madeAtMs - fromMs, plan };
    this.#shown = shown;
    void this.#forgetLater(shown);
    return shown;
  }

  async #forgetLater(shown: Shown): Promise<void> {
    try {
      await this.#parts.world.sleep(PLAN_KEPT_MS, this.#closing.signal);
    } catch (error) {
      if (!this.#closing.signal.aborted) throw error;
    }
    if (this.#shown === shown) this.#shown = null;
  }

  /**
   * The one that is under way, or a new one. If it would erase anything else than was agreed to, it does nothing at all. So nobody
   * joins one that may yet be refused because of what somebody else agreed to: their own comes after it.
   */
  run(agreed?: Agreed): Run {
    const joined = this.#runs.find((one) => one.report === null && isFor(one, agreed));
    if (joined !== undefined) return joined;
    const { world } = this.#parts;
    const run: Mutable<Run> = {
      id: world.newId(),
      agreed,
      startedAtMs: world.nowMs(),
      progress: NO_PROGRESS,
      plan: null,
      report: null,
      isRefused: false,
      ended: Promise.resolve(),
    };
    this.#runs = [...this.#runs.filter(({ report }) => report === null), run];
    run.ended = this.#inTurn(() => this.#whole(run));
    run.ended.catch(() => {}); // Whoever waits for it hears of it; the round logs it.
    return run;
  }

  /** Null: there is none of that name, or it was another start's. */
  find(id: string): Run | null {
    return this.#runs.find((one) => one.id === id) ?? null;
  }

  /** Archives that were just made. One that could not be packed is left to the next round. */
  async pack(archives: readonly string[]): Promise<void> {
    const packing = archives.map((archive) => this.#packed(archive));
    this.#packing = Promise.allSettled([this.#packing, ...packing]);
    await Promise.all(packing);
  }

  async #packed(archive: string): Promise<void> {
    const { signal } = this.#closing;
    try {
      await unlessAborted(this.#parts.store.pack(archive), signal);
    } catch (error) {
      if (signal.aborted) return; // Whoever stops does not wait for it.
      if (!(error instanceof Fault)) throw error;
      this.#parts.log.warn({ archive, err: error }, "an archive was not packed; the next round does it");
    }
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#busy.then(work);
    this.#busy = done.catch(() => {}); // The next one does not depend on it.
    return done;
  }

  async #rounds(): Promise<void> {
    const { world, log, policy } = this.#parts;
    const { signal } = this.#closing;
    for (let pauseMs = UPKEEP_FIRST_MS; ; pauseMs = policy.everyMinutes * 60_000) {
      try {
        await world.sleep(pauseMs, signal);
        await (policy.mode === "enforce" ? this.run().ended : this.#warned());
        this.#standing.rounds += 1;
      } catch (error) {
        if (signal.aborted || isEnd(error)) return; // The store stopped, and says why itself.
        log.warn({ err: error }, "a round of upkeep failed; the next one tries again");
      }
    }
  }

  async #look(): Promise<Plan> {
    const [plan, use] = await gatheredPlan(this.#parts, this.#closing.signal);
    const { totals: planned, over } = plan;
    Object.assign(this.#standing, { lookedAtMs: this.#parts.world.nowMs(), use, planned, over });
    return plan;
  }

  async #whole(run: Mutable<Run>): Promise<void> {
    const { agreed } = run;
    try {
      run.plan = await this.plan();
      const { erases } = run.plan;
      if (agreed !== undefined && erases !== null && erases !== agreed) {
        run.isRefused = true;
        run.report = NOTHING_DONE;
        return;
      }
      run.report = await this.#apply(run.plan, (progress) => {
        run.progress = progress;
      });
      await this.#measure(run.plan);
    } finally {
      run.report ??= { ...NOTHING_DONE, stopped: "closed" };
    }
  }

  async #apply(plan: Plan, tell: (progress: Progress) => void): Promise<Report> {
    const { world, log } = this.#parts;
    const fromMs = world.nowMs();
    this.#shown = null; // What it says is not what there is any more.
    const report = await applied(this.#parts, plan, { signal: this.#closing.signal, tell });
    this.#standing.done = sumOf(this.#standing.done, report);
    if (plan.steps.length > 0) log.info({ ...report, tookMs: world.nowMs() - fromMs }, "upkeep was done");
    return report;
  }

  async #warned(): Promise<void> {
    await this.#inTurn(async () => {
      const plan = await this.plan();
      const steps = plan.steps.filter(
        (step) => step.do === "pack" || (step.do === "archive" && step.isWished),
      );
      if (steps.length > 0) await this.#apply({ ...plan, steps }, () => {});
      const { pack: _, ...totals } = plan.totals;
      const wished = steps.filter((step) => step.do === "archive").length;
      const planned = { ...totals, archive: totals.archive - wished };
      const many = Object.values(planned).reduce((sum, each) => sum + each, 0);
      if (!this.#isNews(many, plan.over)) return;
      const { usedBytes, leftBytes, over } = plan;
      const words =
        'upkeep has something to do: `sessiond upkeep` does it once, upkeep.mode "enforce" every time';
      this.#parts.log.warn({ ...planned, usedBytes, leftBytes, over }, words);
    });
  }

  /** What it came to: the plan could only guess what packing leaves. */
  async #measure(plan: Plan): Promise<void> {
    const use = await this.#parts.store.use();
    const usedBytes = use.transcripts + use.archives + use.blobs;
    const over = plan.over === 0 ? 0 : Math.max(0, usedBytes - this.#parts.policy.diskMiB * 2 ** 20);
    Object.assign(this.#standing, { use, over });
    if (!this.#isNews(0, over)) return;
    const words = "the disk has more than upkeep.diskMiB, and what is left is protected, named or of today";
    this.#parts.log.warn({ over, usedBytes }, words);
  }

  /** Whether there is something, and it was not said lately. */
  #isNews(planned: number, over: number): boolean {
    if (planned === 0 && over === 0) {
      this.#said = null; // The next time it is news.
      return false;
    }
    const nowMs = this.#parts.world.nowMs();
    const before = this.#said;
    const isOld =
      before !== null &&
      nowMs - before.atMs < UPKEEP_SAID_AGAIN_MS &&
      isLike(before.planned, planned) &&
      isLike(before.over, over);
    if (!isOld) this.#said = { atMs: nowMs, planned, over };
    return !isOld;
  }
}

/** Once there is a plan and it goes on, it is not refused any more. */
function isFor({ plan, agreed: others }: Run, agreed: Agreed): boolean {
  return plan !== null || others === undefined || others === agreed;
}

function isLike(a: number, b: number): boolean {
  return Math.abs(a - b) <= UPKEEP_NEWS_SHARE * Math.max(a, b);
}

function isEnd(error: unknown): boolean {
  return error instanceof Fault && (error.code === "closed" || error.code === "outcome_unknown");
}

function sumOf(a: Report, b: Report): Report {
  const sum: Mutable<Report> = { ...a, stopped: b.stopped };
  for (const name of Object.keys(a) as (keyof Report)[])
    if (name !== "stopped") sum[name] = a[name] + b[name];
  return sum;
}
