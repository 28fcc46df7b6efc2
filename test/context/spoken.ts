// That a conversation can be a request of every provider, whatever its history.

import assert from "node:assert/strict";
import type { Api } from "../../src/config/config.ts";
import { convert } from "../../src/models/convert.ts";
import type { Message } from "../../src/transcript/entry.ts";
import { APIS, asking, NAMES } from "../providers/asking.ts";

const FACTS = { windowTokens: 1, outputTokens: null, images: true, prices: null };

/** Every call paired, nobody speaks twice in a row, and it is the model's turn, as each provider is asked. */
export function assertSpoken(messages: readonly Message[]): void {
  for (const api of APIS) assertSpokenTo(api, messages);
}

function assertSpokenTo(api: Api, messages: readonly Message[]): void {
  const target = { api, apiName: api, provider: api, model: NAMES[api], facts: FACTS };
  const { prompt } = convert(asking(messages), target);
  let waiting: readonly string[] = [];
  let last = "system";
  for (const message of prompt) {
    if (message.role === "system") continue;
    if (message.role === "tool")
      assert.deepEqual(
        message.content.map((part) => ("toolCallId" in part ? part.toolCallId : "")),
        waiting,
      );
    else assert.deepEqual(waiting, [], "the results stand right after their calls");
    waiting =
      message.role === "assistant"
        ? message.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []))
        : [];
    assert.notEqual(message.role, last, `${api}: they speak in turns`);
    if (last === "system") assert.equal(message.role, "user");
    last = message.role;
  }
  assert.notEqual(last, "assistant");
  assert.deepEqual(waiting, []);
}
