// That the benchmark of contexts counts what it says: its figures are only worth what its book-keeping is.

import assert from "node:assert/strict";
import { test } from "node:test";
import { replay } from "../../bench/context/replay.ts";
import { generatedOnes, realOne, reportedOf, weightOf, type Told } from "../../bench/context/told.ts";
import { assemble } from "../../src/context/assemble.ts";
import { roomOf, type Room } from "../../src/context/room.ts";
import type { Body, Entry, MessageUsage } from "../../src/transcript/entry.ts";

const AT = "2026-01-02T03:04:05.000Z";
const USAGE: MessageUsage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };
const NO_USAGE: MessageUsage = { ...USAGE, input: 0 };
const ROOM = (frame: number): Room => roomOf(200_000, { sizeTokens: null, reserveTokens: null }, frame);

function told(...bodies: readonly Body[]): Told {
  const entries = bodies.map((body, at): Entry => {
    const parentId = at === 0 ? null : `e-${at}`;
    return { ...body, id: `e-${at + 1}`, parentId, seq: at + 1, timestamp: AT };
  });
  return { name: "by hand", entries, frame: { system: 60, tools: 40 }, tokensPerByte: 0.5 };
}

function question(text: string): Body {
  return { type: "message", message: { role: "user", content: text, timestamp: 0 } };
}

function answer(text: string, usage: MessageUsage = USAGE): Body {
  const by = { api: "a", provider: "p", model: "m", stopReason: "stop", timestamp: 0 } as const;
  return {
    type: "message",
    message: { role: "assistant", content: [{ type: "text", text }], ...by, usage },
  };
}

test("what a call shares with the one before it is read from the cache, and the rest is written to it", () => {
  const story = told(question("one"), answer("two"), question("three"), answer("four"));
  const [first, second] = [
    weightOf(assemble(story.entries.slice(0, 1), false)),
    weightOf(assemble(story.entries.slice(0, 3), false)),
  ];
  const cost = replay(story, "full", ROOM);
  assert.equal(cost.calls, 2);
  assert.equal(cost.input, (100 + first + 100 + second) / 2);
  assert.equal(cost.read, (100 + first) / 2);
  const priced = ((100 + first) * (1.25 + 0.1) + (second - first) * 1.25) / 2;
  assert.ok(Math.abs(cost.priced - priced) < 1e-6);
  assert.deepEqual(replay(story, "compacted", ROOM), cost, "nothing is done to what is small");
});

test("an answer that was stopped is no call, and what it said is shown to the next one", () => {
  const stopped = told(question("one"), answer("tw", NO_USAGE), question("three"), answer("four"));
  const cost = replay(stopped, "full", ROOM);
  assert.equal(cost.calls, 1);
  assert.equal(cost.input, (100 + weightOf(assemble(stopped.entries.slice(0, 3), false))) / 2);
});

for (const story of generatedOnes()) {
  test(`${story.name}: pruned it costs less than in full, and compacted less than that`, () => {
    const [full, pruned, compacted] = (["full", "pruned", "compacted"] as const).map((way) =>
      replay(story, way, ROOM),
    );
    assert.ok(full && pruned && compacted);
    assert.equal(full.prunings + full.compactions + pruned.compactions, 0);
    assert.ok(pruned.prunings > 0 && pruned.input < full.input && pruned.priced < full.priced);
    assert.ok(compacted.compactions > 0 && compacted.input < pruned.input);
    assert.ok(compacted.summariser > 0 && compacted.largest < ROOM(0).most);
  });
}

test("full history of the real transcript costs what its provider reported", (t) => {
  const real = realOne();
  if (real === null) return t.skip("SESSIOND_TRANSCRIPTS names no folder with real transcripts");
  const reported = real.entries.reduce((sum, entry) => sum + reportedOf(entry), 0);
  assert.equal(Math.round(replay(real, "full", ROOM).input), reported);
});
