// Before a summary is made the agent may write down what is to last: silently, once, and whatever happens meanwhile.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import type { Outgoing } from "../../src/index.ts";
import { childrenOf, MAIN } from "./family.ts";
import { calling, compactionsIn, FLUSH_WORDS, Mind, minded, prose, shownOf } from "./mind.ts";
import { Gate, saying, Stage, tool } from "./stage.ts";

const NOTE = "memory/people.md";
const WRITE = ["memory_write", { path: NOTE, text: "Ann likes tea." }] as const;

/** A model that writes its note first, and sessions that flush. Answers of theirs go through a door. */
async function flushing(t: TestContext, more: { readonly context?: object; readonly tools?: string[] } = {}) {
  const mind = new Mind();
  mind.flushed = ({ messages }) => (messages.at(-1)?.role === "user" ? calling(WRITE) : saying("NO_REPLY"));
  const delivered: Outgoing[] = [];
  const door = (outgoing: Outgoing): Promise<void> => {
    delivered.push(outgoing);
    return Promise.resolve();
  };
  const gate = new Gate("memory_gate");
  const allowed = more.tools ?? ["memory_write", "memory_gate", "look", "sessions_spawn"];
  const look = tool("look", () => Promise.resolve("seen"));
  const stage = await Stage.open(t, minded(allowed, { sizeTokens: 8_000, flush: true, ...more.context }), {
    models: [mind],
    channels: { door },
    tools: [gate.tool, look],
  });
  return { stage, mind, delivered, gate };
}

/** Says something long in main, until it was summarised so often. */
async function talk(stage: Stage, compactions = 1, key = MAIN): Promise<number> {
  for (let at = 1; ; at += 1) {
    const { outcome, reason } = await stage.sessions.ask(key, `Message ${at}. ${prose(1_500)}`);
    assert.equal(outcome, "done", reason ?? "");
    if (compactionsIn(await stage.entries(key)).length >= compactions) return at;
  }
}

