// Children where there are many, where much else waits, and where somebody would get round what holds others.

import assert from "node:assert/strict";
import { test } from "node:test";
import { act, MAIN, named, reports, RESULTS, spawn, THEN, until, YIELD } from "./family.ts";
import { Gate, Stage } from "./stage.ts";

test("a yield on more children than its result could name rests until the last has reported", async (t) => {
  const model = "rehearsal/large"; // One turn says all of it, so nothing may be summarised meanwhile.
  const stage = await Stage.open(t, { agents: { main: { model, subagents: { children: 1_000 } } } });
  const tasks = Array.from({ length: 300 }, (_, n) => spawn(`!say ${n}`));
  const { text } = await stage.sessions.ask(MAIN, [...tasks, YIELD, THEN, RESULTS].join("\n"));
  assert.equal(text.match(/^Its answer:$/gm)?.length, 300);
});

test("a report, and the wish to stop, are found behind letters that there is no room for", async (t) => {
  const gate = new Gate();
  const stage = await Stage.open(t, {}, { tools: [gate.tool] });
  const large = "x".repeat(600_000);
  const yielding = (more: string): string => [more, YIELD, THEN, "!say heard"].join("\n");
  const { id } = await stage.sessions.send(MAIN, yielding(spawn("!call gate")));
  await until(stage, MAIN, "waiting");
  for (const n of [1, 2]) await stage.sessions.send(MAIN, `${n} ${large}`, { mode: "followup" });
  await gate.reached();
  gate.open();
  assert.equal((await stage.sessions.wait(MAIN, id)).text, "heard");
  await stage.rest(MAIN);
  const again = await stage.sessions.send(MAIN, yielding(spawn("!slow 3600000")));
  await until(stage, MAIN, "waiting");
  for (const n of [3, 4]) await stage.sessions.send(MAIN, `${n} ${large}`, { mode: "followup" });
  await stage.sessions.abort(MAIN);
  assert.equal((await stage.sessions.wait(MAIN, again.id)).outcome, "aborted");
});

test("two that yield for each other at the same moment do not wait for ever", async (t) => {
  const gate = new Gate();
  const stage = await Stage.open(t, {}, { tools: [gate.tool] });
  const other = { first: "second", second: "first" } as const;
  const script = (name: "first" | "second"): string =>
    [
      "!call gate",
      THEN,
      spawn("!say ok", { name: other[name], resumeIfExists: true }),
      THEN,
      "!call gate",
      THEN,
    ]
      .concat([YIELD, THEN, "!say over"])
      .join("\n");
  const both = ["first", "second"] as const;
  const sent = await Promise.all(both.map((name) => stage.sessions.send(named(name), script(name))));
  await gate.reached(2);
  gate.open();
  for (const { sessionKey, id } of sent)
    assert.equal((await stage.sessions.wait(sessionKey, id)).outcome, "done");
  for (const name of both) await stage.rest(named(name));
});

test("a kill reaches who is below one that is to be deleted, and that one's report stays in its tree", async (t) => {
  const stage = await Stage.open(t);
  const bob = "agent:main:direct:bob";
  const between = spawn(spawn("!slow 3600000", { name: "below" }), { cleanup: "delete" });
  await stage.sessions.ask(bob, between);
  await stage.until(async () => (await reports(stage, bob)).length === 1); // the one in between has ended
  await until(stage, named("below"), "running");
  const { killed } = await stage.sessions.kill(bob);
  assert.ok(killed.includes(named("below")), killed.join(", "));
  await until(stage, named("below"), "ended");
});

test("a child has no tool that an agent in between has not", async (t) => {
  const all = { main: { subagents: { agents: ["low"] } }, high: {} };
  const low = { tools: { deny: ["write"] }, subagents: { agents: ["high"] } };
  const stage = await Stage.open(t, { agents: { ...all, low } });
  const write = '!call write {"path":"x.txt","content":"x"}\n!then\n!results';
  const waiting = (more: string): string => [more, YIELD, THEN, RESULTS].join("\n");
  const task = waiting(spawn(waiting(spawn(write, { agent: "high" })), { agent: "low" }));
  assert.match((await stage.sessions.ask(MAIN, task)).text, /There is no tool "write"/);
});

test("what may not be spawned may not be spawned by another name", async (t) => {
  const stage = await Stage.open(t, { agents: { main: { tools: { deny: ["sessions_spawn"] } } } });
  const { text } = await stage.sessions.ask(
    MAIN,
    [act("spawn", { task: "!say x" }), THEN, RESULTS].join("\n"),
  );
  assert.match(text, /sessions_spawn is not among your tools/);
  assert.equal((await stage.sessions.children(MAIN)).children.length, 0);
});
