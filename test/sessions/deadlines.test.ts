// The time that a task is given: when it is over the child stops and reports what it had; what was in time is left alone.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { Answer, Model } from "../../src/index.ts";
import { Forward } from "../fixtures/forward.ts";
import {
  childOf,
  doing,
  endings,
  MAIN,
  named,
  reports,
  RESULTS,
  spawn,
  THEN,
  until,
  YIELD,
} from "./family.ts";
import { Gate, notesIn, Stage } from "./stage.ts";

/** So long, in seconds and in milliseconds: less than a claim lasts, so that nothing else is late. */
const SECONDS = 10;
const LATER_MS = 15_000;
const TIME = { timeoutSeconds: SECONDS };
const LATE = `ran out of time: the ${SECONDS} s that it was given are over`;

/** Says the first half of an answer, and never the second. */
class Halting implements Model {
  readonly id = "halting/one";
  readonly provider = "halting";
  readonly name = "one";
  readonly api = "halting";
  readonly windowTokens = 100_000;
  readonly halted = Promise.withResolvers<void>();

  async ask(...[, show]: Parameters<Model["ask"]>): Promise<Answer> {
    show({ kind: "text", text: "The first half of it" });
    this.halted.resolve();
    return await new Promise<never>(() => {});
  }
}

interface Scene {
  readonly stage: Stage;
  readonly gate: Gate;
  readonly world: Forward;
  readonly halting: Halting;
}

async function scene(t: TestContext): Promise<Scene> {
  const [gate, world, halting] = [new Gate(), new Forward(), new Halting()];
  const stage = await Stage.open(t, {}, { world, tools: [gate.tool], models: [halting] });
  return { stage, gate, world, halting };
}

/** So many lines are in a transcript, and so many letters wait. */
async function size({ stage }: Scene, key: string): Promise<readonly number[]> {
  const { entries, waitingLetters } = await stage.sessions.status(key);
  return [entries, waitingLetters];
}

async function waiting(stage: Stage, key: string, letters: number): Promise<void> {
  await stage.until(async () => (await stage.sessions.status(key)).waitingLetters === letters);
}

/** A deadline of its own has passed and was reported: so every one that was due before it has been seen to. */
async function othersHavePassed({ stage, world }: Scene): Promise<void> {
  const bob = "agent:main:direct:bob";
  const { id } = await stage.sessions.send(bob, [spawn("!slow 3600000", TIME), YIELD].join("\n"));
  await until(stage, bob, "waiting");
  world.put(LATER_MS);
  await stage.sessions.wait(bob, id);
  assert.match((await endings(stage, bob))[0] ?? "", new RegExp(LATE));
}

test("a child that is given a second has a second", async (t) => {
  const stage = await Stage.open(t);
  const child = spawn("!slow 3600000", { timeoutSeconds: 1 });
  const { outcome, text } = await stage.sessions.ask(MAIN, [child, YIELD, THEN, RESULTS].join("\n"));
  assert.equal(outcome, "done");
  assert.match(text, /: ran out of time: the 1 s that it was given are over\n.*\nIt said nothing\./);
});

describe("a running child reports what it had", () => {
  test("said of the answer that it was giving", async (t) => {
    const { stage, world, halting } = await scene(t);
    const child = spawn("Tell me all of it.", { ...TIME, model: "halting/one" });
    const asked = stage.sessions.ask(MAIN, [child, YIELD, THEN, RESULTS].join("\n"));
    await halting.halted.promise;
    await until(stage, MAIN, "waiting");
    world.put(LATER_MS);
    assert.match((await asked).text, new RegExp(`: ${LATE}\n.*\nWhat it had said:\nThe first half of it`));
    const key = await childOf(stage, MAIN);
    assert.match((await stage.sessions.status(key)).why, /^ended \(timeout\)/);
    assert.deepEqual(await stage.outcomes(key), ["timeout"]);
  });

  test("said last, when a tool runs; its parent may wait in the turn", async (t) => {
    const { stage, world, gate } = await scene(t);
    const child = spawn(["!say So far so good.", "!call gate"], TIME);
    const asked = stage.sessions.ask(MAIN, [child, "!wait", THEN, RESULTS].join("\n"));
    await gate.reached();
    world.put(LATER_MS);
    assert.match((await asked).text, new RegExp(`: ${LATE}\n.*\nWhat it had said:\nSo far so good\\.`));
    assert.equal((await reports(stage, MAIN)).length, 1);
    const [result] = await stage.results(await childOf(stage, MAIN));
    assert.match(result?.text ?? "", /^gate was given up: /);
  });

  test("while it waited for children of its own, whose reports still find somebody", async (t) => {
    const { stage, world, gate } = await scene(t);
    const leaf = spawn(["!call gate", THEN, "!say too late for my parent"], { name: "leaf" });
    const child = spawn([leaf, "!say I asked somebody.", YIELD, THEN, "!say never"], TIME);
    const asked = stage.sessions.ask(MAIN, [child, YIELD, THEN, RESULTS].join("\n"));
    await gate.reached();
    const key = await childOf(stage, MAIN);
    await until(stage, key, "waiting");
    world.put(LATER_MS);
    assert.match(
      (await asked).text,
      new RegExp(`${key}: ${LATE}\n.*\nWhat it had said:\nI asked somebody\\.`),
    );
    gate.open();
    await stage.until(async () => (await reports(stage, MAIN, named("leaf"))).length === 1);
    await stage.rest(MAIN);
    assert.equal((await reports(stage, MAIN)).length, 2);
  });

  test("when it was paused meanwhile: as soon as it goes on", async (t) => {
    const { stage, gate, world } = await scene(t);
    const child = spawn(["!call gate", THEN, "!say never"], TIME);
    const asked = stage.sessions.ask(MAIN, [child, YIELD].join("\n"));
    await gate.reached();
    const key = await childOf(stage, MAIN);
    await stage.sessions.stop(key);
    gate.open();
    await until(stage, key, "paused");
    world.put(LATER_MS);
    await waiting(stage, key, 1);
    await stage.sessions.cont(key);
    await asked;
    assert.deepEqual(await endings(stage, MAIN), [`${key}: ${LATE}`]);
  });
});

