// Heartbeats of a whole system: a file in a workspace, a session, a model, and who hears of it.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SimulatedWorld } from "../../src/base/world.ts";
import { MemoryStore, type ConfigInput, type Model, type Request, type Sessions } from "../../src/index.ts";
import { fsck } from "../../src/upkeep/fsck.ts";
import { rebuild } from "../../src/upkeep/rebuild.ts";
import { openedWired } from "../fixtures/wired.ts";
import { fault, Gate, Glass, saying, Stage } from "./stage.ts";

const MAIN = "agent:main:main";
const HEART = "agent:main:heartbeat";
const ANN = { channel: "pigeon", chatType: "direct", peer: "ann" } as const;

/** People write to main, so that it has a route. */
function heart(heartbeat: object = {}): ConfigInput {
  return { agents: { main: { model: "glass/one", heartbeat } }, session: { dmScope: "main" } } as ConfigInput;
}

/** What an agent is to look after. */
function task(home: string, text: string): void {
  const workspace = join(home, "agents/main/workspace");
  mkdirSync(workspace, { recursive: true });
  writeFileSync(join(workspace, "HEARTBEAT.md"), text);
}

function shown({ messages }: Request): string {
  return JSON.stringify(messages.map(({ content }) => content));
}

/** Of beats by hand: asked for, and waited for. */
async function beat(stage: Stage): Promise<string> {
  const before = (await stage.sessions.call("heartbeats", {})).heartbeats[0]?.last?.at ?? "";
  const asked = await stage.sessions.call("beat", {});
  assert.deepEqual([asked.began, asked.why, asked.sessionKey], [true, null, HEART]);
  return await stage.until(async () => {
    const last = (await stage.sessions.call("heartbeats", {})).heartbeats[0]?.last ?? null;
    return last !== null && last.at !== before && last.outcome !== "began" && last.outcome;
  });
}

test("a beat is shown its own task and nothing of what was before it, also after a start", async (t) => {
  const glass = new Glass(async (_request, times) => saying(`answer ${times}`));
  const stage = await Stage.open(t, heart({ to: "none" }), { models: [glass] });
  await stage.sessions.ask(MAIN, "the words of main");
  for (const n of [1, 2, 3, 4]) {
    if (n === 4) await stage.reopen();
    task(stage.home, `look after ${n}`);
    await beat(stage);
    const text = shown(glass.requests.at(-1) as Request);
    assert.match(text, new RegExp(`look after ${n}`));
    assert.doesNotMatch(text, /the words of main/);
    for (let before = 1; before < n; before += 1)
      assert.doesNotMatch(text, new RegExp(`look after ${before}|answer ${before + 1}`));
  }
  const said = await stage.letters(HEART);
  assert.equal(said.length, 4, "all of it is history");
  await stage.close();
  const checked = await fsck(stage.home, 0, () => {});
  assert.deepEqual(checked.findings, []);
  await rebuild(stage.home, 0, () => {});
  assert.deepEqual((await fsck(stage.home, 0, () => {})).findings, []);
  await stage.reopen();
  task(stage.home, "look after 5");
  await beat(stage);
  assert.doesNotMatch(shown(glass.requests.at(-1) as Request), /look after [1-4]/);
});

test("HEARTBEAT_OK reaches nobody; an alert reaches main, and main's answer the person", async (t) => {
  const words = [
    "hello",
    "HEARTBEAT_OK",
    "The disk is full.",
    "Ann, your disk is full.",
    "The disk is full.",
  ];
  const glass = new Glass(async (_request, times) => saying(words[times - 1] ?? "?"));
  const delivered: unknown[] = [];
  const channels = { pigeon: async ({ content }: { content: unknown }) => void delivered.push(content) };
  const stage = await Stage.open(t, heart(), { models: [glass], channels });
  task(stage.home, "- look at the disk");
  await stage.sessions.receive(ANN, "hi");
  await stage.until(async () => delivered.length === 1);
  assert.equal(await beat(stage), "ok");
  await stage.rest(HEART);
  assert.equal((await stage.letters(MAIN)).length, 1);
  assert.equal(await beat(stage), "alert");
  await stage.until(async () => delivered.length === 2);
  assert.deepEqual(delivered.at(-1), [{ type: "text", text: "Ann, your disk is full." }]);
  assert.match((await stage.letters(MAIN)).at(-1) ?? "", /\n\nThe disk is full\.$/);
  assert.equal(await beat(stage), "repeated");
  await stage.rest(MAIN);
  assert.equal((await stage.letters(MAIN)).length, 2);
  assert.equal(delivered.length, 2);
  const [row] = (await stage.sessions.call("heartbeats", {})).heartbeats;
  assert.equal(row?.alert?.text, "The disk is full.");
});

test("HEARTBEAT_OK is sent to nobody, whoever says it", async (t) => {
  const words = ["HEARTBEAT_OK", "hello"];
  const glass = new Glass(async (_request, times) => saying(words[times - 1] ?? "?"));
  const delivered: unknown[] = [];
  const channels = { pigeon: async ({ content }: { content: unknown }) => void delivered.push(content) };
  const stage = await Stage.open(t, heart(), { models: [glass], channels });
  for (const message of ["hi", "are you there?"]) {
    await stage.sessions.receive(ANN, message);
    await stage.rest(MAIN);
  }
  await stage.until(async () => delivered.length > 0);
  assert.deepEqual(delivered, [[{ type: "text", text: "hello" }]]);
});

