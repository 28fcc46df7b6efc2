// When a summary cannot be had, is called off, or is not enough: the turn comes to its end, what was said stays, and the next
// message is tried anew. Each request that any model gets is checked.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { Answer, Request } from "../../src/index.ts";
import { detailsOf } from "../../src/context/compaction.ts";
import { SECTIONS } from "../../src/context/sections.ts";
import { MODEL_TRIES_MAX, OVERFLOWS_MAX, SUMMARY_TRIES_MAX } from "../../src/limits.ts";
import { RealWorld } from "../../src/index.ts";
import { rebuild } from "../../src/upkeep/rebuild.ts";
import { MAIN } from "./family.ts";
import { Gate, notesIn, tool, type Stage } from "./stage.ts";
import {
  calling,
  compactions,
  failing,
  prose,
  saying,
  summing,
  textIn,
  written,
  Writer,
  type Agent,
} from "./writer.ts";

const SMALL: Agent = { context: { sizeTokens: 4_000 } };
const look = tool("look", () => Promise.resolve("seen"));

/** Looks until its turn has so many steps, and says a page each time: so one turn needs several compactions. */
function wordy(steps: number, bytes = 2_000) {
  return (_request: Request, times: number): Answer =>
    times % steps === 0 ? saying("That is all.") : calling("look", {}, prose(bytes));
}

/** A session whose next message is too much. */
async function full(stage: Stage, key = MAIN): Promise<void> {
  for (let n = 0; n < 6; n += 1)
    assert.equal((await stage.sessions.ask(key, `${n}. ${prose(2_000)}`)).outcome, "done");
  assert.equal((await compactions(stage, key)).length, 0);
}

const LAST = `Last. ${prose(2_000)}`;

