// The four scenarios of the second seed, word for word.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { SimulatedWorld, type ConfigInput } from "../../src/index.ts";
import { THREAD_START_ENTRIES_MAX } from "../../src/limits.ts";
import { scratch } from "../fixtures/home.ts";
import { Glass, Stage, tool } from "./stage.ts";

const PER_PEER: ConfigInput = { session: { dmScope: "per-peer" } };

const DAY_1 = Date.UTC(2026, 1, 12, 10);
const HOUR_MS = 60 * 60 * 1_000;

const MAIN = "agent:main:direct:user123";
const CODER = "agent:coder:direct:user123";
const GENERAL = "agent:main:channel:general";
const THREAD = "agent:main:channel:general:thread:123";

/** A direct message of user123; the words that come back. */
async function dm(stage: Stage, message: string, agent = "main"): Promise<string> {
  const sent = await stage.sessions.receive(
    { channel: "", chatType: "direct", peer: "user123", agent },
    message,
  );
  assert.equal(sent.sessionKey, agent === "main" ? MAIN : CODER);
  const answered = await stage.sessions.wait(sent.sessionKey, sent.id);
  assert.equal(answered.outcome, "done", answered.reason ?? "");
  return answered.text;
}

/** A message in #general, or in a thread of it. */
async function post(stage: Stage, message: string, thread: string | null = null): Promise<string> {
  const sent = await stage.sessions.receive(
    { channel: "", chatType: "channel", peer: "general", sender: "user123", thread },
    message,
  );
  assert.equal(sent.sessionKey, thread === null ? GENERAL : THREAD);
  const answered = await stage.sessions.wait(sent.sessionKey, sent.id);
  assert.equal(answered.outcome, "done", answered.reason ?? "");
  return answered.text;
}

describe("A: chatting across days", () => {
  for (const restarts of [false, true])
    test(`day 2 goes on where day 1 ended${restarts ? ", also with a restart in between" : ""}`, async (t) => {
      const world = new SimulatedWorld(1, DAY_1);
      const stage = await Stage.open(t, PER_PEER, { world });
      const first = await dm(stage, "Hi, I'm working on Project X.");
      assert.match(first, /you said "Hi, I'm working on Project X\."\.$/);
      const day1 = await stage.sessions.status(MAIN);
      assert.equal(day1.bornAt, "2026-02-12T10:00:00.000Z");
      assert.equal(day1.updatedAt, "2026-02-12T10:00:00.000Z");

      if (restarts) await stage.close();
      world.pass(28 * HOUR_MS);
      if (restarts) await stage.reopen();

      assert.equal((await stage.sessions.status(MAIN)).updatedAt, day1.updatedAt, "nobody has touched it");
      const second = await dm(stage, "What was I working on?");
      assert.match(second, /Earlier here you said "Hi, I'm working on Project X\."/);
      const day2 = await stage.sessions.status(MAIN);
      assert.equal(day2.transcript, day1.transcript, "it is the same session");
      assert.equal(day2.bornAt, day1.bornAt);
      assert.equal(day2.updatedAt, "2026-02-13T14:00:00.000Z");
      assert.deepEqual(await stage.letters(MAIN), [
        "Hi, I'm working on Project X.",
        "What was I working on?",
      ]);
    });

  test("the agent sees by session_status that it is day 2", async (t) => {
    const world = new SimulatedWorld(1, DAY_1);
    const stage = await Stage.open(t, PER_PEER, { world });
    await dm(stage, "Hi, I'm working on Project X.");
    world.pass(28 * HOUR_MS);
    const answer = await dm(stage, "What was I working on?\n!call session_status\n!then\n!results\n!list");
    assert.match(answer, /"time": ?"2026-02-13T14:00:00\.000Z"/);
    assert.match(answer, /"sessionKey": ?"agent:main:direct:user123"/);
    assert.match(answer, /"model": ?"rehearsal\/default"/);
    assert.match(answer, /1\. "Hi, I'm working on Project X\."/);
  });

  test("a session that was left alone for a year goes on too", async (t) => {
    const world = new SimulatedWorld(1, DAY_1);
    const stage = await Stage.open(t, PER_PEER, { world });
    await dm(stage, "Hi, I'm working on Project X.");
    world.pass(365 * 24 * HOUR_MS);
    assert.match(await dm(stage, "What was I working on?"), /Project X/);
  });
});

