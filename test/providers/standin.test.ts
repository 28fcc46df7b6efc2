// The stand-in is worth as much as it refuses: each rule is broken once.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Api } from "../../src/config/config.ts";
import { Standin } from "./standin.ts";

let standin: Standin;
before(async () => {
  standin = await Standin.open();
});
after(() => standin.close());

const HI = { role: "user", content: [{ type: "text", text: "hi" }] };
const USE = { type: "tool_use", id: "a", name: "t", input: {} };
const DONE = { type: "tool_result", tool_use_id: "a", content: "r" };

function anthropic(...messages: readonly object[]): object {
  return { model: "m", max_tokens: 100, messages };
}

function said(...content: readonly object[]): object {
  return { role: "assistant", content };
}

function back(...content: readonly object[]): object {
  return { role: "user", content };
}

function responses(...input: readonly object[]): object {
  return { model: "m", store: false, input };
}

function completions(...messages: readonly object[]): object {
  return { model: "m", stream_options: { include_usage: true }, messages };
}

function google(...contents: readonly object[]): object {
  return { contents };
}

const ASK = { role: "user", content: "hi" };
const CALL = { type: "function_call", call_id: "a", name: "t", arguments: "{}" };
const OUTPUT = { type: "function_call_output", call_id: "a", output: "r" };
const CALLED = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "a", function: { name: "t", arguments: "{}" } }],
};
const TOLD = { role: "tool", tool_call_id: "a", content: "r" };
const TURN = { role: "user", parts: [{ text: "hi" }] };
const FUNCTION = {
  role: "model",
  parts: [
    { functionCall: { id: "a", name: "t", args: {} }, thoughtSignature: "skip_thought_signature_validator" },
  ],
};
const RESPONSE = { role: "user", parts: [{ functionResponse: { id: "a", name: "t", response: {} } }] };

test("what is right is taken", () => {
  const right: readonly (readonly [Api, object])[] = [
    ["anthropic", anthropic(HI, said(USE), back(DONE))],
    ["openai", responses(ASK, CALL, OUTPUT)],
    ["openai-compatible", completions(ASK, CALLED, TOLD)],
    ["google", google(TURN, FUNCTION, RESPONSE)],
  ];
  for (const [api, body] of right) assert.equal(standin.refusalOf(api, "gemini-3", body), null, api);
});

test("what a provider refuses is refused, in words that say what", () => {
  const signed = { type: "thinking", thinking: "other words", signature: standin.sign("hm") };
  const wrong: readonly (readonly [Api, object, RegExp])[] = [
    ["anthropic", { ...anthropic(HI), max_tokens: undefined }, /max_tokens/],
    ["anthropic", anthropic(), /not empty/],
    ["anthropic", anthropic(said({ type: "text", text: "x" }), HI), /first message/],
    ["anthropic", anthropic(HI, said({ type: "text", text: "x" })), /prefill/],
    ["anthropic", anthropic(back({ type: "text", text: " " })), /non-empty/],
    ["anthropic", anthropic(back({ type: "text", text: "\ud800" })), /surrogate/],
    ["anthropic", anthropic(HI, said(USE), HI), /without tool_result/],
    ["anthropic", anthropic(HI, back(DONE)), /unexpected tool_use_id/],
    ["anthropic", anthropic(HI, said(USE), back(DONE, DONE)), /single result/],
    ["anthropic", anthropic(HI, said(USE), back({ type: "text", text: "x" }, DONE)), /come first/],
    ["anthropic", anthropic(HI, said(USE), back(DONE), said(USE), back(DONE)), /unique/],
    [
      "anthropic",
      anthropic(HI, said({ ...USE, id: "a|b" }), back({ ...DONE, tool_use_id: "a|b" })),
      /pattern/,
    ],
    ["anthropic", anthropic(HI, said(signed, { type: "text", text: "x" }), HI), /signature/],
    ["anthropic", anthropic(HI, said({ type: "text", text: "x" }, signed), HI), /final block/],
    [
      "anthropic",
      {
        ...anthropic(HI, said(USE), back(DONE)),
        max_tokens: 9_000,
        thinking: { type: "enabled", budget_tokens: 2_000 },
      },
      /Expected/,
    ],
    [
      "anthropic",
      anthropic(back({ type: "image", source: { type: "base64", media_type: "image/svg+xml", data: "aa" } })),
      /media_type/,
    ],
    ["openai", { ...responses(ASK), store: true }, /store/],
    ["openai", responses(ASK, CALL, ASK), /No tool output/],
    ["openai", responses(ASK, OUTPUT), /No tool call/],
    ["openai", responses(ASK, { ...CALL, call_id: "x".repeat(41) }), /call_id/],
    [
      "openai",
      responses(ASK, { type: "reasoning", id: "r", summary: [], encrypted_content: "mine" }),
      /could not be verified/,
    ],
    [
      "openai",
      responses(ASK, { type: "reasoning", id: "r", summary: [], encrypted_content: standin.sign("") }, ASK),
      /required following/,
    ],
    ["openai-compatible", completions(ASK, ASK), /alternate/],
    ["openai-compatible", completions(ASK, CALLED, ASK), /followed by tool/],
    ["openai-compatible", completions(ASK, TOLD), /response to a preceding/],
    ["openai-compatible", completions(ASK, CALLED, TOLD, CALLED, TOLD), /tool_calls.id/],
    ["openai-compatible", completions(ASK, { role: "assistant", content: "" }, ASK), /non-empty/],
    ["google", google(TURN, FUNCTION, TURN), /as many function responses/],
    ["google", google(RESPONSE), /as many function responses/],
    [
      "google",
      google(TURN, { role: "model", parts: [{ functionCall: { id: "a", name: "t", args: {} } }] }, RESPONSE),
      /thought_signature/,
    ],
    ["google", google({ role: "user", parts: [] }), /not empty/],
    [
      "google",
      google(TURN, { role: "model", parts: [{ text: "x", thoughtSignature: "mine" }] }, TURN),
      /Corrupted/,
    ],
  ];
  for (const [api, body, words] of wrong)
    assert.match(
      standin.refusalOf(api, "gemini-3", body) ?? "it was taken",
      words,
      `${api}: ${JSON.stringify(body)}`,
    );
});

test("a request that is refused is answered as the provider would, and remembered", async () => {
  const answer = await fetch(`${standin.baseUrl("anthropic")}/messages`, {
    method: "POST",
    headers: { "x-api-key": "k" },
    body: JSON.stringify(anthropic()),
  });
  assert.equal(answer.status, 400);
  const { type, error } = (await answer.json()) as { type: string; error: { type: string } };
  assert.deepEqual([type, error.type], ["error", "invalid_request_error"]);
  assert.match(standin.requests.at(-1)?.refused ?? "", /not empty/);
});
