// Answers to other programs: signed, under one id, until they are taken or refused for good.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test, type TestContext } from "node:test";
import { MemoryStore, SimulatedWorld, type Outgoing } from "../../src/index.ts";
import { Secret } from "../../src/base/secret.ts";
import { answerSignatureOf } from "../../src/channels/signature.ts";
import { webhookChannels } from "../../src/channels/webhook.ts";
import { DELIVERY_TRIES_MAX, WEBHOOK_WORDS_BYTES_MAX } from "../../src/limits.ts";
import { Refused } from "../../src/mail/outbox.ts";
import { afterwards } from "../fixtures/home.ts";
import { fault } from "../sessions/stage.ts";
import { Receiver, SECRET, Stage, until } from "./stage.ts";

const HELLO = { id: "42", peer: "ann", message: "!say hello" };

/** The clock jumps from one pause to the next, as long as the test runs. */
async function hasty(t: TestContext, receiver: Receiver, more: object = {}): Promise<Stage> {
  const world = new SimulatedWorld(1);
  const config = { webhooks: { shop: { secret: SECRET, url: receiver.url } }, ...more };
  const stage = await Stage.open(t, config, { world, store: new MemoryStore(world) });
  let isOver = false;
  const ticking = (async () => {
    while (!isOver) {
      await new Promise((wake) => setTimeout(wake, 2));
      world.step();
    }
  })();
  afterwards(t, async () => {
    isOver = true;
    await ticking;
  });
  return stage;
}

async function refusedIn(stage: Stage): Promise<string> {
  return await until(async () => (await stage.sessions.outbox({ refused: true })).answers[0]?.refused);
}

async function emptied(stage: Stage): Promise<void> {
  await until(async () => (await stage.sessions.outbox({ refused: false })).answers.length === 0);
}

test("an answer is posted with its id, where it goes, its words and a signature over the bytes", async (t) => {
  const receiver = await Receiver.open(t);
  const stage = await Stage.open(t, { webhooks: { shop: { secret: SECRET, url: receiver.url } } });
  const { body } = await stage.post({ ...HELLO, thread: "t9" });
  const { headers, body: text, said } = await until(() => receiver.came[0]);
  assert.deepEqual(Object.keys(said), ["id", "sessionKey", "to", "thread", "text", "at"]);
  assert.deepEqual(
    { ...said, id: "", at: "" },
    { id: "", sessionKey: body.sessionKey, to: "ann", thread: "t9", text: "hello", at: "" },
  );
  assert.equal(headers["x-sessiond-id"], said.id);
  const timestamp = String(headers["x-sessiond-timestamp"]);
  assert.match(timestamp, /^\d{10}$/);
  assert.equal(headers["x-sessiond-signature"], answerSignatureOf(SECRET, timestamp, text));
  await emptied(stage);
  assert.equal(receiver.came.length, 1);
});

test("each answer goes back to the thread that its message came from", async (t) => {
  const receiver = await Receiver.open(t);
  const stage = await Stage.open(t, { webhooks: { shop: { secret: SECRET, url: receiver.url } } });
  const group = { peer: "g1", chatType: "group" };
  await Promise.all(
    [null, "a", "b"].map((thread) =>
      stage.post({ ...group, id: `${thread}`, thread, message: `!say in ${thread}` }),
    ),
  );
  await until(() => receiver.came.length === 3);
  assert.deepEqual(receiver.came.map(({ said }) => `${said.thread}: ${said.text}`).toSorted(), [
    "a: in a",
    "b: in b",
    "null: in null",
  ]);
});

test("a program that fails is tried again, with the same id and bytes, until it takes the answer", async (t) => {
  const receiver = await Receiver.open(t);
  const answers = [500, 503, 429, 408, 425, 302];
  receiver.answer = (response, times) => {
    const status = answers[times - 1] ?? 200;
    response.writeHead(status, status === 302 ? { location: receiver.url } : {}).end("ok");
  };
  const stage = await hasty(t, receiver);
  await stage.post(HELLO);
  await until(() => receiver.came.length === answers.length + 1);
  await emptied(stage);
  assert.equal(new Set(receiver.ids).size, 1);
  assert.equal(new Set(receiver.came.map(({ body }) => body)).size, 1);
  assert.equal((await stage.sessions.outbox({ refused: true })).answers.length, 0);
});

