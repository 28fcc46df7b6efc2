import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { jobOf, MINUTE_MS } from "../../test/timers/specs.ts";
import { ended, fired, notStarted, type RunEnd } from "./decide.ts";
import type { Job, Missed, RunOutcome, Schedule } from "./job.ts";
import { editJob } from "./jobs.ts";
import { JOB_MADE_UP_MAX, JOB_RUNS_KEPT, RUN_LOST_MS, RUN_NOTE_CHARS_MAX, ON_TIME_MS } from "./limits.ts";
import { alarmAtMs, nextAfter, staggerOf, timesUpTo } from "./schedule.ts";

const DONE: RunEnd = { outcome: "done", reason: null, text: "all is well" };
const FAILED: RunEnd = { outcome: "failed", reason: "no model answers", text: "" };

/** Fires it, and ends the run that comes of it at once. */
function through(job: Job, nowMs: number, end = DONE): Job {
  const { job: next, run } = fired(job, { nowMs, runId: `at ${nowMs}` });
  return run === null ? next : ended(next, run.id, end, nowMs).job;
}

describe("a time that is met", () => {
  for (const missed of ["run", "skip", "coalesce"] as const)
    test(`runs, whatever is to happen to missed ones: ${missed}`, () => {
      const job = jobOf({ missed });
      const { job: next, run } = fired(job, { nowMs: MINUTE_MS + 1_000, runId: "r" });
      assert.ok(run);
      assert.deepEqual([run.dueAtMs, run.stands, run.startedAtMs], [MINUTE_MS, 1, MINUTE_MS + 1_000]);
      assert.equal(run.key, "agent:main:cron:j:run:r");
      assert.deepEqual(next.counts, { ran: 1, skipped: 0, coalesced: 0 });
      assert.deepEqual([next.nextAtMs, next.current, next.version], [2 * MINUTE_MS, run, job.version + 1]);
    });

  test("skip: without any grace it runs, as late as clocks ring; later it is missed", () => {
    const job = jobOf({ missed: "skip", graceMs: 0 });
    const late = fired(job, { nowMs: MINUTE_MS + ON_TIME_MS, runId: "r" });
    assert.deepEqual([late.run?.dueAtMs, late.job.counts.skipped], [MINUTE_MS, 0]);
    const later = fired(job, { nowMs: MINUTE_MS + ON_TIME_MS + 1, runId: "r" });
    assert.deepEqual([later.run, later.job.counts.skipped], [null, 1]);
  });

  test("is not before its stagger", () => {
    const job = jobOf({ staggerMs: 30_000, missed: "skip", graceMs: 0 });
    const off = staggerOf("j", 30_000);
    assert.ok(off > 0);
    const early = fired(job, { nowMs: MINUTE_MS + off - 1, runId: "r" });
    assert.equal(early.job, job, "nothing has changed");
    assert.equal(fired(job, { nowMs: MINUTE_MS + off, runId: "r" }).run?.dueAtMs, MINUTE_MS);
  });
});