test("to the route: the person gets it as the heartbeat said it, and main is not asked", async (t) => {
  const words = ["hello", "The disk is full."];
  const glass = new Glass(async (_request, times) => saying(words[times - 1] ?? "?"));
  const delivered: unknown[] = [];
  const channels = { pigeon: async ({ content }: { content: unknown }) => void delivered.push(content) };
  const stage = await Stage.open(t, heart({ to: "route" }), { models: [glass], channels });
  task(stage.home, "look");
  await stage.sessions.receive(ANN, "hi");
  await stage.until(async () => delivered.length === 1);
  assert.equal(await beat(stage), "alert");
  await stage.until(async () => delivered.length === 2);
  assert.deepEqual(delivered.at(-1), [{ type: "text", text: "The disk is full." }]);
  assert.equal(glass.requests.length, 2);
});

test("a beat that a stop cuts off is gone on with, and what it finds is told once", async (t) => {
  const gate = new Gate();
  const glass = new Glass(async (_request, times) => {
    if (times === 1) await gate.pass();
    return saying(times <= 2 ? "The disk is full." : "I see.");
  });
  const stage = await Stage.open(t, heart(), { models: [glass] });
  task(stage.home, "look");
  await stage.sessions.call("beat", {});
  await gate.reached();
  const again = await stage.sessions.call("beat", {});
  assert.deepEqual([again.began, again.why], [false, "the one before goes on, in agent:main:heartbeat"]);
  await stage.reopen();
  gate.open();
  await stage.until(async () => (await stage.letters(MAIN)).length > 0);
  await stage.rest(MAIN);
  await stage.reopen();
  await stage.rest(MAIN);
  assert.equal((await stage.letters(MAIN)).length, 1);
  assert.deepEqual(await stage.outcomes(HEART), ["done"]);
});

test("the model of the policy is asked", async (t) => {
  const glass = new Glass(async () => saying("HEARTBEAT_OK"));
  const config = { agents: { main: { model: "rehearsal/default", heartbeat: { model: "glass/one" } } } };
  const stage = await Stage.open(t, config, { models: [glass] });
  task(stage.home, "look");
  assert.equal(await beat(stage), "ok");
  assert.equal(glass.requests.length, 1);
  const none = { agents: { main: { heartbeat: { model: "glass/none" } } } };
  await assert.rejects(stage.reopen(none), fault("bad_input", /agents\.main\.heartbeat\.model/));
});

test("without a task there is no beat, and it is said why; nor where there are none", async (t) => {
  const stage = await Stage.open(t, { agents: { main: {}, still: { heartbeat: { everyMinutes: 0 } } } });
  const asked = await stage.sessions.call("beat", {});
  assert.equal(asked.began, false);
  assert.match(asked.why ?? "", /no HEARTBEAT\.md in .*workspace/);
  assert.equal((await stage.sessions.list({ kind: "heartbeat" })).sessions.length, 0);
  await assert.rejects(stage.sessions.call("beat", { agent: "still" }), fault("bad_input", /everyMinutes/));
  await assert.rejects(stage.sessions.call("beat", { agent: "ghost" }), fault("not_found", /ghost/));
  const { heartbeats } = await stage.sessions.call("heartbeats", {});
  assert.deepEqual(
    heartbeats.map(({ agent, everyMinutes, task: has, nextAt }) => [
      agent,
      everyMinutes,
      has,
      nextAt !== null,
    ]),
    [
      ["main", 30, "none", true],
      ["still", 0, "none", false],
    ],
  );
});

/** A system in simulated time, over a store in memory. */
async function simulated(t: TestContext, model: Model, heartbeat: object) {
  const world = new SimulatedWorld(1);
  const store = new MemoryStore(world);
  const opened = await openedWired(t, heart(heartbeat), { world, store, models: [model] });
  const pass = async (ms: number): Promise<void> => {
    for (const until = world.nowMs() + ms; world.nowMs() < until;) {
      await sleep(1); // The file of the task is read in real time.
      world.step();
    }
  };
  return { ...opened, world, pass };
}

async function told(sessions: Sessions) {
  return (await sessions.call("heartbeats", {})).heartbeats[0];
}

test("an agent beats by itself when it is due, and stays silent while there is nothing to do", async (t) => {
  const glass = new Glass(async () => saying("HEARTBEAT_OK"));
  const { sessions, system, pass } = await simulated(t, glass, { everyMinutes: 30 });
  await pass(65 * 60_000);
  assert.equal((await told(sessions))?.last?.outcome, "nothing");
  assert.equal(glass.requests.length, 0);
  assert.equal((await sessions.list({ kind: "heartbeat" })).sessions.length, 0);
  task(system.config.home, "look");
  await pass(65 * 60_000);
  for (let more = 0; more < 20 && (await told(sessions))?.last?.outcome === "began"; more += 1)
    await pass(60_000);
  assert.equal((await told(sessions))?.last?.outcome, "ok");
  assert.ok(glass.requests.length >= 1 && glass.requests.length <= 3, `${glass.requests.length}`);
});
