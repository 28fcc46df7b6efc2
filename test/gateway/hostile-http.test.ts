// Requests that are none, or hardly: strange HTTP, and addresses that would like to lead elsewhere.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { test, type TestContext } from "node:test";
import type { Daemon } from "./daemon.ts";
import { assertRefusal, attacked, headOf, Raw, raw, unharmed } from "./hostile.ts";

const SEND = "/v1/sessions/main/messages";

test("a daemon takes no harm from strange requests", { concurrency: true }, async (t) => {
  const daemon = await attacked(t);
  await unharmed(daemon, () => [
    t.test("what is no HTTP request is refused", (test) => strangeHttp(test, daemon)),
    t.test("methods that are not there are refused, with those that are", (test) => methods(test, daemon)),
    t.test("requests that come all at once are answered one after the other", (test) => piped(test, daemon)),
    t.test("who breaks off in the middle of a body is no failure of ours", (test) => brokenOff(test, daemon)),
    t.test("keys lead nowhere", (test) => keys(test, daemon)),
    t.test("ids and names with ends of lines stay values", (test) => lineEnds(test, daemon)),
  ]);
  assert.deepEqual(readdirSync(dirname(daemon.home)), ["home"], "nothing was made beside the home");
});

/** That nothing of it is logged as one is looked at afterwards, as of all attacks. */
async function brokenOff(test: TestContext, daemon: Daemon): Promise<void> {
  for (const path of [SEND, "/rpc", "/v1/chat/completions", "/v1/responses"]) {
    const connection = await Raw.open(test, daemon);
    connection.say(`${headOf(daemon, `POST ${path}`, "Content-Length: 1000", "Expect: 100-continue")}{"half`);
    await connection.until(/^HTTP\/1\.1 100/); // It is being read.
    connection.destroy();
  }
}

