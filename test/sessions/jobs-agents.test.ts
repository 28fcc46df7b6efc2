// Jobs, as agents ask for them: by one tool, and no wider than who asks.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Output } from "../../src/index.ts";
import { lines, MAIN, spawn, THEN, YIELD } from "./family.ts";
import { add, made, NIGHTLY, overRuns, refused, say, type Added, type Job } from "./jobbing.ts";
import { Stage } from "./stage.ts";

const CODER = "agent:coder:main";
const CHAT = "agent:main:channel:chat";

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
    assert.match(
      await refused(stage, MAIN, { ...asked, limits: { stepsPerTurn: 50 } }),
      /"limits" is not known/,
    );
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

  test("J2: moves no job to where it may not speak, and lets nobody be told what it may not tell them", async (t) => {
    const stage = await Stage.open(t, { agents: { main: { tools: { visibility: "self" } } } });
    const moves = [
      say({ action: "edit", job: "watch", target: "thread:own", delivery: "route" }),
      THEN,
      say({ action: "edit", job: "watch", target: "fresh", delivery: "route" }),
      THEN,
      "!say done",
    ];
    await add(stage, { ...NIGHTLY, name: "watch", message: lines(moves) });
    const { sessionKey } = await stage.sessions.call("runJob", { job: "watch" });
    await stage.until(async () => (await stage.outcomes(sessionKey)).length === 1);
    const [first, second] = await stage.results(sessionKey);
    assert.deepEqual([first?.isError, second?.isError], [false, true], first?.text);
    assert.match(second?.text ?? "", /that you may see/);
    const watch = await stage.sessions.call("job", { job: "watch" });
    assert.deepEqual([watch.target, watch.delivery], ["agent:main:thread:own", "route"]);

    await stage.sessions.ask(CHAT, "!say hi");
    const theirs = await add(stage, { ...NIGHTLY, target: "main", delivery: CHAT });
    const told = { action: "edit", job: theirs.id, message: "!say tell me all" };
    assert.match(await refused(stage, CHAT, told), /that you may see/);
    const named = await made<Job>(stage, CHAT, { action: "edit", job: theirs.id, name: "theirs" });
    assert.deepEqual([named.name, named.message], ["theirs", theirs.message]);
    const back = { action: "edit", job: theirs.id, target: CHAT };
    assert.match(await refused(stage, CHAT, back), /the answer is there/, "what stays is looked at too");
  });

  test("J5: begins no fresh session more often than once a minute; people do as they like", async (t) => {
    const stage = await Stage.open(t);
    const asked = { action: "add", message: "x" };
    const often = [{ every: "59s" }, { cron: "*/30 * * * * *" }, { cron: "0,1 0 9 * * *" }];
    for (const when of often)
      assert.match(await refused(stage, MAIN, { ...asked, ...when }), /at least a minute apart/);
    for (const when of [{ every: "1m" }, { cron: "* * * * *" }, { cron: "30 * * * * *" }, { cron: "@daily" }])
      await made(stage, MAIN, { ...asked, ...when });
    const own = await made<Added>(stage, MAIN, { ...asked, every: "5s", target: "main", name: "own" });
    assert.match(
      await refused(stage, MAIN, { action: "edit", job: own.id, target: "fresh", delivery: "main" }),
      /at least a minute apart/,
    );
    await made(stage, MAIN, { action: "remove", job: own.id });
    const { id } = await add(stage, { cron: "*/30 * * * * *", enabled: false });
    for (const when of often) await add(stage, { ...when, enabled: false });
    assert.equal((await made<Job>(stage, MAIN, { action: "edit", job: id, name: "n" })).name, "n");
    assert.match(
      await refused(stage, MAIN, { action: "edit", job: id, every: "1s" }),
      /at least a minute apart/,
    );
  });

  test("is named as who made a job; a person is not", async (t) => {
    const stage = await Stage.open(t);
    const own = await made<Added>(stage, CHAT, { action: "add", ...NIGHTLY, message: "x" });
    assert.equal((await stage.sessions.call("job", { job: own.id })).madeBy, CHAT);
    const edited = await stage.sessions.call("editJob", { job: own.id, message: "y" });
    assert.equal(edited.madeBy, CHAT, "and stays so, whoever changes it");
    assert.equal((await add(stage, NIGHTLY)).madeBy, null);
  });
});
