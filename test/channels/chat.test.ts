// The web chat: what a visitor is shown of a session, and what not.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fault, Gate } from "../sessions/stage.ts";
import { Stage, until } from "./stage.ts";

const APART = { session: { dmScope: "per-channel-peer" } } as const;

test("a chat may be followed before its first message, and shows it and the answer", async (t) => {
  const stage = await Stage.open(t, APART);
  const chat = await stage.chat({ peer: "ann" });
  const sent = await stage.send("ann", "!say hello");
  await until(() => chat.lines.length === 2);
  assert.deepEqual(chat.lines, ["you: !say hello", "agent: hello"]);
  assert.equal(chat.shown.find(({ event }) => event.from === "you")?.event.id, sent.id);
  await until(() => chat.typing.length === 2);
  assert.deepEqual(chat.typing, [true, false]);
  assert.equal((await stage.sessions.outbox({ refused: true })).answers.length, 0, "the web is a channel");
});

test("who comes later, or comes back, reads on from what it has: each message once, in order", async (t) => {
  const stage = await Stage.open(t, APART);
  const first = await stage.chat({ peer: "ann" });
  for (const word of ["one", "two", "three"]) {
    const { sessionKey, id } = await stage.send("ann", `!say ${word}`);
    await stage.sessions.wait(sessionKey, id);
  }
  await until(() => first.lines.length === 6);
  const all = await stage.chat({ peer: "ann", from: 0 });
  await until(() => all.lines.length === 6);
  assert.deepEqual(all.lines, first.lines);
  const messages = (chat: typeof all) => chat.shown.filter(({ event }) => event.type === "message");
  assert.deepEqual(messages(all), messages(first));
  for (const [at, { resume }] of messages(all).entries()) {
    const rest = await stage.chat({ peer: "ann", from: resume ?? "0" });
    await until(() => rest.lines.length === 5 - at);
    assert.deepEqual(rest.lines, all.lines.slice(at + 1));
    await rest.end();
  }
});

test("who comes back in the middle of a turn is told that somebody types, and gets its answer", async (t) => {
  const gate = new Gate();
  const stage = await Stage.open(t, APART, { tools: [gate.tool] });
  await stage.send("ann", "!call gate\n!then\n!say through");
  await gate.reached();
  const chat = await stage.chat({ peer: "ann" });
  await until(() => chat.typing.length === 1);
  gate.open();
  await until(() => chat.lines.length === 1);
  await until(() => chat.typing.length === 2);
  assert.deepEqual([chat.lines, chat.typing], [["agent: through"], [true, false]]);
});

test("nothing is shown of what only the session should see", async (t) => {
  const tool = new Gate("secret_tool");
  tool.open();
  const stage = await Stage.open(t, APART, { tools: [tool.tool] });
  const chat = await stage.chat({ peer: "ann" });
  const script =
    "!think a thought\n!say between tools\n!call secret_tool\n!then\n!think more\n!say the answer";
  const { sessionKey } = await stage.send("ann", script);
  await until(() => chat.lines.length === 2);
  // A word of another person's, and one from nowhere: neither is the visitor's, nor are their answers.
  await stage.sessions.ask(sessionKey, "!say for the operator");
  await stage.send("ann", "!say again");
  await until(() => chat.lines.length === 4);
  assert.deepEqual(chat.lines.slice(1), ["agent: the answer", "you: !say again", "agent: again"]);
  assert.equal(chat.pieces, "");
});

test("people who share a session see their own messages and answers, and nobody else's", async (t) => {
  const stage = await Stage.open(t, { session: { dmScope: "main" } });
  const [ann, bob] = [await stage.chat({ peer: "ann" }), await stage.chat({ peer: "bob" })];
  for (const [peer, word] of [
    ["ann", "one"],
    ["bob", "two"],
    ["ann", "three"],
  ] as const) {
    const { sessionKey, id } = await stage.send(peer, `!say ${word}`);
    assert.equal(sessionKey, "agent:main:main");
    await stage.sessions.wait(sessionKey, id);
  }
  await until(() => ann.lines.length === 4 && bob.lines.length === 2);
  assert.deepEqual(ann.lines, ["you: !say one", "agent: one", "you: !say three", "agent: three"]);
  assert.deepEqual(bob.lines, ["you: !say two", "agent: two"]);
});

test("a thread is a chat of its own", async (t) => {
  const stage = await Stage.open(t, APART);
  const [chat, thread] = [await stage.chat({ peer: "ann" }), await stage.chat({ peer: "ann", thread: "t1" })];
  await stage.send("ann", "!say outside");
  await until(() => chat.lines.length === 2);
  await stage.send("ann", "!say inside", { thread: "t1" });
  await until(() => thread.lines.length === 2);
  assert.deepEqual([chat.lines[1], thread.lines[1]], ["agent: outside", "agent: inside"]);
  assert.deepEqual([chat.lines.length, thread.lines.length], [2, 2]);
});

test("a verbose session shows what it says and does before its answer, and pieces", async (t) => {
  const tool = new Gate("look");
  tool.open();
  const stage = await Stage.open(
    t,
    { ...APART, agents: { main: { verbose: "full" } } },
    { tools: [tool.tool] },
  );
  const chat = await stage.chat({ peer: "ann" });
  await stage.send("ann", "!think hidden\n!say I look.\n!call look\n!then\n!say Found it.");
  await until(() => chat.lines.length === 4);
  assert.deepEqual(chat.lines.slice(1), [
    "agent: I look.\n▸ look {}",
    "agent: ◂ look through",
    "agent: Found it.",
  ]);
  assert.equal(chat.pieces, "I look.Found it.");
  const again = await stage.chat({ peer: "ann", from: 0 });
  await until(() => again.lines.length === 4);
  assert.deepEqual(again.lines, chat.lines);
  assert.equal(new Set(again.shown.map(({ event }) => event.id)).size, 4);
});