describe("a summariser that", () => {
  const large = SECTIONS.map((section) => `${section}\n- ${prose(9_000)}`).join("\n\n");
  const cases: readonly (readonly [what: string, answer: () => Answer, why: RegExp])[] = [
    ["cannot be reached", () => failing("retry"), /no \(retry\)/],
    ["has no key", () => failing("auth"), /no \(auth\)/],
    ["cannot do it", () => failing("local"), /no \(local\)/],
    ["finds all of it too large", () => failing("overflow"), /no \(overflow\)/],
    ["throws", () => assert.fail("broken"), /model\/one broke: broken/],
    ["says nothing", () => saying(""), /it is empty/],
    ["says nothing under its headings", () => saying(SECTIONS.join("\n- none\n")), /it is empty/],
    ["calls a tool", () => calling("look"), /it is empty/],
    ["says more than it got", () => saying(prose(90_000)), /it has 89999 bytes/],
    ["writes no sections", () => saying("All is well."), /the section "## Goal" is missing/],
  ];
  for (const [what, answer, why] of cases)
    test(`${what}: the turn ends, its older part is cut off and marked, and the next one tries again`, async (t) => {
      let isBack = false;
      const summary = (request: Request): Answer => (isBack ? summing(request) : answer());
      const model = new Writer("model", { windowTokens: 32_000, step: wordy(20), summary });
      const stage = await written(t, [model], SMALL, [look]);
      const most = SUMMARY_TRIES_MAX * (what === "cannot be reached" ? MODEL_TRIES_MAX : 1);
      for (const turn of [1, 2]) {
        assert.equal((await stage.sessions.ask(MAIN, `Look around ${turn} times.`)).outcome, "done");
        const asks = model.summaries.length;
        assert.ok(asks >= turn && asks <= turn * most, `${asks} in ${turn} turns`);
        const { compaction } = await stage.sessions.call("context", {});
        assert.match(compaction?.truncated ?? "", new RegExp(`${why.source}|could not be made twice`));
      }
      const made = await compactions(stage, MAIN);
      assert.ok(made.length >= 4, "several in each turn");
      assert.match(detailsOf(made[0])?.truncated ?? "", why);
      for (const { summary: words } of made)
        assert.match(words, /^## Goal\n(?:- .*\n)?\[No summary could be made: /);

      isBack = true;
      assert.equal((await stage.sessions.ask(MAIN, "Look around once more.")).outcome, "done");
      assert.equal((await stage.sessions.call("context", {})).compaction?.truncated, null);
    });

  test("writes too much in its sections is cut short, not believed", async (t) => {
    const model = new Writer("model", {
      windowTokens: 32_000,
      step: wordy(20),
      summary: () => saying(large),
    });
    const stage = await written(t, [model], SMALL, [look]);
    assert.equal((await stage.sessions.ask(MAIN, "Look around.")).outcome, "done");
    assert.ok(model.summaries.length <= SUMMARY_TRIES_MAX);
    for (const { summary } of await compactions(stage, MAIN)) assert.ok(summary.length < 4_000);
  });

  test("fails is not asked where another one writes summaries", async (t) => {
    const model = new Writer("model", {
      windowTokens: 32_000,
      step: wordy(20),
      summary: () => failing("auth"),
    });
    const other = new Writer("other", { windowTokens: 32_000 });
    const agent = { context: { ...SMALL.context, summaryModel: other.id } };
    const stage = await written(t, [model, other], agent, [look]);
    assert.equal((await stage.sessions.ask(MAIN, "Look around.")).outcome, "done");
    const made = await compactions(stage, MAIN);
    assert.deepEqual([model.summaries.length, other.summaries.length], [0, made.length]);
    assert.ok(made.every((entry) => detailsOf(entry)?.truncated === null));
  });
});

describe("while a summary is being made,", () => {
  /** The last message was sent, and the first summary waits for the gate. */
  async function making(t: TestContext, key = MAIN) {
    const gate = new Gate();
    const model = new Writer("model", {
      windowTokens: 32_000,
      step: ({ messages }) => saying(`To: ${textIn(messages.at(-1) ?? assert.fail()).slice(0, 20)}`),
      summary: async (request, times) => {
        if (times === 1) await gate.pass();
        return summing(request);
      },
    });
    const stage = await written(t, [model], SMALL);
    await full(stage, key);
    const last = stage.sessions.ask(key, LAST);
    await gate.reached();
    const before = model.steps.length;
    return { stage, model, gate, last, since: () => model.steps.slice(before) };
  }

  test("a letter that steers is in the next request, after the summary, once", async (t) => {
    const { stage, gate, last, since } = await making(t);
    const { id } = await stage.sessions.send(MAIN, "Steer to the left.", { mode: "steer" });
    await stage.until(async () => (await stage.sessions.status(MAIN)).waitingLetters === 1);
    gate.open();
    assert.deepEqual([(await last).outcome, (await last).text], ["done", "To: Steer to the left."]);
    assert.equal((await stage.sessions.wait(MAIN, id)).text, "To: Steer to the left.");
    await stage.sessions.ask(MAIN, "And now?");
    const [first, second, ...more] = since();
    assert.equal(more.length, 0);
    for (const request of [first, second]) {
      const texts = request?.messages.map(textIn) ?? [];
      assert.deepEqual(
        texts.filter((text) => text.startsWith("Steer to the left.")),
        ["Steer to the left."],
      );
      assert.match(texts[0] ?? "", /## Goal/);
      assert.ok(texts.includes(LAST), "what it was asked with is there too");
    }
    assert.equal((await compactions(stage, MAIN)).length, 1);
    assert.equal((await stage.outcomes(MAIN)).length, 8, "it is one turn");
  });

  test("a letter that interrupts has the next turn, which makes it anew", async (t) => {
    const { stage, model, gate, last } = await making(t);
    const second = await stage.sessions.ask(MAIN, "Now this.", { mode: "interrupt" });
    assert.deepEqual([second.outcome, second.text], ["done", "To: Now this."]);
    assert.equal((await last).outcome, "aborted");
    gate.open();
    const made = await compactions(stage, MAIN);
    assert.deepEqual([made.length, model.summaries.length], [1, 2]);
    const aborted = (await stage.entries(MAIN)).findIndex(
      (entry) => notesIn([entry], "turn-ended")[0]?.["outcome"] === "aborted",
    );
    assert.ok((made[0]?.seq ?? 0) > aborted + 1, "the first was not written");
  });

  test("an abort ends the turn, nothing of it is written, and the session goes on", async (t) => {
    const { stage, gate, last } = await making(t);
    await stage.sessions.abort(MAIN);
    assert.equal((await last).outcome, "aborted");
    assert.equal((await compactions(stage, MAIN)).length, 0);
    gate.open();
    assert.equal((await stage.sessions.ask(MAIN, "Go on.")).text, "To: Go on.");
    assert.equal((await compactions(stage, MAIN)).length, 1);
  });

  test("a kill ends the session, and nothing of it is written", async (t) => {
    const key = "agent:main:direct:ann";
    const { stage, gate, last, since } = await making(t, key);
    await stage.sessions.kill(key);
    assert.equal((await last).outcome, "killed");
    gate.open();
    assert.equal((await stage.sessions.status(key)).state, "ended");
    assert.deepEqual([(await compactions(stage, key)).length, since().length], [0, 0]);
  });

  test("a pause waits for it, and then no model is asked until it is taken back", async (t) => {
    const { stage, gate, last, since } = await making(t);
    await stage.sessions.stop(MAIN);
    gate.open();
    await stage.until(async () => (await stage.sessions.status(MAIN)).state === "paused");
    assert.equal(since().length, 0);
    await stage.sessions.cont(MAIN);
    assert.equal((await last).outcome, "done");
    assert.equal((await compactions(stage, MAIN)).length, 1);
  });

  test("a restart makes it anew, and the turn is answered", async (t) => {
    const { stage, model, last, since } = await making(t);
    const gone = assert.rejects(last);
    await stage.reopen();
    await gone;
    await stage.rest(MAIN);
    assert.deepEqual((await stage.outcomes(MAIN)).slice(-1), ["done"]);
    assert.deepEqual(
      [(await compactions(stage, MAIN)).length, model.summaries.length, since().length],
      [1, 2, 1],
    );
  });
});

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

describe("what summaries cost", () => {
  test("is charged to the session, also those that were refused, and a rebuild finds the same", async (t) => {
    const model = new Writer("model", {
      windowTokens: 32_000,
      summary: (request, times) => (times === 1 ? saying("No sections.") : summing(request)),
    });
    const stage = await written(t, [model], SMALL);
    await full(stage);
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
