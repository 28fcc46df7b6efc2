// Small things for tests to commit: drafts, a letter, an end.

import type { Letter } from "../../mail/letter.ts";
import { agentOf } from "../../routing/key.ts";
import type { RunState } from "../../sessions/session.ts";
import type { BlobName, Draft, Header } from "../../transcript/entry.ts";
import type { Of } from "../rules.ts";

const AT = "2026-01-01T00:00:00.000Z";

export function said(text: string): Draft {
  return { type: "message", timestamp: AT, message: { role: "user", content: text, timestamp: 0 } };
}

/** What was shown to a model, and what it said, were so many tokens. */
export function answered(tokens: number): Draft {
  const usage = { input: tokens, output: 0, cacheRead: 0, cacheWrite: 0 };
  const rest = { content: [], api: "a", provider: "p", model: "m", stopReason: "stop", timestamp: 0 };
  return { type: "message", timestamp: AT, message: { role: "assistant", usage, ...rest } };
}

/** `details` is what its writer says beside the summary. */
export function compacted(firstKeptEntryId: string, details: unknown): Draft {
  return { type: "compaction", timestamp: AT, summary: "", firstKeptEntryId, tokensBefore: 1, details };
}

export function noted(data: unknown): Draft {
  return { type: "custom", timestamp: AT, customType: "sessiond/test", data };
}

export function named(blob: BlobName): Draft {
  const content = [{ type: "text", text: "head … tail", blob }] as const;
  return { type: "message", timestamp: AT, message: { role: "user", content, timestamp: 0 } };
}

export function letterOf(id: string, text: string): Letter {
  return {
    id,
    from: { kind: "external_user", channel: "test", peer: "somebody" },
    class: "interactive",
    mode: "steer",
    content: [{ type: "text", text }],
    replyTo: null,
    origin: null,
  };
}

export function ended(atMs: number): RunState {
  return { kind: "ended", atMs, outcome: "done", reason: null };
}

/** The first line of a transcript, which no reader is shown. */
export function headerOf(
  { key, cwd, transcript: id }: Pick<Of<"open">, "key" | "cwd" | "transcript">,
  atMs: number,
  more: Partial<Header> = {},
): string {
  const timestamp = new Date(atMs).toISOString();
  const header: Header = {
    type: "session",
    version: 3,
    id,
    timestamp,
    cwd,
    key,
    agent: agentOf(key),
    ...more,
  };
  return `${JSON.stringify(header)}\n`;
}
