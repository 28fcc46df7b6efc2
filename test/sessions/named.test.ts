// Named children: an address that stays, so that whoever gives the next task finds the same conversation.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { describeKey, parseKey, type ConfigInput } from "../../src/index.ts";
import { MAIN, spawn } from "./family.ts";
import { BUDGET, give, giving, heardOf, lastSpawn, NAMED, reportsIn, spawnsOf } from "./giving.ts";
import { Gate, Stage } from "./stage.ts";

const ANN = "agent:main:telegram:direct:ann";
const TASK = "Continue tracking Q1 budget planning...";

async function transcriptOf(stage: Stage, key: string): Promise<string> {
  return (await stage.sessions.status(key)).transcript;
}

describe("a named child", () => {
  test("is opened by the first task and found again by the next, with all that was said", async (t) => {
    const stage = await Stage.open(t);
    const first = await give(stage, MAIN, TASK);
    assert.match(first, /^Report of agent:main:thread:budget-planning: done$/m);
    const { created, queued, sessionKey } = await lastSpawn(stage, MAIN);
    assert.deepEqual([created, queued, sessionKey], [true, false, BUDGET]);
    const transcript = await transcriptOf(stage, BUDGET);
    const { state, parent, title } = await stage.sessions.status(BUDGET);
    assert.deepEqual([state, parent], ["idle", MAIN], "it stays");
    assert.equal(title.startsWith("Report"), false);

    const again = await give(stage, MAIN, TASK);
    assert.match(again, /Earlier here you said "[^"]*Continue tracking Q1 budget planning\.\.\./);
    assert.equal((await lastSpawn(stage, MAIN)).created, false);
    assert.equal(await transcriptOf(stage, BUDGET), transcript);
    assert.match(await give(stage, MAIN, "!list"), /^5 messages: 3 user, 2 assistant, 0 toolResult\.$/m);
    assert.equal((await stage.sessions.children(MAIN)).children.length, 1);
  });

  test("is the same after a restart, for another session of the agent, and after it was killed", async (t) => {
    const stage = await Stage.open(t);
    await give(stage, MAIN, TASK);
    const transcript = await transcriptOf(stage, BUDGET);
    await stage.reopen();
    assert.match(await give(stage, MAIN, "!list"), /^3 messages: 2 user, 1 assistant/m);
    assert.match(await give(stage, ANN, "!list"), /^5 messages: 3 user, 2 assistant/m);
    assert.equal((await lastSpawn(stage, ANN)).created, false);
    assert.equal((await stage.sessions.status(BUDGET)).parent, MAIN, "who opened it stays its parent");
    await stage.sessions.kill(BUDGET);
    await stage.until(async () => (await stage.sessions.status(BUDGET)).state === "ended");
    await stage.reopen();
    assert.match(await give(stage, ANN, "!list"), /^7 messages: 4 user, 3 assistant/m);
    assert.equal(await transcriptOf(stage, BUDGET), transcript);
  });

  test("of another agent is found by its whole key and the agent's name, and only by who is above it", async (t) => {
    const config: ConfigInput = { agents: { main: { subagents: { agents: ["larry"] } }, larry: {} } };
    const stage = await Stage.open(t, config);
    const key = "agent:larry:thread:plans";
    const named = { sessionKey: key, resumeIfExists: true };
    await give(stage, MAIN, "!say 1", { ...named, agent: "larry" });
    assert.equal((await lastSpawn(stage, MAIN)).sessionKey, key);
    assert.equal((await stage.sessions.status(key)).agent, "larry");
    assert.match(await give(stage, MAIN, "!list", { ...named, agent: "larry" }), /^3 messages/m);
    assert.match(await give(stage, MAIN, "!list", named), /say agent: "larry" too/);
    const other = /thread:[a-z]+ is not yours to go on with: it did not come of agent:[a-z:]+ \(forbidden\)/;
    const own = { sessionKey: "thread:plans", resumeIfExists: true };
    const larry = "agent:larry:main";
    assert.match(await give(stage, larry, "!list", own), other, "its root is main's");
    assert.match(
      await give(stage, ANN, "!list", { ...named, agent: "larry" }),
      other,
      "it is another root's",
    );
    const ideas = { sessionKey: "agent:larry:thread:ideas", resumeIfExists: true };
    await give(stage, larry, "!say 1", ideas);
    assert.match(await give(stage, MAIN, "!list", { ...ideas, agent: "larry" }), other);
    assert.match(await give(stage, larry, "!list", ideas), /^3 messages/m);
    assert.match(
      await give(stage, larry, "!list", { ...NAMED, agent: "main" }),
      /does not name main.*forbidden/,
    );
  });

  test("that exists is not gone on with unless that is asked for; what to do is said, and nothing is given", async (t) => {
    const stage = await Stage.open(t);
    await give(stage, MAIN, "!say 1");
    const { resumeIfExists: _asked, ...name } = NAMED;
    for (const more of [name, { ...name, resumeIfExists: false }]) {
      const text = await give(stage, MAIN, "!say 2", more);
      assert.match(text, /agent:main:thread:budget-planning is there already \(idle, last active 2/);
      assert.match(text, /to go on with it, say resumeIfExists: true; or choose another name/);
    }
    await stage.rest(MAIN);
    assert.equal((await stage.letters(BUDGET)).length, 1);
    assert.equal((await reportsIn(stage, MAIN)).length, 1);
  });
});

