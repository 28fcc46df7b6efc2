// Kill: it ends a session with all below it, and whoever waits for one of them hears of it, once.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openLog, RealWorld, LocalStore, parseKey } from "../../src/index.ts";
import {
  act,
  childOf,
  childrenOf,
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
import { fault, Gate, Stage } from "./stage.ts";

const ANN = "agent:main:direct:ann";
const KILLED = "was killed";

/** A stage whose agent has a gate to stand before. */
async function gated(t: Parameters<typeof Stage.open>[0]): Promise<{ stage: Stage; gate: Gate }> {
  const gate = new Gate();
  return { gate, stage: await Stage.open(t, {}, { tools: [gate.tool] }) };
}

/** A child with two of its own, which stand before the gate while it waits for them. */
const FAMILY = spawn([spawn("!call gate"), spawn("!call gate"), YIELD, THEN, "!say never"]);

for (const [how, line] of [
  ["has yielded", YIELD],
  ["waits in its turn", "!wait"],
] as const)
  test(`all below a child end with it, and its parent, which ${how}, is told and goes on`, async (t) => {
    const { stage, gate } = await gated(t);
    const asked = stage.sessions.ask(MAIN, [FAMILY, line, THEN, RESULTS].join("\n"));
    await gate.reached(2);
    const child = await childOf(stage, MAIN);
    await until(stage, child, "waiting");
    const grandchildren = await childrenOf(stage, child);
    const { killed } = await stage.sessions.kill(child);
    assert.deepEqual(new Set(killed), new Set([child, ...grandchildren]));
    const { outcome, text } = await asked;
    assert.equal(outcome, "done");
    assert.match(text, new RegExp(`Report of ${child}: ${KILLED}\n`));
    for (const key of killed) {
      await until(stage, key, "ended");
      assert.match((await stage.sessions.status(key)).why, /^ended \(killed\)/);
      assert.deepEqual(await stage.outcomes(key), ["killed"]);
    }
    await stage.rest(MAIN);
    assert.equal((await reports(stage, MAIN, child)).length, 1);
    for (const key of grandchildren) {
      const heard = await Promise.all([MAIN, child].map((each) => reports(stage, each, key)));
      assert.equal(heard.flat().length, 1, "by its parent, or by who is next above");
    }
    assert.equal((await stage.sessions.ask(MAIN, "!say on")).text, "on");
  });

test("of a family only the killed branch ends; who waits for it goes on with what the others did", async (t) => {
  const { stage, gate } = await gated(t);
  const child = spawn([
    spawn("!call gate", { name: "lost" }),
    spawn(["!call gate", THEN, "!say kept"], { name: "kept" }),
    YIELD,
    THEN,
    RESULTS,
  ]);
  const asked = stage.sessions.ask(MAIN, [child, YIELD, THEN, RESULTS].join("\n"));
  await gate.reached(2);
  assert.deepEqual((await stage.sessions.kill(named("lost"))).killed, [named("lost")]);
  await until(stage, named("lost"), "ended");
  gate.open();
  const { text } = await asked;
  assert.match(text, new RegExp(`Report of ${named("lost")}: ${KILLED}`));
  assert.match(text, new RegExp(`Report of ${named("kept")}: done\n.*\nIts answer:\nkept`));
  assert.equal((await endings(stage, MAIN)).length, 1);
});

describe("whatever it does when it is killed, who waits for it hears of it once", () => {
  test("it is idle: then nobody does", async (t) => {
    const { stage } = await gated(t);
    await stage.sessions.ask(MAIN, [spawn("!say first", { name: "ida" }), YIELD].join("\n"));
    await stage.rest(named("ida"));
    assert.deepEqual((await stage.sessions.kill(named("ida"))).killed, [named("ida")]);
    await until(stage, named("ida"), "ended");
    await stage.rest(MAIN);
    assert.deepEqual(await endings(stage, MAIN), [`${named("ida")}: done`]);
  });

  test("it is paused in the middle of its turn", async (t) => {
    const { stage, gate } = await gated(t);
    const asked = stage.sessions.ask(MAIN, [spawn(["!call gate", THEN, "!say never"]), YIELD].join("\n"));
    await gate.reached();
    const child = await childOf(stage, MAIN);
    await stage.sessions.stop(child);
    gate.open();
    await until(stage, child, "paused");
    await stage.sessions.kill(child);
    assert.equal((await asked).outcome, "done");
    assert.deepEqual(await endings(stage, MAIN), [`${child}: ${KILLED}`]);
    assert.deepEqual(await stage.outcomes(child), ["killed"]);
  });

  test("it is paused, and has read none of its letters", async (t) => {
    const { stage } = await gated(t);
    await stage.sessions.ask(MAIN, [spawn("!say first", { name: "pau" }), YIELD].join("\n"));
    await stage.rest(named("pau"));
    await stage.sessions.stop(named("pau"));
    const again = spawn("!say never", { name: "pau", resumeIfExists: true });
    const asked = stage.sessions.ask(MAIN, [again, again, YIELD].join("\n"));
    const { id } = await stage.sessions.send(named("pau"), "!say never");
    await until(stage, MAIN, "waiting");
    await stage.sessions.kill(named("pau"));
    assert.equal((await asked).outcome, "done");
    assert.equal((await stage.sessions.wait(named("pau"), id)).outcome, "killed");
    const killed = `${named("pau")}: ${KILLED}`;
    assert.deepEqual(await endings(stage, MAIN), [`${named("pau")}: done`, killed, killed]);
  });

  test("it works, and tasks of others wait for it", async (t) => {
    const { stage, gate } = await gated(t);
    const more = { name: "wim", resumeIfExists: true };
    const task = (what: string): string => spawn(`!call gate\n!then\n!say ${what}`, more);
    const asked = stage.sessions.ask(MAIN, [task("one"), task("two"), YIELD].join("\n"));
    await gate.reached();
    const other = stage.sessions.ask(ANN, [task("three"), YIELD].join("\n"));
    const person = stage.sessions.ask(named("wim"), "!say four", { mode: "followup" });
    await stage.until(async () => (await stage.sessions.status(named("wim"))).waitingLetters === 3);
    await stage.sessions.kill(named("wim"));
    const answers = await Promise.all([asked, other, person]);
    assert.deepEqual(
      answers.map(({ outcome }) => outcome),
      ["done", "done", "killed"],
    );
    for (const key of [MAIN, ANN]) await stage.rest(key);
    const killed = `${named("wim")}: ${KILLED}`;
    assert.deepEqual(await endings(stage, MAIN), [killed, killed]);
    assert.deepEqual(await endings(stage, ANN), [killed]);
    assert.equal((await stage.sessions.status(named("wim"))).waitingLetters, 0);
  });
});

test("what has ended is not killed again, and nothing is written of it", async (t) => {
  const { stage } = await gated(t);
  await stage.sessions.ask(MAIN, [spawn("!say done"), YIELD].join("\n"));
  const child = await childOf(stage, MAIN);
  await until(stage, child, "ended");
  const before = await stage.sessions.status(child);
  assert.deepEqual((await stage.sessions.kill(child)).killed, []);
  await stage.rest(MAIN);
  const after = await stage.sessions.status(child);
  assert.deepEqual([after.entries, after.why], [before.entries, before.why]);
  assert.equal((await reports(stage, MAIN)).length, 1);
});

describe("who may kill whom", () => {
  test("nobody the main session, which is told instead what to do", async (t) => {
    const { stage } = await gated(t);
    await assert.rejects(stage.sessions.kill(MAIN), fault("forbidden", /is never killed; `abort` stops/));
    assert.equal((await stage.sessions.ask(MAIN, "!say here")).text, "here");
  });

  test("an agent neither its parent, nor a sibling, nor itself; but its child", async (t) => {
    const { stage, gate } = await gated(t);
    const keys = ["boss", "brother", "me", "mine"].map(named);
    const me = [
      spawn("!call gate", { name: "mine" }),
      THEN,
      ...keys.map((sessionKey) => act("kill", { sessionKey })),
      act("kill", { sessionKey: MAIN }),
      THEN,
      YIELD,
    ];
    const boss = [spawn("!call gate", { name: "brother" }), spawn(me, { name: "me" }), YIELD];
    const asked = stage.sessions.ask(MAIN, [spawn(boss, { name: "boss" }), YIELD].join("\n"));
    await gate.reached(2);
    await until(stage, named("mine"), "ended");
    gate.open();
    await asked;
    const results = (await stage.results(named("me"))).filter(({ tool }) => tool === "subagents");
    assert.deepEqual(
      results.map(({ isError }) => isError),
      [true, true, true, false, true],
    );
    for (const { text, isError } of results) if (isError) assert.match(text, /is not yours to kill/);
    for (const name of ["boss", "brother", "me"])
      assert.deepEqual(await stage.outcomes(named(name)), ["done"]);
    assert.deepEqual(await endings(stage, named("me")), [`${named("mine")}: ${KILLED}`]);
  });
});

describe("after a kill", () => {
  test("a chat that is written to again goes on in the same transcript", async (t) => {
    const { stage, gate } = await gated(t);
    const asked = stage.sessions.ask(ANN, "!call gate");
    await gate.reached();
    const { transcript } = await stage.sessions.status(ANN);
    await stage.sessions.kill(ANN);
    assert.equal((await asked).outcome, "killed");
    await until(stage, ANN, "ended");
    const { text, outcome } = await stage.sessions.ask(ANN, "!list");
    assert.equal(outcome, "done");
    assert.match(text, /1\. "!call gate"\n2\. "!list"/);
    assert.equal((await stage.sessions.status(ANN)).transcript, transcript);
    assert.deepEqual(await stage.outcomes(ANN), ["killed", "done"]);
  });

  test("a named child is gone on with by its name", async (t) => {
    const { stage, gate } = await gated(t);
    const asked = stage.sessions.ask(MAIN, [spawn("!call gate", { name: "phoenix" }), YIELD].join("\n"));
    await gate.reached();
    await stage.sessions.kill(named("phoenix"));
    await asked;
    const { transcript } = await stage.sessions.status(named("phoenix"));
    const again = spawn("!list", { name: "phoenix", resumeIfExists: true });
    const { text } = await stage.sessions.ask(MAIN, [again, YIELD, THEN, RESULTS].join("\n"));
    assert.match(text, /Its answer:\n5 messages: 2 user, 2 assistant, 1 toolResult\./);
    assert.equal((await stage.sessions.status(named("phoenix"))).transcript, transcript);
  });
});

test("a parent that is killed while it spawns leaves no child that lives", async (t) => {
  const { stage, gate } = await gated(t);
  const steps = Array.from({ length: 30 }, () => [spawn("!call gate"), spawn("!call gate"), THEN]).flat();
  for (const children of [1, 4, 9, 16]) {
    const asked = stage.sessions.ask(MAIN, [spawn(steps, { name: `hen-${children}` }), YIELD].join("\n"));
    await stage.until(async () => {
      const hen = await stage.sessions.status(named(`hen-${children}`)).catch(() => null);
      return hen !== null && (await childrenOf(stage, named(`hen-${children}`))).length >= children;
    });
    await stage.sessions.kill(named(`hen-${children}`));
    assert.equal((await asked).outcome, "done");
    for (const key of await childrenOf(stage, named(`hen-${children}`))) await until(stage, key, "ended");
  }
  gate.open();
});

describe("a kill that a restart comes before", () => {
  test("of a gateway that closes at once is done, or is done by the next", async (t) => {
    const { stage, gate } = await gated(t);
    const { id } = await stage.sessions.send(MAIN, [FAMILY, YIELD, THEN, RESULTS].join("\n"));
    await gate.reached(2);
    const child = await childOf(stage, MAIN);
    await until(stage, MAIN, "waiting");
    const { killed } = await stage.sessions.kill(child);
    await stage.reopen();
    assert.match((await stage.sessions.wait(MAIN, id)).text, new RegExp(KILLED));
    for (const key of killed) await until(stage, key, "ended");
    assert.equal((await reports(stage, MAIN, child)).length, 1);
  });

  test("of a gateway that died as soon as it was durable is done by the next", async (t) => {
    const stage = await Stage.open(t);
    const slow = spawn("!slow 3600000");
    const family = spawn([slow, slow, YIELD]);
    const { id } = await stage.sessions.send(MAIN, [family, YIELD, THEN, RESULTS].join("\n"));
    const child = await childOf(stage, MAIN);
    for (const key of [MAIN, child]) await until(stage, key, "waiting");
    const grandchildren = await childrenOf(stage, child);
    await stage.close();
    const parts = { world: new RealWorld(), log: openLog("silent"), died: () => {} };
    const store = await LocalStore.open(stage.home, parts);
    const signal = { do: "signal", key: parseKey(child), signal: "kill" } as const;
    await store.commit([signal]).finally(() => store.close());
    await stage.reopen();
    assert.match((await stage.sessions.wait(MAIN, id)).text, new RegExp(KILLED));
    for (const key of [child, ...grandchildren]) await until(stage, key, "ended");
    assert.equal((await reports(stage, MAIN, child)).length, 1);
  });
});

/** Nobody looks by itself after a while: what happens, happens because somebody was told. */
class Untended extends RealWorld {
  override async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await super.sleep(ms >= 10_000 ? ms * 1_000 : ms, signal);
  }
}

test("what waited for a killed session is read at once by who is next above it", async (t) => {
  const gate = new Gate();
  const stage = await Stage.open(t, {}, { tools: [gate.tool], world: new Untended() });
  const middle = spawn([spawn("!say leaf", { name: "leaf" }), THEN, "!call gate"], { name: "middle" });
  await stage.sessions.ask(MAIN, middle); // it does not wait
  await gate.reached();
  await stage.until(async () => (await stage.sessions.status(named("middle"))).waitingLetters === 1);
  await stage.sessions.kill(named("middle"));
  await stage.until(async () => (await reports(stage, MAIN, named("middle"))).length === 1);
  await stage.until(async () => (await reports(stage, MAIN, named("leaf"))).length === 1);
});
