// WebSockets and streams of clients that talk nonsense, ask for too much, or do not listen.

import assert from "node:assert/strict";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SOCKET_CALLS_MAX, SUBSCRIPTIONS_MAX } from "../../src/gateway/limits.ts";
import type { Daemon } from "./daemon.ts";
import { attacked, headOf, Line, Raw, unharmed, type Said } from "./hostile.ts";

const HUNDRED_MB = 100 * 1024 * 1024;

test("a daemon takes no harm from sockets", { concurrency: true }, async (t) => {
  const daemon = await attacked(t);
  await unharmed(daemon, () => [
    t.test("what is no frame closes the connection", (test) => garbage(test, daemon)),
    t.test("what is no request is answered with what is wrong", (test) => nonsense(test, daemon)),
    t.test("a message of 100 MB closes the connection", (test) => large(test, daemon)),
    t.test("subscriptions are bounded", (test) => subscriptions(test, daemon)),
    t.test("calls that wait are bounded, and end with the connection", (test) => calls(test, daemon)),
    t.test("pings are answered", (test) => pings(test, daemon)),
    t.test("sockets are at one place", (test) => elsewhere(test, daemon)),
  ]);
});

test("a daemon takes no harm from those who do not listen", { concurrency: true }, async (t) => {
  const daemon = await attacked(t);
  await unharmed(daemon, () => [
    t.test("a follower that does not read is cut off, and others get everything", (test) =>
      deaf(test, daemon),
    ),
    t.test("who does not read answers is not listened to", (test) => deafToAnswers(test, daemon)),
  ]);
});

