// Anything at all, sent to every operation that the OpenAPI document tells of: it is done, or refused in clear words. Never is
// it our failure.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import type { Daemon } from "./daemon.ts";
import {
  callOf,
  inputOf,
  requestOf,
  schemaOf,
  VICTIMS,
  type Asked,
  type Call,
  type Operation,
  type Place,
} from "./arbitrary.ts";
import { assertRefusal, attacked, Line, unharmed } from "./hostile.ts";

/** How often everything is tried; each time many requests at once. */
const RUNS = 12;
const AT_ONCE = 40;

test("whatever is asked of an operation, it is done or refused", { concurrency: true }, async (t) => {
  const daemon = await attacked(t);
  const places = await placesOf(daemon);
  for (const peer of VICTIMS.map((each) => each.split(":").at(-1) ?? ""))
    await daemon.call("receive", { channel: "web", chatType: "direct", peer, message: "!say a" });
  await unharmed(daemon, () => [
    t.test("a value of a wrong type is refused, and the property named", () => wrongTypes(daemon, places)),
    t.test("any request of the document is answered", () => anyRequest(daemon, places)),
    t.test("any call of JSON-RPC is answered", () => anyCall(daemon, places)),
    t.test("any message to a socket is answered", (test) => anyMessage(test, daemon, places)),
  ]);
});

async function placesOf(daemon: Daemon): Promise<readonly Place[]> {
  const document = (await (await daemon.fetch("/openapi.json")).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  const places = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
    })),
  );
  assert.ok(places.length > 25, "all calls and streams are there");
  return places;
}

/** By a name of JSON's types, so that any other is wrong. */
const SAMPLES: Readonly<Record<string, unknown>> = {
  string: "text",
  number: 7.5,
  boolean: true,
  array: [[]],
  object: { a: { b: 1 } },
};

async function wrongTypes(daemon: Daemon, places: readonly Place[]): Promise<void> {
  let tried = 0;
  for (const { method, path, operation } of places) {
    const given = path.replaceAll(/\{\w+\}/g, encodeURIComponent(VICTIMS[0] ?? ""));
    for (const [name, { type }] of Object.entries(schemaOf(operation).properties ?? {})) {
      if (type === undefined) continue;
      for (const [kind, value] of Object.entries(SAMPLES)) {
        if ([type].flat().includes(kind)) continue;
        await refused(daemon, given, { method, body: JSON.stringify({ [name]: value }) }, name);
        tried += 1;
      }
    }
    for (const { name, in: where, schema } of operation.parameters)
      if (where === "query" && ["integer", "number", "boolean"].includes(String(schema.type))) {
        for (const text of ["", "text", "1e3", "0x10", "NaN", "9".repeat(400), "%00", "[1]"]) {
          await refused(daemon, `${given}?${name}=${text}`, { method }, name);
          tried += 1;
        }
      }
    if (method !== "GET")
      await refused(daemon, given, { method, body: '{"noSuchProperty": 1}' }, "noSuchProperty");
    else if (!path.endsWith("/events"))
      await refused(daemon, `${given}?noSuchProperty=1`, { method }, "noSuchProperty");
  }
  assert.ok(tried > 100, `${tried} were tried`);
}

async function refused(daemon: Daemon, path: string, init: RequestInit, name: string): Promise<void> {
  const response = await daemon.fetch(path, init);
  const text = await response.text();
  const what = `${init.method} ${path} ${String(init.body)}: ${text.slice(0, 400)}`;
  assert.equal(response.status, 400, what);
  const answer: unknown = JSON.parse(text);
  assertRefusal(answer);
  assert.ok(answer.error.message.includes(name), what);
}

async function anyRequest(daemon: Daemon, places: readonly Place[]): Promise<void> {
  const requests = fc.array(fc.oneof(...places.map(requestOf)), { minLength: AT_ONCE, maxLength: AT_ONCE });
  const ask = async ({ line, path, init }: Asked): Promise<void> => {
    const response = await daemon.fetch(path, init);
    const { status, headers } = response;
    assert.ok((status >= 200 && status < 300) || (status >= 400 && status < 500), `${line}: ${status}`);
    if (headers.get("content-type")?.startsWith("text/event-stream") === true)
      return void (await response.body?.cancel());
    const answer: unknown = await response.json();
    if (status >= 400) assertRefusal(answer);
  };
  await fc.assert(
    fc.asyncProperty(requests, async (all) => void (await Promise.all(all.map(ask)))),
    { numRuns: RUNS, endOnFailure: true },
  );
}

async function anyCall(daemon: Daemon, places: readonly Place[]): Promise<void> {
  const ask = async ({ method, params }: Call): Promise<void> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await daemon.fetch("/rpc", { method: "POST", body });
    assert.equal(response.status, 200);
    understood(await response.json(), body);
  };
  const calls = fc.array(callOf(places), { minLength: AT_ONCE, maxLength: AT_ONCE });
  await fc.assert(
    fc.asyncProperty(calls, async (all) => void (await Promise.all(all.map(ask)))),
    { numRuns: RUNS, endOnFailure: true },
  );
}

function understood(answer: unknown, what: string): void {
  const { result, error } = answer as {
    readonly result?: unknown;
    readonly error?: {
      readonly code: number;
      readonly message: string;
      readonly data: { readonly code: string };
    };
  };
  if (error === undefined) return assert.ok(typeof result === "object", what);
  assert.ok(error.code <= -32_000 && error.code >= -32_700, what);
  assert.ok(error.message !== "" && error.data.code !== "bug", `${what}: ${JSON.stringify(error)}`);
}

async function anyMessage(test: TestContext, daemon: Daemon, places: readonly Place[]): Promise<void> {
  const line = await Line.open(test, daemon);
  const subscribing = fc.record({
    method: fc.constantFrom("subscribe", "unsubscribe"),
    params: fc.record({
      stream: fc.oneof(fc.constantFrom("follow", "watch", "chat"), fc.string()),
      input: inputOf({ sessionKey: {}, from: { type: "integer" }, peer: {}, agent: {} }, []),
    }),
  });
  const ask = async ({ method, params }: Call): Promise<void> =>
    understood(await line.call(method, params as object), JSON.stringify({ method, params }));
  const isRequest = ({ params }: Call): boolean =>
    typeof params === "object" && params !== null && !Array.isArray(params);
  const messages = fc.array(fc.oneof(callOf(places).filter(isRequest), subscribing), {
    minLength: AT_ONCE,
    maxLength: AT_ONCE,
  });
  await fc.assert(
    fc.asyncProperty(messages, async (all) => void (await Promise.all(all.map(ask)))),
    { numRuns: RUNS, endOnFailure: true },
  );
}
