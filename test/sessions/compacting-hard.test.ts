// Summaries that come too late, in part, or not at all; what they cost; and what must not be forgotten with what they stand for.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { Answer } from "../../src/index.ts";
import { RealWorld } from "../../src/index.ts";
import { rebuild } from "../../src/upkeep/rebuild.ts";
import { MAIN } from "./family.ts";
import { calling, compactionsIn, Mind, minded, prose } from "./mind.ts";
import { saying, Stage, tool } from "./stage.ts";

/** Turns that end in this time. */
function hurried(context: object, turnSeconds: number): ReturnType<typeof minded> {
  const config = minded([], context);
  return { agents: { defaults: { ...config.agents?.["defaults"], limits: { turnSeconds } } } };
}

async function talked(stage: Stage, times: number, tokens = 1_500): Promise<string[]> {
  const outcomes: string[] = [];
  for (let at = 1; at <= times; at += 1)
    outcomes.push((await stage.sessions.ask(MAIN, `Message ${at}. ${prose(tokens)}`)).outcome);
  return outcomes;
}

async function opened(t: TestContext, mind: Mind, context: object = {}): Promise<Stage> {
  return await Stage.open(t, minded([], context), { models: [mind] });
}

describe("a summariser", () => {
  test("that never answers does not use up turn after turn: it has failed, and the turn goes on", async (t) => {
    const mind = new Mind();
    mind.sums = () => new Promise<Answer>(() => {});
    const stage = await Stage.open(t, hurried({ sizeTokens: 6_000 }, 4), { models: [mind] });
    assert.deepEqual(new Set(await talked(stage, 6)), new Set(["done"]));
    const [first] = compactionsIn(await stage.entries(MAIN));
    const { compaction } = await stage.sessions.call("context", { sessionKey: MAIN });
    assert.ok(first !== undefined);
    assert.match(compaction?.truncated ?? "", /it took longer than 1 s/);
  });

  test("that says nothing of a part has failed: what came before is not lost without a word", async (t) => {
    const mind = new Mind(60_000);
    const { sums } = mind;
    mind.sums = (request, times) => (times === 1 ? saying("") : sums(request, times));
    const stage = await opened(t, mind, { sizeTokens: 44_000 });
    await talked(stage, 32);
    assert.ok(mind.summaries.length > 2, "it goes in parts");
    const [first, second] = mind.summaries.map(({ messages }) => JSON.stringify(messages));
    assert.ok(
      first?.includes("Message 1.") && second?.includes("Message 1."),
      "it began again at the beginning",
    );
    assert.equal(compactionsIn(await stage.entries(MAIN)).length, 1);
  });
});

describe("what was only asked for", () => {
  test("leaves everything as it was when no summary can be had", async (t) => {
    const mind = new Mind();
    const stage = await opened(t, mind);
    await talked(stage, 4);
    mind.sums = () => saying("");
    const before = await stage.entries(MAIN);
    const done = await stage.sessions.call("compact", { sessionKey: MAIN });
    assert.deepEqual([done.outcome, done.tokensBefore], ["failed", null]);
    assert.match(done.reason ?? "", /no summary could be made: it is empty\. Nothing was changed/);
    assert.deepEqual(compactionsIn(await stage.entries(MAIN)), []);
    assert.deepEqual((await stage.entries(MAIN)).slice(0, before.length), before);
    await stage.sessions.ask(MAIN, "And now?");
    assert.ok(mind.shown.includes("Message 1."));
    assert.ok(!mind.shown.includes("No answer was given"), "nobody had asked anything");
  });
});

describe("a summary in parts", () => {
  test("is charged as it goes, also when it is stopped, and stops at a limit", async (t) => {
    const mind = new Mind();
    const stage = await opened(t, mind, { sizeTokens: 20_000 });
    await talked(stage, 9);
    const { usage } = await stage.sessions.status(MAIN);
    mind.sums = async (_request, times) => {
      if (times > 1) await stage.sessions.abort(MAIN);
      return saying(prose(200));
    };
    const stopped = await stage.sessions.call("compact", { sessionKey: MAIN });
    assert.equal(stopped.outcome, "aborted");
    const after = await stage.sessions.status(MAIN);
    assert.ok(after.usage.input > usage.input, "the part that was answered was paid for");
    const { usage: now } = after;
    await stage.sessions.set(MAIN, { limits: { tokens: now.input + now.output + 200 } });
    const asked = mind.summaries.length;
    const limited = await stage.sessions.call("compact", { sessionKey: MAIN });
    assert.equal(limited.outcome, "limit");
    assert.ok(mind.summaries.length <= asked + 1);
  });
});

describe("settings", () => {
  test("that were set back after a compaction do not come back with a rebuild", async (t) => {
    const mind = new Mind();
    const stage = await opened(t, mind, { sizeTokens: 8_000 });
    await stage.sessions.set(MAIN, { label: "old", nice: 7 });
    await talked(stage, 6);
    assert.ok(compactionsIn(await stage.entries(MAIN)).length > 0);
    await stage.sessions.set(MAIN, { label: null, nice: 0 });
    await talked(stage, 2, 10);
    const { settings } = await stage.sessions.status(MAIN);
    await stage.close();
    rebuild(stage.home, new RealWorld().nowMs(), () => {});
    await stage.reopen();
    assert.deepEqual((await stage.sessions.status(MAIN)).settings, settings);
  });
});

describe("a flush", () => {
  test("runs no tool but those of memory, and one that never ends is over", async (t) => {
    const mind = new Mind();
    let ran = 0;
    const deploy = tool("deploy", async () => `deployed ${(ran += 1)}`);
    mind.flushed = () => calling(["deploy"]);
    const config = minded(["memory_write", "deploy"], { flush: true, sizeTokens: 8_000 });
    const stage = await Stage.open(t, config, { models: [mind], tools: [deploy] });
    assert.deepEqual(new Set(await talked(stage, 6)), new Set(["done"]));
    assert.equal(ran, 0);
    assert.ok(mind.flushes.length >= 8 && mind.flushes.length % 8 === 0, `${mind.flushes.length}`);
    assert.ok(compactionsIn(await stage.entries(MAIN)).length > 0);
  });

  test("is told to nobody who follows, and is in no history", async (t) => {
    const mind = new Mind();
    mind.flushed = () => saying("NO_REPLY");
    const config = minded(["memory_write"], { flush: true, sizeTokens: 8_000 });
    const stage = await Stage.open(t, config, { models: [mind] });
    await talked(stage, 6);
    assert.ok(mind.flushes.length > 0);
    const { entries } = await stage.sessions.history(MAIN);
    assert.ok(
      entries.every(({ text }) => !text.includes("NO_REPLY") && !text.includes("about to be replaced")),
    );
    const silent = (await stage.entries(MAIN)).filter((entry) => entry.type === "message" && entry.silent);
    assert.equal(silent.length, mind.flushes.length);
  });
});
