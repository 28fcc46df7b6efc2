// A door knows a call if and only if the table does.

import assert from "node:assert/strict";
import { test } from "node:test";
import { calls } from "../../src/calls/table.ts";
import { streams } from "../../src/calls/streams.ts";
import { Daemon } from "./daemon.ts";
import { Line } from "./line.ts";

/** Calls that people may make. */
const PEOPLES = Object.entries(calls).filter(([, { who }]) => who !== "agent");
const AGENTS = Object.keys(calls).filter((name) => !PEOPLES.some(([each]) => each === name));

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
}

test("every door knows the calls of the table, and no other", async (t) => {
  const daemon = await Daemon.start(t);

  await t.test("a call that people make has a place, and an agent's own has none", () => {
    for (const [name, { http }] of PEOPLES) assert.notEqual(http, null, name);
    for (const name of AGENTS) assert.equal(calls[name as keyof typeof calls].http, null, name);
  });

  await t.test("the OpenAPI document has each of them once, where its place says", async () => {
    const { paths } = (await (await daemon.fetch("/openapi.json", { token: null })).json()) as Document;
    const told = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => [
        operationId,
        `${method.toUpperCase()} ${path}`,
      ]),
    );
    const rows = [...PEOPLES, ...Object.entries(streams)].map(([name, { http }]) => [
      name,
      (http ?? "").replace(" /", " /v1/").replaceAll(/:(\w+)/g, "{$1}"),
    ]);
    assert.deepEqual(told.toSorted(), rows.toSorted());
  });

  await t.test("every place of the document answers, and a place beside it does not", async () => {
    for (const [name, { http }] of PEOPLES) {
      const [method = "", path = ""] = (http ?? "").split(" ");
      const at = `/v1${path.replaceAll(/:\w+/g, "agent:main:nobody")}`;
      const body = method === "GET" ? {} : { body: '{"nothing": 1}' };
      const answer = await daemon.fetch(`${at}${method === "GET" ? "?nothing=1" : ""}`, { method, ...body });
      const { error } = (await answer.json()) as { readonly error: { readonly message: string } };
      assert.equal(answer.status, 400, `${name}: ${error.message}`);
      assert.match(error.message, new RegExp(`^${name}: .*nothing`, "s")); // The call itself says what it does not take.
    }
    assert.equal((await daemon.fetch("/v1/frobnicate", { method: "POST", body: "{}" })).status, 404);
  });

  await t.test(
    "JSON-RPC has each of them by name, over HTTP and over a socket, and agents' own are refused",
    async () => {
      await using line = await Line.open(daemon);
      for (const [name] of PEOPLES) {
        const params = { nothing: 1 };
        for (const said of [await daemon.rpc(name, params), await line.rpc(name, params)])
          assert.equal(said.error?.code, -32_602, `${name}: ${JSON.stringify(said)}`);
      }
      for (const name of AGENTS) assert.equal((await line.rpc(name, {})).error?.data.code, "forbidden", name);
      assert.equal((await line.rpc("frobnicate", {})).error?.code, -32_601);
    },
  );

  await t.test("a socket follows each stream by name, and no other", async () => {
    await using line = await Line.open(daemon);
    for (const name of Object.keys(streams)) {
      const said = await line.rpc("subscribe", { stream: name, input: { nothing: 1 } });
      assert.equal(said.error?.code, -32_602, name);
    }
    assert.equal((await line.rpc("subscribe", { stream: "frobnicate" })).error?.data.code, "not_found");
  });
});
