// Messages of other programs: who may, and that none is there twice.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { answerSignatureOf, MemoryStore, SimulatedWorld } from "../../src/index.ts";
import {
  BODY_BYTES_MAX,
  REFUSED_PER_SECOND,
  WEBHOOK_SUSPECT_BYTES_MAX,
  WEBHOOK_UNSIGNED_BYTES_MAX,
  WEBHOOK_WINDOW_MS,
} from "../../src/gateway/limits.ts";
import { afterwards } from "../fixtures/home.ts";
import { SECRET, Stage, until } from "./stage.ts";

const CONFIG = { webhooks: { shop: { secret: SECRET } } };
const HELLO = { id: "42", peer: "ann", message: "!say hello" };
const LARGE = { ...HELLO, id: "large", message: "x".repeat(WEBHOOK_SUSPECT_BYTES_MAX) };

/** A clock that stands still until the test moves it. */
async function still(test: Parameters<typeof Stage.open>[0], config = CONFIG) {
  const world = new SimulatedWorld(1);
  return { world, stage: await Stage.open(test, config, { world, store: new MemoryStore(world) }) };
}

test("a signed message is a letter of its channel, and is answered in its session", async (t) => {
  const stage = await Stage.open(t, { ...CONFIG, session: { dmScope: "per-channel-peer" } });
  const { status, body } = await stage.post(HELLO, { headers: { "x-sessiond-id": "42" } });
  assert.deepEqual([status, body.repeated], [202, false]);
  assert.equal(body.sessionKey, "agent:main:shop:direct:ann");
  assert.match(body.id, /^ext:receive:webhook%3Ashop:shop::.*:42$/);
  assert.equal((await stage.sessions.wait(body.sessionKey, body.id)).text, "hello");
});

test("a message says where it comes from, in the words of `receive`", async (t) => {
  const stage = await Stage.open(t, { ...CONFIG, agents: { main: {}, coder: {} } });
  const group = {
    id: "1",
    peer: "g1",
    chatType: "group",
    sender: "ann",
    thread: "t9",
    subject: "Planning",
    agent: "coder",
  };
  const { body } = await stage.post({ ...group, message: "!say hi" });
  assert.equal(body.sessionKey, "agent:coder:shop:group:g1:thread:t9");
  await stage.sessions.wait(body.sessionKey, body.id);
  const { origin } = await stage.sessions.status(body.sessionKey);
  assert.deepEqual(
    [origin?.channel, origin?.sender, origin?.thread, origin?.subject],
    ["shop", "ann", "t9", "Planning"],
  );
});

test("an agent that is configured for the webhook is spoken to, and no other", async (t) => {
  const config = { webhooks: { shop: { secret: SECRET, agent: "coder" } }, agents: { main: {}, coder: {} } };
  const stage = await Stage.open(t, config);
  assert.match((await stage.post(HELLO)).body.sessionKey, /^agent:coder:/);
  assert.equal((await stage.post({ ...HELLO, agent: "coder" })).status, 202);
  const other = await stage.post({ ...HELLO, agent: "main" });
  assert.equal(other.status, 403);
  assert.match(other.body.error.message, /webhooks\.shop speaks to the agent coder, and not to "main"/);
  await assert.rejects(stage.reopen({ ...config, agents: { main: {} } }), /webhooks\.shop\.agent/);
});

test("the same message again, while its signature counts, is the same letter: also after a restart", async (t) => {
  const stage = await Stage.open(t, CONFIG);
  const atMs = Date.now();
  const first = await stage.post(HELLO, { atMs });
  await stage.sessions.wait(first.body.sessionKey, first.body.id);
  const again = await stage.post(HELLO, { atMs });
  await stage.reopen();
  const later = await stage.post(HELLO, { atMs });
  assert.deepEqual([again.status, again.body], [202, { ...first.body, repeated: true }]);
  assert.deepEqual([later.status, later.body], [202, { ...first.body, repeated: true }]);
  const { entries } = await stage.sessions.history(first.body.sessionKey);
  assert.equal(entries.filter(({ kind }) => kind === "user").length, 1);
});