describe("a task for a named child that is at work", () => {
  test("waits its turn and says so; each report goes to who gave that task, not to who opened the child", async (t) => {
    const gate = new Gate();
    const stage = await Stage.open(t, {}, { tools: [gate.tool] });
    await stage.sessions.ask(MAIN, spawn("!call gate\n!then\n!say for main", NAMED));
    await gate.reached();
    await stage.sessions.ask(ANN, spawn("!say for Ann", NAMED));
    const { created, queued } = await lastSpawn(stage, ANN);
    assert.deepEqual([created, queued], [false, true]);
    const { children } = await stage.sessions.children(ANN);
    assert.deepEqual(
      children.map(({ sessionKey, parent, inFlight }) => [sessionKey, parent, inFlight]),
      [[BUDGET, MAIN, true]],
      "who borrowed it sees it while it works",
    );
    gate.open();
    const [mains, anns] = [await heardOf(stage, MAIN, 1), await heardOf(stage, ANN, 1)];
    assert.deepEqual([mains.length, anns.length], [1, 1]);
    assert.match(mains[0] ?? "", /Its answer:\nfor main$/);
    assert.match(anns[0] ?? "", /Its answer:\nfor Ann$/);
    assert.equal((await stage.outcomes(BUDGET)).length, 2, "a turn for each");
    assert.deepEqual((await stage.sessions.children(ANN)).children, []);
  });

  test("of the birth parent again is answered to it once each, in the order in which they were given", async (t) => {
    const gate = new Gate();
    const stage = await Stage.open(t, {}, { tools: [gate.tool] });
    const tasks = ["!call gate\n!then\n!say 1", "!say 2", "!say 3"].map((task) => spawn(task, NAMED));
    const asked = stage.sessions.ask(MAIN, giving(tasks.join("\n!then\n")));
    await gate.reached();
    await stage.until(async () => (await stage.sessions.status(MAIN)).state === "waiting");
    assert.deepEqual(
      (await spawnsOf(stage, MAIN)).map((each) => typeof each !== "string" && [each.created, each.queued]),
      [
        [true, false],
        [false, true],
        [false, true],
      ],
    );
    gate.open();
    await asked;
    const said = (await reportsIn(stage, MAIN)).map((text) => text.split("\n").at(-1));
    assert.deepEqual(said, ["1", "2", "3"]);
  });
});

test("a named child takes a task at any moment, also while it is being killed, and each task is reported once", async (t) => {
  const gate = new Gate();
  const stage = await Stage.open(t, {}, { tools: [gate.tool] });
  const rounds = 8;
  for (let round = 0; round < rounds; round += 1) {
    await stage.sessions.ask(MAIN, spawn("!call gate", NAMED));
    await stage.until(async () => (await stage.sessions.status(BUDGET)).state === "running");
    const killed = stage.sessions.kill(BUDGET);
    if (round % 2 === 1) await killed;
    await stage.sessions.ask(MAIN, giving(spawn("!say again", NAMED)));
    await killed;
    await stage.rest(MAIN);
  }
  const spawns = await spawnsOf(stage, MAIN);
  assert.deepEqual(
    spawns.filter((each) => typeof each === "string"),
    [],
  );
  assert.equal((await heardOf(stage, MAIN, 2 * rounds)).length, 2 * rounds);
});

test("a named child is written to by sessions and by people like any session, and reports none of that", async (t) => {
  const stage = await Stage.open(t);
  await give(stage, MAIN, "!say 1");
  const send = { sessionKey: BUDGET, message: "!say by letter" };
  await stage.sessions.ask(MAIN, `!call sessions_send ${JSON.stringify(send)}`);
  await stage.until(async () => (await stage.letters(MAIN)).includes("by letter"));
  await stage.rest(MAIN);
  const { text } = await stage.sessions.ask(BUDGET, "!list");
  assert.match(text, /^5 messages: 3 user, 2 assistant/);
  await stage.rest(BUDGET);
  await stage.rest(MAIN);
  assert.equal((await reportsIn(stage, MAIN)).length, 1);
});

