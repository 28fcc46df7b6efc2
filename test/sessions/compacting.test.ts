// Conversations that are too large for whoever is asked, in every way that has killed sessions elsewhere: the next message is
// answered, calls keep their results, and what is done about it comes to an end. Each request that any model gets is checked.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { z } from "zod";
import { parseKey, type Answer, type Message, type Request } from "../../src/index.ts";
import type { Body, Draft } from "../../src/transcript/entry.ts";
import { AT, Home, opening } from "../fixtures/home.ts";
import * as talk from "../fixtures/talk.ts";
import { MAIN } from "./family.ts";
import { Gate, tool, type Stage } from "./stage.ts";
import { calling, compactions, prose, saying, textIn, written, Writer } from "./writer.ts";

const at = z.object({ at: z.number() });
const look = tool("look", () => Promise.resolve(prose(3_800)), at);

/** A model that looks so often in its first turn, and says a page each time. */
function explorer(windowTokens: number, steps: number): Writer {
  const step = (_request: Request, times: number) =>
    times <= steps ? calling("look", { at: times }, prose(3_700)) : saying("Explored.");
  return new Writer("explorer", { windowTokens, step });
}

async function asksToBeFine(stage: Stage, ...messages: readonly string[]): Promise<void> {
  for (const message of messages) assert.equal((await stage.sessions.ask(MAIN, message)).outcome, "done");
}

describe("2.4 MB in 627 messages", () => {
  for (const windowTokens of [200_000, 8_000])
    test(`are answered by a model with a window of ${windowTokens}`, async (t) => {
      const large = explorer(2_000_000, 313);
      const small = new Writer("small", { windowTokens });
      const agent = { context: { sizeTokens: 2_000_000 }, limits: { stepsPerTurn: 400 } };
      const stage = await written(t, [large, small], agent, [look]);
      await asksToBeFine(stage, "Look around.");
      const messages = await stage.messages(MAIN);
      assert.ok(messages.length >= 627 && JSON.stringify(messages).length > 2_400_000);
      assert.equal((await compactions(stage, MAIN)).length, 0);

      await stage.sessions.set(MAIN, { model: small.id });
      await asksToBeFine(stage, "And now?", "And then?");
      const [made, ...more] = await compactions(stage, MAIN);
      assert.ok(made && more.length === 0, "one is enough");
      const { truncated } = (await stage.sessions.call("context", {})).compaction ?? assert.fail();
      assert.equal(truncated, null);
      assert.ok(small.summaries.length > 1, "it goes in parts");
      assert.ok(small.summaries.length <= 24, "of which there are not too many");
      assert.deepEqual(
        small.steps.map(({ messages: [first] }) => first?.role),
        ["user", "user"],
      );
      assert.equal(textIn(small.steps[0]?.messages.at(-1) ?? assert.fail()), "And now?");
    });
});

test("one tool result of 19 MB leaves the context small, and is read by its ref", async (t) => {
  const text = `${prose(9_500_000, "hay")}the NEEDLE\n${prose(9_500_000, "hay")}`;
  const big = tool("big", () => Promise.resolve(text));
  let ref = "";
  const answers = [
    () => calling("big"),
    () => saying("It is large."),
    () => calling("read_result", { ref, grep: "NEEDLE" }),
    () => saying("Found."),
  ];
  const model = new Writer("model", {
    windowTokens: 32_000,
    step: (_request, times) => answers[times - 1]?.() ?? saying("Yes?"),
  });
  const stage = await written(t, [model], {}, [big]);
  await asksToBeFine(stage, "Get it.");
  assert.ok((await stage.sessions.call("context", {})).tokens < 4_000);
  const entry = (await stage.entries(MAIN)).find(
    (each) => each.type === "message" && each.message.role === "toolResult",
  );
  ref = entry?.id ?? "";
  await asksToBeFine(stage, "Is there a needle?", "Thanks.");
  const [, read] = await stage.results(MAIN);
  assert.deepEqual([read?.isError, read?.text.includes("the NEEDLE")], [false, true]);
  assert.ok(model.steps.every((request) => model.count(request) < 12_000));
  assert.equal((await compactions(stage, MAIN)).length, 0);
});

