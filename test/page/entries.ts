// Entries as a session's own turns write them, for transcripts that are made before anybody looks at them.

import type { Block, Draft } from "../../src/transcript/entry.ts";

export const AT = "2026-03-04T10:00:00.000Z";

export function person(content: string | readonly Block[], more: object = {}): Draft {
  return { type: "message", timestamp: AT, message: { role: "user", content, timestamp: 0 }, ...more };
}

export function answer(...content: readonly Block[]): Draft {
  const usage = { input: 1_000, output: 200, cacheRead: 0, cacheWrite: 0, cost: { total: 0.01 } };
  const by = { api: "rehearsal", provider: "rehearsal", model: "default", usage, stopReason: "stop" };
  return { type: "message", timestamp: AT, message: { role: "assistant", content, ...by, timestamp: 0 } };
}

export function words(text: string): Block {
  return { type: "text", text };
}

export function called(id: string, name: string, given: Readonly<Record<string, unknown>>): Block {
  return { type: "toolCall", id, name, arguments: given };
}

export function result(id: string, name: string, content: readonly Block[], isError = false): Draft {
  const of = { role: "toolResult", toolCallId: id, toolName: name, isError } as const;
  return { type: "message", timestamp: AT, message: { ...of, content, timestamp: 0 } };
}

/** Everything of the transcript that is in the page, by its numbers, in the order in which it stands there. */
export const SHOWN = `[...document.querySelectorAll(".transcript [data-seq], .transcript [data-part]")]
  .map((each) => Number(each.dataset.seq ?? each.dataset.part))`;
