// Stop and cont: a session pauses between steps and loses nothing; what comes meanwhile waits and is read afterwards.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import {
  act,
  childOf,
  childrenOf,
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
import { fault, Gate, notesIn, Stage } from "./stage.ts";

async function gated(t: TestContext): Promise<{ stage: Stage; gate: Gate }> {
  const gate = new Gate();
  return { gate, stage: await Stage.open(t, {}, { tools: [gate.tool] }) };
}

/** How often the model has answered in a session. */
async function answers(stage: Stage, key: string): Promise<number> {
  return (await stage.messages(key)).filter(({ role }) => role === "assistant").length;
}

/** Lets everything happen that can: another session has a turn of several steps meanwhile. */
async function meanwhile(stage: Stage): Promise<void> {
  const steps = Array.from({ length: 5 }, () => ["!call session_status", THEN]).flat();
  await stage.sessions.ask("agent:main:direct:bob", steps.join("\n"));
}

describe("a child that is stopped", () => {
  const TASK = ["!call gate", THEN, "!call session_status", THEN, "!say all done"];

  test("while a tool runs waits for its result, and goes on from there", async (t) => {
    const { stage, gate } = await gated(t);
    const asked = stage.sessions.ask(MAIN, [spawn(TASK), YIELD, THEN, RESULTS].join("\n"));
    await gate.reached();
    const child = await childOf(stage, MAIN);
    assert.equal((await stage.sessions.stop(child)).accepted, true);
    const stopped = await stage.sessions.status(child);
    assert.match(stopped.why, /runs gate; pauses after it$/);
    assert.deepEqual([stopped.state, stopped.pausing], ["running", true]);
    gate.open();
    await until(stage, child, "paused");
    assert.equal((await stage.sessions.status(child)).pausing, false);
    await meanwhile(stage);
    assert.deepEqual(
      (await stage.results(child)).map(({ text }) => text),
      ["through"],
    );
    assert.equal(await answers(stage, child), 1, "it was not asked again");
    assert.equal((await stage.sessions.status(MAIN)).state, "waiting");
    assert.equal((await stage.sessions.cont(child)).accepted, true);
    assert.match((await asked).text, /Its answer:\nall done/);
    assert.deepEqual(await endings(stage, MAIN), [`${child}: done`]);
    assert.equal(await answers(stage, child), 3);
    assert.equal((await stage.results(child)).length, 2);
  });

  test("while the model speaks hears it out, and runs what it asked for", async (t) => {
    const { stage, gate } = await gated(t);
    const task = ["!slow 300", "!call gate", THEN, "!say all done"];
    const asked = stage.sessions.ask(MAIN, [spawn(task), YIELD].join("\n"));
    const child = await childOf(stage, MAIN);
    await doing(stage, child, / asks rehearsal/);
    await stage.sessions.stop(child);
    gate.open();
    await until(stage, child, "paused");
    assert.equal((await stage.results(child)).length, 1);
    await stage.sessions.cont(child);
    await asked;
    assert.deepEqual(await endings(stage, MAIN), [`${child}: done`]);
  });

  test("in its last step has nothing left to pause before: it ends and reports", async (t) => {
    const { stage } = await gated(t);
    const task = ["!slow 300", "!say all done"];
    const asked = stage.sessions.ask(MAIN, [spawn(task), YIELD].join("\n"));
    const child = await childOf(stage, MAIN);
    await doing(stage, child, / asks rehearsal/);
    await stage.sessions.stop(child);
    await asked;
    assert.deepEqual(await endings(stage, MAIN), [`${child}: done`]);
    await assert.rejects(stage.sessions.cont(child), fault("ended", /has ended/));
  });

  test("and continued before its step is over does not pause at all", async (t) => {
    const { stage, gate } = await gated(t);
    const asked = stage.sessions.ask(MAIN, [spawn(TASK), YIELD].join("\n"));
    await gate.reached();
    const child = await childOf(stage, MAIN);
    await stage.sessions.stop(child);
    await stage.sessions.cont(child);
    gate.open();
    await asked;
    assert.deepEqual(await endings(stage, MAIN), [`${child}: done`]);
    assert.deepEqual(notesIn(await stage.entries(child), "turn-resumed"), []);
  });

  test("with nothing to do keeps tasks until it goes on, also over a restart", async (t) => {
    const { stage } = await gated(t);
    await stage.sessions.ask(MAIN, [spawn("!say first", { name: "ida" }), YIELD].join("\n"));
    await stage.rest(named("ida"));
    await stage.sessions.stop(named("ida"));
    const again = spawn("!say again", { name: "ida", resumeIfExists: true });
    const { id } = await stage.sessions.send(MAIN, [again, YIELD, THEN, RESULTS].join("\n"));
    await until(stage, MAIN, "waiting");
    await stage.reopen();
    await meanwhile(stage);
    const { state, waitingLetters } = await stage.sessions.status(named("ida"));
    assert.deepEqual([state, waitingLetters], ["paused", 1]);
    await stage.sessions.cont(named("ida"));
    assert.match((await stage.sessions.wait(MAIN, id)).text, /Its answer:\nagain/);
    assert.equal((await reports(stage, MAIN)).length, 2);
  });

  test("in the middle of a turn stays so over a restart, and goes on once", async (t) => {
    const { stage, gate } = await gated(t);
    const { id } = await stage.sessions.send(MAIN, [spawn(TASK), YIELD, THEN, RESULTS].join("\n"));
    await gate.reached();
    const child = await childOf(stage, MAIN);
    await stage.sessions.stop(child);
    gate.open();
    await until(stage, child, "paused");
    await stage.reopen();
    await meanwhile(stage);
    assert.equal((await stage.sessions.status(child)).state, "paused");
    await stage.sessions.cont(child);
    assert.match((await stage.sessions.wait(MAIN, id)).text, /Its answer:\nall done/);
    assert.equal((await reports(stage, MAIN)).length, 1);
    assert.equal((await stage.results(child)).length, 2);
  });
});