test("a message that is played again cannot be given another id: the id is in what is signed", async (t) => {
  const stage = await Stage.open(t, CONFIG);
  assert.equal((await stage.post(HELLO)).status, 202);
  const renamed = await stage.post(HELLO, { headers: { "x-sessiond-id": "43" } });
  assert.equal(renamed.status, 400);
  assert.match(renamed.body.error.message, /X-Sessiond-Id is "43", and the id in the body "42"/);
  const { id: _id, ...nameless } = HELLO;
  const unnamed = await stage.post(nameless, { headers: { "x-sessiond-id": "43" } });
  assert.equal(unnamed.status, 400);
  assert.match(unnamed.body.error.message, /id: your own id of the message/);
});

test("other content under the same id is a conflict", async (t) => {
  const stage = await Stage.open(t, CONFIG);
  await stage.post(HELLO);
  const other = await stage.post({ ...HELLO, message: "!say something else" });
  assert.deepEqual([other.status, other.body.error.code], [409, "conflict"]);
});

test("a timestamp counts for the window and no longer, in both directions", async (t) => {
  const { stage, world } = await still(t);
  const nowMs = world.nowMs();
  const at = async (offsetMs: number) =>
    (await stage.post({ ...HELLO, id: `${offsetMs}` }, { atMs: nowMs + offsetMs })).status;
  assert.deepEqual(
    [
      await at(-WEBHOOK_WINDOW_MS),
      await at(WEBHOOK_WINDOW_MS),
      await at(-WEBHOOK_WINDOW_MS - 1_000),
      await at(WEBHOOK_WINDOW_MS + 1_000),
    ],
    [202, 202, 401, 401],
  );
  world.pass(1);
  assert.equal(await at(-WEBHOOK_WINDOW_MS), 401);
});

test("who may not learns nothing of why: not which names there are, nor what was wrong", async (t) => {
  const { stage, world } = await still(t);
  const old = world.nowMs() - WEBHOOK_WINDOW_MS - 1_000;
  const refused = [
    await stage.post(HELLO, { secret: "another secret of somebody" }),
    await stage.post(HELLO, { name: "nobody" }),
    await stage.post(HELLO, { name: "nobody", secret: "nobody signs with this" }),
    await stage.post(HELLO, { name: "constructor" }),
    await stage.post(HELLO, { atMs: old }),
    await stage.post(HELLO, { sent: JSON.stringify({ ...HELLO, message: "!say tampered" }) }),
    await stage.post(HELLO, { headers: { "x-sessiond-signature": "v1=" } }),
    await stage.post(HELLO, { headers: { "x-sessiond-timestamp": "1e9" } }),
    await stage.post("{", { secret: "another secret of somebody" }),
  ];
  assert.deepEqual(
    refused.map(({ status }) => status),
    refused.map(() => 401),
  );
  assert.deepEqual(new Set(refused.map(({ body }) => JSON.stringify(body))).size, 1);
  assert.match(refused[0]?.body.error.todo ?? "", /HMAC-SHA256/);
  assert.equal((await stage.sessions.list({})).sessions.length, 1, "only main is there");
  assert.ok(!stage.logged.join("").includes(SECRET));
});