describe("times that were missed", () => {
  const away = 5 * MINUTE_MS + 10_000; // Five of them, the newest ten seconds ago.

  test("skip: none runs", () => {
    const { job, run } = fired(jobOf({ missed: "skip" }), { nowMs: away, runId: "r" });
    assert.equal(run, null);
    assert.deepEqual(job.counts, { ran: 0, skipped: 5, coalesced: 0 });
    assert.equal(job.nextAtMs, 6 * MINUTE_MS);
    const [told] = job.runs;
    assert.deepEqual(
      [told?.outcome, told?.stands, told?.key, told?.dueAtMs],
      ["skipped", 5, null, 5 * MINUTE_MS],
    );
  });

  test("skip: the newest runs if it is not too late for it", () => {
    const { job, run } = fired(jobOf({ missed: "skip", graceMs: 10_000 }), { nowMs: away, runId: "r" });
    assert.deepEqual([run?.dueAtMs, run?.stands], [5 * MINUTE_MS, 1]);
    assert.deepEqual(job.counts, { ran: 1, skipped: 4, coalesced: 0 });
    assert.deepEqual([job.runs[0]?.stands, job.runs[0]?.dueAtMs], [4, 4 * MINUTE_MS]);
    assert.equal(job.nextAtMs, 6 * MINUTE_MS);
  });

  test("coalesce: one run stands for all", () => {
    const { job, run } = fired(jobOf({ missed: "coalesce" }), { nowMs: away, runId: "r" });
    assert.deepEqual([run?.dueAtMs, run?.stands], [5 * MINUTE_MS, 5]);
    assert.deepEqual(job.counts, { ran: 1, skipped: 0, coalesced: 4 });
    assert.equal(job.nextAtMs, 6 * MINUTE_MS);
  });

  test("run: each runs, one after the other", () => {
    let job = jobOf({ missed: "run" });
    const due: (number | undefined)[] = [];
    while ((alarmAtMs(job) ?? Infinity) <= away) {
      const { job: next, run } = fired(job, { nowMs: away, runId: `${job.version}` });
      due.push(run?.dueAtMs);
      assert.equal(alarmAtMs(next), away + next.timeoutMs + RUN_LOST_MS, "what is next waits for its end");
      assert.equal(fired(next, { nowMs: away, runId: "x" }).job, next);
      job = ended(next, run?.id ?? "", DONE, away).job;
    }
    assert.deepEqual(
      due,
      [1, 2, 3, 4, 5].map((n) => n * MINUTE_MS),
    );
    assert.deepEqual(job.counts, { ran: 5, skipped: 0, coalesced: 0 });
  });

  test("run: of very many the newest are made up for, and the others are said to be skipped", () => {
    const nowMs = 1_000 * MINUTE_MS;
    const { job, run } = fired(jobOf({ missed: "run" }), { nowMs, runId: "r" });
    assert.equal(run?.dueAtMs, (1_000 - JOB_MADE_UP_MAX + 1) * MINUTE_MS);
    assert.deepEqual(job.counts, { ran: 1, skipped: 1_000 - JOB_MADE_UP_MAX, coalesced: 0 });
    assert.match(job.runs[0]?.note ?? "", /more than 50 were missed/);
    assert.equal(job.runs[0]?.dueAtMs, (1_000 - JOB_MADE_UP_MAX) * MINUTE_MS);
  });

  test("a year of seconds is soon decided", () => {
    for (const missed of ["run", "skip", "coalesce"] as const)
      for (const schedule of [
        { kind: "every", everyMs: 1_000, fromMs: 0 },
        { kind: "cron", expression: "* * * * * *", zone: "Europe/Berlin" },
      ] as const) {
        const nowMs = 366 * 24 * 60 * MINUTE_MS;
        const { job } = fired(jobOf({ missed, schedule }), { nowMs, runId: "r" });
        const { ran, skipped, coalesced } = job.counts;
        const left = job.nextAtMs !== null && job.nextAtMs <= nowMs ? JOB_MADE_UP_MAX - 1 : 0;
        assert.equal(ran + skipped + coalesced + left, nowMs / 1_000);
      }
  });

  test("one time that was missed runs, or is skipped; either way it is over", () => {
    for (const [missed, ran] of [
      ["run", 1],
      ["coalesce", 1],
      ["skip", 0],
    ] as const) {
      const job = jobOf({ missed, schedule: { kind: "at", atMs: 5_000, zone: "UTC" } });
      const { job: next } = fired(job, { nowMs: MINUTE_MS, runId: "r" });
      assert.deepEqual([next.counts.ran, next.counts.skipped], [ran, 1 - ran]);
      assert.deepEqual([next.nextAtMs, next.isEnabled, next.why], [null, false, null]);
      assert.equal(alarmAtMs(through(job, MINUTE_MS)), null);
    }
  });
});

