// Jobs, as people ask for them: listed, changed, run, removed.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LocalStore, openLog, RealWorld, type Input } from "../../src/index.ts";
import { JOBS_PER_AGENT_MAX } from "../../src/calls/limits.ts";
import type { JobSpec } from "../../src/timers/job.ts";
import { addJob } from "../../src/timers/jobs.ts";
import { Office } from "../timers/office.ts";
import { MAIN } from "./family.ts";
import { add, NIGHTLY, overRuns, type Job } from "./jobbing.ts";
import { fault, Stage } from "./stage.ts";

const ZURICH = { timezone: "Europe/Zurich" } as const;

describe("jobs", () => {
  test("are named by their id, the beginning of it, or their name; never by what may be two", async (t) => {
    const stage = await Stage.open(t, { agents: { coder: {} } });
    const one = await add(stage, { ...NIGHTLY, name: "report" });
    const other = await add(stage, { ...NIGHTLY, name: "report", agent: "coder" });
    const third = await add(stage, { ...NIGHTLY, name: "weekly" });
    const show = (job: string): Promise<Job> => stage.sessions.call("job", { job });
    assert.equal((await show(one.id)).id, one.id);
    assert.equal((await show("weekly")).id, third.id);
    assert.equal((await show(other.id.slice(0, 11))).id, other.id);
    await assert.rejects(show("report"), (error) => {
      for (const { id } of [one, other]) assert.match(String(error), new RegExp(`${id} \\(report\\)`));
      return fault("bad_input", /write its whole id/)(error);
    });
    await assert.rejects(
      show(one.id.slice(0, 3)),
      fault("not_found", /4 characters or more of its id, or its name/),
    );
    await assert.rejects(
      add(stage, { ...NIGHTLY, name: "report" }),
      fault("exists", new RegExp(`agent main has a job "report" already: ${one.id}`)),
    );
    const rename = (name: string): Promise<Job> =>
      stage.sessions.call("editJob", { job: third.id, name, message: "!say renamed" });
    await assert.rejects(rename("report"), fault("exists", /already/));
    assert.equal((await rename("weekly")).name, "weekly", "its own it may keep");
    await assert.rejects(show("weely"), fault("not_found", /did you mean weekly\?/));
    for (const call of ["editJob", "runJob", "jobRuns", "removeJob"] as const)
      await assert.rejects(stage.sessions.call(call, { job: "ghost" }), fault("not_found", /no job "ghost"/));
  });

  test("are listed by agent and by whether they are enabled, in pages without gap or repeat", async (t) => {
    const stage = await Stage.open(t, { agents: { coder: {} } });
    const ids: Record<string, string[]> = { on: [], off: [], coder: [] };
    for (let at = 0; at < 7; at += 1) {
      ids["on"]?.push((await add(stage, { ...NIGHTLY, message: `${at} `.repeat(300) })).id);
      ids["off"]?.push((await add(stage, { ...NIGHTLY, enabled: false })).id);
      ids["coder"]?.push((await add(stage, { ...NIGHTLY, agent: "coder" })).id);
    }
    const found = async (query: Input<"jobs">): Promise<string[]> => {
      const told: string[] = [];
      for (let cursor: string | undefined; ;) {
        const page = await stage.sessions.call("jobs", {
          ...query,
          ...(cursor === undefined ? {} : { cursor }),
        });
        assert.ok(page.next === null || page.jobs.length === (query.limit ?? 50), "a page is full");
        told.push(...page.jobs.map(({ id }) => id));
        if (page.next === null) return told;
        cursor = page.next;
      }
    };
    const sorted = (...names: readonly string[]): string[] =>
      names.flatMap((name) => ids[name] ?? []).toSorted();
    assert.deepEqual(await found({ limit: 4 }), sorted("on", "off", "coder"));
    assert.deepEqual(await found({ agent: "coder", limit: 3 }), sorted("coder"));
    assert.deepEqual(await found({ enabled: true, limit: 3 }), sorted("on", "coder"));
    assert.deepEqual(await found({ enabled: false, limit: 2 }), sorted("off"));
    assert.deepEqual(await found({ agent: "coder", enabled: false }), []);
    const { jobs } = await stage.sessions.call("jobs", { enabled: true, agent: "main" });
    for (const { message } of jobs) assert.equal(message.length, 201, "its beginning");
    await assert.rejects(
      stage.sessions.call("jobs", { agent: "ghost" }),
      fault("not_found", /there are: main/),
    );
  });

  test("are listed by few questions, however few of them are wanted", async (t) => {
    const office = new Office(t);
    const sessions = await office.start();
    const ids = Array.from({ length: 60 }, (_, at) => `j${10 + at}`);
    for (const id of ids) await office.add(id);
    const off = ids.filter((_, at) => at % 10 === 9);
    for (const job of off) await sessions.call("editJob", { job, enabled: false });
    let asked = 0;
    const ask = office.store.jobs.bind(office.store);
    office.store.jobs = async (query) => {
      asked += 1;
      return await ask(query);
    };
    const first = await sessions.call("jobs", { enabled: false, limit: 4 });
    const rest = await sessions.call("jobs", { enabled: false, limit: 4, cursor: first.next ?? "" });
    const told = [...first.jobs, ...rest.jobs].map(({ id }) => id);
    assert.deepEqual([told, rest.next, asked], [off, null, 2]);
    const exact = await sessions.call("jobs", { enabled: false, limit: off.length });
    assert.equal(exact.next, null, "nothing is promised that does not come");
    await assert.rejects(sessions.call("jobs", { cursor: "x" }), fault("bad_input", /not a cursor/));
  });

  test("are changed as far as is said", async (t) => {
    const stage = await Stage.open(t);
    const before = await add(stage, {
      ...NIGHTLY,
      name: "report",
      model: "rehearsal/large",
      limits: { tokens: 9 },
    });
    const edit = (given: Omit<Input<"editJob">, "job">): Promise<Job> =>
      stage.sessions.call("editJob", { job: before.id, ...given });
    const { repeated: _repeated, ...same } = before;
    const { version, ...after } = await edit({ message: "!say other" });
    assert.deepEqual({ ...after, version: 1 }, { ...same, message: "!say other" });
    assert.equal(version, 2);
    assert.equal((await edit({ timezone: "UTC" })).when, "30 2 * * * (UTC)");
    assert.equal((await edit({ cron: "0 3 * * *" })).when, "0 3 * * * (UTC)");
    await Promise.all([edit({ limits: { cost: 2 } }), edit({ limits: { stepsPerTurn: 3 } })]);
    const limited = await edit({ limits: { tokens: null } });
    assert.deepEqual(limited.limits, { stepsPerTurn: 3, tokens: null, cost: 2 }, "each that is named");
    assert.equal((await edit({ limits: { stepsPerTurn: null, cost: null } })).limits, null);
    assert.deepEqual((await edit({ limits: { tokens: 9 } })).limits?.tokens, 9);
    const every = await edit({ every: "2h" });
    assert.deepEqual([every.when, every.cron, every.timezone, every.every], ["every 2h", null, null, "2h"]);
    const stopped = await edit({ enabled: false });
    assert.deepEqual([stopped.state, stopped.next], ["disabled", null]);
    assert.equal((await edit({ enabled: true })).state, "waiting");
    await assert.rejects(edit({ target: "main" }), fault("bad_input", /model: only of fresh/));
    const moved = await edit({ target: "main", model: null, limits: null, delivery: "none" });
    assert.deepEqual([moved.target, moved.model, moved.limits, moved.delivery], [MAIN, null, null, "none"]);
    await assert.rejects(edit({ delivery: "main" }), fault("bad_input", /the answer is there/));
    await assert.rejects(edit({}), fault("bad_input", /at least one thing/));
    await assert.rejects(
      edit({ name: "x", version: 1 }),
      fault("stale_writer", /is at version \d+, not at 1/),
    );
    assert.equal((await edit({ name: "x", version: moved.version })).name, "x");
    await Promise.all([edit({ name: "y" }), edit({ message: "!say y" })]);
    const both = await stage.sessions.call("job", { job: before.id });
    assert.deepEqual([both.name, both.message], ["y", "!say y"], "of two at once none is lost");
  });

  test("that are moved have their answer told as is usual there, unless somebody said otherwise", async (t) => {
    const stage = await Stage.open(t);
    const { id } = await add(stage, NIGHTLY);
    const edit = async (given: Omit<Input<"editJob">, "job">): Promise<string> =>
      (await stage.sessions.call("editJob", { job: id, ...given })).delivery;
    assert.equal(await edit({ target: "main" }), "route");
    assert.equal(await edit({ target: "thread:queue" }), "route");
    assert.equal(await edit({ target: "fresh" }), MAIN);
    assert.equal(await edit({ delivery: "none" }), "none");
    assert.equal(await edit({ target: "main" }), "none");
  });

  test("fire as much later as their stagger says, and that is when they are told to", async (t) => {
    const stage = await Stage.open(t);
    const { next, times, timezone } = await add(stage, { at: "2030-01-01T09:00Z", stagger: "1d", ...ZURICH });
    const laterMs = Date.parse(next ?? "") - Date.parse("2030-01-01T09:00Z");
    assert.ok(laterMs > 0 && laterMs <= 86_400_000);
    assert.deepEqual([times, timezone], [[next], "Europe/Zurich"]);
  });

  test("run when they are asked to, and at their times, and tell how it went", async (t) => {
    const stage = await Stage.open(t);
    const job = await add(stage, { ...NIGHTLY, name: "report", enabled: false });
    const { run, sessionKey } = await stage.sessions.call("runJob", { job: "report" });
    const [first] = await overRuns(stage, job.id, 1);
    assert.equal(sessionKey, `agent:main:cron:${job.id}:run:${run}`);
    const { startedAt, endedAt, durationMs, ...rest } = first ?? assert.fail();
    assert.deepEqual(rest, {
      id: run,
      dueAt: startedAt,
      asked: true,
      stands: 0,
      sessionKey,
      outcome: "done",
      note: "hi",
      untold: null,
    });
    assert.equal(Date.parse(endedAt ?? "") - Date.parse(startedAt), durationMs);
    await stage.until(async () =>
      (await stage.letters(MAIN)).some((text) => /^What came of job .*, run by request at .*hi$/s.test(text)),
    );

    const soon = await add(stage, { at: "1s", name: "tea", delivery: "none" });
    assert.equal(soon.state, "waiting");
    const [once] = await overRuns(stage, "tea", 1);
    assert.deepEqual([once?.asked, once?.outcome, once?.stands, once?.dueAt], [false, "done", 1, soon.next]);
    const over = await stage.sessions.call("job", { job: "tea" });
    assert.deepEqual([over.state, over.next, over.counts.ran, over.last?.id], ["over", null, 1, once?.id]);

    await stage.sessions.call("removeJob", { job: "report" });
    await assert.rejects(stage.sessions.call("job", { job: "report" }), fault("not_found", /no job/));
    assert.equal((await stage.sessions.status(sessionKey)).kind, "cron", "what it did stays");
  });

  test("that are removed while they run do not keep their session from being archived, also after a restart", async (t) => {
    const stage = await Stage.open(t);
    for (const isRestarted of [false, true]) {
      const { id } = await add(stage, { ...NIGHTLY, target: "thread:tz", message: "!slow 1000" });
      const { sessionKey } = await stage.sessions.call("runJob", { job: id });
      await stage.sessions.call("removeJob", { job: id });
      if (isRestarted) await stage.reopen();
      const { archived } = await stage.until(async () => {
        await stage.rest(sessionKey);
        try {
          return await stage.sessions.call("archive", { sessionKey });
        } catch (error) {
          return fault("busy", /has a timer|still to be delivered|on its way/)(error) && null; // The end of its turn is just being told.
        }
      });
      assert.equal(archived, 1);
    }
  });

  test("of one agent are bounded, and those of another have room", async (t) => {
    const stage = await Stage.open(t, { agents: { coder: {} } });
    await stage.close();
    const world = new RealWorld();
    const store = await LocalStore.open(stage.home, { world, log: openLog("silent"), died: () => {} });
    const schedule = { kind: "cron", expression: "30 2 * * *", zone: "UTC" } as const;
    const spec: JobSpec = {
      ...{
        name: "",
        schedule,
        staggerMs: 0,
        target: { kind: "fresh" },
        message: "x",
        model: null,
        thinking: null,
      },
      ...{
        limits: null,
        timeoutMs: 1_000,
        delivery: { kind: "none" },
        missed: "skip",
        graceMs: 0,
        keepMs: 0,
      },
      failuresMax: 0,
    };
    const many = Array.from({ length: JOBS_PER_AGENT_MAX - 1 }, (_, at) =>
      addJob(spec, { id: `job-${at}`, agent: "main", nowMs: world.nowMs() }),
    );
    await store.commit(many.flatMap(({ changes }) => changes));
    await store.close();
    await stage.reopen();
    const last = await add(stage, NIGHTLY);
    await assert.rejects(add(stage, NIGHTLY), fault("overloaded", /has 1000 jobs, as many as it may/));
    await add(stage, { ...NIGHTLY, agent: "coder" });
    await stage.sessions.call("removeJob", { job: last.id });
    await add(stage, NIGHTLY);
  });

  test("in one conversation carry over, fresh ones know nothing of each other", async (t) => {
    const stage = await Stage.open(t);
    const message = "!list";
    for (const target of ["thread:diary", "fresh"]) {
      const { id } = await add(stage, { ...NIGHTLY, message, target, delivery: "none" });
      const answers: string[] = [];
      for (const count of [1, 2]) {
        const { sessionKey } = await stage.sessions.call("runJob", { job: id });
        await overRuns(stage, id, count);
        const said = (await stage.messages(sessionKey)).findLast(({ role }) => role === "assistant");
        answers.push(JSON.stringify(said?.content));
      }
      const [first = "", second = ""] = answers;
      assert.equal(/2\. /.test(second), target !== "fresh", second);
      assert.equal(/2\. /.test(first), false);
    }
  });
});
