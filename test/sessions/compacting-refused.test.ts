// When what a model is shown is refused for its size, though nobody could know, and what summaries cost: the session goes on, or
// the turn says why not. Each request that any model gets is checked.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { RealWorld } from "../../src/index.ts";
import { detailsOf } from "../../src/context/compaction.ts";
import { OVERFLOWS_MAX, SUMMARY_TRIES_MAX } from "../../src/limits.ts";
import { rebuild } from "../../src/upkeep/rebuild.ts";
import { MAIN } from "./family.ts";
import {
  compactions,
  failing,
  full,
  LAST,
  look,
  prose,
  saying,
  SMALL,
  summing,
  wordy,
  Writer,
  written,
} from "./writer.ts";

describe("a request that is refused for its size", () => {
  for (const bytesPerToken of [3.7, 2])
    test(`by a model that takes half of what is said of it (${bytesPerToken} bytes a token): the session goes on`, async (t) => {
      const step = wordy(5);
      const model = new Writer("model", { windowTokens: 40_000, takes: 20_000, bytesPerToken, step });
      const agent = { context: { sizeTokens: 40_000 } };
      const stage = await written(t, [model], agent, [look]);
      for (let n = 0; n < 25; n += 1)
        assert.equal((await stage.sessions.ask(MAIN, `${n}. ${prose(2_000)}`)).outcome, "done", `${n}`);
      const made = await compactions(stage, MAIN);
      assert.ok(model.refused.length > 0 && model.refused.length <= made.length * 2);
      assert.ok(made.some((entry) => detailsOf(entry)?.occasion === "overflow"));
      assert.ok(model.refused.length < model.steps.length / 5);
    });

  for (const windowTokens of [8_000, 32_000])
    test(`by a model with more tokens than anybody would think, in a window of ${windowTokens}: the session goes on`, async (t) => {
      const model = new Writer("model", { windowTokens, takes: windowTokens, bytesPerToken: 1.2 });
      const stage = await written(t, [model]);
      for (const [n, bytes] of [3_000, 30_000, 3_000, 200_000, 100, 30_000, 200_000, 3_000].entries()) {
        const [steps, summaries] = [model.steps.length, model.summaries.length];
        assert.equal((await stage.sessions.ask(MAIN, `${n}. ${prose(bytes)}`)).outcome, "done", `${n}`);
        assert.ok(model.steps.length - steps <= OVERFLOWS_MAX + 1);
        assert.ok(model.summaries.length - summaries <= 5, "in parts, and twice at most");
      }
    });

  test("whatever is done about it ends the turn as overflow, and the next message is tried anew", async (t) => {
    const model = new Writer("model", { windowTokens: 40_000, takes: 0 });
    const stage = await written(t, [model], SMALL);
    for (const [n, bytes] of [100, 6_000, 6_000, 200_000].entries()) {
      const [steps, summaries] = [model.steps.length, model.summaries.length];
      const { outcome, reason } = await stage.sessions.ask(MAIN, `${n}. ${prose(bytes)}`);
      assert.equal(outcome, "overflow");
      assert.match(reason ?? "", /tokens are more than 0/);
      const asks = model.steps.length - steps;
      assert.ok(asks >= 1 && asks <= OVERFLOWS_MAX + 1, `${asks}`);
      assert.ok(model.summaries.length - summaries <= SUMMARY_TRIES_MAX);
    }
    const counts = model.steps.map((request) => model.count(request));
    assert.equal(new Set(counts).size, counts.length, "nobody is asked the same twice");
  });

  for (const [when, steps] of [
    ["in a turn of its own", 30],
    ["in the middle of a turn", 60],
  ] as const)
    test(`by a fallback with a smaller window, ${when}: it is asked within it`, async (t) => {
      const talking = wordy(steps, 15_000);
      const first = new Writer("first", {
        windowTokens: 400_000,
        step: (request, times) => (times <= 30 ? talking(request, times) : failing("auth")),
        summary: () => failing("auth"),
      });
      const second = new Writer("second", { windowTokens: 10_000, takes: 10_000 });
      const agent = { failover: [second.id], context: { sizeTokens: 400_000 } };
      const stage = await written(t, [first, second], agent, [look]);
      for (const message of ["Look around.", "And now?", "And then?"])
        assert.equal((await stage.sessions.ask(MAIN, message)).outcome, "done", message);
      assert.ok(first.steps.some((request) => first.count(request) > 100_000));
      assert.equal(second.refused.length, 1, "what it was shown first");
      const [made, ...more] = await compactions(stage, MAIN);
      assert.deepEqual([detailsOf(made)?.truncated, more.length], [null, 0]);
    });
});

test("a summary that a fallback finds too large goes in parts that fit it", async (t) => {
  const first = new Writer("first", {
    windowTokens: 400_000,
    step: (request, times) => (times <= 8 ? wordy(8, 15_000)(request, times) : failing("auth")),
    summary: () => failing("auth"),
  });
  const second = new Writer("second", { windowTokens: 10_000, takes: 10_000 });
  const agent = { failover: [second.id], context: { sizeTokens: 30_000 } };
  const stage = await written(t, [first, second], agent, [look]);
  for (const message of ["Look around.", `And now? ${prose(8_000)}`])
    assert.equal((await stage.sessions.ask(MAIN, message)).outcome, "done", message);
  const [made, ...more] = await compactions(stage, MAIN);
  assert.deepEqual([detailsOf(made)?.truncated, more.length], [null, 0]);
  assert.ok(second.refused.length === 1 && second.summaries.length > 3);
});

describe("what summaries cost", () => {
  test("is charged to the session, also those that were refused, and a rebuild finds the same", async (t) => {
    const model = new Writer("model", {
      windowTokens: 32_000,
      summary: (request, times) => (times === 1 ? saying("No sections.") : summing(request)),
    });
    const stage = await written(t, [model], SMALL);
    await full(stage, MAIN);
    await stage.sessions.ask(MAIN, LAST);
    assert.equal(model.summaries.length, 2);
    const { usage } = await stage.sessions.status(MAIN);
    const asked = [...model.steps, ...model.summaries].map((request) => model.count(request));
    assert.equal(
      usage.input,
      asked.reduce((sum, tokens) => sum + tokens, 0),
    );
    await stage.close();
    assert.deepEqual(rebuild(stage.home, new RealWorld().nowMs(), () => {}).lost, []);
    await stage.reopen();
    const { usage: rebuilt } = await stage.sessions.status(MAIN);
    assert.deepEqual([rebuilt.input, rebuilt.output], [usage.input, usage.output]);
  });

  test("is within its budget: a summary that there is no room for ends the turn as limit", async (t) => {
    const model = new Writer("model", { windowTokens: 32_000, step: wordy(50) });
    const stage = await written(t, [model], { ...SMALL, limits: { tokens: 40_000 } }, [look]);
    const { outcome, reason } = await stage.sessions.ask(MAIN, "Look around.");
    assert.equal(outcome, "limit");
    assert.match(reason ?? "", /may use 40000 tokens in all/);
    const { usage } = await stage.sessions.status(MAIN);
    assert.ok(model.summaries.length > 0);
    const asked = [...model.steps, ...model.summaries].map((request) => model.count(request));
    assert.equal(
      usage.input,
      asked.reduce((sum, tokens) => sum + tokens, 0),
    );
    assert.ok(usage.input < 40_000 + 10_000);
    const { length } = model.summaries;
    assert.equal((await stage.sessions.ask(MAIN, "Go on.")).outcome, "limit");
    assert.equal(model.summaries.length, length, "nothing more is spent");
  });
});