describe("while a run goes on", () => {
  const busy = (missed: Missed): Job => fired(jobOf({ missed }), { nowMs: MINUTE_MS, runId: "r" }).job;

  test("skip: what is due is skipped at its time, in one line of the list", () => {
    let job = busy("skip");
    assert.equal(alarmAtMs(job), 2 * MINUTE_MS);
    for (const n of [2, 3, 4]) job = fired(job, { nowMs: n * MINUTE_MS, runId: `${n}` }).job;
    assert.deepEqual(job.counts, { ran: 1, skipped: 3, coalesced: 0 });
    assert.deepEqual(
      job.runs.map(({ stands, note }) => [stands, note]),
      [[3, "another run of it went on"]],
    );
    assert.equal(job.current?.id, "r");
  });

  test("others wait for its end, and then it is their turn at once", () => {
    for (const missed of ["run", "coalesce"] as const) {
      const job = ended(busy(missed), "r", DONE, 4 * MINUTE_MS + 5).job;
      assert.equal(alarmAtMs(job), 2 * MINUTE_MS);
      const { run } = fired(job, { nowMs: 4 * MINUTE_MS + 5, runId: "s" });
      assert.deepEqual(
        [run?.dueAtMs, run?.stands],
        missed === "run" ? [2 * MINUTE_MS, 1] : [4 * MINUTE_MS, 3],
      );
    }
  });

  test("one whose end is never heard of is lost after a while, and the next one runs", () => {
    const job = busy("coalesce");
    const lostMs = MINUTE_MS + job.timeoutMs + RUN_LOST_MS;
    assert.equal(alarmAtMs(job), lostMs);
    assert.equal(fired(job, { nowMs: lostMs - 1, runId: "s" }).job, job);
    const { job: next, run, over } = fired(job, { nowMs: lostMs, runId: "s" });
    assert.equal(run?.id, "s");
    assert.deepEqual(
      over.map((each) => [each.run.id, each.run.outcome]),
      [["r", "lost"]],
    );
    assert.deepEqual([next.failures, next.runs[0]?.outcome], [1, "lost"]);
    const late = ended(next, "r", DONE, lostMs + 1);
    assert.equal(late.job, next, "D3: what is over is over");
  });
});

describe("the end of a run", () => {
  const begun = (job: Job): Job => fired(job, { nowMs: MINUTE_MS, runId: "r" }).job;

  test("D3: is written down once", () => {
    const first = ended(begun(jobOf()), "r", DONE, MINUTE_MS + 7);
    const [run] = first.job.runs;
    assert.deepEqual([run?.outcome, run?.endedAtMs, run?.note], ["done", MINUTE_MS + 7, "all is well"]);
    assert.equal(first.job.current, null);
    assert.equal(ended(first.job, "r", FAILED, MINUTE_MS + 8).job, first.job);
    assert.equal(ended(first.job, "of nobody", DONE, MINUTE_MS + 8).job, first.job);
  });

  test("keeps the beginning of what it said, in one line, and a list of a bounded length", () => {
    const text = `one\n two ${"x".repeat(1_000)}`;
    const { job } = ended(begun(jobOf()), "r", { ...DONE, text }, MINUTE_MS);
    const note = job.runs[0]?.note ?? "";
    assert.equal(note.length, RUN_NOTE_CHARS_MAX);
    assert.ok(note.startsWith("one two xxx") && note.endsWith("…"));
    let many = jobOf();
    for (let n = 1; n <= 2 * JOB_RUNS_KEPT; n += 1) many = through(many, n * MINUTE_MS);
    assert.equal(many.runs.length, JOB_RUNS_KEPT);
    assert.equal(many.runs[0]?.dueAtMs, 2 * JOB_RUNS_KEPT * MINUTE_MS);
  });

  test("failures in a row disable it, once, and whoever enables it is told why", () => {
    const outcomes: readonly RunOutcome[] = ["interrupted", "timeout", "limit", "lost", "failed"];
    let job = jobOf({ failuresMax: 5 });
    for (const [at, outcome] of outcomes.entries()) {
      assert.equal(job.isEnabled, true);
      const nowMs = (at + 1) * MINUTE_MS;
      const { job: next, run } = fired(job, { nowMs, runId: `${at}` });
      const over = ended(
        next,
        run?.id ?? "",
        { ...FAILED, outcome },
        nowMs + 3 * MINUTE_MS * (at === 4 ? 1 : 0),
      );
      assert.equal(over.notice !== null, at === 4);
      job = over.job;
    }
    assert.deepEqual([job.isEnabled, job.nextAtMs, job.failures], [false, null, 5]);
    assert.equal(job.why, "5 runs in a row failed, the last one failed: no model answers");
    assert.equal(alarmAtMs(job), null);
    assert.equal(job.counts.skipped, 3, "what was due until then is counted");
  });

  test("one that is done begins the count anew; what a person stopped is no failure", () => {
    let job = jobOf({ failuresMax: 2 });
    const stopped = { ...FAILED, outcome: "killed" } as const;
    for (const [at, end] of [FAILED, DONE, FAILED, stopped].entries())
      job = through(job, (at + 1) * MINUTE_MS, end);
    assert.deepEqual([job.isEnabled, job.failures], [true, 1]);
    assert.equal(through(job, 6 * MINUTE_MS, FAILED).isEnabled, false);
  });

  for (const outcome of ["interrupted", "lost"] as const)
    test(`one that is ${outcome} each time disables it: whatever ends the process in it is not to go on for ever`, () => {
      let job = jobOf({ failuresMax: 2 });
      for (const at of [1, 2]) job = through(job, at * MINUTE_MS, { ...FAILED, outcome });
      assert.deepEqual([job.isEnabled, job.failures], [false, 2]);
      assert.match(job.why ?? "", new RegExp(`^2 runs in a row failed, the last one ${outcome}: `));
    });

  test("with no bound it is never disabled", () => {
    let job = jobOf({ failuresMax: 0 });
    for (let n = 1; n <= 100; n += 1) job = through(job, n * MINUTE_MS, FAILED);
    assert.equal(job.isEnabled, true);
  });

  test("one that could not be begun is a failure, and its time is counted", () => {
    const job = jobOf({ failuresMax: 1 });
    const decided = fired(job, { nowMs: MINUTE_MS, runId: "r" });
    const failed = notStarted(job, decided, "its session is gone", MINUTE_MS);
    assert.deepEqual([failed.run, failed.job.current, failed.job.version], [null, null, job.version + 1]);
    assert.deepEqual([failed.job.runs[0]?.note, failed.job.counts.ran], ["its session is gone", 1]);
    assert.match(failed.notice ?? "", /1 run failed, the last one failed: its session is gone/);
  });
});