describe("a call without a result, in a file that another program wrote,", () => {
  const EXCHANGES = 40;
  const page = prose(390); // so short that no result leaves the prompt by itself

  /** Of turns: somebody asks each time. Of steps: one turn that goes on and on. */
  function exchanges(kind: "turns" | "steps", orphanAt: number): Body[] {
    const one = (n: number): Body[] => [
      ...(kind === "turns" || n === 0 ? [talk.user(`${page} ${n}`)] : []),
      talk.answer({ type: "text", text: page }, talk.call(`call ${n}`)),
      ...(n === orphanAt ? [] : [talk.result(`call ${n}`, page)]),
      ...(kind === "turns" ? [talk.said(`answer ${n}`)] : []),
    ];
    const all = Array.from({ length: EXCHANGES }, (_, n) => one(n)).flat();
    return kind === "turns" ? all : [...all, talk.said("over")];
  }

  /** A session for each exchange that could have it. */
  async function left(t: TestContext, stage: Stage, kind: "turns" | "steps") {
    await stage.close();
    const home = await Home.open(t, stage.home);
    const found = [0, 1, 20, 34, 35, 36, 37, 38, 39].map((orphanAt) => ({
      orphanAt,
      key: parseKey(`agent:main:direct:p${orphanAt}`),
    }));
    for (const { orphanAt, key } of found) {
      await home.store.commit([opening(key, home.world.newId())]);
      const drafts = exchanges(kind, orphanAt).map((body): Draft => ({ ...body, timestamp: AT }));
      await home.append(key, drafts);
    }
    await home.close();
    await stage.reopen();
    return found;
  }

  for (const kind of ["turns", "steps"] as const)
    test(`wherever it stands before, at or after the cut: a conversation of ${kind} goes on`, async (t) => {
      const model = new Writer("model", { windowTokens: 16_000 });
      const stage = await written(t, [model], { context: { sizeTokens: 6_000 } });
      const far: number[] = []; // entries from the cut to the call
      for (const { orphanAt, key } of await left(t, stage, kind)) {
        for (const message of ["Go on.", "And on."])
          assert.equal((await stage.sessions.ask(key, message)).outcome, "done", key);
        const [made, ...more] = await compactions(stage, key);
        assert.ok(made && more.length === 0, key);
        const entries = await stage.entries(key);
        const kept = entries.findIndex(({ id }) => id === made.firstKeptEntryId);
        const call = entries.findIndex((entry) => JSON.stringify(entry).includes(`"id":"call ${orphanAt}"`));
        far.push(call - kept);
      }
      assert.ok(far.some((entries) => entries < -10));
      if (kind === "steps") return; // They are one turn, which goes as a whole.
      assert.ok(
        far.some((entries) => Math.abs(entries) <= 2) && far.some((entries) => entries > 4),
        `${far}`,
      );
    });
});

test("a window of 8,000 tokens with 20 tools has room for a conversation without end", async (t) => {
  const tools = Array.from({ length: 20 }, (_, n) => ({
    ...tool(`tool_${n}`, () => Promise.resolve(prose(2_000)), at),
    description: prose(500, "what it does"),
  }));
  const model = new Writer("model", {
    windowTokens: 8_000,
    step: (_request, times) =>
      times % 3 === 0 ? saying(prose(600)) : calling(`tool_${times % 20}`, { at: times }),
  });
  const stage = await written(t, [model], {}, tools);
  for (let n = 0; n < 30; n += 1) await asksToBeFine(stage, `Question ${n}: ${prose(500)}`);
  const { parts } = await stage.sessions.call("context", {});
  assert.ok(parts.system + parts.tools > 2_500, "most of what it may have is the tools");
  const made = await compactions(stage, MAIN);
  assert.ok(made.length > 0 && made.length <= 30, `${made.length}`);
  for (const [n, { messages }] of model.steps.entries())
    assert.ok(messages.some((message) => textIn(message).includes(`Question ${Math.floor(n / 3)}:`)));
});

