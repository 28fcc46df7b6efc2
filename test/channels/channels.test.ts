// Channels of a program's own: what they may be, and who is told that somebody types.

import assert from "node:assert/strict";
import { test } from "node:test";
import { open, type Channel, type Outgoing, type Parts, type Route } from "../../src/index.ts";
import type { Letter } from "../../src/mail/letter.ts";
import { parseKey } from "../../src/routing/key.ts";
import { Daemon } from "../gateway/daemon.ts";
import { fault, Gate } from "../sessions/stage.ts";
import { SECRET, Stage, until } from "./stage.ts";

/** A channel of a class, as programs write them. */
class Pigeon implements Channel {
  readonly name = "pigeon";
  readonly delivered: Outgoing[] = [];
  readonly told: string[] = [];
  trouble: "none" | "throws" | "rejects" | "hangs" = "none";

  async deliver(outgoing: Outgoing): Promise<void> {
    this.delivered.push(outgoing);
  }

  typing({ to, thread }: Route, isTyping: boolean): Promise<void> {
    this.told.push(`${to}/${thread} ${isTyping ? "types" : "rests"}`);
    if (this.trouble === "throws") throw new Error("no pigeon left");
    if (this.trouble === "hangs") return new Promise(() => {});
    return this.trouble === "rejects" ? Promise.reject(new Error("no pigeon left")) : Promise.resolve();
  }
}

const FROM = { channel: "pigeon", chatType: "direct", peer: "ann" } as const;

test("a channel may be an object or just a function, and both deliver", async (t) => {
  const pigeon = new Pigeon();
  const heard: string[] = [];
  const drum = async ({ route }: Outgoing): Promise<void> => void heard.push(route.to);
  const stage = await Stage.open(t, {}, { channels: { pigeon, drum } });
  await stage.sessions.receive(FROM, "!say coo");
  await stage.sessions.receive({ ...FROM, channel: "drum" }, "!say boom");
  await until(() => pigeon.delivered.length === 1 && heard.length === 1);
  assert.deepEqual(pigeon.delivered[0]?.route, { channel: "pigeon", to: "ann", thread: null });
});

test("what is no channel is refused at the start, with what is wrong", async () => {
  const refused = async (channels: object, words: RegExp, config = {}): Promise<void> => {
    const opening = open(
      { home: "/nowhere", ...config },
      { channels: channels as NonNullable<Parts["channels"]> },
    );
    await assert.rejects(opening, fault("bad_input", words));
  };
  await refused({ pigeon: {} }, /channels\.pigeon: it is a function that delivers, or a channel/);
  await refused(
    { pigeon: { name: "pigeon", deliver: async () => {}, typing: 1 } },
    /a channel \(name, deliver\)/,
  );
  await refused({ dove: new Pigeon() }, /channels\.dove: its name is "pigeon"; make them the same/);
  await refused({ web: async () => {} }, /no channel is called "web": the word is kept for the web chat/);
  await refused({ session: async () => {} }, /no channel is called "session"/);
  await refused({ report: async () => {} }, /no channel is called "report"/);
  await refused({ timer: async () => {} }, /no channel is called "timer"/);
  const webhooks = { pigeon: { secret: SECRET, url: "http://127.0.0.1:1/" } };
  await refused({ pigeon: new Pigeon() }, /two channels are called pigeon/, { webhooks });
});

test("nobody outside writes what goes to a session: not as an answer, and not as a report", async (t) => {
  const stage = await Stage.open(t);
  for (const channel of ["session", "report"]) {
    const forged = { channel, chatType: "direct", peer: "agent:main:main", thread: "a task" } as const;
    const words = new RegExp(`the channel of a message: "${channel}": the word is kept for`);
    await assert.rejects(stage.sessions.receive(forged, "done"), fault("bad_input", words));
    const webhooks = { [channel]: { secret: SECRET } };
    await assert.rejects(stage.reopen({ webhooks }), fault("bad_input", /is not a name of a-z/));
    await stage.reopen({});
  }
  const { sessions } = await stage.sessions.list({});
  assert.deepEqual(
    sessions.map(({ sessionKey }) => sessionKey),
    ["agent:main:main"],
  );
});

test("over HTTP nobody writes such a message either", async (t) => {
  const daemon = await Daemon.start(t);
  for (const channel of ["session", "report"]) {
    const forged = { channel, chatType: "direct", peer: "agent:main:main", thread: "t", message: "done" };
    const body = JSON.stringify(forged);
    assert.equal((await daemon.fetch("/v1/receive", { method: "POST", body })).status, 400, channel);
    assert.match((await daemon.rpc("receive", forged)).error?.message ?? "", /the word is kept for/);
    assert.equal(
      (await daemon.fetch(`/hooks/${channel}`, { method: "POST", body, token: null })).status,
      401,
    );
  }
});

