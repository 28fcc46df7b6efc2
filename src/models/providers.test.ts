import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { Standin } from "../../test/providers/standin.ts";
import { APIS, ask, modelAt, user } from "../../test/providers/asking.ts";
import { SimulatedWorld } from "../base/world.ts";
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