async function strangeHttp(test: TestContext, daemon: Daemon): Promise<void> {
  const many = Array.from({ length: 1_000 }, (_, n) => `X-${n}: ${"v".repeat(40)}`);
  const head = (line: string, ...more: readonly string[]): string =>
    headOf(daemon, line, "Connection: close", ...more);
  const strange: readonly (readonly [string, number])[] = [
    ["garbage\r\n\r\n", 400],
    ["GET / HTTP/1.0\r\n\r\n", 400],
    ["GET / HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
    ["BLAH / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400],
    ["\u0016\u0003\u0001\u0002\u0000\u0001\u0000", 400], // somebody who would like TLS
    [head("GET *"), 400],
    [head("GET /v1\\sessions"), 400],
    [head(`GET ${daemon.url}/healthz`), 200],
    [head("GET http://evil.example/healthz", "Host: evil.example"), 403],
    [head("GET /healthz", `X: ${"v".repeat(64 * 1024)}`), 431],
    [head(`GET /${"v".repeat(64 * 1024)}`), 431],
    [head("GET /healthz", ...many), 431],
    [head("GET /healthz", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"), 200],
    [head("POST /rpc", "Content-Length: 3", "Transfer-Encoding: chunked"), 400],
    [head("POST /rpc", "Content-Length: -3"), 400],
    [head("POST /rpc", "Content-Length: 3", "Content-Length: 4"), 400],
    [`${head("POST /rpc", "Transfer-Encoding: chunked")}zz\r\n`, 400],
    [head("GET /nothing"), 404],
  ];
  for (const [text, status] of strange) {
    const answer = await raw(test, daemon, text);
    const what = `${JSON.stringify(text.slice(0, 60))}: ${answer.heard.slice(0, 400)}`;
    assert.equal(answer.status, status, what);
    if (status !== 200) assertRefusal(JSON.parse(answer.heard.split("\r\n\r\n")[1] ?? ""));
  }
}

async function methods(test: TestContext, daemon: Daemon): Promise<void> {
  for (const method of ["TRACE", "PURGE", "PUT", "QUERY"]) {
    const { status, heard } = await raw(
      test,
      daemon,
      headOf(daemon, `${method} /v1/sessions`, "Connection: close"),
    );
    assert.equal(status, 405, heard);
    assert.match(heard, /\r\nallow: GET\r\n/i);
  }
  for (const path of ["/v1/sessions", "/v1/sessions/main/events", "/v1/events", "/healthz"]) {
    const { status, heard } = await raw(test, daemon, headOf(daemon, `HEAD ${path}`, "Connection: close"));
    assert.equal(status, 200, heard);
    assert.match(heard, /\r\n\r\n$/, "it has no body");
  }
  const connected = await raw(test, daemon, headOf(daemon, "CONNECT evil.example:80"));
  assert.notEqual(connected.status, 200);
}

async function piped(test: TestContext, daemon: Daemon): Promise<void> {
  const connection = await Raw.open(test, daemon);
  const count = 500;
  const one = headOf(daemon, "GET /v1/sessions/main");
  connection.say(one.repeat(count - 1));
  connection.say(headOf(daemon, "GET /v1/sessions/nobody", "Connection: close"));
  await connection.ended;
  const statuses = [...connection.heard.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);
  assert.equal(statuses.length, count);
  assert.deepEqual(new Set(statuses.slice(0, -1)), new Set(["200"]));
  assert.equal(statuses.at(-1), "400");
  // The second is hidden in what the first says is its body.
  const hidden = headOf(daemon, "GET /v1/sessions/nobody", "Connection: close");
  const body = `{"message": "${hidden.replaceAll("\r\n", "\\n")}", "mode": "collect"}`;
  const answer = await raw(
    test,
    daemon,
    headOf(daemon, `POST ${SEND}`, `Content-Length: ${body.length}`, "Connection: close") + body,
  );
  assert.equal([...answer.heard.matchAll(/HTTP\/1\.1 /g)].length, 1);
}

/** As they stand in an address. */
const KEYS: readonly string[] = [
  "%2e%2e%2f",
  "..%2f..%2f..%2fetc%2fpasswd",
  "%00",
  "main%00",
  "%2F",
  "%2Fetc%2Fpasswd",
  "%252e%252e%252f",
  "agent:main:main%2F..%2Fx",
  "agent:..:main",
  "agent:%2e%2e%2fx:main",
  "agent:main:thread:%2e%2e",
  "agent:main:direct:%00",
  "agent:main:main%0aagent:main:other",
  "agent:main:%0d%0aSet-Cookie:%20a=b",
  "m%C3%A0in",
  "ma%D1%96n",
  "%ff%fe",
  "%",
  "%zz",
  "constructor",
  "__proto__",
  "x".repeat(8 * 1024),
  `agent:main:${"x".repeat(8 * 1024)}`,
];

async function keys(test: TestContext, daemon: Daemon): Promise<void> {
  for (const key of KEYS)
    for (const line of [
      `GET /v1/sessions/${key}`,
      `GET /v1/sessions/${key}/events`,
      `GET /v1/chats/${key}/events`,
    ]) {
      if (line.includes("/chats/") && key.length < 8_000) continue; // a peer may be called anything
      const { status, heard } = await raw(test, daemon, headOf(daemon, line, "Connection: close"));
      assert.ok([400, 404].includes(status), `${line.slice(0, 80)}: ${heard.slice(0, 400)}`);
      const [, answer = ""] = heard.split("\r\n\r\n");
      assertRefusal(JSON.parse(answer));
      assert.match(answer, /is not a session key|nothing here|peer/, line.slice(0, 80));
      assert.doesNotMatch(heard, /^set-cookie/im);
    }
  for (const key of KEYS) {
    const before = await daemon.call("list", {});
    const response = await daemon.fetch("/rpc", {
      method: "POST",
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "send",
        params: { sessionKey: decoded(key), message: "a" },
      }),
    });
    const { error } = (await response.json()) as {
      readonly error: { readonly code: number; readonly message: string };
    };
    assert.equal(error.code, -32_602, `${key.slice(0, 80)}: ${JSON.stringify(error)}`);
    assert.equal((await daemon.call("list", {})).sessions.length, before.sessions.length);
  }
}

async function lineEnds(test: TestContext, daemon: Daemon): Promise<void> {
  const found = await daemon.fetch(`/v1/sessions?label=${encodeURIComponent("a\r\nb: c")}&cursor=%0d%0a`);
  assert.ok([200, 400].includes(found.status));
  const twice = await daemon.fetch("/v1/sessions?label=a&label=b");
  assert.equal(twice.status, 400);
  assert.match(await twice.text(), /label/);
  const folded = await raw(
    test,
    daemon,
    headOf(daemon, `POST ${SEND}`, "Idempotency-Key: a\r\n b", "Content-Length: 2", "Connection: close") +
      "{}",
  );
  assert.equal(folded.status, 400, folded.heard);
  const body = JSON.stringify({ message: "a", id: "other" });
  const both = await daemon.fetch(SEND, { method: "POST", body, headers: { "idempotency-key": "one" } });
  assert.equal(both.status, 400);
  assert.match(await both.text(), /id: the body says/);
  const long = await daemon.fetch(SEND, {
    method: "POST",
    body: JSON.stringify({ message: "a" }),
    headers: { "idempotency-key": "k".repeat(8_000) },
  });
  assert.equal(long.status, 400);
  assert.match(await long.text(), /id/);
}

/** What is written so in an address; itself, where it is no such writing. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