/** A connection that was made a WebSocket by hand. */
async function upgraded(test: TestContext, daemon: Daemon): Promise<Raw> {
  const connection = await Raw.open(test, daemon);
  const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
  connection.say(
    headOf(daemon, "GET /ws", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", key),
  );
  await connection.until(/^HTTP\/1\.1 101[^]*\r\n\r\n/);
  return connection;
}

/** By what it is; the first byte of a frame says its kind, the second whether it is masked, and its length. */
const FRAMES: Readonly<Record<string, readonly number[]>> = {
  "not masked": [0x81, 0x02, 0x7b, 0x7d],
  "of a reserved bit": [0xf1, 0x80, 0, 0, 0, 0],
  "of a reserved kind": [0x83, 0x80, 0, 0, 0, 0],
  "a continuation of nothing": [0x80, 0x80, 0, 0, 0, 0],
  "a ping that is too long": [0x89, 0xfe, 0x01, 0x00, 0, 0, 0, 0],
  "longer than any number": [0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
  "not UTF-8": [0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe],
  "a close with half a code": [0x88, 0x81, 0, 0, 0, 0, 0x03],
  HTTP: [...Buffer.from("GET / HTTP/1.1\r\n\r\n")],
};

async function garbage(test: TestContext, daemon: Daemon): Promise<void> {
  for (const [what, bytes] of Object.entries(FRAMES)) {
    const connection = await upgraded(test, daemon);
    const before = connection.heard.length;
    connection.say(Uint8Array.from(bytes));
    await connection.ended;
    assert.equal(connection.heard.charCodeAt(before), 0x88, `${what}: it is told that it is closed`);
  }
}

async function nonsense(test: TestContext, daemon: Daemon): Promise<void> {
  const line = await Line.open(test, daemon);
  const nested = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const tries: readonly (readonly [string | Buffer, number])[] = [
    ["", -32_700],
    ["{", -32_700],
    [Buffer.from([0xff, 0x00, 0xfe]), -32_700],
    ["[]", -32_600],
    [nested, -32_600],
    ['{"jsonrpc": "1.0", "id": 1, "method": "overview"}', -32_600],
    ['{"jsonrpc": "2.0", "id": 1, "method": 5}', -32_600],
    ['{"jsonrpc": "2.0", "id": {}, "method": "overview"}', -32_600],
    ['{"jsonrpc": "2.0", "id": 1, "method": "overview", "params": []}', -32_600],
    ['{"jsonrpc": "2.0", "id": 1, "method": "__proto__"}', -32_601],
    ['{"jsonrpc": "2.0", "id": 1, "method": "constructor"}', -32_601],
    ['{"jsonrpc": "2.0", "id": 1, "method": "join", "params": {}}', -32_000],
    ['{"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": {"stream": "__proto__"}}', -32_000],
    [
      '{"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": {"stream": "follow", "input": {"from": -1}}}',
      -32_602,
    ],
    [
      `{"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": {"stream": "follow", "input": {"from": ${nested}}}}`,
      -32_602,
    ],
    ['{"jsonrpc": "2.0", "id": 1, "method": "unsubscribe", "params": {"subscription": "7"}}', -32_000],
  ];
  for (const [text, code] of tries) {
    line.heard.length = 0;
    line.socket.send(text);
    const { error } = await line.until(() => true);
    assert.equal(error?.code, code, `${text.slice(0, 90).toString()}: ${JSON.stringify(error)}`);
    assert.ok(error.message.length > 0 && error.data.code !== "bug");
  }
  line.socket.send(Buffer.from('{"jsonrpc": "2.0", "id": "in bytes", "method": "overview"}'), {
    binary: true,
  });
  assert.ok((await line.until(({ id }) => id === "in bytes")).result);
}

async function large(test: TestContext, daemon: Daemon): Promise<void> {
  const whole = await Line.open(test, daemon);
  whole.socket.send(Buffer.alloc(HUNDRED_MB, 0x20));
  assert.ok([1_009, 1_006].includes((await whole.closed).code));
  const announced = await upgraded(test, daemon);
  const before = announced.heard.length;
  announced.say(Uint8Array.from([0x81, 0xff, 0, 0, 0, 0, 0x06, 0x40, 0, 0, 0, 0, 0, 0]));
  await announced.ended;
  assert.equal((announced.heard.charCodeAt(before + 2) << 8) | announced.heard.charCodeAt(before + 3), 1_009);
  const pieces = await Line.open(test, daemon);
  const piece = Buffer.alloc(1024 * 1024, 0x20);
  for (let n = 0; n < 100 && pieces.socket.readyState === pieces.socket.OPEN; n += 1)
    await new Promise<void>((resolve) =>
      pieces.socket.send(piece, { fin: false, binary: false }, () => resolve()),
    );
  assert.ok([1_009, 1_006].includes((await pieces.closed).code));
}

async function subscriptions(test: TestContext, daemon: Daemon): Promise<void> {
  const line = await Line.open(test, daemon);
  const count = 1_000;
  let granted = 0;
  for (let n = 0; n < count; n += 50) {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        line.call("subscribe", { stream: "follow", input: { sessionKey: "main" } }),
      ),
    );
    granted += answers.filter(({ result }) => result !== undefined).length;
    for (const { error } of answers) if (error) assert.equal(error.data.code, "overloaded");
  }
  assert.equal(granted, SUBSCRIPTIONS_MAX);
  await line.call("unsubscribe", { subscription: "1" });
  await line.until(({ method }) => method === "ended");
  const again = await line.call("subscribe", { stream: "follow", input: { sessionKey: "main" } });
  assert.ok(again.result, "there is room again");
}

async function calls(test: TestContext, daemon: Daemon): Promise<void> {
  const { sessionKey } = await daemon.call("receive", {
    channel: "web",
    chatType: "direct",
    peer: "slow",
    message: "!slow 3600000",
  });
  const { id } = await daemon.call("send", { sessionKey, message: "!say never", mode: "followup" });
  const line = await Line.open(test, daemon);
  const count = 1_000;
  for (let n = 1; n <= count; n += 1)
    line.socket.send(JSON.stringify({ jsonrpc: "2.0", id: n, method: "wait", params: { sessionKey, id } }));
  await line.until(() => line.heard.length >= count - SOCKET_CALLS_MAX);
  assert.equal(line.heard.length, count - SOCKET_CALLS_MAX);
  for (const { error } of line.heard) assert.equal(error?.data.code, "overloaded");
  line.socket.terminate(); // in the middle of all the others
  const after = await Line.open(test, daemon);
  assert.ok((await after.call("overview", {})).result);
  await daemon.call("kill", { sessionKey });
}

async function pings(test: TestContext, daemon: Daemon): Promise<void> {
  const { socket } = await Line.open(test, daemon);
  let pongs = 0;
  socket.on("pong", () => (pongs += 1));
  for (let n = 0; n < 1_000; n += 1) socket.ping(String(n));
  while (pongs < 1_000) await once(socket, "pong");
}

