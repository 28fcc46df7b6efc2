// Whatever a model with a small window does when it is asked for summaries, turns end, and nobody is asked for ever.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { detailsOf } from "../../src/context/compaction.ts";
import { OVERFLOWS_MAX, SUMMARY_TRIES_MAX } from "../../src/limits.ts";
import type { Entry } from "../../src/transcript/entry.ts";
import { assertSpoken } from "./spoken.ts";
import { Scene, SUMMINGS, type Mood, type Moody } from "./moody.ts";

/** Shrinking would take minutes: a seed replays what failed. */
const RUNS = 40;

/** What we take a token to be before a model has reported any. */
const ASSUMED = 1 / 3.5;

const moods: fc.Arbitrary<Mood> = fc.record({
  seed: fc.nat(),
  windowTokens: fc.oneof(fc.integer({ min: 6_000, max: 12_000 }), fc.integer({ min: 6_000, max: 60_000 })),
  tokensPerByte: fc.constantFrom(ASSUMED, 1 / 4, 1 / 5),
  takes: fc.constant(1),
  sizeTokens: fc.option(fc.integer({ min: 3_000, max: 20_000 })),
  flush: fc.boolean(),
  sums: fc.array(fc.constantFrom(...SUMMINGS), { minLength: 1, maxLength: 4 }),
});

/** One that counts more than we think, or takes less than it says. */
const liars: fc.Arbitrary<Mood> = fc
  .tuple(moods, fc.constantFrom(1 / 2, 1 / 3, 1 / 4), fc.constantFrom(1, 0.8, 0.4))
  .map(([mood, tokensPerByte, takes]) => ({ ...mood, tokensPerByte, takes }));

const turns = fc.array(fc.oneof(fc.nat(300), fc.nat(30_000)), { minLength: 2, maxLength: 8 });

function compactionsIn(entries: readonly Entry[]): number {
  return entries.filter(({ type }) => type === "compaction").length;
}

/** One compaction is not made right upon another. */
function assertAnswersBetween(entries: readonly Entry[]): void {
  let isAnswered = true;
  for (const entry of entries) {
    if (entry.type === "compaction") {
      assert.ok(isAnswered, `an answer stands before the compaction of entry ${entry.seq}`);
      isAnswered = false;
    }
    if (entry.type === "message" && entry.message.role === "assistant") isAnswered = true;
  }
}

function answersIn(entries: readonly Entry[]): number {
  return entries.filter((entry) => entry.type === "message" && entry.message.role === "assistant").length;
}

/** What stands around the conversation is most of what it takes, or it takes less than half of what it says. */
function isHopeless(model: Moody, { takes, windowTokens }: Mood): boolean {
  const [request] = model.requests;
  const around = request === undefined ? 0 : model.tokensOf({ ...request, messages: [] });
  return takes < 0.5 || around > 0.6 * takes * windowTokens;
}

const seen = { compactions: 0, summaries: 0, truncations: 0, refusals: 0 };

async function played(mood: Mood, sizes: readonly number[]): Promise<readonly [Scene, readonly Entry[]]> {
  const scene = new Scene(mood);
  try {
    let before: readonly Entry[] = [];
    for (const [at, size] of sizes.entries()) {
      [scene.failures, scene.model.refusals] = [0, 0];
      const { outcome } = await scene.ask(`(${at}) Go on. ${"Please. ".repeat(size / 8)}`);
      assert.notEqual(outcome, "failed");
      if (outcome === "overflow")
        assert.ok(isHopeless(scene.model, mood), "two refusals were enough to learn from");
      assert.ok(scene.failures <= SUMMARY_TRIES_MAX, `${scene.failures} attempts came to nothing`);
      assert.ok(scene.model.refusals <= OVERFLOWS_MAX + 1, `${scene.model.refusals} refusals`);
      const entries = await scene.entries();
      const compactions = compactionsIn(entries) - compactionsIn(before);
      const steps = answersIn(entries) - answersIn(before) + scene.model.refusals;
      assert.ok(compactions <= steps, `${compactions} compactions in ${steps} steps`);
      before = entries;
      seen.refusals += scene.model.refusals;
    }
    for (const { messages } of scene.model.requests) assertSpoken(messages);
    const truncated = before.filter((entry) => (detailsOf(entry)?.truncated ?? null) !== null).length;
    seen.compactions += compactionsIn(before);
    seen.truncations += truncated;
    seen.summaries += compactionsIn(before) - truncated;
    return [scene, before];
  } finally {
    await scene.close();
  }
}

test("with a model that counts as we do, every turn ends, every request fits, and answers stand between compactions", async () => {
  await fc.assert(
    fc.asyncProperty(moods, turns, async (mood, sizes) => {
      const [{ model }, entries] = await played(mood, sizes);
      for (const request of [...model.requests, ...model.summaries])
        assert.ok(model.tokensOf(request) <= model.windowTokens, `${model.tokensOf(request)} tokens fit`);
      assertAnswersBetween(entries);
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});

test("with a model that takes less than it says, every turn ends all the same", async () => {
  await fc.assert(
    fc.asyncProperty(liars, turns, async (mood, sizes) => {
      await played(mood, sizes);
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
  for (const [what, times] of Object.entries(seen)) assert.ok(times > 10, `there were ${what}`);
});
