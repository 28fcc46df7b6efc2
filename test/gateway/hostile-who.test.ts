// Those who may not: pages of strangers, names that point here, and tokens that are none, or not any more.

import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { test, type TestContext } from "node:test";
import { REFUSED_PER_SECOND } from "../../src/gateway/limits.ts";
import { Daemon } from "./daemon.ts";
import { assertRefusal, attacked, FRIEND, Line, unharmed } from "./hostile.ts";

const PLACES = [
  "/healthz",
  "/openapi.json",
  "/v1/sessions",
  "/v1/sessions/main/events",
  "/rpc",
  "/mcp",
  "/hooks/x",
];

test("who may not come in stays outside", { concurrency: true }, async (t) => {
  const daemon = await attacked(t);
  await unharmed(daemon, () => [
    t.test("a name of a stranger that points here is refused", (test) => rebound(test, daemon)),
    t.test("a page of a stranger is refused everywhere", (test) => strangers(test, daemon)),
    t.test("a page that was let in by name is let in", (test) => friends(test, daemon)),
    t.test("a token counts in the header alone", () => misplaced(daemon)),
    t.test("a token does what its scope says, and no more", (test) => scopes(test, daemon)),
    t.test("a token that is revoked ends what it had opened", (test) => revoked(test, daemon)),
    t.test("a token that is revoked is not heard any more", (test) => unheard(test, daemon)),
  ]);
});

test("who guesses tokens is slowed down, and nobody else", async (t) => {
  const daemon = await attacked(t);
  await unharmed(daemon, () => [guess(daemon)]);
});

/** A request whose headers are just these, as no `fetch` would send them. */
async function said(
  daemon: Daemon,
  line: string,
  headers: OutgoingHttpHeaders,
): Promise<{ readonly status: number; readonly headers: IncomingMessage["headers"]; readonly text: string }> {
  const [method = "", path = ""] = line.split(" ");
  const sent = request(`${daemon.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${daemon.token}`, ...headers },
  }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const { statusCode: status = 0, headers: heard } = response;
  if (heard["content-type"]?.startsWith("text/event-stream") === true) {
    sent.destroy();
    return { status, headers: heard, text: "" };
  }
  return { status, headers: heard, text: (await response.setEncoding("utf8").toArray()).join("") };
}

async function refusedAll(
  test: TestContext,
  daemon: Daemon,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  for (const path of PLACES)
    for (const method of ["GET", "POST", "OPTIONS"]) {
      const { status, text, headers: heard } = await said(daemon, `${method} ${path}`, headers);
      assert.ok([400, 403].includes(status), `${method} ${path} ${JSON.stringify(headers)}: ${status}`);
      assertRefusal(JSON.parse(text));
      assert.equal(heard["access-control-allow-origin"], undefined);
    }
  const { socket, closed } = await Line.open(test, daemon, { headers });
  assert.equal(socket.readyState, socket.CLOSED);
  assert.match((await closed).why, /40[03]/);
}

async function rebound(test: TestContext, daemon: Daemon): Promise<void> {
  const { port } = new URL(daemon.url);
  for (const host of [
    "evil.example",
    `evil.example:${port}`,
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "localhost@evil.example",
    "127.0.0.2",
    "[::2]",
  ])
    await refusedAll(test, daemon, { host });
}

async function strangers(test: TestContext, daemon: Daemon): Promise<void> {
  const { host, port } = new URL(daemon.url);
  for (const origin of [
    "https://evil.example",
    `http://localhost.evil.example:${port}`,
    `http://${host}.evil.example`,
    "http://127.0.0.1:1",
    `${FRIEND}.evil.example`,
    `${FRIEND}:444`,
    FRIEND.replace("https", "http"),
    "null",
    "",
    "*",
  ])
    await refusedAll(test, daemon, { origin });
}

async function friends(test: TestContext, daemon: Daemon): Promise<void> {
  for (const origin of [FRIEND, daemon.url]) {
    for (const path of ["/v1/sessions", "/v1/sessions/main/events"]) {
      const { status, headers } = await said(daemon, `GET ${path}`, { origin });
      assert.equal(status, 200);
      assert.equal(headers["access-control-allow-origin"], origin === FRIEND ? FRIEND : undefined);
      assert.match(String(headers["access-control-expose-headers"]), /x-session-key,retry-after/i);
    }
    const line = await Line.open(test, daemon, { headers: { origin } });
    assert.ok((await line.call("overview", {})).result);
  }
  const preflight = await said(daemon, "OPTIONS /v1/sessions/main/messages", {
    origin: FRIEND,
    authorization: "",
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization, content-type",
  });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers["access-control-allow-origin"], FRIEND);
  assert.match(String(preflight.headers["access-control-allow-headers"]), /authorization/);
}

async function misplaced(daemon: Daemon): Promise<void> {
  const { token } = daemon;
  const wrong: readonly (readonly [string, OutgoingHttpHeaders])[] = [
    [`/v1/sessions?token=${token}`, {}],
    [`/v1/sessions?access_token=${token}`, {}],
    ["/v1/sessions", { cookie: `token=${token}` }],
    ["/v1/sessions", { "x-api-key": token }],
    ["/v1/sessions", { authorization: `Basic ${btoa(`owner:${token}`)}` }],
    ["/v1/sessions", { authorization: token }],
    ["/v1/sessions", { authorization: `Bearer ${token} x` }],
    ["/v1/sessions", { authorization: `Bearer ${token.slice(1)}` }],
  ];
  for (const [path, headers] of wrong) {
    const { status, text } = await said(daemon, `GET ${path}`, { authorization: "", ...headers });
    assert.ok([401, 429].includes(status), `${path}: ${status}`);
    assertRefusal(JSON.parse(text));
    assert.ok(!text.includes(token));
  }
}