async function elsewhere(test: TestContext, daemon: Daemon): Promise<void> {
  for (const path of ["/", "/v1/events", "/ws/..", "/ws/x", "/%77s"]) {
    const connection = await Raw.open(test, daemon);
    connection.say(headOf(daemon, `GET ${path}`, "Upgrade: websocket", "Connection: Upgrade"));
    await connection.ended;
    assert.equal(connection.status, 404, path);
  }
  const old = await Raw.open(test, daemon);
  old.say(headOf(daemon, "GET /ws", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 1"));
  await old.ended;
  assert.ok([400, 426].includes(old.status), old.heard);
}

/** Reads all entries of a session, going on from where it was when it is cut off. */
async function reads(line: Line, sessionKey: string, upTo: () => number): Promise<readonly number[]> {
  const seqs: number[] = [];
  while (seqs.length === 0 || (seqs.at(-1) ?? 0) < upTo()) {
    line.heard.length = 0;
    const begun = await line.call("subscribe", {
      stream: "follow",
      input: { sessionKey, from: seqs.at(-1) ?? 0 },
    });
    assert.ok(begun.result, JSON.stringify(begun));
    const isEntry = ({ params }: Said): boolean => params?.event?.type === "entry";
    const isOver = (): boolean =>
      line.heard.some(({ method }) => method === "ended") ||
      Number(line.heard.findLast(isEntry)?.params?.event?.seq ?? 0) >= upTo();
    while (!isOver()) await sleep(10);
    seqs.push(...line.heard.filter(isEntry).map(({ params }) => params?.event?.seq ?? 0));
    await line.call("unsubscribe", begun.result);
  }
  return seqs;
}

async function deaf(test: TestContext, daemon: Daemon): Promise<void> {
  const { sessionKey } = await daemon.call("receive", {
    channel: "web",
    chatType: "direct",
    peer: "talks",
    message: "!say a",
  });
  const mute = await Line.open(test, daemon);
  await mute.call("subscribe", { stream: "follow", input: { sessionKey, from: 0 } });
  mute.socket.pause();
  const events = await daemon.fetch(`/v1/sessions/${sessionKey}/events?from=0`); // and it is never read, either
  let last = Infinity;
  const other = reads(await Line.open(test, daemon), sessionKey, () => last);
  for (let n = 0; n < 8; n += 1) await daemon.call("ask", { sessionKey, message: "!verbose 100000" });
  last = (await daemon.call("status", { sessionKey })).entries;
  const seqs = await other;
  assert.deepEqual(
    seqs,
    Array.from({ length: seqs.length }, (_, at) => at + 1),
    "each entry, once",
  );
  assert.equal(seqs.at(-1), last);
  mute.socket.resume();
  const ended = await Promise.race([mute.until(({ method }) => method === "ended"), mute.closed]);
  if ("params" in ended) {
    assert.equal(ended.params?.error?.code, "too_slow");
    assert.match(ended.params?.resume ?? "", /^\d+@/);
  }
  await events.body?.cancel();
}

async function deafToAnswers(test: TestContext, daemon: Daemon): Promise<void> {
  const { sessionKey } = await daemon.call("receive", {
    channel: "web",
    chatType: "direct",
    peer: "long",
    message: "!verbose 10000",
  });
  await daemon.call("ask", { sessionKey, message: "!say b" });
  const page = await daemon.call("entries", { sessionKey });
  assert.ok(JSON.stringify(page).length > 50_000);
  const mute = await Line.open(test, daemon);
  mute.socket.pause();
  for (let id = 1; id <= 3_000; id += 1)
    mute.socket.send(JSON.stringify({ jsonrpc: "2.0", id, method: "entries", params: { sessionKey } }));
  const last = { channel: "web", chatType: "direct", peer: "patient", message: "at last" };
  mute.socket.send(JSON.stringify({ jsonrpc: "2.0", id: "last", method: "receive", params: last }));
  await sleep(1_000);
  const isThere = async (): Promise<boolean> =>
    (await daemon.call("list", {})).sessions.some((row) => row.sessionKey.endsWith(":patient"));
  assert.equal(await isThere(), false, "it is not heard yet");
  mute.socket.resume();
  // There may be too many calls under way when its turn comes: then it is told so, and says it again.
  while (!(await isThere())) {
    const { error } = await mute.until(({ id }) => id === "last");
    if (error === undefined) continue;
    assert.equal(error.data.code, "overloaded");
    mute.heard.length = 0;
    mute.socket.send(JSON.stringify({ jsonrpc: "2.0", id: "last", method: "receive", params: last }));
  }
}
