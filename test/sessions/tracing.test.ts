// Where the time and the tokens of a turn went.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { Answer } from "../../src/index.ts";
import { childOf, doing, MAIN, RESULTS, spawn, THEN, YIELD } from "./family.ts";
import { fault, Gate, Glass, notesIn, saying, Stage, tool } from "./stage.ts";

const SECRET = "sk-abcdefghijklmnopqrstuvwx";

test("a trace has the steps of a turn with their tools, and who was spawned", async (t) => {
  const broken = tool("broken", () => Promise.reject(new Error("it is broken")));
  const stage = await Stage.open(t, {}, { tools: [broken] });
  const script = [
    spawn("!say all about owls"),
    `!call sessions_list {"title":"${SECRET}"}`,
    "!call broken",
    YIELD,
  ];
  const { outcome } = await stage.sessions.ask(MAIN, [...script, THEN, RESULTS].join("\n"));
  assert.equal(outcome, "done");
  const traced = await stage.sessions.trace(MAIN);
  const [started] = notesIn(await stage.entries(MAIN), "turn-started");
  assert.equal(traced.turn, started?.["turn"]);
  assert.deepEqual([traced.outcome, traced.reason, traced.now, traced.isCut], ["done", null, null, false]);
  assert.equal(traced.class, "interactive");
  assert.deepEqual(
    traced.steps.map(({ step, model, stopReason }) => [step, model, stopReason]),
    [
      [1, "rehearsal/default", "toolUse"],
      [2, "rehearsal/default", "stop"],
    ],
  );
  const [first, second] = traced.steps;
  const child = await childOf(stage, MAIN);
  assert.deepEqual(
    first?.tools.map(({ name, isError, child: key }) => [name, isError, key]),
    [
      ["sessions_spawn", false, child],
      ["sessions_list", false, null],
      ["broken", true, null],
      ["sessions_yield", false, null],
    ],
  );
  assert.match(second?.text ?? "", /Its answer|sessionKey/);
  assert.ok(!JSON.stringify(traced).includes(SECRET));
  const times = [
    traced.startedAt,
    first?.startedAt,
    first?.endedAt,
    second?.startedAt,
    second?.endedAt,
    traced.endedAt,
  ];
  assert.deepEqual(times, times.toSorted(), "each begins after the one before");
  const { usage } = await stage.sessions.status(MAIN);
  const { totals } = traced;
  assert.deepEqual([totals.steps, totals.tools, totals.failedTools], [2, 4, 1]);
  const { input, output, cacheRead, cacheWrite } = usage;
  assert.deepEqual(totals.usage, { input, output, cacheRead, cacheWrite }, "what the session was charged");
});

test("a turn that runs is traced as far as it is, and then to its end", async (t) => {
  const gate = new Gate();
  const stage = await Stage.open(t, {}, { tools: [gate.tool] });
  await stage.sessions.send(MAIN, "!say I look.\n!call gate\n!then\n!say done");
  await gate.reached();
  const now = await stage.sessions.trace(MAIN);
  assert.deepEqual([now.endedAt, now.outcome, now.totals.ms], [null, null, null]);
  assert.match(now.now ?? "", /runs gate/);
  assert.equal(now.steps[0]?.text, "I look.");
  assert.deepEqual(
    now.steps.flatMap(({ tools }) =>
      tools.map(({ name, endedAt, ms, isError }) => [name, endedAt, ms, isError]),
    ),
    [["gate", null, null, null]],
  );
  gate.open();
  await stage.rest(MAIN);
  const after = await stage.sessions.trace(MAIN);
  assert.deepEqual([after.turn, after.outcome, after.resumes], [now.turn, "done", 0]);
  assert.equal(after.steps[0]?.tools[0]?.isError, false);
  assert.equal(after.steps.at(-1)?.text, "done");
});

test("a turn that a restart cut in two is one trace", async (t) => {
  const stage = await Stage.open(t);
  await stage.sessions.send(MAIN, "!call sessions_list\n!then\n!slow 86400000\n!say late");
  await doing(stage, MAIN, /asks rehearsal/);
  await stage.until(async () => (await stage.sessions.trace(MAIN)).steps[0]?.tools[0]?.isError === false);
  const before = await stage.sessions.trace(MAIN);
  await stage.reopen();
  const resumed = await stage.until(async () => {
    const traced = await stage.sessions.trace(MAIN);
    return traced.resumes > 0 && traced;
  });
  assert.deepEqual({ ...resumed, now: null, resumes: 0 }, { ...before, now: null, resumes: 0 });
  await stage.sessions.abort(MAIN);
  await stage.rest(MAIN);
  const { turn, outcome, startedAt } = await stage.sessions.trace(MAIN);
  assert.deepEqual([turn, outcome, startedAt], [before.turn, "aborted", before.startedAt]);
});