test("what is larger than the window by itself is shown cut, whoever said it, and the rest is known", async (t) => {
  const wide = tool("wide", () => Promise.resolve(prose(15_000)));
  const calls = Array.from({ length: 10 }, (_, n) => {
    return { type: "toolCall", id: `call-${n}`, name: "wide", arguments: {} } as const;
  });
  const model = new Writer("model", {
    windowTokens: 8_000,
    step: (_request, times) =>
      times % 2 === 0 ? saying("So.") : ({ ...calling("wide"), content: calls } as Answer),
  });
  const stage = await written(t, [model], {}, [wide]);
  for (let n = 0; n < 6; n += 1)
    await asksToBeFine(stage, n % 2 === 0 ? `${n}` : `${n} begins. ${prose(200_000)} ${n} ends.`);
  for (const [n, { messages }] of model.steps.entries()) {
    const turn = Math.floor(n / 2);
    const newest = messages.findLast(({ role }) => role === "user") ?? assert.fail();
    const words = turn % 2 === 0 ? [`${turn}`] : [`${turn} begins.`, `${turn} ends.`];
    for (const said of words) assert.ok(textIn(newest).includes(said), `${n}`);
    if (n % 2 === 1)
      assert.equal(messages.slice(messages.indexOf(newest)).length, 12, "with all that was called for");
  }
  assert.ok((await stage.sessions.call("context", {})).tokens > 8_000, "what was cut is still there");
});

describe("a switch to a model with a smaller window", () => {
  test("between turns, and back: each is asked within its own", async (t) => {
    const large = explorer(500_000, 40);
    const small = new Writer("small", { windowTokens: 16_000 });
    const stage = await written(t, [large, small], { context: { sizeTokens: 500_000 } }, [look]);
    await asksToBeFine(stage, "Look around.");
    assert.ok(large.count(large.steps.at(-1) ?? assert.fail()) > 60_000);
    for (const model of [small, large, small]) {
      await stage.sessions.set(MAIN, { model: model.id });
      await asksToBeFine(stage, "And now?");
    }
    assert.equal((await compactions(stage, MAIN)).length, 1);
  });

  test("in the middle of a turn: the next step is asked within it, and knows what it works on", async (t) => {
    const gate = new Gate();
    const large = new Writer("large", {
      windowTokens: 500_000,
      step: (_request, times) =>
        times <= 40 ? calling("look", { at: times }, prose(3_700)) : calling("gate"),
    });
    const small = new Writer("small", { windowTokens: 16_000 });
    const agent = { context: { sizeTokens: 500_000 } };
    const stage = await written(t, [large, small], agent, [look, gate.tool]);
    const asked = stage.sessions.ask(MAIN, "Find the blue door.");
    await gate.reached();
    await stage.sessions.set(MAIN, { model: small.id });
    gate.open();
    assert.equal((await asked).outcome, "done");
    const [request] = small.steps;
    assert.match(textIn(request?.messages[0] ?? assert.fail()), /word for word[^]*\| Find the blue door\./);
    assert.equal((await compactions(stage, MAIN)).length, 1);
    assert.ok(small.summaries.length >= 1);
  });
});

