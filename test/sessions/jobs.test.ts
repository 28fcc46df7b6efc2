// Jobs, as people and agents ask for them: added, listed, changed, run, removed, and no wider than who asks.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LocalStore, openLog, RealWorld, SimulatedWorld, type Input, type Output } from "../../src/index.ts";
import { JOBS_PER_AGENT_MAX } from "../../src/calls/limits.ts";
import type { JobSpec } from "../../src/timers/job.ts";
import { addJob } from "../../src/timers/jobs.ts";
import { lines, MAIN, spawn, THEN, YIELD } from "./family.ts";
import { fault, Stage } from "./stage.ts";

const CODER = "agent:coder:main";
const CHAT = "agent:main:channel:chat";

type Job = Output<"job">;
type Added = Output<"addJob">;

function say(given: object): string {
  return `!call cron ${JSON.stringify(given)}`;
}

/** What the tool gave, in a turn of that session. */
async function made<Of>(stage: Stage, key: string, given: object): Promise<Of> {
  const { text } = await stage.sessions.ask(key, lines([say(given), THEN, "!say done"]));
  assert.equal(text, "done");
  const result = (await stage.results(key)).at(-1);
  assert.equal(result?.isError, false, result?.text);
  return JSON.parse(result?.text ?? "") as Of;
}

/** Why the tool refused. */
async function refused(stage: Stage, key: string, given: object): Promise<string> {
  await stage.sessions.ask(key, lines([say(given), THEN, "!say done"]));
  const result = (await stage.results(key)).at(-1);
  assert.equal(result?.isError, true, result?.text);
  return result?.text ?? "";
}

async function add(stage: Stage, given: Partial<Input<"addJob">>): Promise<Added> {
  return await stage.sessions.call("addJob", { message: "!say hi", ...given });
}

/** The runs of a job, once so many of them are over. */
async function overRuns(stage: Stage, job: string, count: number): Promise<Output<"jobRuns">["runs"]> {
  return await stage.until(async () => {
    const { runs } = await stage.sessions.call("jobRuns", { job });
    const over = runs.filter(({ outcome }) => outcome !== null);
    return over.length >= count && over;
  });
}

const NIGHTLY = { cron: "30 2 * * *", timezone: "Europe/Zurich" } as const;

