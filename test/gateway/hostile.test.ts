// Bodies that nobody in their right mind would send, and those who take ever longer over a request. The answer is clear, and
// the daemon is as well afterwards as before.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { BODY_BYTES_MAX } from "../../src/gateway/limits.ts";
import type { Daemon } from "./daemon.ts";
import { assertRefusal, attacked, flood, headOf, Raw, raw, unharmed, type Refusal } from "./hostile.ts";

const HUNDRED_MB = 100 * 1024 * 1024;
const DEEP = 100_000;

const SEND = "/v1/sessions/main/messages";

/** What the doors take that are not made from the table of calls; what they are sent here is nothing they can use. */
const DOORS = [SEND, "/rpc", "/hooks/x", "/mcp", "/v1/chat/completions"];

test("a daemon takes no harm from what is sent to it", { concurrency: true }, async (t) => {
  const daemon = await attacked(t);
  await unharmed(daemon, () => [
    t.test("what is no JSON object is refused, and it is said why", (test) => malformed(test, daemon)),
    t.test("what is no JSON is refused over JSON-RPC, too", () => malformedRpc(daemon)),
    t.test("a body that says it is too large is refused before it comes", (test) => announced(test, daemon)),
    t.test("a body that does not say so is cut off at the bound", (test) => endless(test, daemon)),
    t.test("a stranger's endless body is not kept", (test) => strangers(test, daemon)),
    t.test("who takes ever longer over headers is cut off", (test) => slowHead(test, daemon)),
    t.test("who takes ever longer over a body holds up nobody", (test) => slowBody(test, daemon)),
  ]);
});

/** By a name for it; the second is what the message has to say. */
const MALFORMED: readonly (readonly [string, string | Uint8Array, RegExp])[] = [
  ["half", '{"message": ', /not JSON/],
  ["text", "hello", /not JSON/],
  ["two", '{"message": "a"}{"message": "b"}', /not JSON/],
  ["commented", '{"message": "a" /* b */}', /not JSON/],
  ["of NaN", '{"message": NaN}', /not JSON/],
  ["no UTF-8", Buffer.from([0x22, 0xff, 0xfe, 0x22]), /not UTF-8/],
  ["half a character", Buffer.from('{"message": "\u{1f600}"}').subarray(0, -3), /not UTF-8/],
  ["zeros", new Uint8Array(1_000), /not JSON/],
  ["list", "[]", /JSON object, not a list/],
  ["null", "null", /JSON object, not null/],
  ["number", "1e400", /JSON object/],
  ["deep", `${"[".repeat(DEEP)}${"]".repeat(DEEP)}`, /JSON object, not a list/],
  ["deep and open", "[".repeat(DEEP), /not JSON/],
  ["deep inside", `{"message": ${"[".repeat(DEEP)}${"]".repeat(DEEP)}}`, /message/],
  ["deep elsewhere", `{"message": "a", "x": ${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}}`, /x/],
  ["of a number", '{"message": 1}', /message/],
  ["of a huge number", '{"message": "a", "reply": 1e999999}', /reply/],
  ["proto", '{"__proto__": {"message": "a"}}', /message/],
  ["constructor", '{"message": "a", "constructor": {"prototype": {"x": 1}}}', /constructor/],
  ["twice", '{"message": "a", "message": 1}', /message/],
];

async function malformed(_test: TestContext, daemon: Daemon): Promise<void> {
  for (const [name, body, why] of MALFORMED) {
    const response = await daemon.fetch(SEND, { method: "POST", body: body as string });
    const answer: unknown = await response.json();
    assert.equal(response.status, 400, name);
    assertRefusal(answer);
    assert.match(answer.error.message, why, name);
  }
  assert.equal(({} as { readonly message?: string }).message, undefined);
}

async function malformedRpc(daemon: Daemon): Promise<void> {
  const said = async (body: string | Uint8Array): Promise<unknown> => {
    const response = await daemon.fetch("/rpc", { method: "POST", body: body as string });
    return await response.json();
  };
  for (const [name, body] of MALFORMED) {
    const answer = (await said(body)) as Partial<Refusal> & { readonly error: { readonly code: unknown } };
    assert.ok(([-32_700, -32_600, "bad_input"] as unknown[]).includes(answer.error.code), name);
  }
  const nested = `${"[".repeat(DEEP)}${"]".repeat(DEEP)}`;
  const request = `{"jsonrpc": "2.0", "id": 1, "method": "send", "params": {"sessionKey": "main", "message": ${nested}}}`;
  const { error } = (await said(request)) as {
    readonly error: { readonly code: number; readonly message: string };
  };
  assert.equal(error.code, -32_602);
  assert.match(error.message, /message/);
}

async function announced(test: TestContext, daemon: Daemon): Promise<void> {
  for (const path of DOORS) {
    const { heard, status } = await raw(
      test,
      daemon,
      headOf(daemon, `POST ${path}`, `Content-Length: ${HUNDRED_MB}`),
    );
    assert.equal(status, 413, path);
    assert.match(heard, new RegExp(`more than ${BODY_BYTES_MAX} bytes`));
  }
}

/** It may be closed before the answer is read: then there is none. */
async function endless(test: TestContext, daemon: Daemon): Promise<void> {
  for (const path of DOORS) {
    const connection = await Raw.open(test, daemon);
    connection.say(headOf(daemon, `POST ${path}`, "Transfer-Encoding: chunked"));
    await flood(connection, HUNDRED_MB);
    await connection.ended;
    assert.ok([413, 0].includes(connection.status), `${path}: ${connection.heard.slice(0, 200)}`);
  }
}

/** Without a token nothing of it is kept, and the answer does not wait for it. */
async function strangers(test: TestContext, daemon: Daemon): Promise<void> {
  const connection = await Raw.open(test, daemon);
  connection.say(`POST /rpc HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`);
  await connection.until(/^HTTP\/1\.1 401/);
  const hook = await Raw.open(test, daemon);
  hook.say(`POST /hooks/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`);
  await flood(hook, BODY_BYTES_MAX);
  await hook.ended;
  assert.ok([413, 0].includes(hook.status));
}

async function slowHead(test: TestContext, daemon: Daemon): Promise<void> {
  const lorises = await Promise.all(Array.from({ length: 50 }, () => Raw.open(test, daemon)));
  const head = headOf(daemon, "GET /healthz");
  for (let at = 0; !lorises.every(({ isEnded }) => isEnded); at += 1) {
    for (const each of lorises) each.say(head[at] ?? "x");
    await sleep(250);
  }
  for (const { status } of lorises) assert.ok([408, 0].includes(status), String(status));
}

async function slowBody(test: TestContext, daemon: Daemon): Promise<void> {
  const lorises = await Promise.all(Array.from({ length: 50 }, () => Raw.open(test, daemon)));
  for (const each of lorises) each.say(headOf(daemon, `POST ${SEND}`, "Content-Length: 1000000"));
  for (let round = 0; round < 5; round += 1) {
    for (const each of lorises) each.say(" ");
    assert.equal((await daemon.fetch("/v1/sessions")).status, 200);
  }
  assert.ok(
    lorises.every(({ heard }) => heard === ""),
    "their request is not over",
  );
  for (const each of lorises) each.destroy();
}