for (const channel of ["session", "report"])
  test(`a letter for a ${channel} that is no session ends its turn, and the answer is seen as refused`, async (t) => {
    const stage = await Stage.open(t);
    const { sessionKey } = await stage.sessions.receive({ ...FROM, channel: "" }, "!say first");
    const key = parseKey(sessionKey);
    const letter: Letter = {
      id: "ext:odd",
      from: { kind: "external_user", channel: null, peer: "ann" },
      class: "interactive",
      mode: null,
      content: [{ type: "text", text: "!say second" }],
      replyTo: { channel, to: "not a key", thread: "x" },
      origin: null,
    };
    const { store, lanes } = stage.wired.system;
    const changes = [{ do: "post", to: [key], letter }] as const;
    lanes.told(changes, await store.commit(changes));
    assert.equal((await stage.sessions.wait(sessionKey, "ext:odd")).outcome, "done");
    const { answers } = await stage.sessions.outbox({ refused: true });
    assert.deepEqual(
      answers.map(({ route, refused }) => [route.to, refused]),
      [["not a key", `there is no channel "${channel}"`]],
    );
    assert.equal((await stage.sessions.ask(sessionKey, "!say third")).text, "third");
  });

test("whoever waits for an answer is told that somebody types, from the first step to the end of the turn", async (t) => {
  const pigeon = new Pigeon();
  const gate = new Gate();
  const stage = await Stage.open(t, {}, { channels: { pigeon }, tools: [gate.tool] });
  const sent = await stage.sessions.receive({ ...FROM, thread: "t1" }, "!call gate\n!then\n!say done");
  await gate.reached();
  assert.deepEqual(pigeon.told, ["ann/t1 types"]);
  gate.open();
  await stage.sessions.wait(sent.sessionKey, sent.id);
  await until(() => pigeon.told.length >= 2); // The end of the turn may be heard of before that.
  assert.deepEqual(pigeon.told, ["ann/t1 types", "ann/t1 rests"]);
});

test("when another chat joins a turn, it is the one that is told", async (t) => {
  const pigeon = new Pigeon();
  const gate = new Gate();
  const config = { session: { dmScope: "main" } } as const;
  const stage = await Stage.open(t, config, { channels: { pigeon }, tools: [gate.tool] });
  const sent = await stage.sessions.receive(FROM, "!call gate\n!then\n!say done");
  await gate.reached();
  await stage.sessions.receive({ ...FROM, peer: "bob" }, "!say me too", { mode: "steer" });
  gate.open();
  await stage.sessions.wait(sent.sessionKey, sent.id);
  await until(() => pigeon.told.length >= 4); // The end of the turn may be heard of before that.
  assert.deepEqual(pigeon.told, ["ann/null types", "ann/null rests", "bob/null types", "bob/null rests"]);
});

test("a turn that waits for children does not type meanwhile", async (t) => {
  const pigeon = new Pigeon();
  const gate = new Gate();
  const stage = await Stage.open(t, {}, { channels: { pigeon }, tools: [gate.tool] });
  const script = '!spawn {"task":"!call gate"}\n!then\n!call sessions_yield {}\n!then\n!say all done';
  await stage.sessions.receive(FROM, script);
  await until(() => pigeon.told.length === 2);
  gate.open();
  await until(() => pigeon.delivered.length === 1);
  const words = pigeon.told.map((each) => each.split(" ")[1]);
  assert.deepEqual(words, ["types", "rests", "types", "rests"]);
});

test("who is not to hear the answer is not told that somebody types", async (t) => {
  const pigeon = new Pigeon();
  const sendPolicy = { rules: [{ action: "deny" as const, match: { channel: "pigeon" } }] };
  const stage = await Stage.open(t, { session: { sendPolicy } }, { channels: { pigeon } });
  const sent = await stage.sessions.receive(FROM, "!say coo");
  await stage.sessions.wait(sent.sessionKey, sent.id);
  assert.deepEqual([pigeon.told, pigeon.delivered], [[], []]);
});

for (const trouble of ["throws", "rejects", "hangs"] as const)
  test(`a channel whose typing ${trouble} changes nothing of the turn`, async (t) => {
    const pigeon = new Pigeon();
    pigeon.trouble = trouble;
    const stage = await Stage.open(t, {}, { channels: { pigeon } });
    const sent = await stage.sessions.receive(FROM, "!say coo");
    assert.equal((await stage.sessions.wait(sent.sessionKey, sent.id)).outcome, "done");
    await until(() => pigeon.delivered.length === 1);
    assert.deepEqual(pigeon.told, ["ann/null types", "ann/null rests"]);
  });