test("a run goes on as it was begun, whatever becomes of its job", () => {
  const delivery = { kind: "webhook", channel: "pigeon", to: "x" } as const;
  const { job } = fired(jobOf({ timeoutMs: MINUTE_MS, delivery }), { nowMs: MINUTE_MS, runId: "r" });
  const { job: edited } = editJob(job, { timeoutMs: 1_000, delivery: { kind: "none" } }, MINUTE_MS + 1);
  assert.equal(alarmAtMs(edited), 2 * MINUTE_MS + RUN_LOST_MS);
  assert.equal(edited.current?.deadlineAtMs, 2 * MINUTE_MS);
  assert.deepEqual(ended(edited, "r", DONE, MINUTE_MS + 2).over[0]?.delivery, delivery);
});

test("one that would be given up, and of which something is there, is waited for; what is due meanwhile is counted", () => {
  for (const missed of ["skip", "coalesce"] as const) {
    const { job } = fired(jobOf({ missed, timeoutMs: MINUTE_MS }), { nowMs: MINUTE_MS, runId: "r" });
    const nowMs = 2 * MINUTE_MS + RUN_LOST_MS;
    const { job: waits, over, run } = fired(job, { nowMs, runId: "other", goesOn: true });
    assert.deepEqual([waits.current?.id, over, run, waits.version], ["r", [], null, job.version + 1]);
    assert.equal(waits.current?.lostAtMs, nowMs + RUN_LOST_MS);
    assert.equal(waits.counts.skipped, missed === "skip" ? nowMs / MINUTE_MS - 1 : 0);
    const early = fired(job, { nowMs: nowMs - 1, runId: "other", goesOn: true });
    assert.equal(early.job.current?.lostAtMs, nowMs, "before that nothing is moved");
  }
});

describe("another time for a job", () => {
  const at = (atMs: number): Schedule => ({ kind: "at", atMs, zone: "UTC" });
  const over = through(jobOf({ schedule: at(MINUTE_MS) }), MINUTE_MS);

  test("whose times are over enables it", () => {
    assert.equal(over.isEnabled, false);
    const { job } = editJob(over, { schedule: at(5 * MINUTE_MS) }, 2 * MINUTE_MS);
    assert.deepEqual([job.isEnabled, job.nextAtMs], [true, 5 * MINUTE_MS]);
    assert.equal(editJob(over, { message: "another" }, 2 * MINUTE_MS).job.isEnabled, false);
    const asked = editJob(over, { schedule: at(5 * MINUTE_MS), isEnabled: false }, 2 * MINUTE_MS);
    assert.equal(asked.job.isEnabled, false);
  });

  test("that somebody disabled, or that failed too often, leaves it disabled", () => {
    const { job: disabled } = editJob(jobOf(), { isEnabled: false }, 0);
    assert.equal(editJob(disabled, { schedule: at(5 * MINUTE_MS) }, 0).job.isEnabled, false);
    const failed = through(jobOf({ schedule: at(MINUTE_MS), failuresMax: 1 }), MINUTE_MS, FAILED);
    const broken: Job = { ...failed, why: "1 run failed" };
    assert.equal(editJob(broken, { schedule: at(5 * MINUTE_MS) }, 2 * MINUTE_MS).job.isEnabled, false);
  });
});

