import assert from "node:assert/strict";
import { test } from "node:test";
import { providedIn } from "./provided.ts";

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
