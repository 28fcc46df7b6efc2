// A process that is killed between a message and its answer: nothing is lost, and what comes twice says so by its id.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { Program } from "../fixtures/program.ts";
import { Receiver, SECRET, Stage, until } from "./stage.ts";

const CONFIG = { session: { dmScope: "per-channel-peer" } } as const;

/** A process that has `sessions`, on the home of a stage that is closed. */
function life(t: TestContext, stage: Stage, config: object, source: string): Program {
  const index = fileURLToPath(new URL("../../src/index.ts", import.meta.url));
  const prologue = `
    const sessiond = await import(${JSON.stringify(index)});
    const sessions = await sessiond.open({ home, log: { level: "silent" }, ...${JSON.stringify(config)} });
  `;
  return new Program(t, { home: stage.home, source: prologue + source });
}

const webhook = (url: string) => ({ ...CONFIG, webhooks: { shop: { secret: SECRET, url } } });

test("a webhook's message that was acknowledged is answered after a kill in its turn, once", async (t) => {
  const receiver = await Receiver.open(t);
  const config = webhook(receiver.url);
  const stage = await Stage.open(t, config);
  await stage.close();
  const killed = life(
    t,
    stage,
    config,
    `const from = { channel: "shop", chatType: "direct", peer: "ann", thread: "t1" };
     say(await sessions.receive(from, "!slow 300\\n!say hello", { id: "42" }));
     await forever();`,
  );
  const { sessionKey, id } = (await killed.hear()) as { sessionKey: string; id: string };
  await killed.kill();
  assert.equal(receiver.came.length, 0);

  await stage.reopen();
  const { said } = await until(() => receiver.came[0]);
  assert.deepEqual([said.text, said.thread], ["hello", "t1"]);
  assert.equal((await stage.sessions.wait(sessionKey, id)).text, "hello");
  await until(async () => (await stage.sessions.outbox({})).answers.length === 0);
  await stage.reopen();
  assert.equal(receiver.came.length, 1);
});

test("an answer that a webhook was being handed when the process was killed comes again, under the same id", async (t) => {
  const receiver = await Receiver.open(t);
  const config = webhook(receiver.url);
  const stage = await Stage.open(t, config);
  await stage.close();
  receiver.answer = () => {}; // It has it, and the other side will never know.
  const killed = life(
    t,
    stage,
    config,
    `await sessions.receive({ channel: "shop", chatType: "direct", peer: "ann" }, "!say hello", { id: "42" });
     await forever();`,
  );
  await until(() => receiver.came.length === 1);
  await killed.kill();

  receiver.answer = (response) => void response.writeHead(204).end();
  await stage.reopen();
  await until(() => receiver.came.length === 2);
  assert.equal(new Set(receiver.ids).size, 1);
  assert.equal(receiver.came[0]?.body, receiver.came[1]?.body);
  await until(async () => (await stage.sessions.outbox({})).answers.length === 0);
});

test("a visitor of the web chat finds the answer after a kill, and each message once", async (t) => {
  const stage = await Stage.open(t, CONFIG);
  const before = await stage.chat({ peer: "ann" });
  await stage.send("ann", "!say one");
  await until(() => before.lines.length === 2);
  await stage.close();
  const killed = life(
    t,
    stage,
    CONFIG,
    `say(await sessions.receive({ channel: "web", chatType: "direct", peer: "ann" }, "!slow 300\\n!say two", { id: "2" }));
     await forever();`,
  );
  await killed.hear();
  await killed.kill();

  await stage.reopen();
  const chat = await stage.chat({ peer: "ann", from: before.resume });
  await until(() => chat.lines.length === 2);
  assert.deepEqual(chat.lines, ["you: !slow 300\n!say two", "agent: two"]);
  const again = await stage.chat({ peer: "ann", from: 0 });
  await until(() => again.lines.length === 4);
  assert.deepEqual(again.lines, [...before.lines, ...chat.lines]);
  assert.deepEqual((await stage.sessions.outbox({ refused: true })).answers, []);
});
