// A model that is asked again, as those hear it who follow: what it had said before is over, and what waited of it is never told.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Event } from "../../src/events/bus.ts";
import type { Answer, Model } from "../../src/index.ts";
import { Stage, until } from "../channels/stage.ts";

const HALF = "sk-Ab1Ab1";
const LOOKS = { kind: "person", principal: "wall", scope: "read" } as const;

/** What it says, in each try; and whether that is its answer. */
type Try = readonly [pieces: readonly string[], isAnswer: boolean];

function model(...tries: readonly Try[]): Model {
  let asked = 0;
  return {
    ...{ id: "actor/one", provider: "actor", name: "one", api: "actor", windowTokens: 100_000 },
    ask: async (_request, show): Promise<Answer> => {
      const [pieces, isAnswer] = tries[Math.min(asked, tries.length - 1)] ?? [[], false];
      asked += 1;
      for (const text of pieces) show({ kind: "text", text });
      if (!isAnswer)
        return { kind: "failed", why: "retry", message: "broken", retryAfterMs: 0, throttled: false };
      const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };
      return {
        kind: "reply",
        content: [{ type: "text", text: pieces.join("") }],
        usage,
        stopReason: "stop",
      };
    },
  };
}

/** Everything that a token which may only look hears of it in a session, until its turn has ended. */
async function heard(t: TestContext, ...tries: readonly Try[]): Promise<readonly Event[]> {
  const config = { agents: { main: { model: "actor/one", tools: { allow: [] } } } };
  const stage = await Stage.open(t, config, { models: [model(...tries)] });
  const over = new AbortController();
  const told: Event[] = [];
  const events = await stage.wired.door.stream("follow", LOOKS, {}, over.signal);
  const listening = (async () => {
    for await (const { event } of events) told.push(event as Event);
  })();
  await stage.sessions.ask("main", "hello");
  await until(() => JSON.stringify(told).includes("turn-ended"));
  over.abort();
  await listening;
  return told;
}

function pieces(told: readonly Event[]): readonly (readonly [text: string, begins: boolean])[] {
  return told.flatMap((event) =>
    event.type === "delta" ? [[event.text, event.begins === true] as const] : [],
  );
}

test("what a model had said when it failed is over: the next try begins anew, and says so", async (t) => {
  const told = await heard(t, [["one ", HALF], false], [["Ab1Ab1 two ", "and three"], true]);
  assert.deepEqual(pieces(told), [
    ["one ", true],
    ["Ab1Ab1 two ", true],
    ["and ", false],
    ["three", false],
  ]);
});

test("of a turn that fails, what waited of its answer is not told: no entry has it", async (t) => {
  const told = await heard(t, [["one ", HALF], false]);
  assert.deepEqual(new Set(pieces(told).map(([text]) => text)), new Set(["one "]));
  assert.ok(!JSON.stringify(told).includes(HALF));
});