describe("compactions are few", () => {
  /** Each has freed something, and none came right after another. */
  async function assertWorthwhile(stage: Stage, most: number): Promise<void> {
    const made = await compactions(stage, MAIN);
    assert.ok(made.length > 0 && made.length <= most, `${made.length} of at most ${most}`);
    const entries = await stage.entries(MAIN);
    for (const { tokensBefore, details } of made) {
      const { tokensAfter } = details as { readonly tokensAfter: number };
      assert.ok(tokensAfter < tokensBefore * 0.8, `${tokensBefore} became ${tokensAfter}`);
    }
    const seqs = made.map(({ seq }) => seq);
    const between = (from: number, to: number): readonly Message[] =>
      entries.slice(from, to).flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
    for (const [n, seq] of seqs.slice(1).entries()) assert.ok(between(seqs[n] ?? 0, seq).length > 4, `${n}`);
  }

  test("in 60 turns near the size", async (t) => {
    const model = new Writer("model", { windowTokens: 32_000, step: () => saying(prose(800)) });
    const stage = await written(t, [model], { context: { sizeTokens: 6_000 } });
    for (let n = 0; n < 60; n += 1) await asksToBeFine(stage, `${n}. ${prose(2_000)}`);
    await assertWorthwhile(stage, 15); // 60 turns of 760 tokens, in a conversation of some 5,600
    assert.equal(model.summaries.length, (await compactions(stage, MAIN)).length);
  });

  test("when the newest message is about as large as all that is allowed", async (t) => {
    const model = new Writer("model", { windowTokens: 32_000 });
    const stage = await written(t, [model], { context: { sizeTokens: 6_000 } });
    for (let n = 0; n < 20; n += 1) await asksToBeFine(stage, `${n}. ${prose(21_000)}`);
    const made = await compactions(stage, MAIN);
    assert.ok(made.length <= 20, "at most one for each");
    assert.ok(model.steps.every(({ messages }) => textIn(messages.at(-1) ?? assert.fail()).length > 21_000));
  });

  for (const [what, bytes] of [
    ["short ones that need none", 60],
    ["long ones", 1_500],
  ] as const)
    test(`when system prompt and tools are larger than the size that was set: ${what}`, async (t) => {
      const tools = Array.from({ length: 20 }, (_, n) => ({
        ...tool(`tool_${n}`, () => Promise.resolve("done"), at),
        description: prose(1_400, "what it does"),
      }));
      const step = (_request: Request, times: number) =>
        times % 4 === 0 ? saying("So.") : calling(`tool_${times % 20}`, { at: times }, prose(bytes));
      const model = new Writer("model", { windowTokens: 64_000, step });
      const stage = await written(t, [model], { context: { sizeTokens: 2_000 } }, tools);
      const turns = bytes < 100 ? 5 : 20;
      for (let n = 0; n < turns; n += 1) await asksToBeFine(stage, `${n}. ${prose(bytes)}`);
      const { parts, compactAt } = await stage.sessions.call("context", {});
      assert.ok(parts.system + parts.tools > 6_000 && compactAt > parts.system + parts.tools);
      const { length } = await compactions(stage, MAIN);
      if (bytes < 100) assert.equal(length, 0);
      else
        assert.ok(length > 0 && length <= model.steps.length / 3, `${length} in ${model.steps.length} steps`);
    });
});

test("nothing is compacted below the size, and it is soon past it", async (t: TestContext) => {
  const model = new Writer("model", { windowTokens: 200_000, step: () => saying(prose(2_000)) });
  const stage = await written(t, [model]);
  const sizes: number[] = [];
  for (let n = 0; n < 40; n += 1) {
    await asksToBeFine(stage, `${n}. ${prose(6_000)}`);
    const { tokens, compactAt, compaction } = await stage.sessions.call("context", {});
    assert.equal(compactAt, 60_000);
    if (compaction !== null) break;
    sizes.push(tokens);
  }
  const [made] = await compactions(stage, MAIN);
  assert.ok(made && made.tokensBefore >= 60_000, "not at 9 % of the window, nor anywhere below");
  assert.ok(sizes.length > 20 && (sizes.at(-1) ?? 0) > 55_000);
  assert.equal(model.summaries.length, 1);
});

test("forty sessions that are compacted at once, more than may ask at once, are all answered", async (t) => {
  const model = new Writer("model", { windowTokens: 32_000, step: () => saying(prose(800)) });
  const stage = await written(t, [model], { context: { sizeTokens: 4_000 } });
  const keys = Array.from({ length: 40 }, (_, n) => `agent:main:direct:p${n}`);
  const talked = keys.map(async (key) => {
    for (let n = 0; n < 8; n += 1)
      assert.equal((await stage.sessions.ask(key, `${n}. ${prose(2_000)}`)).outcome, "done");
    return (await compactions(stage, key)).length;
  });
  assert.deepEqual(new Set(await Promise.all(talked)), new Set([1]));
});