test("an agent without tools shows pieces of its answers: they can become nothing else", async (t) => {
  const stage = await Stage.open(t, { ...APART, agents: { main: { tools: { allow: [] } } } });
  const chat = await stage.chat({ peer: "ann" });
  await stage.send("ann", "!verbose 30");
  await until(() => chat.lines.length === 2);
  assert.equal(`agent: ${chat.pieces}`, chat.lines[1]);
  const silent = await stage.send("ann", "!say NO_REPLY");
  await stage.sessions.wait(silent.sessionKey, silent.id);
  await stage.send("ann", "!say NO wonder");
  await until(() => chat.lines.at(-1) === "agent: NO wonder");
  assert.ok(!chat.lines.includes("agent: NO_REPLY") && !chat.pieces.includes("NO_REPLY"));
  assert.ok(chat.pieces.endsWith("NO wonder"));
});

test("an answer that was refused is not shown, nor pieces of it, nor that somebody types; what comes after is", async (t) => {
  const config = { ...APART, agents: { main: { tools: { allow: [] } } } };
  const stage = await Stage.open(t, config);
  const first = await stage.send("ann", "!say hello");
  await stage.sessions.wait(first.sessionKey, first.id);
  await stage.sessions.set(first.sessionKey, { sendPolicy: "deny" });
  const chat = await stage.chat({ peer: "ann" });
  const denied = await stage.send("ann", "!say kept back");
  await stage.sessions.wait(denied.sessionKey, denied.id);
  await stage.sessions.set(first.sessionKey, { sendPolicy: null });
  await stage.send("ann", "!say and now?");
  await until(() => chat.lines.length === 3);
  assert.deepEqual(chat.lines, ["you: !say kept back", "you: !say and now?", "agent: and now?"]);
  assert.equal(chat.pieces, "and now?");
  await until(() => chat.typing.length >= 2);
  assert.deepEqual(chat.typing, [true, false], "of the last turn");
  const later = await stage.chat({ peer: "ann", from: 0 });
  await until(() => later.lines.length === 5);
  assert.deepEqual(later.lines.slice(2), chat.lines);
  const [refused] = (await stage.sessions.outbox({ refused: true })).answers;
  assert.deepEqual([refused?.text, refused?.route.channel], ["kept back", "web"]);
});

test("a turn that fails says so, as it would to any channel; one that a person stops says nothing", async (t) => {
  const stage = await Stage.open(t, APART);
  const chat = await stage.chat({ peer: "ann" });
  await stage.send("ann", "!fail auth");
  await until(() => chat.lines.length === 2);
  assert.match(chat.lines[1] ?? "", /^agent: This turn ended without an answer: /);
  const { sessionKey, id } = await stage.send("ann", "!slow 60000");
  await until(() => chat.typing.at(-1) === true);
  await stage.sessions.abort(sessionKey);
  await stage.sessions.wait(sessionKey, id);
  await until(() => chat.typing.at(-1) === false);
  assert.equal(chat.lines.length, 3);
});

test("what several messages of a visitor begin together is answered once", async (t) => {
  const stage = await Stage.open(t, APART);
  const chat = await stage.chat({ peer: "ann" });
  const { sessionKey } = await stage.send("ann", "!say one");
  await until(() => chat.lines.length === 2);
  await stage.sessions.stop(sessionKey);
  await stage.send("ann", "!say two");
  await stage.send("ann", "!say three");
  await stage.sessions.cont(sessionKey);
  await until(() => chat.lines.length === 5);
  assert.deepEqual(chat.lines.slice(2), ["you: !say two", "you: !say three", "agent: two\nthree"]);
});

test("a chat that is removed begins anew, and nobody goes on in the middle of it", async (t) => {
  const stage = await Stage.open(t, APART);
  const chat = await stage.chat({ peer: "ann" });
  const { sessionKey } = await stage.send("ann", "!say one");
  await until(() => chat.lines.length === 2);
  await until(async () => (await stage.sessions.status(sessionKey)).state === "idle");
  const { resume } = chat;
  await stage.sessions.remove(sessionKey);
  await assert.rejects(chat.end(), fault("not_found", /was removed/));
  const gone = fault("bad_input", /the chat was removed since, .*begins anew/);
  await assert.rejects(stage.chat({ peer: "ann", from: resume }), gone);
  const anew = await stage.chat({ peer: "ann", from: 0 });
  await stage.send("ann", "!say two");
  await until(() => anew.lines.length === 2);
  assert.deepEqual(anew.lines, ["you: !say two", "agent: two"]);
  await assert.rejects(stage.chat({ peer: "ann", from: resume }), gone);
  await anew.end();
});

test("what cannot be followed is refused with what is wrong", async (t) => {
  const stage = await Stage.open(t, APART);
  await assert.rejects(stage.chat({ peer: "ann", from: 1 }), fault("bad_input", /entries up to 0/));
  await assert.rejects(stage.chat({ peer: "ann", agent: "nobody" }), fault("not_found", /nobody/));
  await assert.rejects(stage.chat({ peer: "" }), fault("bad_input", /peer/));
});