describe("names", () => {
  for (const name of ["Q1 Budget", "Plänung für März", "a:b/../c", "日本 🦉", "UPPER"])
    test(`may be in any letters: ${name}`, async (t) => {
      const stage = await Stage.open(t);
      await give(stage, MAIN, "!say 1", { name });
      const { sessionKey } = await lastSpawn(stage, MAIN);
      assert.equal(describeKey(parseKey(sessionKey)).name, name);
      await stage.reopen();
      assert.match(await give(stage, MAIN, "!list", { name, resumeIfExists: true }), /^3 messages/m);
      assert.equal((await lastSpawn(stage, MAIN)).sessionKey, sessionKey, "the same name is the same child");
      assert.match(await give(stage, ANN, "!list", { sessionKey, resumeIfExists: true }), /^5 messages/m);
      await give(stage, MAIN, "!list", { name: `${name}x`, resumeIfExists: true });
      assert.notEqual((await lastSpawn(stage, MAIN)).sessionKey, sessionKey);
    });

  test("differ by the case of their letters", async (t) => {
    const stage = await Stage.open(t);
    for (const name of ["Budget", "budget"]) await give(stage, MAIN, "!say 1", { name });
    const keys = (await spawnsOf(stage, MAIN)).map((each) => typeof each !== "string" && each.sessionKey);
    assert.equal(new Set(keys).size, 2);
  });

  for (const name of ["Plan B", "run", "Plänung"])
    test(`are names as a sessionKey too, where a key could not hold them as they stand: ${name}`, async (t) => {
      const stage = await Stage.open(t);
      await give(stage, MAIN, "!say 1", { sessionKey: `thread:${name}` });
      const { sessionKey } = await lastSpawn(stage, MAIN);
      assert.equal(describeKey(parseKey(sessionKey)).name, name);
      for (const same of [{ name }, { sessionKey }, { sessionKey: `thread:${name}` }])
        await give(stage, MAIN, "!say 2", { ...same, resumeIfExists: true });
      assert.equal((await stage.letters(sessionKey)).length, 4);
    });

  test("that are no name of a child are refused with the reason, and nobody is opened", async (t) => {
    const stage = await Stage.open(t);
    const before = (await stage.sessions.list()).sessions.length;
    for (const [more, words] of [
      [{ sessionKey: "main" }, /a named child is called "thread:<name>", and "main" is not/],
      [{ sessionKey: "agent:main:group:4711" }, /a named child is called "thread:<name>"/],
      [
        { sessionKey: "subagent:0123" },
        /there is no child agent:main:subagent:0123 to go on with \(not_found\)/,
      ],
      [{ sessionKey: "cron:daily" }, /a named child is called "thread:<name>"/],
      [{ sessionKey: "budget-planning" }, /is not a session key/],
      [{ sessionKey: "thread:" }, /is not a session key/],
      [{ sessionKey: "thread:a", name: "a" }, /by sessionKey or by name, not by both/],
      [{ name: "" }, /name/],
      [{ ...NAMED, cleanup: "delete" }, /only what runs once and has no name is deleted/],
    ] as const)
      assert.match(await give(stage, MAIN, "!say 1", more), words, JSON.stringify(more));
    assert.equal((await stage.sessions.list()).sessions.length, before);
  });
});

test("several who open the same new name at once all give it their task, and one of them opens it", async (t) => {
  const stage = await Stage.open(t);
  const keys = [MAIN, "agent:main:direct:ada", "agent:main:direct:bob", "agent:main:direct:eve"];
  const task = spawn("!say y", { name: "k", resumeIfExists: true });
  await Promise.all(
    keys.map((key) => stage.sessions.ask(key, `${task}\n!call sessions_yield\n!then\n!results`)),
  );
  for (const key of keys) assert.equal((await reportsIn(stage, key)).length, 1, key);
  assert.equal((await stage.letters("agent:main:thread:k")).length, keys.length);
});

test("a person who asks again with the same id, not knowing, gives the task once", async (t) => {
  const stage = await Stage.open(t);
  for (const more of [{ name: "n" }, { name: "n", resumeIfExists: true, timeoutSeconds: 60 }, {}]) {
    const id = JSON.stringify(more);
    const give = () => stage.sessions.spawn("!say x", { id, ...more });
    const [one, other] = [await give(), await give()];
    assert.deepEqual([one.sessionKey, one.id], [other.sessionKey, other.id]);
    await stage.sessions.wait(one.sessionKey, one.id);
    assert.equal((await give()).id, one.id);
    const given = (await stage.entries(one.sessionKey)).filter(
      (entry) => "mailId" in entry && entry.mailId === one.id,
    );
    assert.equal(given.length, 1);
  }
});