describe("B: switching agents", () => {
  test("two agents of one person are two sessions, two files and two personas, and share nothing", async (t) => {
    const workspaces = scratch(t);
    for (const [agent, soul] of [
      ["main", "You plan weeks."],
      ["coder", "You fix Python."],
    ] as const) {
      mkdirSync(join(workspaces, agent));
      writeFileSync(join(workspaces, agent, "SOUL.md"), `${soul}\n`);
    }
    const agents = {
      main: { model: "glass/one", workspace: join(workspaces, "main") },
      coder: { model: "glass/one", workspace: join(workspaces, "coder") },
    };
    const glass = new Glass();
    const stage = await Stage.open(t, { ...PER_PEER, agents }, { models: [glass] });
    await dm(stage, "Plan my week.");
    await dm(stage, "Fix this Python script.", "coder");

    const [main = "", coder = ""] = glass.requests.map((request) => JSON.stringify(request));
    assert.match(main, /You plan weeks\..*Plan my week\./);
    assert.doesNotMatch(main, /Python/);
    assert.match(coder, /You fix Python\..*Fix this Python script\./);
    assert.doesNotMatch(coder, /week/);

    const files = [await stage.file(MAIN), await stage.file(CODER)];
    await stage.close();
    const [mains = "", coders = ""] = files.map((file) => readFileSync(file, "utf8"));
    assert.match(mains, /Plan my week\./);
    assert.doesNotMatch(mains, /Python/);
    assert.match(coders, /Fix this Python script\./);
    assert.doesNotMatch(coders, /week/);
  });

  test("the rehearsal says whose prompt it is shown", async (t) => {
    const stage = await Stage.open(t, { ...PER_PEER, agents: { coder: {} } });
    assert.match(await dm(stage, "!system"), /the agent main in the session agent:main:direct:user123/);
    assert.match(
      await dm(stage, "!system", "coder"),
      /the agent coder in the session agent:coder:direct:user123/,
    );
    assert.match(await dm(stage, "!list", "coder"), /^3 messages: 2 user, 1 assistant/);
  });
});

describe("C: switching models", () => {
  const aliased: ConfigInput = {
    ...PER_PEER,
    models: { aliases: { "claude-3-5-sonnet": "rehearsal/default", "claude-3-opus": "rehearsal/large" } },
    agents: { defaults: { model: "claude-3-5-sonnet" } },
  };
  const useOpus =
    'This next output needs to be perfect. Use Opus.\n!call session_status {"model":"claude-3-opus"}\n!then\n!results';

  /** Who answered, in the order of the answers. */
  async function speakers(stage: Stage, key: string): Promise<string[]> {
    return (await stage.messages(key)).flatMap((message) =>
      message.role === "assistant" ? [`${message.provider}/${message.model}`] : [],
    );
  }

  test("a model that the agent sets is sticky to its session, keeps the history, and survives a restart", async (t) => {
    const stage = await Stage.open(t, aliased);
    await dm(stage, "Write a quick email.");
    assert.equal((await stage.sessions.status(MAIN)).modelFrom, "agent");
    assert.match(await dm(stage, useOpus), /"model": ?"rehearsal\/large"/);
    assert.match(await dm(stage, "!list"), /1\. "Write a quick email\."/, "the history is kept");
    assert.deepEqual(await speakers(stage, MAIN), [
      "rehearsal/default",
      "rehearsal/default", // the step that asked for the other one
      "rehearsal/large",
      "rehearsal/large",
    ]);
    await stage.reopen();
    await dm(stage, "And another one.");
    assert.equal((await speakers(stage, MAIN)).at(-1), "rehearsal/large");
    const { model, modelFrom, settings } = await stage.sessions.status(MAIN);
    assert.deepEqual([model, modelFrom, settings.model], ["rehearsal/large", "session", "rehearsal/large"]);
  });

  test("another session keeps the default, and so does another agent's", async (t) => {
    const stage = await Stage.open(t, { ...aliased, agents: { ...aliased.agents, coder: {} } });
    await dm(stage, useOpus);
    await post(stage, "Anyone know React?");
    await dm(stage, "Fix this Python script.", "coder");
    assert.deepEqual(await speakers(stage, GENERAL), ["rehearsal/default"]);
    assert.deepEqual(await speakers(stage, CODER), ["rehearsal/default"]);
  });

  test('"default" goes back to the agent\'s own model, also to one that is configured later', async (t) => {
    const stage = await Stage.open(t, aliased);
    await dm(stage, useOpus);
    await dm(stage, '!call session_status {"model":"default"}');
    const { model, modelFrom } = await stage.sessions.status(MAIN);
    assert.deepEqual([model, modelFrom], ["rehearsal/default", "agent"]);
    await stage.reopen({ ...aliased, agents: { defaults: { model: "rehearsal/small" } } });
    await dm(stage, "Hello again.");
    assert.equal((await speakers(stage, MAIN)).at(-1), "rehearsal/small");
  });

  test("the transcript says when another model begins to speak", async (t) => {
    const stage = await Stage.open(t, aliased);
    await dm(stage, "Write a quick email.");
    await dm(stage, useOpus);
    await dm(stage, "!say still the same");
    await dm(stage, '!call session_status {"model":"default"}');
    const changes = (await stage.entries(MAIN)).flatMap((entry) =>
      entry.type === "model_change" ? [`${entry.provider}/${entry.modelId}`] : [],
    );
    assert.deepEqual(changes, ["rehearsal/large", "rehearsal/default"]);
  });

  test("a session cannot set another's model", async (t) => {
    const stage = await Stage.open(t, aliased);
    await post(stage, "Anyone know React?");
    const ask = `!call session_status {"sessionKey":"${GENERAL}","model":"claude-3-opus"}\n!then\n!results`;
    const main = await stage.sessions.ask("agent:main:main", ask);
    assert.match(main.text, /forbidden/);
    assert.equal((await stage.sessions.status(GENERAL)).modelFrom, "agent");
  });
});