describe("a job that a person adds", () => {
  test("has what was asked for, and what is usual for the rest", async (t) => {
    const world = new SimulatedWorld(1);
    const stage = await Stage.open(t, { timezone: "Asia/Tokyo" }, { world });
    const usual = await add(stage, { cron: "0 9 * * *" });
    assert.match(usual.id, /^[0-9a-f]{12}$/);
    const { id: _id, next, times, madeAt, ...rest } = usual;
    assert.deepEqual(rest, {
      agent: "main",
      name: "",
      state: "waiting",
      enabled: true,
      why: null,
      when: "0 9 * * * (Asia/Tokyo)",
      target: "fresh",
      delivery: MAIN,
      message: "!say hi",
      failures: 0,
      at: null,
      every: null,
      cron: "0 9 * * *",
      timezone: "Asia/Tokyo",
      model: null,
      thinking: null,
      limits: null,
      timeout: "1h",
      missed: "coalesce",
      grace: "1m",
      stagger: "0s",
      keep: "3d",
      failuresMax: 5,
      counts: { ran: 0, skipped: 0, coalesced: 0 },
      current: null,
      last: null,
      version: 1,
      repeated: false,
    });
    assert.equal(madeAt, new Date(world.nowMs()).toISOString());
    assert.deepEqual([times.length, times[0]], [5, next]);
    for (const [at, time] of times.entries()) {
      assert.match(time, /T00:00:00.000Z$/, "nine in the morning in Tokyo");
      if (at > 0) assert.equal(Date.parse(time) - Date.parse(times[at - 1] ?? ""), 86_400_000);
    }
    const every = await add(stage, { every: "15m" });
    assert.equal(Date.parse(every.next ?? ""), world.nowMs() + 900_000, "not at once");
    const all = await add(stage, {
      every: "15m",
      name: "  the queue ",
      message: "look",
      model: "rehearsal/large",
      thinking: "high",
      limits: { stepsPerTurn: 5, tokens: 1_000, cost: 0.5 },
      timeout: "90s",
      delivery: "none",
      missed: "skip",
      grace: "5m",
      stagger: "1m",
      keep: "1h30m",
      failuresMax: 0,
      enabled: false,
    });
    const { name, model, thinking, limits, timeout, delivery, missed, grace, stagger, keep } = all;
    assert.deepEqual(
      [name, model, thinking, limits, timeout, delivery, missed, grace, stagger, keep],
      [
        "the queue",
        "rehearsal/large",
        "high",
        { stepsPerTurn: 5, tokens: 1_000, cost: 0.5 },
        "1m30s",
        "none",
        "skip",
        "5m",
        "1m",
        "1h30m",
      ],
    );
    assert.deepEqual([all.state, all.next, all.times, all.failuresMax], ["disabled", null, [], 0]);
  });

  test("runs in a session that is there, or that is opened for it, and speaks where that is spoken to", async (t) => {
    const stage = await Stage.open(t, { agents: { coder: {} } });
    const thread = await add(stage, { ...NIGHTLY, target: "thread:the queue" });
    assert.deepEqual([thread.target, thread.delivery], ["agent:main:thread:the%20queue", "route"]);
    assert.equal((await stage.sessions.status(thread.target)).kind, "thread");
    const main = await add(stage, { ...NIGHTLY, target: "main", agent: "coder", delivery: MAIN });
    assert.deepEqual([main.agent, main.target, main.delivery], ["coder", CODER, MAIN]);
    const named = await add(stage, { ...NIGHTLY, target: CODER });
    assert.deepEqual([named.agent, named.target], ["coder", CODER]);
    const fresh = await add(stage, { ...NIGHTLY, agent: "coder" });
    assert.deepEqual([fresh.target, fresh.delivery], ["fresh", CODER]);
  });

  test("is added once under one id of theirs, however often it is asked for", async (t) => {
    const stage = await Stage.open(t);
    const first = await add(stage, { ...NIGHTLY, id: "mine" });
    const again = await add(stage, { ...NIGHTLY, id: "mine" });
    assert.deepEqual([first.repeated, again.repeated, again.id], [false, true, first.id]);
    assert.notEqual((await add(stage, NIGHTLY)).id, (await add(stage, NIGHTLY)).id);
    assert.equal((await stage.sessions.call("jobs", {})).jobs.length, 3);
  });

  test("is refused with what to do, and leaves nothing behind", async (t) => {
    const webhooks = {
      bot: { secret: "0123456789abcdef-bot", url: "http://127.0.0.1:9/hook" },
      deaf: { secret: "0123456789abcdef-deaf" },
    };
    const stage = await Stage.open(t, { webhooks, agents: { coder: {} } });
    await stage.sessions.ask(MAIN, lines([spawn("!say hi"), YIELD, THEN, "!say done"]));
    const { children } = await stage.sessions.children(MAIN);
    const child = children[0]?.sessionKey ?? "";
    const wrong: readonly (readonly [Partial<Input<"addJob">>, Parameters<typeof fault>[0], RegExp])[] = [
      [{}, "bad_input", /exactly one of at, every and cron/],
      [{ every: "1h", at: "1h" }, "bad_input", /exactly one/],
      [{ every: "half an hour" }, "bad_input", /every: a span such as 90s/],
      [{ at: "2001-01-01T00:00Z" }, "bad_input", /is over/],
      [{ cron: "every day" }, "bad_input", /cron: five fields/],
      [{ cron: "0 9 * * *", timezone: "Mars/Base" }, "bad_input", /IANA/],
      [{ every: "1h", message: " " }, "bad_input", /message: say what/],
      [{ every: "1h", message: "x".repeat(33_000) }, "bad_input", /bytes when written down, at most 32768/],
      [{ every: "1h", name: "n".repeat(65) }, "bad_input", /name: has at most 64/],
      [{ every: "1h", model: "nobody/knows" }, "bad_input", /nobody/],
      [{ every: "1h", agent: "ghost" }, "not_found", /there are: main, coder/],
      [{ every: "1h", agent: "coder", target: MAIN }, "bad_input", /of its own agent/],
      [{ every: "1h", target: "agent:main:subagent:1" }, "bad_input", /not one that stays/],
      [{ every: "1h", target: child }, "bad_input", /not one that stays/],
      [{ every: "1h", target: "agent:main:heartbeat" }, "bad_input", /not one that stays/],
      [{ every: "1h", target: "what is this" }, "bad_input", /is not a session key/],
      [
        { every: "1h", target: "main", model: "rehearsal/large" },
        "bad_input",
        /model: only of fresh.*sessiond model/,
      ],
      [{ every: "1h", target: "main", thinking: "low" }, "bad_input", /thinking: only of fresh/],
      [
        { every: "1h", target: "main", limits: { tokens: 1 } },
        "bad_input",
        /limits: only of fresh.*sessiond limit/,
      ],
      [{ every: "1h", target: "main", keep: "1h" }, "bad_input", /keep: only of fresh/],
      [{ every: "1h", target: "main", delivery: "main" }, "bad_input", /the answer is there/],
      [{ every: "1h", delivery: "agent:main:thread:ghost" }, "not_found", /there is no session/],
      [{ every: "1h", delivery: child }, "bad_input", /not one that stays/],
      [{ every: "1h", delivery: "webhook:ghost:ann" }, "bad_input", /no webhook "ghost"; there are: bot/],
      [
        { every: "1h", delivery: "webhook:deaf:ann" },
        "bad_input",
        /webhooks.deaf has no url; there are: bot/,
      ],
      [{ every: "1h", delivery: "webhook:bot" }, "bad_input", /webhook:<channel>:<to>/],
      [{ every: "1h", timeout: "2d" }, "bad_input", /timeout: from 1s to 1d/],
      [{ every: "1h", grace: "-1s" }, "bad_input", /grace: a span/],
      [{ every: "1h", stagger: "2d" }, "bad_input", /stagger: from 0s to 1d/],
      [{ every: "1h", failuresMax: -1 }, "bad_input", /failuresMax/],
      [{ every: "1h", missed: "never" as "skip" }, "bad_input", /missed/],
      [{ evry: "1h" } as object, "bad_input", /did you mean every/],
    ];
    for (const [given, code, words] of wrong)
      await assert.rejects(add(stage, given), fault(code, words), JSON.stringify(given));
    assert.deepEqual((await stage.sessions.call("jobs", {})).jobs, []);
    assert.equal(
      (await add(stage, { every: "1h", delivery: "webhook:bot:room:7" })).delivery,
      "webhook:bot:room:7",
    );
  });
});

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
    await assert.rejects(show(one.id.slice(0, 3)), fault("not_found", /there is no job/));
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
    });
    assert.equal(Date.parse(endedAt ?? "") - Date.parse(startedAt), durationMs);
    await stage.until(async () =>
      (await stage.letters(MAIN)).some((text) => /^What came of job .*hi$/s.test(text)),
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

describe("an agent", () => {
  test("adds, lists, shows, changes, runs and removes jobs of its own by one tool", async (t) => {
    const stage = await Stage.open(t, { agents: { coder: {} } });
    const job = await made<Added>(stage, MAIN, {
      action: "add",
      ...NIGHTLY,
      message: "!say hi",
      name: "report",
    });
    assert.deepEqual([job.agent, job.target, job.delivery, job.repeated], ["main", "fresh", MAIN, false]);
    const { jobs } = await made<Output<"jobs">>(stage, MAIN, { action: "list" });
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [job.id],
    );
    assert.equal((await made<Job>(stage, MAIN, { action: "show", job: "report" })).id, job.id);
    const edited = await made<Job>(stage, MAIN, {
      action: "edit",
      job: "report",
      every: "1h",
      enabled: false,
    });
    assert.deepEqual([edited.when, edited.state], ["every 1h", "disabled"]);
    const { run } = await made<Output<"runJob">>(stage, MAIN, { action: "run", job: "report" });
    await overRuns(stage, "report", 1);
    const { runs } = await made<Output<"jobRuns">>(stage, MAIN, { action: "runs", job: "report" });
    assert.deepEqual(
      runs.map(({ id, outcome }) => [id, outcome]),
      [[run, "done"]],
    );
    await made(stage, MAIN, { action: "remove", job: "report" });
    assert.deepEqual((await stage.sessions.call("jobs", {})).jobs, []);
    for (const [given, words] of [
      [{ action: "add", message: "x" }, /exactly one of at, every and cron/],
      [{ action: "add", every: "1h" }, /add: message: .*missing/],
      [{ action: "show" }, /show: job: .*missing/],
      [{ action: "remove", job: "report" }, /no job/],
      [{ action: "list", every: "1h" }, /list: "every" is not known here/],
      [{ action: "add", every: "1h", message: "x", agent: "coder" }, /"agent" is not known here/],
      [{ action: "wipe" }, /action/],
    ] as const)
      assert.match(await refused(stage, MAIN, given), words);
  });

  test("has the answer come to where it asked", async (t) => {
    const stage = await Stage.open(t);
    const { id, delivery } = await made<Added>(stage, CHAT, {
      action: "add",
      at: "1s",
      message: "!say tea is ready",
    });
    assert.equal(delivery, CHAT);
    await overRuns(stage, id, 1);
    await stage.until(async () => (await stage.letters(CHAT)).some((text) => text.includes("tea is ready")));
  });

  test("neither sees nor changes jobs of another agent, nor runs its own in that one's sessions", async (t) => {
    const all = { tools: { visibility: "all" } } as const;
    const stage = await Stage.open(t, { agents: { main: all, coder: all } });
    const theirs = await add(stage, { ...NIGHTLY, agent: "coder", name: "theirs" });
    assert.deepEqual((await made<Output<"jobs">>(stage, MAIN, { action: "list" })).jobs, []);
    for (const action of ["show", "edit", "run", "runs", "remove"])
      for (const job of [theirs.id, "theirs", theirs.id.slice(0, 6)]) {
        const more = action === "edit" ? { enabled: false } : {};
        assert.match(
          await refused(stage, MAIN, { action, job, ...more }),
          /there is no job/,
          `${action} ${job}`,
        );
      }
    const target = { action: "add", ...NIGHTLY, message: "x", target: CODER };
    assert.match(await refused(stage, MAIN, target), /runs in sessions of its own agent/);
    const { repeated: _repeated, ...same } = theirs;
    assert.deepEqual(await stage.sessions.call("job", { job: theirs.id }), same);
  });

  test("of one conversation neither sees nor reaches what another one has, as far as its sight goes", async (t) => {
    const webhooks = { bot: { secret: "0123456789abcdef-bot", url: "http://127.0.0.1:9/hook" } };
    const stage = await Stage.open(t, { webhooks });
    const other = "agent:main:channel:other";
    await stage.sessions.ask(other, "!say hi");
    const own = await made<Added>(stage, CHAT, { action: "add", ...NIGHTLY, message: "!say hi" });
    const mains = await add(stage, { ...NIGHTLY, name: "private" });
    const listed = async (key: string): Promise<string[]> =>
      (await made<Output<"jobs">>(stage, key, { action: "list" })).jobs.map(({ id }) => id);
    assert.deepEqual(await listed(CHAT), [own.id]);
    assert.deepEqual(await listed(other), []);
    assert.deepEqual(await listed(MAIN), [own.id, mains.id].toSorted(), "main looks after everything");
    assert.match(await refused(stage, CHAT, { action: "remove", job: "private" }), /there is no job/);
    assert.match(
      await refused(stage, other, { action: "edit", job: own.id, message: "x" }),
      /there is no job/,
    );
    const asked = { action: "add", ...NIGHTLY, message: "x" };
    for (const [given, words] of [
      [{ target: "main" }, /forbidden|that you may see/],
      [{ target: other }, /that you may see/],
      [{ delivery: "main" }, /that you may see/],
      [{ delivery: other }, /that you may see/],
      [{ delivery: "route" }, /that you may see/],
      [{ delivery: "none" }, /out of your sight/],
      [{ delivery: "webhook:bot:ann" }, /nobody wrote to you from/],
      [{ target: "agent:main:group:new" }, /that you may see/],
    ] as const)
      assert.match(await refused(stage, CHAT, { ...asked, ...given }), words, JSON.stringify(given));
    assert.match(
      await refused(stage, CHAT, { action: "edit", job: own.id, delivery: "none" }),
      /out of your sight/,
    );
    const thread = await made<Added>(stage, CHAT, { ...asked, target: "thread:diary", delivery: CHAT });
    assert.equal(thread.target, "agent:main:thread:diary");
    assert.equal((await made<Added>(stage, CHAT, { ...asked, target: CHAT })).delivery, "route");
  });

  test("that is a sub-agent looks, and makes and changes none", async (t) => {
    const stage = await Stage.open(t, { agents: { main: { subagents: { agents: ["coder"] } }, coder: {} } });
    await add(stage, { ...NIGHTLY, name: "report" });
    const inChild = async (given: object, more: object = {}): Promise<string> => {
      const children = async (): Promise<string[]> =>
        (await stage.sessions.children(MAIN, { limit: 200 })).children.map(({ sessionKey }) => sessionKey);
      const before = new Set(await children());
      await stage.sessions.ask(
        MAIN,
        lines([spawn([say(given), THEN, "!say done"], more), YIELD, THEN, "!say done"]),
      );
      const child = (await children()).find((key) => !before.has(key));
      return (await stage.results(child ?? "")).at(-1)?.text ?? "";
    };
    assert.match(await inChild({ action: "list" }), /"name":"report"/);
    for (const given of [
      { action: "add", ...NIGHTLY, message: "x" },
      { action: "edit", job: "report", message: "x" },
      { action: "run", job: "report" },
      { action: "remove", job: "report" },
    ])
      assert.match(await inChild(given), /is a sub-agent: it may look at jobs/, given.action);
    assert.match(await inChild({ action: "list" }, { agent: "coder" }), /jobs of coder are not yours to see/);
    assert.equal((await stage.sessions.call("job", { job: "report" })).version, 1);
  });

  test("with a budget has nothing done outside of it, and may stop what is", async (t) => {
    const stage = await Stage.open(t);
    const job = await add(stage, { ...NIGHTLY, name: "report" });
    await stage.sessions.set(MAIN, { limits: { cost: 5 } });
    const asked = { action: "add", ...NIGHTLY, message: "x" };
    for (const given of [
      asked,
      { ...asked, target: "thread:new", delivery: "none" },
      { action: "run", job: job.id },
      { action: "edit", job: job.id, every: "1s" },
      { action: "edit", job: job.id, enabled: true },
    ])
      assert.match(await refused(stage, MAIN, given), /you have a budget/, JSON.stringify(given));
    assert.equal(
      (await made<Job>(stage, MAIN, { action: "edit", job: job.id, enabled: false })).enabled,
      false,
    );
    assert.equal((await made<Added>(stage, MAIN, { ...asked, target: "main" })).target, MAIN);
    await stage.sessions.set(MAIN, { limits: { stepsPerTurn: 3 } });
    const bounded = await made<Added>(stage, MAIN, { ...asked, limits: { stepsPerTurn: 50, tokens: 9 } });
    assert.deepEqual(bounded.limits, { stepsPerTurn: 3, tokens: 9, cost: null });
    assert.deepEqual((await made<Added>(stage, MAIN, asked)).limits, {
      stepsPerTurn: 3,
      tokens: null,
      cost: null,
    });
    await stage.sessions.set(MAIN, { limits: { turnSeconds: 60 } });
    const timed = await made<Added>(stage, MAIN, { ...asked, timeout: "1h" });
    assert.deepEqual([timed.timeout, timed.limits], ["1m", null]);
  });

  test("that a run of a job is sees that job, and can end it", async (t) => {
    const stage = await Stage.open(t);
    const job = await add(stage, {
      ...NIGHTLY,
      name: "watch",
      message: say({ action: "remove", job: "watch" }),
    });
    const other = await add(stage, { ...NIGHTLY, name: "other" });
    const { sessionKey } = await stage.sessions.call("runJob", { job: job.id });
    await stage.until(async () => (await stage.sessions.call("jobs", {})).jobs.length === 1);
    assert.equal((await stage.sessions.call("job", { job: "other" })).id, other.id);
    await stage.until(async () => (await stage.outcomes(sessionKey)).length === 1);
    assert.deepEqual(await stage.outcomes(sessionKey), ["done"]);
  });
});