test("a body that is signed and wrong is refused with what is wrong", async (t) => {
  const stage = await Stage.open(t, CONFIG);
  for (const [body, words] of [
    ["{", /the body is no JSON/],
    ["", /the body is no JSON/],
    ["[]", /the message: .*as in \{"id": "42"/],
    [{ id: "1", message: "hi" }, /peer/],
    [{ id: "1", peer: "ann" }, /message/],
    [{ ...HELLO, chanel: "x" }, /chanel/],
    [{ ...HELLO, channel: "telegram" }, /channel/],
    [{ ...HELLO, chatType: "crowd" }, /chatType/],
    [{ ...HELLO, id: "x".repeat(257) }, /id/],
    [{ ...HELLO, message: " " }, /there is nothing in it/],
  ] as const) {
    const { status, body: said } = await stage.post(body);
    assert.equal(status, 400, JSON.stringify(said));
    assert.match(said.error.message, words);
  }
});

test("wrong signatures of one address are limited; who signs well at the same address is not", async (t) => {
  const { stage, world } = await still(t);
  const wrong = async (message: object = HELLO) =>
    (await stage.post(message, { secret: "another secret of somebody" })).status;
  const seen: number[] = [];
  for (let n = 0; n <= REFUSED_PER_SECOND; n += 1) seen.push(await wrong());
  assert.deepEqual(seen.slice(-2), [401, 429]);
  assert.equal((await stage.post(HELLO)).status, 202);
  // What is large is not even read any more, until some time has passed.
  assert.equal((await stage.post(LARGE)).status, 429);
  world.pass(1_000);
  assert.equal((await stage.post(LARGE)).status, 202);
  assert.ok(WEBHOOK_SUSPECT_BYTES_MAX < BODY_BYTES_MAX);
});

test("large messages that are signed take nothing from the rate of wrong ones", async (t) => {
  const { stage } = await still(t);
  for (let n = 0; n <= REFUSED_PER_SECOND; n += 1)
    assert.equal((await stage.post({ ...LARGE, id: String(n) })).status, 202);
});

/** Says that a body of so many bytes comes, signed by nobody, and begins with it. What is said to that is `heard`. */
async function begun(
  t: TestContext,
  stage: Stage,
  { name = "shop", bytes, signature = `v1=${"0".repeat(64)}` }: Begun,
): Promise<{ heard: string; readonly socket: Socket }> {
  const { hostname, port } = new URL(stage.url);
  const socket = connect({ host: hostname, port: Number(port) });
  const line = { heard: "", socket };
  socket.on("error", () => {}).on("data", (data) => (line.heard += data.toString()));
  afterwards(t, () => socket.destroy());
  await once(socket, "connect");
  const timestamp = Math.floor(stage.wired.system.world.nowMs() / 1_000);
  socket.write(
    `POST /hooks/${name} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${bytes}\r\n` +
      `X-Sessiond-Timestamp: ${timestamp}\r\nX-Sessiond-Signature: ${signature}\r\n\r\n{`,
  );
  return line;
}

interface Begun {
  readonly name?: string;
  readonly bytes: number;
  readonly signature?: string;
}

test("the body is not waited for when the name is nobody's, or the headers cannot be right", async (t) => {
  const stage = await Stage.open(t, CONFIG);
  const nobody = await begun(t, stage, { name: "nobody", bytes: BODY_BYTES_MAX });
  const unsigned = await begun(t, stage, { bytes: BODY_BYTES_MAX, signature: "v1=00" });
  await until(() => nobody.heard.startsWith("HTTP/1.1 401") && unsigned.heard.startsWith("HTTP/1.1 401"));
});

test("a large body counts as wrong from its beginning, until it is known to be signed", async (t) => {
  const { stage, world } = await still(t);
  const bytes = WEBHOOK_SUSPECT_BYTES_MAX + 1;
  for (let n = 0; n < REFUSED_PER_SECOND; n += 1) await begun(t, stage, { bytes });
  const refused = await until(async () => {
    const { status, body } = await stage.post(LARGE);
    return status === 429 && body.error.message;
  });
  assert.match(refused, /too many requests with a wrong signature/);
  world.pass(1_000);
  assert.equal((await stage.post(LARGE)).status, 202);
});

test("bodies that nobody has signed yet take a bounded memory in all; small ones are read meanwhile", async (t) => {
  const stage = await Stage.open(t, CONFIG);
  const crowd: Awaited<ReturnType<typeof begun>>[] = [];
  for (let bytes = 0; bytes < WEBHOOK_UNSIGNED_BYTES_MAX; bytes += BODY_BYTES_MAX)
    crowd.push(await begun(t, stage, { bytes: BODY_BYTES_MAX }));
  const refused = await until(async () => {
    const { status, body } = await stage.post(LARGE);
    return status === 429 && body.error.message;
  });
  assert.match(refused, /too much is being read/);
  assert.equal((await stage.post(HELLO)).status, 202);
  for (const { socket } of crowd) socket.destroy();
  await until(async () => (await stage.post(LARGE)).status === 202);
});

test("an answer of ours that is sent back is no message", async (t) => {
  const stage = await Stage.open(t, CONFIG);
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = answerSignatureOf(SECRET, timestamp, JSON.stringify(HELLO));
  const headers = { "x-sessiond-timestamp": timestamp, "x-sessiond-signature": signature };
  assert.equal((await stage.post(HELLO, { headers })).status, 401);
});

test("a webhook without an address takes no answers: they are refused, and seen", async (t) => {
  const stage = await Stage.open(t, CONFIG);
  const { body } = await stage.post(HELLO);
  await stage.sessions.wait(body.sessionKey, body.id);
  const [refused] = await until(async () => {
    const { answers } = await stage.sessions.outbox({ refused: true });
    return answers.length > 0 && answers;
  });
  assert.match(refused?.refused ?? "", /there is no channel "shop"/);
});
