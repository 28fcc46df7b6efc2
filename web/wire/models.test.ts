import assert from "node:assert/strict";
import { test } from "node:test";
import { modelChoices, type Models } from "./models.ts";

const MODELS: Models = {
  models: ["anthropic/opus", "rehearsal/default", "home/llama"].map((id) => ({
    id,
    windowTokens: 1,
    prices: null,
  })),
  aliases: { best: "anthropic/opus", quick: "home/llama" },
  providers: [
    { provider: "anthropic", api: "anthropic", hasKey: false, keyFrom: [] },
    { provider: "home", api: "openai-compatible", hasKey: false, keyFrom: [] },
  ],
};

test("models without a key stand last, and are marked; a server of one's own needs none", () => {
  assert.deepEqual(modelChoices(MODELS), [
    ["quick", "quick (home/llama)"],
    ["rehearsal/default", "rehearsal/default"],
    ["home/llama", "home/llama"],
    ["best", "best (anthropic/opus): no key found"],
    ["anthropic/opus", "anthropic/opus: no key found"],
  ]);
  assert.deepEqual(modelChoices(null), []);
});
