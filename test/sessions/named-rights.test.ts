// Named children and those without a name: who may go on with one, and who may say what it is like.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MAIN, spawn } from "./family.ts";
import { BUDGET, give, giving, lastSpawn, NAMED } from "./giving.ts";
import { Stage } from "./stage.ts";

const ANN = "agent:main:telegram:direct:ann";

test("model, thinking and limits that a later task brings hold from then on", async (t) => {
  const stage = await Stage.open(t);
  await give(stage, MAIN, "!say 1");
  const before = await stage.sessions.status(BUDGET);
  assert.equal(before.model, "rehearsal/default");
  const more = { model: "rehearsal/large", thinking: "high", limits: { stepsPerTurn: 1 } };
  const two = "!call session_status\n!then\n!say 2";
  const limited = /^Report of agent:main:thread:budget-planning: came to a limit: the turn took 1 steps/m;
  assert.match(await give(stage, MAIN, two, { ...NAMED, ...more }), limited);
  await stage.reopen();
  assert.match(await give(stage, ANN, two), limited, "also for whoever gives the next one without a word");
  const after = await stage.sessions.status(BUDGET);
  assert.deepEqual([after.model, after.thinking], ["rehearsal/large", "high"]);
  assert.ok(after.usage.cost > 0);
  const wider = { ...NAMED, limits: { stepsPerTurn: 2 } };
  assert.match(await give(stage, MAIN, two, wider), limited, "an agent only narrows");
  const { sessionKey, id } = await stage.sessions.spawn(two, wider);
  assert.equal((await stage.sessions.wait(sessionKey, id)).text, "2", "a person widens too");
  assert.equal((await stage.sessions.status(BUDGET)).model, "rehearsal/large");
});

test("what a child is like is for people and for who is above it: others give it tasks as it is", async (t) => {
  const stage = await Stage.open(t);
  await give(stage, MAIN, "!say 1", { ...NAMED, tools: { deny: ["write"] } });
  const before = (await stage.sessions.status(BUDGET)).settings;
  for (const [more, names] of [
    [{ model: "rehearsal/large" }, "model"],
    [{ thinking: "high" }, "thinking"],
    [{ label: "Mine" }, "label"],
    [{ limits: { stepsPerTurn: 1 } }, "limits"],
  ] as const)
    assert.match(
      await give(stage, ANN, "!say 2", { ...NAMED, ...more }),
      new RegExp(
        `${names}: ${BUDGET} did not come of you; it goes on as it is, leave them out \\(forbidden\\)`,
      ),
    );
  const tools = /tools: \S+ was given its tools when it was opened; leave them out, or name another$/m;
  for (const from of [MAIN, ANN])
    assert.match(await give(stage, from, "!say 2", { ...NAMED, tools: { deny: ["read"] } }), tools);
  assert.deepEqual((await stage.sessions.status(BUDGET)).settings, before);
  assert.equal((await stage.letters(BUDGET)).length, 1, "nothing was given");
  assert.match(await give(stage, ANN, "!list", { ...NAMED, tools: { deny: ["write"] } }), /^3 messages/m);
});

describe("a child of the same agent that another opened is not gone on with", () => {
  test("by a session that sees only itself", async (t) => {
    const stage = await Stage.open(t, { agents: { main: { tools: { visibility: "self" } } } });
    await give(stage, MAIN, "!say 1");
    assert.match(await give(stage, ANN, "!list"), /is not yours to go on with.*\(forbidden\)/);
    assert.match(await give(stage, MAIN, "!list"), /^3 messages/m, "its own is");
  });

  test("from within a budget that does not hold for it", async (t) => {
    const stage = await Stage.open(t);
    await give(stage, MAIN, "!say 1");
    await stage.sessions.ask(ANN, "!say hello");
    await stage.sessions.set(ANN, { limits: { tokens: 1_000_000 } });
    const outside = new RegExp(
      `${BUDGET} is not within the budget of ${ANN}, which holds for you.*forbidden`,
    );
    assert.match(await give(stage, ANN, "!list"), outside);
    const below = giving(spawn("!list", NAMED));
    assert.match(await give(stage, ANN, below, { name: "below" }), outside);
    assert.equal((await stage.letters(BUDGET)).length, 1);
    await stage.sessions.set(ANN, { limits: null });
    assert.match(await give(stage, ANN, "!list"), /^3 messages/m);
  });
});

test("a child without a name goes on by its key for who is above it, and for nobody else", async (t) => {
  const stage = await Stage.open(t);
  await give(stage, MAIN, "!say 1", {});
  const again = { sessionKey: (await lastSpawn(stage, MAIN)).sessionKey, resumeIfExists: true };
  assert.match(await give(stage, ANN, "!list", again), /is not yours to go on with.*\(forbidden\)/);
  assert.match(await give(stage, MAIN, "!list", again), /^3 messages/m);
});
