// When a summary cannot be had, or is called off: the turn comes to its end, what was said stays, and the next message is tried
// anew. Each request that any model gets is checked.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { Answer, Request } from "../../src/index.ts";
import { detailsOf } from "../../src/context/compaction.ts";
import { SECTIONS } from "../../src/context/sections.ts";
import { MODEL_TRIES_MAX, SUMMARY_TRIES_MAX } from "../../src/limits.ts";
import { MAIN } from "./family.ts";
import { Gate, notesIn } from "./stage.ts";
import {
  calling,
  compactions,
  failing,
  full,
  LAST,
  look,
  prose,
  saying,
  SMALL,
  summing,
  textIn,
  wordy,
  Writer,
  written,
} from "./writer.ts";

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

  test("breaks off in the middle of a long history is asked for it twice, and then no more", async (t) => {
    let [parts, attempts] = [0, 0];
    const summary = (request: Request): Answer => {
      if (!textIn(request.messages[0] ?? assert.fail()).includes("The summary of what came before:"))
        [parts, attempts] = [0, attempts + 1];
      parts += 1;
      return parts === 3 ? failing("local") : summing(request);
    };
    const large = new Writer("large", { windowTokens: 400_000, step: wordy(60, 8_000) });
    const small = new Writer("small", { windowTokens: 16_000, summary });
    const stage = await written(t, [large, small], { context: { sizeTokens: 400_000 } }, [look]);
    assert.equal((await stage.sessions.ask(MAIN, "Look around.")).outcome, "done");
    await stage.sessions.set(MAIN, { model: small.id });
    assert.equal((await stage.sessions.ask(MAIN, "And now?")).outcome, "done");
    assert.ok(attempts >= 1 && attempts <= SUMMARY_TRIES_MAX, `${attempts}`);
    assert.equal(small.summaries.length, attempts * 3);
    const [made, ...more] = await compactions(stage, MAIN);
    assert.deepEqual([detailsOf(made)?.truncated, more.length], ["no (local)", 0]);
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
