import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { afterwards, scratch } from "../../test/fixtures/home.ts";
import { streams } from "../calls/streams.ts";
import { Client, findGateway, PLACES } from "./client.ts";
import { eventsIn } from "./sse.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function serving(t: TestContext, answer: Answer): Promise<URL> {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await new Promise((ready) => server.once("listening", ready));
  afterwards(t, async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

test("streams are where the table of streams says", () => {
  for (const [name, place] of Object.entries(PLACES))
    assert.equal(streams[name as keyof typeof PLACES].http, place);
});

/** As a daemon writes it down. */
function writtenBy(home: string, url: URL | string, pid: number): void {
  writeFileSync(join(home, "gateway.json"), JSON.stringify({ url: String(url), pid }));
}

/** A process id that was somebody's and is nobody's. */
function deadPid(): number {
  return spawnSync(process.execPath, ["--version"]).pid;
}

test("the gateway is where the environment says, or where the home says that it is alive", async (t) => {
  const home = join(scratch(t), "home");
  const none = { code: "unreachable", message: /^no daemon runs on .*home\. Start it with .*sessiond serve/ };
  await assert.rejects(findGateway({}, home), none);
  await assert.rejects(findGateway({ SESSIOND_URL: "file:///etc/passwd" }, home), { code: "bad_input" });
  mkdirSync(home);
  writeFileSync(join(home, "token"), "abc\n");
  writtenBy(home, "http://127.0.0.1:8", process.pid);
  const alive = { url: new URL("http://127.0.0.1:8"), token: "abc" };
  assert.deepEqual(await findGateway({ SESSIOND_PORT: "9" }, home), alive);
  for (const pid of [deadPid(), 0, -1, 1.5]) {
    writtenBy(home, "http://127.0.0.1:8", pid);
    await assert.rejects(findGateway({}, home), none, String(pid));
  }
  writeFileSync(join(home, "gateway.json"), '{"url":');
  await assert.rejects(findGateway({}, home), none, "half a file is none");
  const named = await findGateway({ SESSIOND_URL: "http://127.0.0.1:9" }, home);
  assert.equal(named.token, "abc", "somebody has said that it is there");
  const away = await findGateway({ SESSIOND_URL: "https://away.example" }, home);
  assert.equal(away.token, null, "the token of a home stays on this machine");
  const given = await findGateway({ SESSIOND_URL: "https://away.example", SESSIOND_TOKEN: "xyz" }, home);
  assert.equal(given.token, "xyz");
});

test("whoever takes the port of a daemon that has died is not sent its token (C1)", async (t) => {
  const asked: string[] = [];
  const url = await serving(t, (request, response) => {
    asked.push(String(request.headers.authorization));
    response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: {} }));
  });
  const home = scratch(t);
  writeFileSync(join(home, "token"), "abc\n");
  writtenBy(home, url, process.pid);
  const find = () => findGateway({}, home);
  const client = new Client(await find(), find);
  await client.call("status", {});
  writtenBy(home, url, deadPid());
  await assert.rejects(client.call("status", {}), { code: "unreachable", message: /^no daemon runs on/ });
  assert.deepEqual(asked, ["Bearer abc"]);
});

test("a gateway that was restarted is found at its new address, also by a stream", async (t) => {
  const answer =
    (seq: number): Answer =>
    (request, response) => {
      if (request.url === "/rpc") return void response.end(`{"result":{"entries":${seq}}}`);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`event: entry\nid: ${seq}\ndata: {"type":"entry","seq":${seq}}\n\n`);
    };
  const places = [await serving(t, answer(1)), await serving(t, answer(2))];
  let at = 0;
  const find = async () => ({ url: places[at] as URL, token: "t" });
  const client = new Client(await find(), find);
  const over = new AbortController();
  const seqs: unknown[] = [];
  const how = { signal: over.signal, reconnect: true };
  for await (const { event } of client.stream("follow", { sessionKey: "agent:main:main", from: 0 }, how)) {
    if (event.type === "entry") seqs.push(event.seq);
    at = 1;
    if (seqs.length === 2) over.abort();
  }
  assert.deepEqual(seqs, [1, 2]);
  assert.equal((await client.call("status", {})).entries, 2);
});