async function made(daemon: Daemon, name: string, scope: "read" | "operate" | "admin"): Promise<string> {
  return (await daemon.call("createToken", { name, scope })).token;
}

async function scopes(test: TestContext, daemon: Daemon): Promise<void> {
  const reader = await made(daemon, "reader", "read");
  const operator = await made(daemon, "operator", "operate");
  const message = { method: "POST", body: JSON.stringify({ message: "!say a" }) };
  const tries: readonly (readonly [string, string, RequestInit, number])[] = [
    [reader, "/v1/sessions", {}, 200],
    [reader, "/v1/sessions/main/messages", message, 403],
    [reader, "/v1/sessions/main?model=rehearsal/small", {}, 403],
    [
      reader,
      "/v1/chat/completions",
      { method: "POST", body: '{"model": "sessiond", "messages": [{"role": "user", "content": "a"}]}' },
      403,
    ],
    [reader, "/v1/tokens", {}, 403],
    [operator, "/v1/sessions/main/messages", message, 200],
    [operator, "/v1/tokens", {}, 403],
    [operator, "/v1/tokens", { method: "POST", body: '{"name": "mine", "scope": "admin"}' }, 403],
    [operator, "/v1/tokens/reader", { method: "DELETE" }, 403],
  ];
  for (const [token, path, init, status] of tries) {
    const response = await daemon.fetch(path, { ...init, token });
    const text = await response.text();
    assert.equal(response.status, status, `${path}: ${text}`);
    assert.ok(!text.includes(token));
  }
  const line = await Line.open(test, daemon, { token: reader });
  for (const [method, params] of [
    ["send", { sessionKey: "main", message: "a" }],
    ["kill", { sessionKey: "main" }],
    ["createToken", { name: "mine", scope: "admin" }],
  ] as const)
    assert.equal((await line.call(method, params)).error?.data.code, "forbidden");
  assert.ok(!daemon.log.includes(reader) && !daemon.log.includes(operator), "no token is in the log");
}

async function revoked(test: TestContext, daemon: Daemon): Promise<void> {
  const token = await made(daemon, "guest", "operate");
  const line = await Line.open(test, daemon, { token });
  assert.ok((await line.call("subscribe", { stream: "follow", input: { sessionKey: "main" } })).result);
  const events = await daemon.fetch("/v1/sessions/main/events", { token });
  const waiting = daemon.fetch("/v1/sessions/main/ask", {
    method: "POST",
    token,
    body: JSON.stringify({ message: "!slow 3600000\n!say never" }),
  });
  const streamed = events.text();
  const busy = await daemon.call("status", { sessionKey: "main" });
  assert.ok(busy.sessionKey);
  assert.equal((await daemon.call("revokeToken", { name: "guest" })).revoked, true);
  assert.deepEqual(await line.closed, { code: 1_008, why: "this token was revoked" });
  const ended = line.heard.find(({ method }) => method === "ended");
  assert.equal(ended?.params?.error?.code, "unauthorized");
  assert.match(
    await streamed,
    /event: error\ndata: \{"code":"unauthorized","message":"this token was revoked"/,
  );
  assert.equal((await waiting).status, 401);
  assert.equal((await daemon.fetch("/v1/sessions", { token })).status, 401);
  await daemon.call("abort", { sessionKey: "main" });
}

/** It does not answer our closing, and goes on talking. */
async function unheard(test: TestContext, daemon: Daemon): Promise<void> {
  const token = await made(daemon, "talker", "operate");
  const line = await Line.open(test, daemon, { token });
  await line.call("overview", {});
  const message = "said after it was revoked";
  const revoking = daemon.call("revokeToken", { name: "talker" });
  line.socket.pause();
  await revoking;
  const send = {
    jsonrpc: "2.0",
    id: 99,
    method: "receive",
    params: { channel: "web", chatType: "direct", peer: "talker", message },
  };
  for (let n = 0; n < 10; n += 1) line.socket.send(JSON.stringify(send));
  await daemon.call("overview", {});
  line.socket.resume();
  await line.closed;
  assert.ok(!line.heard.some(({ id }) => id === 99));
  const { sessions } = await daemon.call("list", {});
  assert.ok(!sessions.some(({ title }) => title.includes(message)), "nothing of it was done");
}

async function guess(daemon: Daemon): Promise<void> {
  const statuses = new Map<number, number>();
  for (let n = 0; n < REFUSED_PER_SECOND * 10; n += 1) {
    const { status } = await daemon.fetch("/v1/sessions", { token: `a-guess-of-a-token-${n}` });
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (n % 10 === 0) assert.equal((await daemon.fetch("/v1/sessions")).status, 200);
  }
  assert.deepEqual([...statuses.keys()].toSorted(), [401, 429]);
  assert.ok(!daemon.log.includes("a-guess-of-a-token"), "what was guessed is not told");
}
