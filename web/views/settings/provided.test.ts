import assert from "node:assert/strict";
import { test } from "node:test";
import { price, priceWords, providedIn } from "./provided.ts";

const model = (id: string) => ({ id, windowTokens: 1_000, prices: null });
const provider = (name: string, hasKey: boolean, api = name) => ({
  provider: name,
  api,
  hasKey,
  keyFrom: [`${name.toUpperCase()}_API_KEY`],
});

const ALL = {
  models: ["openai/gpt", "anthropic/claude", "rehearsal/default", "ollama/qwen/3"].map(model),
  aliases: {},
  providers: [
    provider("openai", false),
    provider("anthropic", true),
    provider("ollama", false, "openai-compatible"),
    provider("google", false),
  ],
};

test("providers that can be asked come first, and one without a key says which variable to set", () => {
  const all = providedIn(ALL, "");
  assert.deepEqual(
    all.map((each) => [each.provider, each.isUsable, each.models.map(({ id }) => id)]),
    [
      ["anthropic", true, ["anthropic/claude"]],
      ["rehearsal", true, ["rehearsal/default"]],
      ["ollama", true, ["ollama/qwen/3"]],
      ["openai", false, ["openai/gpt"]],
      ["google", false, []],
    ],
  );
  assert.match(all.find((each) => each.provider === "openai")?.todo ?? "", /OPENAI_API_KEY/);
  assert.equal(all.find((each) => each.provider === "anthropic")?.todo, null);
});

test("a filter leaves out models, and providers that have none left", () => {
  assert.deepEqual(
    providedIn(ALL, " QWEN ").map((each) => each.provider),
    ["ollama"],
  );
  assert.deepEqual(providedIn(ALL, "nobody"), []);
});

test("a price has cents, and more where it has more", () => {
  assert.deepEqual([3, 0.25, 0.1 + 0.2, 0.075, 15.5, 0].map(price), [
    "$3.00",
    "$0.25",
    "$0.30",
    "$0.075",
    "$15.50",
    "$0.00",
  ]);
  const prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
  assert.equal(priceWords(prices), "$3.00 in, $15.00 out");
  assert.equal(priceWords({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }), "free");
  assert.equal(priceWords(null), "price not known");
});
