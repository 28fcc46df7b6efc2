// The daemon through plain HTTP, as curl would use it.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Daemon } from "./daemon.ts";

const MAIN = "agent:main:main";

interface Body {
  readonly [name: string]: unknown;
}

async function json(response: Response): Promise<Body> {
  return (await response.json()) as Body;
}

test("a daemon of its own", async (t) => {
  const daemon = await Daemon.start(t);
  const post = (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    daemon.fetch(path, { method: "POST", body: JSON.stringify(body), headers });

  await t.test("says where it is, how to talk to it and that its model is scripted", () => {
    for (const words of [
      daemon.url,
      "npx sessiond chat",
      "rehearsal/default",
      "scripted",
      "ANTHROPIC_API_KEY",
    ])
      assert.ok(daemon.said.includes(words), words);
    assert.ok(!daemon.said.includes(daemon.token), "the token is not shown");
    assert.equal(statSync(join(daemon.home, "token")).mode & 0o777, 0o600);
  });

  await t.test("is healthy and ready without a token, and nothing else is without one", async () => {
    assert.equal((await daemon.fetch("/healthz", { token: null })).status, 200);
    assert.equal((await daemon.fetch("/readyz", { token: null })).status, 200);
    for (const path of ["/v1/sessions", "/metrics", "/rpc", "/mcp", "/v1/models", "/v1/chat/completions"]) {
      const refused = await daemon.fetch(path, { token: null });
      assert.equal(refused.status, 401, path);
      assert.match(refused.headers.get("www-authenticate") ?? "", /Bearer/);
    }
  });

  await t.test("a message is answered, and history, status and list show it", async () => {
    const asked = await json(await post(`/v1/sessions/${MAIN}/ask`, { message: "!say hello" }));
    assert.deepEqual([asked["outcome"], asked["text"]], ["done", "hello"]);
    const { entries } = await json(await daemon.fetch(`/v1/sessions/${MAIN}/history?limit=2`));
    assert.deepEqual(
      (entries as { text: string }[]).map(({ text }) => text),
      ["!say hello", "hello"],
    );
    assert.equal((await json(await daemon.fetch(`/v1/sessions/${MAIN}`)))["state"], "idle");
    const { sessions } = await json(await daemon.fetch("/v1/sessions?kind=main&limit=5"));
    assert.deepEqual(
      (sessions as { sessionKey: string }[]).map(({ sessionKey }) => sessionKey),
      [MAIN],
    );
  });

  await t.test(
    "a message that is sent twice under one key is there once; with other words it is a conflict",
    async () => {
      const path = "/v1/sessions/agent:main:direct:ann/messages";
      const key = { "idempotency-key": "order 17" };
      const first = await json(await post(path, { message: "!say once" }, key));
      const again = await json(await post(path, { message: "!say once" }, key));
      assert.deepEqual([first["repeated"], again["repeated"], again["id"]], [false, true, first["id"]]);
      assert.equal((await post(path, { message: "!say other" }, key)).status, 409);
      assert.equal((await post(path, { message: "!say once", id: "other" }, key)).status, 400);
      const answered = await json(
        await daemon.fetch(`/v1/sessions/agent:main:direct:ann/messages/${encodeURIComponent("order 17")}`),
      );
      assert.deepEqual([answered["outcome"], answered["text"]], ["done", "once"]);
    },
  );

  await t.test("an id in the path is not taken from a header", async () => {
    const { status, body } = await told(
      post("/v1/outbox/in-the-path/redeliver", {}, { "idempotency-key": "in-a-header" }),
    );
    assert.equal(status, 404);
    assert.match(body.error.message, /in-the-path/);
    const { paths } = await json(await daemon.fetch("/openapi.json"));
    const { post: place } = (paths as Record<string, { post: object }>)["/v1/outbox/{id}/redeliver"] ?? {};
    assert.ok(place);
    assert.ok(!JSON.stringify(place).includes("Idempotency-Key"));
  });

  await t.test("a request of JSON-RPC without an id is done and not answered; null is an id", async () => {
    const params = { sessionKey: "agent:main:direct:quiet", message: "!say hush" };
    const said = await post("/rpc", { jsonrpc: "2.0", method: "send", params });
    assert.deepEqual([said.status, await said.text()], [204, ""]);
    assert.equal((await daemon.fetch("/v1/sessions/agent:main:direct:quiet")).status, 200);
    const asked = await json(await post("/rpc", { jsonrpc: "2.0", id: null, method: "overview" }));
    assert.deepEqual([asked["id"], typeof asked["result"]], [null, "object"]);
  });

  await t.test("clients of OpenAI are refused in their words, also before a door is reached", async () => {
    const wrong = { token: "wrong" };
    for (const [path, init, status] of [
      ["/v1/models", wrong, 401],
      ["/v1/chat/completions", wrong, 401],
      ["/v1/responses/x/input_items", {}, 404],
    ] as const) {
      const answer = await daemon.fetch(path, init);
      const { error } = await json(answer);
      assert.equal(answer.status, status, path);
      assert.deepEqual(Object.keys(error as object).toSorted(), ["code", "message", "param", "type"], path);
      assert.equal(answer.headers.get("x-should-retry"), "false");
    }
    const { error } = await json(await daemon.fetch("/v1/sessions", wrong));
    assert.deepEqual(Object.keys(error as object).toSorted(), ["code", "message", "retry", "todo"]);
  });

  await t.test("a task that is given twice under one key is given once", async () => {
    const key = { "idempotency-key": "task-1" };
    const path = `/v1/sessions/${MAIN}/children`;
    const first = await json(await post(path, { task: "!say done" }, key));
    const again = await json(await post(path, { task: "!say done" }, key));
    assert.deepEqual([again["sessionKey"], again["repeated"]], [first["sessionKey"], true]);
  });

  await t.test("lists are read page by page, each session once", async () => {
    for (let n = 0; n < 7; n += 1)
      await post(`/v1/sessions/agent:main:direct:p${n}/messages`, { message: "hi" });
    const seen: string[] = [];
    for (let cursor = ""; ;) {
      const page = await json(await daemon.fetch(`/v1/sessions?kind=direct&limit=3${cursor}`));
      seen.push(...(page["sessions"] as { sessionKey: string }[]).map(({ sessionKey }) => sessionKey));
      if (page["next"] === null) break;
      cursor = `&cursor=${encodeURIComponent(String(page["next"]))}`;
    }
    assert.equal(new Set(seen).size, seen.length);
    assert.equal(seen.filter((key) => /direct:p\d$/.test(key)).length, 7);
  });

  await t.test("settings are changed, and a GET changes nothing", async () => {
    const body = JSON.stringify({ label: "the main one", nice: 3 });
    const set = await json(await daemon.fetch(`/v1/sessions/${MAIN}`, { method: "PATCH", body }));
    assert.equal((set["settings"] as { label: string }).label, "the main one");
    const asked = await told(daemon.fetch(`/v1/sessions/${MAIN}?model=rehearsal/large`));
    assert.equal(asked.status, 403);
    assert.match(JSON.stringify(asked.body), /status: this would change something.*`set` sets the model/);
    assert.equal((await json(await daemon.fetch(`/v1/sessions/${MAIN}`)))["model"], "rehearsal/default");
  });

  await t.test("what is wrong is told with its place, and what to do", async () => {
    const { status, body } = await told(post(`/v1/sessions/${MAIN}/messages`, { massage: "hi" }));
    assert.equal(status, 400);
    assert.match(body.error.message, /massage/);
    const method = await daemon.fetch(`/v1/sessions/${MAIN}/messages`, { method: "PUT", body: "{}" });
    assert.deepEqual([method.status, method.headers.get("allow")], [405, "POST"]);
    const key = await told(post("/v1/sessions/agent:Main:main/messages", { message: "hi" }));
    assert.equal(key.status, 400);
    assert.match(key.body.error.message, /agent:Main:main/);
  });

  await t.test("named tokens have their scope, and are gone once they are revoked", async () => {
    const { token } = await daemon.call("createToken", { name: "wall", scope: "read" });
    assert.equal((await daemon.fetch("/v1/sessions", { token })).status, 200);
    const body = JSON.stringify({ message: "hi" });
    const sent = await daemon.fetch(`/v1/sessions/${MAIN}/messages`, { method: "POST", body, token });
    assert.equal(sent.status, 403);
    assert.match(((await json(sent))["error"] as { message: string }).message, /operate.*"wall".*read/);
    assert.equal((await daemon.fetch("/v1/tokens", { token })).status, 403);
    await daemon.call("revokeToken", { name: "wall" });
    assert.equal((await daemon.fetch("/v1/sessions", { token })).status, 401);
    assert.ok(!daemon.log.includes(token));
  });

  assert.ok(!daemon.log.includes(daemon.token), "no token is logged");
});

interface Refusal {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly todo: string;
    readonly retry: boolean;
  };
}

async function told(
  response: Promise<Response>,
): Promise<{ readonly status: number; readonly body: Refusal }> {
  const answer = await response;
  return { status: answer.status, body: (await answer.json()) as Refusal };
}
