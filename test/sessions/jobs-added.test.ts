// Jobs that a person adds: what they are, and what is refused.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SimulatedWorld, type Input } from "../../src/index.ts";
import { lines, MAIN, spawn, THEN, YIELD } from "./family.ts";
import { add, NIGHTLY } from "./jobbing.ts";
import { fault, Stage } from "./stage.ts";

const CODER = "agent:coder:main";

describe("times", () => {
  test("are told before anything is added, and of a job as far as somebody looks ahead", async (t) => {
    const world = new SimulatedWorld(1);
    const stage = await Stage.open(t, { timezone: "Asia/Tokyo" }, { world });
    const { sessions } = stage;
    const nine = await sessions.call("jobTimes", { cron: "0  9 * * *", limit: 2 });
    assert.deepEqual([nine.when, nine.timezone], ["0 9 * * * (Asia/Tokyo)", "Asia/Tokyo"]);
    assert.deepEqual(
      nine.times.map((time) => time.slice(11)),
      ["00:00:00.000Z", "00:00:00.000Z"],
    );
    const [often, once] = [
      await sessions.call("jobTimes", { every: "15m" }),
      await sessions.call("jobTimes", { at: "20m" }),
    ];
    const after = (minutes: number): string => new Date(world.nowMs() + minutes * 60_000).toISOString();
    assert.deepEqual(often.times, [15, 30, 45, 60, 75].map(after));
    assert.deepEqual([often.timezone, once.times], [null, [after(20)]]);
    assert.deepEqual((await sessions.call("jobs", {})).jobs, [], "nothing was added");

    const job = await add(stage, { cron: "0 9 * * *", stagger: "1h" });
    const ahead = await sessions.call("jobTimes", { job: job.id, limit: 50 });
    assert.deepEqual([ahead.when, ahead.times.length], [job.when, 50]);
    assert.deepEqual(ahead.times.slice(0, 5), job.times, "with its stagger");
    await sessions.call("editJob", { job: job.id, enabled: false });
    assert.deepEqual((await sessions.call("jobTimes", { job: job.id })).times, []);
  });

  test("are refused as they would be of a job, and begin with what they are about", async (t) => {
    const stage = await Stage.open(t);
    const wrong: readonly (readonly [Input<"jobTimes">, RegExp])[] = [
      [{}, /^say when by exactly one of at, every and cron/],
      [{ every: "1h", at: "1h" }, /^say when by exactly one/],
      [{ cron: "61 9 * * *" }, /^cron: field 1 of /],
      [{ cron: "0 9 * * *", timezone: "Mars/Base" }, /^timezone: /],
      [{ job: "x", every: "1h" }, /^job: either a job, or a time/],
      [{ every: "1h", limit: 51 }, /^jobTimes: limit: a whole number from 1 to 50, not 51/],
    ];
    for (const [input, says] of wrong)
      await assert.rejects(stage.sessions.call("jobTimes", input), fault("bad_input", says));
    await assert.rejects(stage.sessions.call("jobTimes", { job: "ghost" }), fault("not_found", /ghost/));
    const places: readonly (readonly [Partial<Input<"addJob">>, RegExp])[] = [
      [{ target: "agent:Main:main" }, /^target: /],
      [{ target: "thread:" }, /^target: /],
      [{ delivery: "nowhere" }, /^delivery: /],
      [{ model: "rehearsal/none-such" }, /^model: /],
    ];
    for (const [input, says] of places)
      await assert.rejects(
        add(stage, { cron: "0 9 * * *", ...input }),
        fault("bad_input", says),
        String(says),
      );
    await assert.rejects(
      add(stage, { cron: "0 9 * * *", delivery: "agent:main:thread:gone" }),
      fault("not_found", /^delivery: /),
    );
  });
});

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
      madeBy: null,
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
    await assert.rejects(
      add(stage, { ...NIGHTLY, message: "!say other", id: "mine" }),
      fault("conflict", /under the id "mine", and is another/),
    );
    await stage.sessions.call("editJob", { job: first.id, message: "!say edited" });
    const later = await add(stage, { id: "mine", ...NIGHTLY });
    assert.deepEqual([later.repeated, later.message], [true, "!say edited"], "as it is by now");
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