test("an earlier turn is found by its id; one that is not there is refused in words", async (t) => {
  const stage = await Stage.open(t);
  const { sessions } = stage;
  await assert.rejects(sessions.trace(MAIN), fault("not_found", /no turn has begun in agent:main:main/));
  for (const word of ["one", "two", "three"]) await sessions.ask(MAIN, `!say ${word}`);
  const turns = notesIn(await stage.entries(MAIN), "turn-started").map(({ turn }) => String(turn));
  const texts: unknown[] = [];
  for (const turn of turns) {
    const traced = await sessions.trace(MAIN, { turn });
    assert.equal(traced.turn, turn);
    texts.push(traced.steps.map(({ text }) => text));
  }
  assert.deepEqual(texts, [["one"], ["two"], ["three"]]);
  assert.equal((await sessions.call("trace", {})).turn, turns[2], "main's last, if nothing is said");
  await assert.rejects(sessions.trace(MAIN, { turn: "nope" }), fault("not_found", /no turn "nope"/));
  const { sessionKey: fork } = await sessions.fork(MAIN);
  await assert.rejects(sessions.trace(fork), fault("not_found", /no turn has begun/));
  await assert.rejects(sessions.trace("agent:main:thread:none"), fault("not_found", /thread:none/));
});

test("a turn that the session went back into is over, also while another runs", async (t) => {
  const gate = new Gate();
  const stage = await Stage.open(t, {}, { tools: [gate.tool] });
  const { sessions } = stage;
  await sessions.ask(MAIN, "!say one");
  const { turn } = await sessions.trace(MAIN);
  const asked = (await stage.entries(MAIN)).find(
    (entry) => entry.type === "message" && entry.message.role === "user",
  );
  await sessions.call("rewind", { sessionKey: MAIN, seq: asked?.seq ?? 0 });
  const over = async (): Promise<void> => {
    const traced = await sessions.trace(MAIN, { turn });
    assert.deepEqual([traced.turn, traced.outcome, traced.endedAt], [turn, "rewound", null]);
    assert.deepEqual([traced.now, traced.totals.ms, traced.steps], [null, null, []]);
    assert.match(traced.reason ?? "", new RegExp(`went back to entry ${asked?.seq}`));
  };
  await over();
  assert.equal((await sessions.trace(MAIN)).turn, turn, "the last, as long as there is no other");
  await sessions.send(MAIN, "!call gate\n!then\n!say two");
  await gate.reached();
  await over();
  assert.match((await sessions.trace(MAIN)).now ?? "", /runs gate/);
  gate.open();
  await stage.rest(MAIN);
  await over();
  assert.equal((await sessions.trace(MAIN)).outcome, "done");
});

test("a turn whose end cannot be read is over all the same", async (t) => {
  const stage = await Stage.open(t);
  const turns: string[] = [];
  for (const word of ["one", "two"]) {
    await stage.sessions.ask(MAIN, `!say ${word}`);
    turns.push((await stage.sessions.trace(MAIN)).turn);
  }
  const file = await stage.file(MAIN);
  await stage.close();
  const damaged = readFileSync(file, "utf8").replaceAll(/^.*turn-ended.*$/gm, (line) =>
    "#".repeat(line.length),
  );
  writeFileSync(file, damaged);
  await stage.reopen();
  for (const turn of turns) {
    const { outcome, reason, now, endedAt } = await stage.sessions.trace(MAIN, { turn });
    assert.deepEqual([outcome, reason, now, endedAt], ["lost", "how it ended cannot be read", null, null]);
  }
});

test("a turn that ends without an answer says why", async (t) => {
  const refused = {
    kind: "failed",
    why: "auth",
    message: "no such key",
    retryAfterMs: null,
    throttled: false,
  } as const;
  const glass = new Glass(() => Promise.resolve(refused));
  const stage = await Stage.open(t, { agents: { main: { model: "glass/one" } } }, { models: [glass] });
  const { outcome, reason } = await stage.sessions.ask(MAIN, "Hello");
  assert.equal(outcome, "failed");
  const traced = await stage.sessions.trace(MAIN);
  assert.deepEqual([traced.outcome, traced.reason], ["failed", reason]);
});

test("of a turn that is too long to be told whole the beginning is left out, and that is said", async (t) => {
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };
  const many = (step: number): Answer => ({
    kind: "reply",
    content: Array.from({ length: 1_000 }, (_, n) => ({
      type: "toolCall" as const,
      id: `call_${step}_${n}`,
      name: `no_such_tool_${"x".repeat(150)}`,
      arguments: { words: "y".repeat(400) },
    })),
    usage,
    stopReason: "toolUse",
  });
  const glass = new Glass((_request, times) => Promise.resolve(times < 3 ? many(times) : saying("done")));
  const stage = await Stage.open(t, { agents: { main: { model: "glass/one" } } }, { models: [glass] });
  await stage.sessions.ask(MAIN, "Hello");
  const traced = await stage.sessions.trace(MAIN);
  assert.deepEqual([traced.outcome, traced.isCut], ["done", true]);
  assert.notEqual(traced.startedAt, null);
  assert.deepEqual(
    traced.steps.map(({ step, tools }) => [step, tools.length]),
    [
      [2, 1_000],
      [3, 0],
    ],
  );
});
