import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { Answer, Delta } from "./model.ts";
import { Broken, listen } from "./stream.ts";

type Part = LanguageModelV4StreamPart;
type Unified = LanguageModelV4FinishReason["unified"];

const TOKENS = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };

function finish(unified: Unified, raw?: string): Part {
  const usage = {
    inputTokens: TOKENS,
    outputTokens: { total: undefined, text: undefined, reasoning: undefined },
  };
  return { type: "finish", finishReason: { unified, raw }, usage };
}

function text(delta: string): Part[] {
  return [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta },
    { type: "text-end", id: "0" },
  ];
}

function call(input: string, toolCallId = "c"): Part {
  return { type: "tool-call", toolCallId, toolName: "look", input };
}

async function heard(...parts: readonly Part[]): Promise<{ answer: Answer; shown: Delta[] }> {
  const left = [...parts];
  const shown: Delta[] = [];
  const answer = await listen(async () => left.shift() ?? null, {
    show: (delta) => shown.push(delta),
    heard: () => {},
    prices: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 },
  });
  return { answer, shown };
}

async function why(...parts: readonly Part[]): Promise<string> {
  const { answer } = await heard(...parts);
  if (answer.kind === "reply") return answer.stopReason;
  assert.equal(answer.throttled, false);
  return `${answer.why}: ${answer.message}`;
}

describe("how it ends", () => {
  test("only an end that its protocol knows is an end", async () => {
    assert.equal(await why(...text("a"), finish("stop")), "stop");
    assert.equal(await why(...text("a"), finish("other", "eos")), "stop");
    assert.equal(await why(...text("a")), "retry: the answer was cut off");
    assert.equal(await why(...text("a"), finish("other")), "retry: the answer was cut off");
    assert.equal(await why(finish("other", "eos")), "retry: the answer was cut off");
    assert.equal(await why(...text("a"), finish("interrupted")), "retry: the answer was cut off");
    assert.equal(
      await why(finish("error", "MALFORMED_FUNCTION_CALL")),
      "retry: the answer was cut off (MALFORMED_FUNCTION_CALL)",
    );
    assert.equal(
      await why(...text("a"), finish("content-filter", "SAFETY")),
      "local: the model refused to answer (SAFETY)",
    );
    assert.match(await why(...text("a"), finish("length", "model_context_window_exceeded")), /^overflow/);
  });

  test("an error in the stream ends it", async () => {
    const error = { message: "no" };
    await assert.rejects(heard(...text("a"), { type: "error", error }, finish("stop")), (thrown) => {
      assert.ok(thrown instanceof Broken);
      assert.equal(thrown.cause, error);
      return true;
    });
  });

  test("it is bounded, also while a call comes that nobody sees", async () => {
    const much = "x".repeat(9 * 1024 * 1024);
    assert.match(await why(...text(much), ...text(much), finish("stop")), /^local: the answer is longer/);
    const input: Part[] = [
      { type: "tool-input-start", id: "c", toolName: "look" },
      { type: "tool-input-delta", id: "c", delta: much },
      { type: "tool-input-delta", id: "c", delta: much },
    ];
    assert.match(await why(...input, finish("stop")), /^local: the answer is longer/);
  });
});

describe("calls", () => {
  test("a call is whole or there is none", async () => {
    assert.equal(await why(call('{"a":1}'), finish("tool-calls")), "toolUse");
    assert.equal(await why(call(""), finish("tool-calls")), "toolUse");
    for (const bad of ['{"a":', "[]", "null", '"a"', "1"])
      assert.equal(
        await why(call("{}"), call(bad, "d"), finish("tool-calls")),
        "retry: the arguments of a tool call are no JSON object",
      );
    const begun: Part = { type: "tool-input-start", id: "c", toolName: "look" };
    assert.match(await why(begun, finish("tool-calls")), /^retry/);
    assert.match(
      await why(begun, finish("length")),
      /^local: the limit of output tokens cut off a tool call/,
    );
    assert.match(
      await why(call("{}"), finish("length")),
      /^local/,
      "an empty object may be what is left of a larger one",
    );
    assert.equal(await why(call("{}"), ...text("a"), finish("length")), "length");
  });

  test("calls of one answer have ids of their own", async () => {
    const { answer } = await heard(call("{}", "0"), call("{}", "0"), call("{}", ""), finish("tool-calls"));
    assert.ok(answer.kind === "reply");
    assert.deepEqual(
      answer.content.map((block) => block.type === "toolCall" && block.id),
      ["0", "0_2", "call"],
    );
  });
});

test("a thought that OpenAI tells in parts is one block, signed as pi signs it", async () => {
  const openai = { itemId: "rs_1" };
  const part = (at: number, delta: string): Part[] => [
    {
      type: "reasoning-start",
      id: `rs_1:${at}`,
      providerMetadata: { openai: { ...openai, reasoningEncryptedContent: null } },
    },
    { type: "reasoning-delta", id: `rs_1:${at}`, delta, providerMetadata: { openai } },
  ];
  const end: Part = {
    type: "reasoning-end",
    id: "rs_1:1",
    providerMetadata: { openai: { ...openai, reasoningEncryptedContent: "e" } },
  };
  const { answer, shown } = await heard(
    ...part(0, "first"),
    ...part(1, "second"),
    end,
    ...text("a"),
    finish("stop"),
  );
  assert.ok(answer.kind === "reply");
  const [thought] = answer.content;
  assert.ok(thought?.type === "thinking");
  assert.equal(thought.thinking, "first\n\nsecond");
  assert.deepEqual(JSON.parse(thought.thinkingSignature ?? ""), {
    type: "reasoning",
    id: "rs_1",
    summary: [{ type: "summary_text", text: "first\n\nsecond" }],
    encrypted_content: "e",
  });
  assert.deepEqual(
    shown.map(({ kind }) => kind),
    ["thinking", "thinking", "text"],
  );
  assert.equal(answer.usage.cost, undefined, "nothing was counted, so nobody knows what it cost");
});