describe("a parent that is stopped", () => {
  const CHILDREN = ["one", "two"].map((name) => spawn(["!call gate", THEN, `!say of ${name}`], { name }));

  test("while it waits in its turn pauses at once; its children go on, and it reads of them afterwards", async (t) => {
    const { stage, gate } = await gated(t);
    const asked = stage.sessions.ask(MAIN, [...CHILDREN, "!wait", THEN, RESULTS].join("\n"));
    await gate.reached(2);
    await doing(stage, MAIN, / runs .*subagents/);
    await stage.sessions.stop(MAIN);
    await until(stage, MAIN, "paused");
    const wait = (await stage.results(MAIN)).at(-1);
    assert.equal(wait?.isError, false);
    assert.match(wait?.text ?? "", /"why":"the session is to pause"/);
    assert.match(wait?.text ?? "", /"reported":\[\],"pending":\["agent:main:thread:one",/);
    gate.open();
    await stage.until(async () => (await stage.sessions.status(MAIN)).waitingLetters === 2);
    await meanwhile(stage);
    assert.deepEqual(await reports(stage, MAIN), []);
    const before = await answers(stage, MAIN);
    await stage.sessions.cont(MAIN);
    const { outcome, text } = await asked;
    assert.equal(outcome, "done");
    for (const name of ["one", "two"]) assert.match(text, new RegExp(`Its answer:\nof ${name}`));
    assert.equal((await reports(stage, MAIN)).length, 2);
    assert.equal(await answers(stage, MAIN), before + 1, "both were read in one step");
  });

  test("while it waits twice in one step begins no wait that would keep it from pausing", async (t) => {
    const { stage, gate } = await gated(t);
    const waits = ["one", "two"].map((name) => act("wait", { sessionKeys: [named(name)] }));
    const asked = stage.sessions.ask(MAIN, [...CHILDREN, THEN, ...waits, THEN, "!say on"].join("\n"));
    await gate.reached(2);
    await doing(stage, MAIN, / runs subagents/);
    await stage.sessions.stop(MAIN);
    await until(stage, MAIN, "paused");
    const results = (await stage.results(MAIN)).filter(({ tool }) => tool === "subagents");
    assert.equal(results.length, 2);
    for (const { text } of results) assert.match(text, /"why":"the session is to pause"/);
    await stage.sessions.cont(MAIN);
    assert.equal((await asked).text, "on");
    gate.open();
  });

  test("while its turn rests is paused, and reads of its children afterwards", async (t) => {
    const { stage, gate } = await gated(t);
    const asked = stage.sessions.ask(MAIN, [...CHILDREN, YIELD, THEN, RESULTS].join("\n"));
    await gate.reached(2);
    await until(stage, MAIN, "waiting");
    await stage.sessions.stop(MAIN);
    await until(stage, MAIN, "paused");
    gate.open();
    await stage.until(async () => (await stage.sessions.status(MAIN)).waitingLetters === 2);
    await meanwhile(stage);
    assert.equal((await stage.sessions.status(MAIN)).state, "paused");
    assert.deepEqual(await reports(stage, MAIN), []);
    await stage.sessions.cont(MAIN);
    const { outcome, text } = await asked;
    assert.equal(outcome, "done");
    for (const name of ["one", "two"]) assert.match(text, new RegExp(`Its answer:\nof ${name}`));
    assert.equal((await reports(stage, MAIN)).length, 2);
    assert.equal(notesIn(await stage.entries(MAIN), "turn-started").length, 1);
  });

  test("while its turn rests, and continued before its children are done, waits for them again", async (t) => {
    const { stage, gate } = await gated(t);
    const quick = spawn("!say at once", { name: "quick" });
    const lines = [...CHILDREN, quick, YIELD, THEN, RESULTS];
    const asked = stage.sessions.ask(MAIN, lines.join("\n"));
    await gate.reached(2);
    await until(stage, MAIN, "waiting");
    await stage.rest(named("quick"));
    await stage.sessions.stop(MAIN);
    await until(stage, MAIN, "paused");
    await stage.sessions.cont(MAIN);
    await until(stage, MAIN, "waiting");
    assert.equal(await answers(stage, MAIN), 1, "the model was not asked for that");
    gate.open();
    const { text } = await asked;
    for (const words of ["of one", "of two", "at once"])
      assert.match(text, new RegExp(`Its answer:\n${words}`));
    assert.equal((await reports(stage, MAIN)).length, 3);
    assert.equal(notesIn(await stage.entries(MAIN), "turn-started").length, 1);
  });

  test("while its turn rests stays so over a restart, with all that its children said", async (t) => {
    const stage = await Stage.open(t);
    const child = spawn(["!slow 500", "!say at last"]);
    const { id } = await stage.sessions.send(MAIN, [child, child, YIELD, THEN, RESULTS].join("\n"));
    await until(stage, MAIN, "waiting");
    await stage.sessions.stop(MAIN);
    await until(stage, MAIN, "paused");
    await stage.reopen();
    for (const key of await childrenOf(stage, MAIN)) await until(stage, key, "ended");
    const { state, waitingLetters } = await stage.sessions.status(MAIN);
    assert.deepEqual([state, waitingLetters], ["paused", 2]);
    await stage.sessions.cont(MAIN);
    const { text } = await stage.sessions.wait(MAIN, id);
    assert.equal(text.match(/Its answer:\nat last/g)?.length, 2);
    assert.equal((await reports(stage, MAIN)).length, 2);
  });
});
