// Chat commands that take long: whoever wrote one hears at first that it is at work, and then how it ended.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { COMMAND_ANSWERS_MAX, COMMAND_WAIT_MS } from "../../src/calls/limits.ts";
import { parseKey } from "../../src/routing/key.ts";
import { Forward } from "../fixtures/forward.ts";
import { fault, Gate } from "../sessions/stage.ts";
import { ANN, Chatting } from "./chatting.ts";
import { Receiver, SECRET, Stage, until } from "./stage.ts";

const AT_WORK = "still at it; the answer comes when it is done";
const COMPACTED = /too little to summarise yet|tokens became/;

interface Held {
  readonly chat: Chatting;
  readonly gate: Gate;
  readonly world: Forward;
}

/** A chat in whose session a turn runs until the gate opens: what is wished of its history waits for that. */
async function held(t: TestContext): Promise<Held> {
  const [gate, world] = [new Gate(), new Forward()];
  const chat = await Chatting.open(t, { tools: [gate.tool], world });
  await chat.say("!say hello");
  await chat.receive("!call gate\n!then\n!say through");
  await gate.reached();
  return { chat, gate, world };
}

/** Until nobody waits for it any more. */
async function late<Value>({ world }: Pick<Held, "world">, work: Promise<Value>): Promise<Value> {
  let isOver = false;
  const over = (): void => void (isOver = true);
  work.then(over, over);
  await until(() => {
    world.put(COMMAND_WAIT_MS / 15);
    return isOver;
  });
  return await work;
}

describe("a command that takes long", { timeout: 120_000 }, () => {
  for (const [text, words] of [
    ["/compact", COMPACTED],
    ["/handoff go on", /^agent:main:thread:handoff-\w+ goes on from agent:main:pigeon:direct:ann/],
  ] as const)
    test(`${text} is answered twice: that it is at work, and what came of it`, async (t) => {
      const at = await held(t);
      const { chat, gate } = at;
      const { repeated } = await late(at, chat.receive(text, { id: "7" }));
      assert.equal(repeated, false);
      await until(() => chat.texts.includes(AT_WORK));
      assert.equal((await chat.receive(text, { id: "7" })).repeated, true);
      assert.deepEqual(chat.texts, ["hello", AT_WORK]);
      gate.open();
      await until(() => chat.texts.length === 4);
      assert.deepEqual(chat.texts.slice(0, 2), ["hello", AT_WORK]);
      const end = chat.texts.slice(2).find((each) => each !== "through") ?? "";
      assert.match(end, words);
      const [first, last] = [AT_WORK, end].map((each) => chat.came[chat.texts.indexOf(each)]);
      assert.deepEqual(last?.route, first?.route);
      assert.notEqual(last?.id, first?.id);
      assert.equal((await chat.receive(text, { id: "7" })).repeated, true);
      await chat.say("/status");
      assert.equal(chat.came.length, 5, "nothing comes twice");
    });

  test("is answered also when whoever brought it has gone", async (t) => {
    const { chat, gate } = await held(t);
    const gone = new AbortController();
    const brought = chat.stage.wired.door.call(
      "receive",
      { kind: "person", principal: "x", scope: "operate" },
      { channel: "pigeon", chatType: "direct", peer: "ann", message: "/compact" },
      gone.signal,
    );
    await until(async () => (await chat.sessions.status(ANN)).waitingLetters > 0);
    gone.abort(new Error("it has gone"));
    await brought;
    await until(() => chat.texts.includes(AT_WORK));
    gate.open();
    await until(() => chat.texts.some((text) => COMPACTED.test(text)));
  });

  test("counts, until it has ended, among the answers that a session may have", async (t) => {
    const at = await held(t);
    const { chat, gate } = at;
    const { later } = chat.stage.wired.system;
    const many = Array.from({ length: COMMAND_ANSWERS_MAX }, () => chat.receive("/compact"));
    await late(at, Promise.all(many));
    await until(() => chat.texts.length === 1 + many.length);
    assert.equal(later.of(parseKey(ANN)), many.length);
    await assert.rejects(chat.receive("/help"), fault("mailbox_full", /still to come/));
    gate.open();
    await until(() => chat.texts.filter((text) => COMPACTED.test(text)).length === many.length);
    await until(() => later.of(parseKey(ANN)) === 0);
    assert.match(await chat.say("/help"), /^\/help/);
  });

  test("is not told where answers were switched off meanwhile, and that is seen", async (t) => {
    const at = await held(t);
    const { chat, gate } = at;
    await late(at, chat.receive("/compact"));
    await chat.receive("/send deny");
    gate.open();
    const refused = await until(async () => {
      const { answers } = await chat.sessions.call("outbox", { refused: true, sessionKey: ANN });
      return answers.find(({ text }) => COMPACTED.test(text));
    });
    assert.match(refused.refused ?? "", /./);
    assert.ok(!chat.texts.some((text) => COMPACTED.test(text)));
  });

  test("says on a page, which is told with the receipt, that it is not done yet, and no more", async (t) => {
    const at = await held(t);
    const { chat } = at;
    const web = { channel: "web", chatType: "direct", peer: "bob" } as const;
    const { sessionKey } = await chat.sessions.receive(web, "!call gate");
    await at.gate.reached(2);
    const { command } = await late(at, chat.sessions.receive(web, "/compact"));
    assert.match(command ?? "", /^not compacted yet: .* it is done when the session comes to it$/);
    assert.equal(chat.stage.wired.system.later.of(parseKey(sessionKey)), 0);
    at.gate.open();
  });

  test("over a stop of sessiond is done after it; whoever wrote it is told that nobody tells them", async (t) => {
    const at = await held(t);
    const { chat, gate } = at;
    await late(at, chat.receive("/compact", { id: "7" }));
    await until(() => chat.texts.includes(AT_WORK));
    await chat.stage.reopen();
    const stopped = await until(() => chat.texts.find((text) => text.startsWith("sessiond stops")));
    assert.match(stopped, /before this is done \(it is done after the next start; nobody tells/);
    assert.equal((await chat.receive("/compact", { id: "7" })).repeated, true);
    gate.open();
    await until(async () => (await chat.sessions.status(ANN)).waitingLetters === 0);
    assert.equal(chat.texts.filter((text) => COMPACTED.test(text)).length, 0);
  });
});

test("what a long command came to is not lost from then on: a webhook that is down gets it after a restart", async (t) => {
  const [gate, world, receiver] = [new Gate(), new Forward(), await Receiver.open(t)];
  const stage = await Stage.open(
    t,
    { webhooks: { shop: { secret: SECRET, url: receiver.url } } },
    { tools: [gate.tool], world },
  );
  const post = (id: string, message: string) => stage.post({ id, peer: "ann", message });
  const { body } = await post("1", "!call gate\n!then\n!say through");
  await gate.reached();
  const { status } = await late({ world }, post("2", "/compact"));
  assert.equal(status, 202);
  await until(() => receiver.texts.includes(AT_WORK));
  receiver.answer = (response) => void response.writeHead(503).end();
  gate.open();
  const key = { sessionKey: body.sessionKey };
  await until(async () => {
    const { answers } = await stage.sessions.call("outbox", key);
    return answers.some(({ text }) => COMPACTED.test(text));
  });
  await stage.close();
  receiver.came.length = 0;
  receiver.answer = (response) => void response.writeHead(204).end();
  await stage.reopen();
  await until(() => receiver.texts.some((text) => COMPACTED.test(text)));
  await until(async () => (await stage.sessions.call("outbox", key)).answers.length === 0);
  assert.equal(receiver.texts.filter((text) => COMPACTED.test(text)).length, 1);
});