describe("D: threads", () => {
  test("a thread has a session and a file of its own, and its channel's file is not touched", async (t) => {
    const stage = await Stage.open(t, PER_PEER);
    await post(stage, "Anyone know React?");
    const before = await stage.bytes(GENERAL);
    const status = await stage.sessions.status(GENERAL);
    const answer = await post(stage, "Specifically hooks.", "123");
    assert.doesNotMatch(answer, /React/, "it starts empty");
    assert.notEqual(await stage.file(THREAD), await stage.file(GENERAL));
    assert.deepEqual(await stage.letters(THREAD), ["Specifically hooks."]);
    assert.equal(await stage.bytes(GENERAL), before);
    assert.equal((await stage.sessions.status(GENERAL)).updatedAt, status.updatedAt);
  });

  test("a thread may start from its channel's last messages, and is its own history from there", async (t) => {
    const stage = await Stage.open(t, { session: { ...PER_PEER.session, threads: "parent" } });
    await post(stage, "Anyone know React?");
    const before = await stage.bytes(GENERAL);
    assert.match(
      await post(stage, "Specifically hooks.", "123"),
      /Earlier here you said ".*Anyone know React\?/,
    );
    await post(stage, "What about effects?", "123");
    assert.deepEqual(await stage.letters(THREAD), [
      "Anyone know React?",
      "Specifically hooks.",
      "What about effects?",
    ]);
    assert.equal(await stage.bytes(GENERAL), before);
    assert.match(await post(stage, "!list"), /^3 messages: 2 user/, "the channel hears nothing of it");
    const { usage } = await stage.sessions.status(THREAD);
    assert.equal(usage.steps, 2, "what was copied is not paid for again");
  });

  test("of a long channel a thread takes a bounded part, with every call's result", async (t) => {
    const stage = await Stage.open(
      t,
      { session: { ...PER_PEER.session, threads: "parent" } },
      { tools: [tool("look", () => Promise.resolve("seen"))] },
    );
    for (let at = 1; at <= 12; at += 1)
      await post(stage, `Question ${at}.\n!call look\n!call look\n!then\n!say so it is`);
    const parent = await stage.entries(GENERAL);
    assert.ok(parent.length > THREAD_START_ENTRIES_MAX);
    await post(stage, "Specifically hooks.", "123");
    const messages = await stage.messages(THREAD);
    const copied = (await stage.entries(THREAD)).findIndex(
      (entry) => entry.type === "message" && entry.message.content === "Specifically hooks.",
    );
    assert.ok(copied > 0 && copied <= THREAD_START_ENTRIES_MAX + 1, String(copied));
    assert.equal(messages[0]?.role, "user", "it starts with what somebody asked");
    const calls = messages.flatMap((message) =>
      message.role === "assistant"
        ? message.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []))
        : [],
    );
    const results = messages.flatMap((message) =>
      message.role === "toolResult" ? [message.toolCallId] : [],
    );
    assert.ok(calls.length > 0);
    assert.deepEqual(results.toSorted(), calls.toSorted());
    assert.deepEqual((await stage.letters(THREAD)).at(-2)?.split("\n")[0], "Question 12.");
  });

  test("threads of two channels, and a topic, are sessions of their own", async (t) => {
    const stage = await Stage.open(t, PER_PEER);
    await post(stage, "Anyone know React?", "123");
    const other = await stage.sessions.receive(
      { channel: "", chatType: "channel", peer: "random", thread: "123" },
      "Hi.",
    );
    const topic = await stage.sessions.receive(
      { channel: "", chatType: "channel", peer: "general", thread: "123", topic: true },
      "Hi.",
    );
    assert.equal(new Set([THREAD, other.sessionKey, topic.sessionKey]).size, 3);
  });
});