function noted(stage: Stage): string {
  const file = join(stage.home, "agents", "main", "workspace", NOTE);
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

describe("a flush", () => {
  test("writes to memory once for each compaction, before it", async (t) => {
    const { stage, mind } = await flushing(t);
    await talk(stage);
    assert.deepEqual(
      [mind.flushes.length, mind.summaries.length],
      [2, 1],
      "one call, and that it is through",
    );
    assert.equal(noted(stage), "Ann likes tea.\n");
    await talk(stage, 2);
    assert.deepEqual([mind.flushes.length, mind.summaries.length], [4, 2]);
    const entries = await stage.entries(MAIN);
    const asked = entries.filter(({ type }) => type === "custom_message").map(({ seq }) => seq);
    const cut = compactionsIn(entries).map(({ seq }) => seq);
    assert.deepEqual([asked.length, cut.length], [2, 2]);
    assert.ok(asked.every((seq, at) => seq < (cut[at] ?? 0)) && (asked[1] ?? 0) > (cut[0] ?? 0));
  });

  test("is in no answer, goes through no door, and is shown to no model afterwards", async (t) => {
    const { stage, mind, delivered } = await flushing(t);
    const from = { channel: "door", chatType: "direct", peer: "ada" } as const;
    mind.flushed = ({ messages }) =>
      messages.at(-1)?.role === "user" ? calling(WRITE) : saying("I wrote down the secret word.");
    const texts: string[] = [];
    let key = "";
    for (let at = 1; mind.summaries.length === 0; at += 1) {
      mind.answers = () => saying(`Answer ${at}.`);
      const sent = await stage.sessions.receive(from, `Message ${at}. ${prose(1_500)}`);
      key = sent.sessionKey;
      texts.push((await stage.sessions.wait(key, sent.id)).text);
    }
    await stage.sessions.ask(key, "And now?");
    const expected = texts.map((_, at) => `Answer ${at + 1}.`);
    assert.deepEqual(texts, expected);
    await stage.until(async () => (await stage.sessions.outbox()).answers.length === 0);
    assert.deepEqual(
      delivered.map(({ content }) => content),
      expected.map((text) => [{ type: "text", text }]),
    );
    for (const request of [...mind.requests, ...mind.summaries]) {
      assert.ok(!shownOf(request).includes(FLUSH_WORDS));
      assert.ok(!shownOf(request).includes("secret word"));
      assert.ok(!shownOf(request).includes("memory_write"));
    }
  });

  test("hears a person who steers during it, and answers afterwards", async (t) => {
    const { stage, mind, gate } = await flushing(t);
    mind.flushed = async ({ messages }) => {
      if (shownOf({ messages } as never).includes("Steered.")) return saying("NO_REPLY");
      await gate.pass();
      return calling(WRITE);
    };
    mind.answers = (request) => saying(shownOf(request).includes("Steered.") ? "I heard." : "Noted.");
    const asked = talk(stage);
    await gate.reached();
    const steered = stage.sessions.ask(MAIN, "Steered.", { mode: "steer" });
    await stage.until(async () => (await stage.sessions.status(MAIN)).waitingLetters > 0);
    gate.open();
    assert.equal((await steered).text, "I heard.");
    await asked;
    assert.equal(mind.summaries.length, 1);
    const letters = await stage.letters(MAIN);
    assert.equal(letters.filter((text) => text === "Steered.").length, 1);
  });

  test("that a restart cuts off goes on, and is not asked for again", async (t) => {
    const { stage, mind, gate } = await flushing(t);
    let isFirst = true;
    mind.flushed = async ({ messages }) => {
      if (messages.at(-1)?.role !== "user") return saying("NO_REPLY");
      if (isFirst) await gate.pass();
      return calling(WRITE);
    };
    const asked = talk(stage).catch(() => {});
    await gate.reached();
    isFirst = false;
    await stage.reopen();
    await asked;
    await stage.rest(MAIN);
    assert.equal(noted(stage), "Ann likes tea.\n");
    const entries = await stage.entries(MAIN);
    assert.equal(entries.filter(({ type }) => type === "custom_message").length, 1);
    assert.equal(compactionsIn(entries).length, 1);
    assert.ok((await stage.outcomes(MAIN)).every((outcome) => outcome === "done"));
    assert.ok(!mind.shown.includes(FLUSH_WORDS));
  });

  test("that fails is over, and the turn goes on", async (t) => {
    const { stage, mind } = await flushing(t);
    mind.flushed = () => ({
      ...{ kind: "failed", why: "auth", message: "no key" },
      ...{ retryAfterMs: null, throttled: false },
    });
    await talk(stage);
    assert.equal(mind.flushes.length, 1);
    assert.ok((await stage.outcomes(MAIN)).every((outcome) => outcome === "done"));
  });

  test("that a person stops ends the turn, and the next message is answered as ever", async (t) => {
    const { stage, mind, gate } = await flushing(t);
    mind.flushed = () => calling(["memory_gate"]);
    const asked = talk(stage).catch((error: unknown) => error);
    await gate.reached();
    await stage.sessions.abort(MAIN);
    await asked;
    await stage.rest(MAIN);
    assert.equal((await stage.outcomes(MAIN)).at(-1), "aborted");
    const { text } = await stage.sessions.ask(MAIN, "And now?");
    assert.equal(text, "Noted.");
    assert.ok(!mind.shown.includes(FLUSH_WORDS));
    assert.equal(mind.summaries.length, 1, "the summary comes without another flush");
  });

  test("happens also when somebody asks for the summary, in a turn of its own", async (t) => {
    const { stage, mind, delivered } = await flushing(t);
    for (const at of [1, 2, 3]) await stage.sessions.ask(MAIN, `Message ${at}. ${prose(1_500)}`);
    const { outcome, tokensAfter } = await stage.sessions.call("compact", { sessionKey: MAIN });
    assert.equal(outcome, "done");
    assert.ok(tokensAfter !== null);
    assert.deepEqual([mind.flushes.length, mind.summaries.length, delivered.length], [2, 1, 0]);
    assert.equal(noted(stage), "Ann likes tea.\n");
    assert.equal((await stage.sessions.status(MAIN)).state, "idle");
  });

  test("that was asked for with a summary and is stopped does not come again, nor does the summary", async (t) => {
    const { stage, mind, gate } = await flushing(t);
    for (const at of [1, 2, 3]) await stage.sessions.ask(MAIN, `Message ${at}. ${prose(1_500)}`);
    mind.flushed = () => calling(["memory_gate"]);
    const wished = stage.sessions.call("compact", { sessionKey: MAIN });
    await gate.reached();
    await stage.sessions.abort(MAIN);
    assert.equal((await wished).outcome, "aborted");
    await stage.rest(MAIN);
    await stage.reopen();
    await stage.rest(MAIN);
    assert.equal(mind.summaries.length, 0);
    assert.equal(compactionsIn(await stage.entries(MAIN)).length, 0);
  });

  test("that a rewind went back into is over", async (t) => {
    const { stage, mind } = await flushing(t);
    await talk(stage);
    const note = (await stage.entries(MAIN)).find(({ type }) => type === "custom_message");
    await stage.sessions.call("rewind", { sessionKey: MAIN, seq: note?.seq ?? 0 });
    const before = mind.flushes.length;
    mind.answers = () => saying("Here I am.");
    assert.equal((await stage.sessions.ask(MAIN, "And now?")).text, "Here I am.");
    assert.equal(mind.flushes.length, before);
  });
});

describe("there is none", () => {
  for (const [why, more] of [
    ["when the configuration says so", { context: { flush: false } }],
    ["for who may not write to memory", { tools: ["look"] }],
  ] as const)
    test(why, async (t) => {
      const { stage, mind } = await flushing(t, {
        context: {},
        ...more,
        tools: [...("tools" in more ? more.tools : ["memory_write"])],
      });
      await talk(stage);
      assert.deepEqual([mind.flushes.length, mind.summaries.length], [0, 1]);
    });

  test("for sub-agents", async (t) => {
    const { stage, mind } = await flushing(t, { context: { sizeTokens: 4_000 } });
    mind.answers = ({ messages }, times) => {
      if (times === 1) return calling(["sessions_spawn", { task: `Look. ${prose(2_500)}` }]);
      const looked = messages.filter(({ role }) => role === "toolResult").length;
      const isChild = shownOf({ messages } as never).includes("Look. The leaves") || looked > 1;
      if (!isChild || mind.summaries.length > 0) return saying("Done.");
      return calling(["look", { words: prose(400) }]);
    };
    await stage.sessions.ask(MAIN, "Give it.");
    const [child = ""] = await childrenOf(stage, MAIN);
    await stage.until(async () => (await stage.sessions.status(child)).state === "ended");
    assert.ok(compactionsIn(await stage.entries(child)).length > 0, "it was summarised");
    assert.ok((await stage.entries(child)).every(({ type }) => type !== "custom_message"));
  });
});