test("a program that never takes it is given up: the answer is a dead letter, with the reason", async (t) => {
  const receiver = await Receiver.open(t);
  receiver.answer = (response) => void response.writeHead(500).end("our database is away");
  const stage = await hasty(t, receiver);
  await stage.post(HELLO);
  assert.match(
    await refusedIn(stage),
    /given up after 8 tries: http:\/\/127\.0\.0\.1:\d+ answered 500: our database is away/,
  );
  assert.equal(receiver.came.length, DELIVERY_TRIES_MAX);
  assert.equal(new Set(receiver.ids).size, 1);
});

test("a program that never answers is given up too, and the answer holds up only its own session", async (t) => {
  const receiver = await Receiver.open(t);
  receiver.answer = (response, times) =>
    void (receiver.came[times - 1]?.said.text === "hello" ? null : response.end());
  const stage = await hasty(t, receiver);
  await stage.post(HELLO);
  await until(() => receiver.came.length === 1);
  await stage.post({ id: "1", peer: "other", chatType: "group", message: "!say another" });
  await until(() => receiver.texts.includes("another"));
  assert.match(await refusedIn(stage), /given up after 8 tries: the channel did not take it within/);
});

test("a program that says 410 is not asked again, and the next answer goes on", async (t) => {
  const receiver = await Receiver.open(t);
  receiver.answer = (response, times) =>
    void response.writeHead(times === 1 ? 410 : 204).end(times === 1 ? "I moved" : "");
  const stage = await hasty(t, receiver);
  await stage.post(HELLO);
  assert.match(
    await refusedIn(stage),
    /^the channel refused it: http:\/\/127\.0\.0\.1:\d+ answered 410: I moved$/,
  );
  await stage.post({ ...HELLO, id: "43", message: "!say again" });
  await until(() => receiver.came.length === 2);
  assert.deepEqual(receiver.texts, ["hello", "again"]);
});

test("an answer that may not leave is recorded and seen, and nobody is asked to take it", async (t) => {
  const receiver = await Receiver.open(t);
  const rules = [{ action: "deny", match: { channel: "shop" } }] as const;
  const stage = await hasty(t, receiver, { session: { sendPolicy: { rules } } });
  const { body } = await stage.post(HELLO);
  assert.match(await refusedIn(stage), /rule 1 of session.sendPolicy .*channel.*shop.* denies it/);
  await stage.sessions.wait(body.sessionKey, body.id);
  const [denied] = (await stage.sessions.outbox({ refused: true })).answers;
  await assert.rejects(
    stage.sessions.call("redeliver", { id: denied?.id ?? "" }),
    fault("forbidden", /may not leave/),
  );
  assert.equal(receiver.came.length, 0);
});

test("a dead letter is handed over once more when somebody says so, under the same id", async (t) => {
  const receiver = await Receiver.open(t);
  receiver.answer = (response, times) => void response.writeHead(times === 1 ? 404 : 204).end();
  const stage = await hasty(t, receiver);
  const { body } = await stage.post(HELLO);
  await refusedIn(stage);
  const [dead] = (await stage.sessions.outbox({ refused: true })).answers;
  const id = dead?.id ?? "";
  assert.deepEqual(await stage.sessions.call("redeliver", { id }), { id, sessionKey: body.sessionKey });
  await until(() => receiver.came.length === 2);
  await emptied(stage);
  assert.deepEqual(receiver.ids, [id, id]);
  assert.deepEqual((await stage.sessions.outbox({ refused: true })).answers, []);
  await assert.rejects(
    stage.sessions.call("redeliver", { id }),
    fault("not_found", /no answer that was refused/),
  );
});

// ── One request ─────────────────────────────────────────────────────────────────────────────────────────────

function answer(content: Outgoing["content"] = [{ type: "text", text: "hello" }]): Outgoing {
  const route = { channel: "shop", to: "ann", thread: null };
  return {
    id: "a:b:answer:0",
    key: "agent:main:main" as Outgoing["key"],
    route,
    content,
    postedAtMs: 0,
    refused: null,
  };
}