describe("a named child with several tasks", () => {
  const more = { name: "ned", resumeIfExists: true };
  const NED = named("ned");

  test("ends the one whose time is over, and goes on with the next", async (t) => {
    const { stage, world, gate } = await scene(t);
    const first = await stage.sessions.ask(MAIN, [spawn("!say one", more), YIELD].join("\n"));
    assert.equal(first.outcome, "done");
    const late = spawn("!call gate", { ...more, ...TIME });
    const asked = stage.sessions.ask(MAIN, [late, spawn("!say three", more), YIELD].join("\n"));
    await gate.reached();
    await until(stage, MAIN, "waiting");
    world.put(LATER_MS);
    await asked;
    assert.deepEqual(await endings(stage, MAIN), [`${NED}: done`, `${NED}: ${LATE}`, `${NED}: done`]);
    assert.deepEqual(await stage.outcomes(NED), ["done", "timeout", "done"]);
    assert.equal((await stage.sessions.status(NED)).state, "idle");
  });

  test("never begins one whose time was over while it waited, and is not disturbed in the one before", async (t) => {
    const { stage, gate, world } = await scene(t);
    const long = spawn(["!call gate", THEN, "!say one"], more);
    const late = spawn("!say two", { ...more, ...TIME });
    const asked = stage.sessions.ask(MAIN, [long, late, YIELD].join("\n"));
    await gate.reached();
    await until(stage, MAIN, "waiting");
    world.put(LATER_MS);
    await waiting(stage, NED, 2); // the task, and that its time is over
    assert.equal((await stage.sessions.status(NED)).state, "running");
    gate.open();
    await asked;
    assert.deepEqual(await endings(stage, MAIN), [`${NED}: done`, `${NED}: ${LATE}`]);
    assert.deepEqual(await stage.outcomes(NED), ["done", "timeout"]);
    const said = (await stage.messages(NED)).filter(({ role }) => role === "assistant");
    assert.equal(said.length, 2, "of the second nothing was asked");
    assert.equal((await stage.sessions.status(NED)).waitingLetters, 0);
  });

  test("is not disturbed in its next task by the time of one that was done", async (t) => {
    const { stage, gate, world } = await scene(t);
    await stage.sessions.ask(MAIN, [spawn("!say one", { ...more, ...TIME }), YIELD].join("\n"));
    const next = spawn(["!call gate", THEN, "!say two"], more);
    const asked = stage.sessions.ask(MAIN, [next, YIELD].join("\n"));
    await gate.reached();
    world.put(LATER_MS);
    await waiting(stage, NED, 1);
    gate.open();
    await asked;
    assert.deepEqual(await endings(stage, MAIN), [`${NED}: done`, `${NED}: done`]);
    await stage.rest(NED);
    assert.equal((await stage.sessions.status(NED)).waitingLetters, 0);
    assert.equal(notesIn(await stage.entries(NED), "turn-started").length, 2);
  });
});

test("the time of a task that is done wakes nobody, and nothing is written", async (t) => {
  const at = await scene(t);
  const { stage } = at;
  const tasks = [spawn("!say one", { ...TIME, name: "stays" }), spawn("!say two", TIME)];
  await stage.sessions.ask(MAIN, [...tasks, YIELD].join("\n"));
  const keys = [
    MAIN,
    named("stays"),
    ...(await stage.sessions.children(MAIN)).children.map((each) => each.sessionKey),
  ];
  for (const key of [MAIN, named("stays")]) await stage.rest(key);
  const before = await Promise.all(keys.map((key) => size(at, key)));
  await othersHavePassed(at);
  await stage.rest(named("stays"));
  assert.deepEqual(await Promise.all(keys.map((key) => size(at, key))), before);
});

test("time that is over while nobody was there: the next start finds out, once", async (t) => {
  const { stage, world } = await scene(t);
  const more = { name: "ned", resumeIfExists: true };
  const tasks = ["one", "two"].map(() => spawn("!slow 3600000", { ...more, ...TIME }));
  const free = spawn("!slow 3600000", { name: "free" });
  const lines = [...tasks, spawn("!slow 3600000", TIME), free, YIELD, THEN, RESULTS];
  const { id } = await stage.sessions.send(MAIN, lines.join("\n"));
  await until(stage, MAIN, "waiting");
  for (const name of ["ned", "free"]) await doing(stage, named(name), / asks rehearsal/);
  await stage.close();
  world.put(LATER_MS);
  await stage.reopen();
  await stage.until(async () => (await reports(stage, MAIN)).length === 3);
  for (const ending of await endings(stage, MAIN)) assert.ok(ending.endsWith(`: ${LATE}`), ending);
  assert.deepEqual(await stage.outcomes(named("ned")), ["timeout", "timeout"]);
  assert.deepEqual(await stage.outcomes(named("free")), []);
  await stage.sessions.kill(named("free"));
  assert.equal((await stage.sessions.wait(MAIN, id)).text.match(new RegExp(LATE, "g"))?.length, 3);
  await stage.reopen();
  await stage.rest(MAIN);
  assert.equal((await reports(stage, MAIN)).length, 4);
});
