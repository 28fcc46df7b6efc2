// What the benchmark of contexts is measured on. A change to any of it is a change to the yardstick, so it has to be
// made here too, in the open.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { generated, STORY_NAMES, type StoryName } from "../../bench/context/generate.ts";
import { RESULT_BYTES_MAX } from "../../src/limits.ts";
import type { Entry, Message } from "../../src/transcript/entry.ts";

const SHA256: Readonly<Record<StoryName, string>> = {
  coding: "97fb90519353ca17815761fc22945a0c4d6c1206db85bd21dde07ec920e8415c",
  research: "ac30febe4cac94752fb4c82bf5bc1af747f4de6ffe46285672ea5b3885f48f76",
  chat: "5e8b992065e5f78296885703ef1604d1ac4a8f34c1f3ddd1da5cc5024b348c10",
};

const WINDOW_TOKENS = 200_000;

function messagesOf(entries: readonly Entry[]): Message[] {
  return entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
}

for (const name of STORY_NAMES) {
  const entries = generated(name);
  const messages = messagesOf(entries);

  test(`the generated transcript "${name}" is the same bytes on every machine`, () => {
    const bytes = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
    assert.equal(createHash("sha256").update(bytes).digest("hex"), SHA256[name]);
  });

  test(`in the generated transcript "${name}" the results of an answer's calls stand behind it, in order`, () => {
    for (const [at, message] of messages.entries()) {
      if (message.role !== "assistant") continue;
      const calls = message.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []));
      const behind = messages.slice(at + 1, at + 1 + calls.length);
      assert.deepEqual(
        behind.map((result) => (result.role === "toolResult" ? result.toolCallId : null)),
        calls,
      );
      const after = messages[at + 1 + calls.length];
      assert.notEqual(after?.role, "toolResult", "a result that nobody called for");
    }
  });

  test(`the generated transcript "${name}" has what real ones have, and fits into a window`, () => {
    assert.ok(messages.length >= 400 && messages.length <= 1_000);
    const answers = messages.filter((message) => message.role === "assistant");
    const results = messages.filter((message) => message.role === "toolResult");
    const sizes = results.map(({ content }) => {
      const [block] = content;
      return block?.type === "text" ? Buffer.byteLength(block.text) : Number.NaN;
    });
    assert.ok(sizes.every((size) => size > 0 && size <= RESULT_BYTES_MAX));
    assert.equal(Math.max(...sizes), RESULT_BYTES_MAX);
    assert.ok(results.some(({ isError }) => isError));
    assert.ok(
      answers.some(({ content }) => content.filter(({ type }) => type === "toolCall").length > 1),
      "calls at once",
    );
    assert.ok(answers.some(({ content }) => content.some(({ type }) => type === "thinking")));
    assert.ok(answers.some(({ stopReason, usage }) => stopReason === "aborted" && usage.cacheRead === 0));
    const inputs = answers.map(({ usage }) => usage.input + usage.cacheRead + usage.cacheWrite);
    assert.ok(Math.max(...inputs) < WINDOW_TOKENS);
  });
}