test("an answer that is no JSON-RPC is told apart from a daemon's", async (t) => {
  let answer = "";
  const url = await serving(t, (_request, response) => response.end(answer));
  const client = new Client({ url, token: "t" });
  for (answer of ["", "hello", "{}", "[]", "null", "7", '{"error":null}', '{"error":"no"}'])
    await assert.rejects(
      client.call("status", {}),
      { code: "unreachable", message: /is no sessiond/ },
      answer,
    );
  for (answer of ['{"error":{}}', '{"error":[]}', '{"error":{"data":null}}'])
    await assert.rejects(client.call("status", {}), { code: "bug" }, answer);
});

test("a refusal comes back as the Fault that it was, by either door", async (t) => {
  let answer: object = {};
  const url = await serving(t, (_request, response) => response.end(JSON.stringify(answer)));
  const client = new Client({ url, token: "t" });
  answer = { error: { code: -32_000, message: "no such", data: { code: "not_found" } } };
  await assert.rejects(client.call("status", {}), { code: "not_found", message: "no such" });
  answer = { error: { code: "unauthorized", message: "who?" } };
  await assert.rejects(client.call("status", {}), { code: "unauthorized" });
  answer = { error: { code: "of_another_version", message: "x" } };
  await assert.rejects(client.call("status", {}), { code: "bug", message: /of_another_version/ });
});

test("what answers and is no sessiond is told apart, and a redirection is not followed", async (t) => {
  const asked: (string | undefined)[] = [];
  const url = await serving(t, (request, response) => {
    asked.push(request.url);
    response.writeHead(302, { location: "http://127.0.0.1:1/" }).end("<html>");
  });
  await assert.rejects(new Client({ url, token: "t" }).call("status", {}), {
    code: "unreachable",
    message: /is no sessiond \(HTTP 302\)/,
  });
  assert.deepEqual(asked, ["/rpc"]);
});

test("a stream that breaks is gone on with after the last event that has a number, and says so once", async (t) => {
  const asked: (string | undefined)[] = [];
  const url = await serving(t, (request, response) => {
    asked.push(request.url);
    if (asked.length === 2) return void request.socket.destroy(); // it is not there yet
    response.writeHead(200, { "content-type": "text/event-stream" });
    const seq = asked.length === 1 ? 5 : 6;
    response.write(`: alive\n\nevent: entry\nid: ${seq}\ndata: {"type":"entry","seq":${seq}}\n\n`);
    response.write('event: delta\ndata: {"type":"delta"}\n\nevent: entry\nid: 99\ndata: {"cut');
    if (asked.length === 1) response.end();
  });
  const over = new AbortController();
  const heard: unknown[] = [];
  const from = { sessionKey: "agent:main:main", from: 4 };
  for await (const { event, resume } of new Client({ url, token: "t" }).stream("follow", from, {
    signal: over.signal,
    reconnect: true,
  })) {
    heard.push([event.type, resume]);
    if (heard.length === 5) over.abort();
  }
  assert.deepEqual(heard, [
    ["entry", "5"],
    ["delta", null],
    ["reconnected", null],
    ["entry", "6"],
    ["delta", null],
  ]);
  const path = "/v1/sessions/agent%3Amain%3Amain/events?from=";
  assert.deepEqual(asked, [`${path}4`, `${path}5`, `${path}5`]);
});

test("without leave to reconnect a stream that breaks is a Fault, and so is an error in it", async (t) => {
  let text = "";
  const url = await serving(t, (_request, response) => response.writeHead(200).end(text));
  const drain = async (): Promise<void> => {
    const signal = new AbortController().signal;
    await Array.fromAsync(new Client({ url, token: "t" }).stream("watch", {}, { signal }));
  };
  await assert.rejects(drain(), { code: "unreachable", message: /broke/ });
  text = 'event: error\ndata: {"code":"cursor_expired","message":"too long ago"}\n\n';
  await assert.rejects(drain(), { code: "cursor_expired", message: "too long ago" });
});

test("events are read however the bytes are cut", async () => {
  const text = ': hi\r\n\r\nid: 1\r\nevent: a\r\ndata: {"x":\r\ndata: "ü"}\r\n\r\ndata:2\n\nid: 9\n\n';
  const bytes = Buffer.from(text);
  for (let size = 1; size <= bytes.length; size += 1) {
    const chunks = async function* (): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    };
    const events = await Array.fromAsync(eventsIn(chunks()));
    assert.deepEqual(events, [
      { type: "a", id: "1", data: '{"x":\n"ü"}' },
      { type: "message", id: null, data: "2" },
    ]);
  }
});
