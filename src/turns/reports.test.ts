import assert from "node:assert/strict";
import { test } from "node:test";
import { entries, OPEN, ourCompaction, STARTED, user } from "../../test/fixtures/talk.ts";
import { DEFAULT_AGENT, mainKey } from "../routing/key.ts";
import type { Body } from "../transcript/entry.ts";
import { reportContent } from "./reports.ts";

const KEY = mainKey(DEFAULT_AGENT);
const AT_MS = Date.parse("2026-01-01T00:00:00.000Z"); // of all entries

/** An answer that cost ten tokens in and one out, and a cent. */
const ANSWERED: Body = {
  type: "message",
  message: {
    ...{ role: "assistant", content: [], api: "a", provider: "p", model: "m", timestamp: 0 },
    stopReason: "stop",
    usage: { input: 2, output: 1, cacheRead: 3, cacheWrite: 5, cost: { total: 0.01 } },
  },
};

async function figuresOf(...bodies: readonly Body[]): Promise<string | undefined> {
  const ended = { key: KEY, label: null, outcome: "done", reason: null, said: "yes" } as const;
  const content = await reportContent(
    { ...ended, entries: entries(...bodies), last: [ANSWERED], nowMs: AT_MS + 2_500 },
    () => Promise.reject(new Error("nothing here is so long")),
  );
  const [block] = content;
  return block?.type === "text" ? block.text.split("\n")[1] : undefined;
}

test("the figures of a report are those of its turn alone", async () => {
  assert.equal(
    await figuresOf(ANSWERED, STARTED, user("go"), ANSWERED),
    `2.5 s · 20 tokens in, 2 out · $0.0200 · ${KEY}`,
  );
});

const PAID = { type: "custom", customType: "sessiond/paid" } as const;

test("where a compaction has cut off the beginning of the turn, what was spent before it counts, and summaries too", async () => {
  const usage = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0, cost: { total: 1 } };
  const spent = { input: 1_000, output: 100, cacheRead: 0, cacheWrite: 0, cost: 2 };
  const turn = { ...OPEN, startedAtMs: AT_MS - 60_000, spent };
  assert.equal(
    await figuresOf(ourCompaction(9, { turn }), { ...PAID, data: { usage } }, ANSWERED),
    `62.5 s · 1120 tokens in, 112 out · $3.0200 · ${KEY}`,
  );
});

test("where nobody knows when the turn began, it has taken no time", async () => {
  const { startedAtMs: _startedAtMs, spent: _spent, ...older } = OPEN;
  assert.equal(
    await figuresOf(ourCompaction(9, { turn: older as typeof OPEN }), ANSWERED),
    `0.0 s · 20 tokens in, 2 out · $0.0200 · ${KEY}`,
  );
});
