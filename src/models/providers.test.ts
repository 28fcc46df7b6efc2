import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { redirect, Standin } from "../../test/providers/standin.ts";
import { APIS, ask, modelAt, user } from "../../test/providers/asking.ts";
import { RealWorld, SimulatedWorld } from "../base/world.ts";
import type { Provider } from "../config/config.ts";
import { providers } from "./providers.ts";

test("no package of a provider is loaded before one is asked", () => {
  for (const file of readdirSync(import.meta.dirname).filter((name) => /^[a-z]+\.ts$/.test(name)))
    assert.doesNotMatch(
      readFileSync(`${import.meta.dirname}/${file}`, "utf8"),
      /^import (?!type )[^;]*"@ai-sdk\//m,
      file,
    );
});

test("a model has the names that transcripts and settings use", async () => {
  await using standin = await Standin.open();
  const models = APIS.map((api) =>
    modelAt(standin, api, { name: "meta/llama:free", facts: { windowTokens: 9 } }),
  );
  assert.deepEqual(
    models.map(({ id, api, windowTokens }) => [id, api, windowTokens]),
    [
      ["anthropic/meta/llama:free", "anthropic-messages", 9],
      ["openai/meta/llama:free", "openai-responses", 9],
      ["google/meta/llama:free", "google-generative-ai", 9],
      ["openai-compatible/meta/llama:free", "openai-completions", 9],
    ],
  );
  assert.equal(providers(new SimulatedWorld(1), new Map()).length, 0);
});

test("a server of one's own without an address is our mistake, and said", async () => {
  await using standin = await Standin.open();
  const model = modelAt(standin, "openai-compatible", { provider: { baseUrl: null } });
  const { answer } = await ask(model, [user("hi")]);
  assert.ok(answer.kind === "failed" && answer.why === "local");
  assert.match(answer.message, /set models\.providers\.openai-compatible\.baseUrl/);
});

test("what is known of a provider is what the configuration names, then the table, each once", () => {
  const facts = { windowTokens: 7, outputTokensMax: null, images: null, prices: null };
  const provider: Provider = {
    ...{ id: "mine", baseUrl: null, apiKey: null, keyNames: [], headers: {}, concurrency: null },
    api: "anthropic",
    models: { "my-model": facts, "claude-opus-5-5": facts },
  };
  const [source] = providers(new SimulatedWorld(1), new Map([["mine", provider]]));
  const known = source?.known() ?? [];
  assert.deepEqual(known[0], { id: "mine/my-model", windowTokens: 7, prices: null });
  assert.equal(known[1]?.windowTokens, 7);
  assert.equal(known[1]?.prices?.input, 4);
  assert.equal(new Set(known.map(({ id }) => id)).size, known.length);
  assert.ok(known.some(({ id }) => id === "mine/claude-haiku-4-5"));
});

test("a package that could not be loaded is loaded when the next one asks", async () => {
  await using standin = await Standin.open();
  let baseUrl: string | null = null;
  const provider: Provider = {
    ...{ id: "mine", apiKey: null, keyNames: [], headers: {}, concurrency: null, models: {} },
    api: "openai-compatible",
    get baseUrl() {
      return baseUrl;
    },
  };
  const [source] = providers(new RealWorld(), new Map([["mine", provider]]));
  assert.ok(source);
  const failed = await ask(source.model("m"), [user("hi")]);
  assert.equal(failed.answer.kind, "failed");
  baseUrl = standin.baseUrl("openai-compatible");
  assert.equal((await ask(source.model("m"), [user("hi")])).answer.kind, "reply");
});

test("no provider's redirect is followed: what was sent to it is sent to nobody else", async () => {
  for (const api of APIS) {
    await using standin = await Standin.open();
    await using other = await Standin.open();
    const { origin } = new URL(other.baseUrl(api));
    const paths = [other.baseUrl(api).slice(origin.length), "/messages?key=secret"];
    for (const to of [`${origin}${paths.join("")}`, standin.baseUrl(api)]) {
      standin.play(redirect(to));
      const { answer } = await ask(modelAt(standin, api), [user("hi")]);
      assert.deepEqual(answer, {
        kind: "failed",
        why: "local",
        message: `${api} could not be asked: it redirects to another address, at ${new URL(to).origin}; set models.providers.${api}.baseUrl to it`,
        retryAfterMs: null,
        throttled: false,
      });
    }
    assert.deepEqual([standin.requests.length, other.requests.length], [2, 0]);
  }
});
