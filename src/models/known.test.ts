import assert from "node:assert/strict";
import { test } from "node:test";
import { factsOf, levelOf } from "./known.ts";

test("the configuration knows best, then the table, then nobody", () => {
  const known = factsOf("anthropic", "claude-haiku-4-5-20251001", null);
  assert.deepEqual(known.prices, { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 });
  assert.deepEqual([known.windowTokens, known.outputTokens, known.images], [200_000, 32_000, true]);
  const written = { windowTokens: 50_000, outputTokensMax: 64_000, images: false, prices: null };
  const told = factsOf("anthropic", "claude-haiku-4-5", written);
  assert.deepEqual([told.windowTokens, told.outputTokens, told.images], [50_000, 64_000, false]);
  assert.deepEqual(told.prices, known.prices, "what is not written is known");
  for (const name of ["qwen3", "constructor", "gpt-5"])
    assert.deepEqual(factsOf("openai-compatible", name, null), {
      ...{ windowTokens: 128_000, outputTokens: null, images: true, prices: null },
    });
});

test("no model is told to think in a way that it refuses", () => {
  assert.equal(levelOf("anthropic", "claude-opus-4-5", "off"), "none");
  assert.equal(levelOf("openai", "gpt-5", "minimal"), "minimal");
  assert.equal(levelOf("openai", "gpt-5-pro", "off"), undefined);
  assert.equal(levelOf("openai", "gpt-5-codex", "off"), undefined);
  assert.equal(levelOf("openai", "o3", "minimal"), "low");
  assert.equal(levelOf("google", "gemma-4-26b-a4b-it", "high"), undefined);
  assert.equal(levelOf("google", "gemini-2.5-flash", "off"), "none");
  assert.equal(levelOf("openai-compatible", "qwen3", "off"), undefined);
  assert.equal(levelOf("openai-compatible", "qwen3", "high"), "high");
});