// ── Any sequence ────────────────────────────────────────────────────────────────────────────────────────────

const SCHEDULES: readonly Schedule[] = [
  { kind: "every", everyMs: 7 * MINUTE_MS, fromMs: 123 },
  { kind: "every", everyMs: 1_000, fromMs: 500 },
  { kind: "cron", expression: "30 2 * * *", zone: "Europe/Berlin" },
  { kind: "cron", expression: "*/20 * * * *", zone: "America/New_York" },
  { kind: "cron", expression: "0 1-3 * * *", zone: "Australia/Lord_Howe" },
];

type Step = { readonly do: "pass"; readonly ms: number } | { readonly do: "ring" | "end" };

const steps = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant("pass" as const),
      ms: fc.oneof(fc.nat(MINUTE_MS), fc.nat(60 * MINUTE_MS), fc.nat(3 * 24 * 60 * MINUTE_MS)),
    }),
    fc.record({ do: fc.constant("ring" as const) }), // also when it is too early, or a crash was before it
    fc.record({ do: fc.constant("end" as const) }),
  ),
  { maxLength: 40 },
);

test("D1, D2: whenever it rings and whatever dies, each time is counted once, and none runs twice", () => {
  const start = Date.UTC(2026, 9, 23); // Clocks change two days later in Europe, and soon elsewhere.
  const property = fc.property(
    fc.constantFrom(...SCHEDULES),
    fc.constantFrom<Missed>("run", "skip", "coalesce"),
    fc.record({
      staggerMs: fc.nat(MINUTE_MS),
      graceMs: fc.nat(10 * MINUTE_MS),
      timeoutMs: fc.integer({ min: 1_000, max: 1e6 }),
    }),
    steps,
    (schedule, missed, times, sequence: readonly Step[]) => {
      let nowMs = start;
      let job = jobOf({ schedule, missed, ...times }, start);
      let [last, ran, runs] = [0, 0, 0];
      const stagger = staggerOf(job.id, times.staggerMs);
      const first = nextAfter(schedule, start) ?? 0;
      const ring = (): void => {
        const { job: next, run, over } = fired(job, { nowMs, runId: `${(runs += 1)}` });
        if (run !== null) {
          assert.equal(over.length, job.current === null ? 0 : 1, "D2: the one before it is over");
          assert.ok(
            run.dueAtMs > last && run.dueAtMs + stagger <= nowMs,
            "none runs twice, and none too early",
          );
          if (missed === "skip")
            assert.ok(nowMs - run.dueAtMs - stagger <= Math.max(times.graceMs, ON_TIME_MS), "none too late");
          last = run.dueAtMs;
          ran += 1;
        }
        assert.ok((next.nextAtMs ?? 0) >= (job.nextAtMs ?? 0), "what is next never goes back");
        assert.equal(next.version - job.version, next === job ? 0 : 1);
        job = next;
      };
      for (const step of sequence) {
        if (step.do === "pass") nowMs += step.ms;
        else if (step.do === "ring") ring();
        else if (job.current !== null) job = ended(job, job.current.id, DONE, nowMs).job;
        const { counts, nextAtMs } = job;
        const due = timesUpTo(schedule, first, nowMs - stagger).count;
        const left = nextAtMs === null ? 0 : timesUpTo(schedule, nextAtMs, nowMs - stagger).count;
        assert.equal(counts.ran + counts.skipped + counts.coalesced + left, due);
        assert.equal(counts.ran, ran);
      }
      for (let n = 0; n < 200 && (alarmAtMs(job) ?? Infinity) <= nowMs; n += 1) {
        ring();
        if (job.current !== null) job = ended(job, job.current.id, DONE, nowMs).job;
      }
      if (job.current === null) assert.ok((job.nextAtMs ?? 0) + stagger > nowMs, "nothing is left behind");
    },
  );
  fc.assert(property, { numRuns: 400 });
});