/** What delivering once comes to; null: it was taken. */
async function delivered(
  url: string,
  outgoing = answer(),
  signal = new AbortController().signal,
): Promise<Error | null> {
  const webhook = { name: "shop", secret: new Secret(SECRET), url, agent: "main" };
  const [channel] = webhookChannels(new SimulatedWorld(1), [webhook]);
  try {
    await channel?.deliver(outgoing, signal);
    return null;
  } catch (error) {
    return error as Error;
  }
}

test("a redirect is not followed, and only its origin is told", async (t) => {
  const [receiver, elsewhere] = [await Receiver.open(t), await Receiver.open(t)];
  receiver.answer = (response) =>
    void response.writeHead(307, { location: `${elsewhere.url}&more=private` }).end();
  const error = await delivered(receiver.url);
  assert.match(
    error?.message ?? "",
    /redirects to another address, at http:\/\/127\.0\.0\.1:\d+; write the new address into webhooks\.shop\.url$/,
  );
  assert.ok(!(error instanceof Refused));
  assert.equal(elsewhere.came.length, 0);
});

test("neither the secret nor what stands in the query of the address is in what is told", async (t) => {
  const receiver = await Receiver.open(t);
  for (const status of [410, 500]) {
    receiver.answer = (response) =>
      void response.writeHead(status).end(`${SECRET} hunter2-hunter2 no\n thanks`);
    assert.match(
      (await delivered(receiver.url))?.message ?? "",
      /answered \d+: \[secret\] \[secret\] no thanks$/,
    );
  }
  receiver.answer = (response) => void response.destroy();
  const gone = (await delivered(receiver.url))?.message ?? "";
  assert.match(gone, /^http:\/\/127\.0\.0\.1:\d+ could not be reached: \w+/);
  assert.ok(!gone.includes("hunter2"));
  const nobody = createServer().listen(0, "127.0.0.1");
  await once(nobody, "listening");
  const { port } = nobody.address() as { port: number };
  await new Promise((done) => nobody.close(done));
  const refused = (await delivered(`http://127.0.0.1:${port}/?key=hunter2`))?.message;
  assert.equal(refused, `http://127.0.0.1:${port} could not be reached: ECONNREFUSED`);
});

test("what stands in the path of the address is not told either, when a program repeats it", async (t) => {
  const receiver = await Receiver.open(t);
  const { origin } = new URL(receiver.url);
  const path = "/services/T000/s%C3%A9cret-of-them";
  for (const said of [
    `${path}?room=12345678`,
    path,
    "s%C3%A9cret-of-them",
    "s\u00e9cret-of-them",
    "/services/T000/s\u00e9cret-of-them",
  ]) {
    receiver.answer = (response) => void response.writeHead(404).end(`Cannot POST ${said}`);
    const error = await delivered(`${origin}${path}?room=12345678`);
    assert.match(error?.message ?? "", /answered 404: Cannot POST \[secret\]$/, said);
  }
});

test("what a program says is read to a bound, however much it says, and a secret that is cut off there is not shown", async (t) => {
  const receiver = await Receiver.open(t);
  let left = 0;
  receiver.answer = (response) => {
    response.on("close", () => (left += 1)).on("error", () => {});
    response.writeHead(400).write(`${"x".repeat(WEBHOOK_WORDS_BYTES_MAX - 10)}${SECRET.slice(0, 10)}`); // and never ends
  };
  const error = await delivered(receiver.url);
  assert.ok(error instanceof Refused);
  assert.ok(error.message.length < WEBHOOK_WORDS_BYTES_MAX + 100);
  assert.ok(!error.message.includes(SECRET.slice(0, 6)));
  await until(() => left === 1);
  receiver.answer = (response) => void response.writeHead(200).write("taken, and I have much more to say");
  assert.equal(await delivered(receiver.url), null);
});

test("a request ends with the signal, and says what that says", async (t) => {
  const receiver = await Receiver.open(t);
  const over = new AbortController();
  receiver.answer = () => over.abort(new Error("it took too long"));
  assert.equal((await delivered(receiver.url, answer(), over.signal))?.message, "it took too long");
});

test("what is not text comes along as it is", async (t) => {
  const receiver = await Receiver.open(t);
  const picture = { type: "image", data: "AAAA", mimeType: "image/png" } as const;
  const content = [{ type: "text", text: "look" } as const, picture];
  assert.equal(await delivered(receiver.url, answer(content)), null);
  assert.deepEqual((JSON.parse(receiver.came[0]?.body ?? "") as Outgoing).content, content);
});
