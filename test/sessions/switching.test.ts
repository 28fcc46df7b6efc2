// One conversation, many models: what each of them is shown of it, what stays behind, what it costs, and what a provider can
// remember of it. The stand-in refuses what the real providers refuse, so every request here is one that they would take.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test, type TestContext } from "node:test";
import { z, type ConfigInput, type Entry, type Parts } from "../../src/index.ts";
import type { Api } from "../../src/config/config.ts";
import { afterwards } from "../fixtures/home.ts";
import { APIS, NAMES, PIXEL } from "../providers/asking.ts";
import { reply, Standin, type Received } from "../providers/standin.ts";
import { notesIn, Stage, tool } from "./stage.ts";

const MAIN = "agent:main:main";
const REHEARSAL = "rehearsal/default";

type Agent = NonNullable<ConfigInput["agents"]>[string];
type Providers = NonNullable<NonNullable<ConfigInput["models"]>["providers"]>;

function modelOf(api: Api): string {
  return `${api}/${NAMES[api]}`;
}

async function opened(
  t: TestContext,
  agent: Agent,
  { providers = {}, ...parts }: Parts & { readonly providers?: Providers } = {},
): Promise<{ readonly stage: Stage; readonly standin: Standin }> {
  const standin = await Standin.open();
  afterwards(t, () => standin.close());
  const all = APIS.map((api) => [
    api,
    { api, baseUrl: standin.baseUrl(api), apiKey: "sk-any-key-will-do-here", ...providers[api] },
  ]);
  const config = { models: { providers: Object.fromEntries(all) }, agents: { main: agent } };
  return { stage: await Stage.open(t, config, parts), standin };
}

/** A tool that tells, and one that shows: its pictures are too large for a line of the transcript. */
const look = tool("look", (at) => Promise.resolve(`found ${placeIn(at)}`), z.object({ at: z.string() }));
const photograph = tool(
  "photograph",
  async (at) => ({
    content: [
      { type: "text", text: `a photo of ${placeIn(at)}` },
      { type: "image", data: photoOf(placeIn(at)), mimeType: "image/png" },
    ],
  }),
  z.object({ at: z.string() }),
);

function placeIn(input: unknown): string {
  return (input as { readonly at: string }).at;
}

function photoOf(place: string): string {
  return Buffer.from(place.repeat(20_000 / place.length)).toString("base64");
}

/** Ids of calls as nobody else would take them, and such that come again and again. */
const IDS = [
  "x".repeat(300),
  "functions.look:0",
  "call_1|fc_2/with=odd+chars é",
  `toolu_${"y".repeat(58)}`,
  "call_0",
  "call_0",
] as const;

/** What a model says and calls in one leg of the conversation: two steps. */
function legOf(at: number) {
  const place = `place-${at}.`;
  return {
    question: `question-${at}.`,
    place,
    thoughts: [`thought-${at}a.`, `thought-${at}b.`],
    words: [`words-${at}a.`, `words-${at}b.`],
    calls: [
      { id: IDS[at % IDS.length] ?? "", name: "look", arguments: { at: place } },
      { id: IDS[(at + 1) % IDS.length] ?? "", name: "photograph", arguments: { at: place } },
    ],
  } as const;
}

type Leg = ReturnType<typeof legOf>;

function scriptOf({ question, thoughts, words, calls }: Leg): string {
  const called = calls.map(({ name, arguments: given }) => `!call ${name} ${JSON.stringify(given)}`);
  const first = [`!think ${thoughts[0]}`, `!say ${words[0]}`, ...called];
  return [question, ...first, "!then", `!think ${thoughts[1]}`, `!say ${words[1]}`].join("\n");
}

/** All that was said and shown in a leg, whoever spoke. */
function told({ question, place, words }: Leg, steps: 0 | 1 | 2): string[] {
  const first = [words[0], `found ${place}`, `a photo of ${place}`, photoOf(place)];
  return [question, ...(steps > 0 ? first : []), ...(steps > 1 ? [words[1]] : [])];
}

/** The transcript file as it is while all goes on, once so many turns have ended in it. */
async function onDisk(stage: Stage, turns: number): Promise<Entry[]> {
  const file = await stage.file(MAIN);
  return await stage.until(() => {
    const [, ...lines] = readFileSync(file, "utf8").split("\n").slice(0, -1); // the last may be just being written
    const entries = lines.map((line) => JSON.parse(line) as Entry);
    return Promise.resolve(notesIn(entries, "turn-ended").length >= turns && entries);
  });
}

function assertPaired(entries: readonly Entry[]): void {
  let waiting: string[] = [];
  for (const entry of entries) {
    if (entry.type !== "message") continue;
    const { message } = entry;
    if (message.role === "toolResult") {
      assert.ok(waiting.includes(message.toolCallId), "a result of nothing");
      waiting = waiting.filter((id) => id !== message.toolCallId);
      continue;
    }
    assert.deepEqual(waiting, [], "a call without a result");
    if (message.role === "assistant")
      waiting = message.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []));
    assert.equal(new Set(waiting).size, waiting.length, "two calls of one name");
  }
  assert.deepEqual(waiting, []);
}

function speakersIn(entries: readonly Entry[]): string[] {
  return entries.flatMap((entry) =>
    entry.type === "message" && entry.message.role === "assistant"
      ? [`${entry.message.provider}/${entry.message.model}`]
      : [],
  );
}

function textOf({ body }: Received): string {
  return JSON.stringify(body);
}

/** Of a step of the last leg: all that was said before is in it, and of what was thought only what is the model's own. */
function assertShown(
  request: Received,
  legs: readonly (Leg & { readonly model: string })[],
  step: number,
): void {
  const leg = legs.at(-1);
  assert.ok(leg !== undefined);
  assert.equal(request.refused, null);
  const shown = textOf(request);
  const earlier = legs.slice(0, -1);
  for (const each of [...earlier.flatMap((one) => told(one, 2)), ...told(leg, step === 0 ? 0 : 1)])
    assert.ok(shown.includes(each), `${leg.model} is not shown ${each.slice(0, 40)}`);
  assert.equal(shown.split(PIXEL).length - 1, Math.ceil(legs.length / 3), "pictures of people");
  for (const one of step === 0 ? earlier : legs)
    for (const [nth, thought] of one.thoughts.entries()) {
      // Who signs nothing is told only what led to calls; the second thought of this leg is still to be had.
      const isLater = nth === 1 && (one === leg || leg.model === modelOf("openai-compatible"));
      const isTold: boolean = one.model === leg.model && !isLater;
      const times: number = Number(isTold) + Number(one.model === REHEARSAL); // Its script tells it too.
      assert.equal(shown.split(thought).length - 1, times, `${thought} of ${one.model} to ${leg.model}`);
    }
}

describe("a conversation that changes its model", () => {
  test("is shown whole to each of them, thoughts only to who had them, and every request is valid", async (t) => {
    const whole = { sizeTokens: 1_000_000 }; // The pictures alone are more than a context is left with by default.
    const agent: Agent = { model: REHEARSAL, thinking: "medium", context: whole };
    const { stage, standin } = await opened(t, agent, { tools: [look, photograph] });
    const [anthropic, openai, google, compatible] = APIS.map(modelOf) as [string, string, string, string];
    const models = [
      ...[REHEARSAL, compatible, openai, anthropic, google, REHEARSAL, anthropic, "anthropic/claude-opus-5"],
      ...[compatible, google, openai, "openai/gpt-5-mini", "anthropic/claude-opus-5", anthropic],
    ];
    const legs = models.map((model, at) => ({ model, ...legOf(at) }));
    for (const [at, leg] of legs.entries()) {
      if (at === 4 || at === 7) await stage.reopen();
      await stage.sessions.set(MAIN, { model: leg.model });
      const before = standin.requests.length;
      const { thoughts, words, calls } = leg;
      const isReal = leg.model !== REHEARSAL;
      if (isReal)
        standin.play(
          reply({ thinking: thoughts[0], text: words[0], calls }),
          reply({ thinking: thoughts[1], text: words[1] }),
        );
      const images = at % 3 === 0 ? [{ data: PIXEL, mimeType: "image/png" }] : [];
      const message = isReal ? leg.question : scriptOf(leg);
      const { outcome, reason, text } = await stage.sessions.ask(MAIN, message, { images });
      assert.deepEqual([outcome, reason, text], ["done", null, words[1]], leg.model);

      const sofar = legs.slice(0, at + 1);
      const requests = standin.requests.slice(before);
      assert.equal(requests.length, isReal ? 2 : 0);
      for (const [step, request] of requests.entries()) assertShown(request, sofar, step);
      const entries = await onDisk(stage, at + 1);
      assertPaired(entries);
      assert.deepEqual(
        speakersIn(entries),
        sofar.flatMap(({ model }) => [model, model]),
      );
    }
    const { usage } = await stage.sessions.status(MAIN);
    assert.deepEqual([usage.steps, usage.toolCalls], [models.length * 2, models.length * 2]);
    await stage.sessions.set(MAIN, { model: REHEARSAL });
    const { text } = await stage.sessions.ask(MAIN, "!list");
    for (const { question } of legs) assert.ok(text.includes(question), text);
  });

  test("in the middle of a turn hears the other at the next step, also one that thinks on a budget", async (t) => {
    const hop = tool(
      "hop",
      async (to) => {
        await stage.sessions.set(MAIN, { model: placeIn(to) });
        return `now ${placeIn(to)}`;
      },
      z.object({ at: z.string() }),
    );
    const { stage, standin } = await opened(t, { model: REHEARSAL, thinking: "high" }, { tools: [hop] });
    const ways = ["anthropic", "openai", "anthropic", "google", "openai-compatible", "anthropic"] as const;
    const hops = ways.map((api) => [{ name: "hop", arguments: { at: modelOf(api) } }]);
    for (const [at, calls] of hops.slice(1).entries())
      standin.play(reply({ thinking: `thought-${at}.`, text: "On.", calls }));
    standin.play(reply({ thinking: "at last.", text: "There." }));
    const [first] = ways.map(modelOf);
    const { outcome, reason, text } = await stage.sessions.ask(
      MAIN,
      `!think I hop.\n!call hop {"at":"${first}"}`,
    );
    assert.deepEqual([outcome, reason, text], ["done", null, "There."]);
    const entries = await onDisk(stage, 1);
    assertPaired(entries);
    assert.deepEqual(speakersIn(entries), [REHEARSAL, ...ways.map(modelOf)]);
    assert.deepEqual(
      entries.flatMap((entry) =>
        entry.type === "model_change" ? [`${entry.provider}/${entry.modelId}`] : [],
      ),
      ways.map(modelOf),
    );
    assert.deepEqual(
      standin.requests.map(({ api, refused }) => [api, refused]),
      ways.map((api) => [api, null]),
    );
    const last = textOf(standin.requests.at(-1) as Received);
    for (const api of ways) assert.ok(last.includes(`now ${modelOf(api)}`));
    assert.deepEqual(
      [0, 1, 2, 3, 4].map((at) => last.includes(`thought-${at}.`)),
      [true, false, true, false, false],
    );
  });
});

describe("usage", () => {
  const used = { input: 100, output: 20, cacheRead: 1_000, cacheWrite: 40 };
  const twice = { input: 200, output: 40, cacheRead: 2_000, cacheWrite: 80 };

  /** Two steps, each of which used the same; its cost for a million of each kind. */
  async function usageOf(t: TestContext, model: string, providers: Providers) {
    const { stage, standin } = await opened(t, { model }, { tools: [look], providers });
    const calls = [{ name: "look", arguments: { at: "home" } }];
    standin.play(reply({ calls, usage: used }), reply({ text: "Done.", usage: used }));
    assert.equal((await stage.sessions.ask(MAIN, "go")).text, "Done.");
    const before = await stage.sessions.status(MAIN);
    await stage.reopen();
    const { usage, cost, tokens } = await stage.sessions.status(MAIN);
    assert.deepEqual([usage, cost, tokens], [before.usage, before.cost, before.tokens]);
    assert.equal(usage.cost, cost);
    const { input, output, cacheRead, cacheWrite } = usage;
    return { counted: { input, output, cacheRead, cacheWrite }, millionths: Math.round(cost * 1e9) / 1e3 };
  }

  test("is what the provider counted, cached tokens apart, at the known prices", async (t) => {
    const { counted, millionths } = await usageOf(t, modelOf("anthropic"), {});
    assert.deepEqual(counted, twice);
    assert.equal(millionths, 200 * 3 + 40 * 15 + 2_000 * 0.3 + 80 * 3.75);
  });

  test("costs what the configuration says, if it says so", async (t) => {
    const prices = { input: 7, output: 11, cacheRead: 2, cacheWrite: 13 };
    const models = { [NAMES.anthropic]: { prices } };
    const { counted, millionths } = await usageOf(t, modelOf("anthropic"), { anthropic: { models } });
    assert.deepEqual(counted, twice);
    assert.equal(millionths, 200 * 7 + 40 * 11 + 2_000 * 2 + 80 * 13);
    const { millionths: known } = await usageOf(t, modelOf("openai"), { anthropic: { models } });
    assert.equal(known, 200 * 1.25 + 40 * 10 + 2_000 * 0.125, "another's prices stay as they are");
  });

  test("of a model that nobody knows is counted, and costs nothing", async (t) => {
    for (const model of ["anthropic/claude-of-tomorrow", "openai/gpt-of-tomorrow"])
      assert.deepEqual(await usageOf(t, model, {}), { counted: twice, millionths: 0 });
    for (const api of ["google", "openai-compatible"] as const) {
      const { counted, millionths } = await usageOf(t, `${api}/new`, {});
      assert.deepEqual([counted, millionths], [{ ...twice, cacheWrite: 0 }, 0]); // These do not tell what they wrote.
    }
  });
});

describe("what a provider is asked", () => {
  test("says how much to think, as the agent is set and as the session is", async (t) => {
    const budgets: number[] = [];
    for (const thinking of ["low", "high"] as const) {
      const { stage, standin } = await opened(t, { thinking });
      const bodyOf = async (model: string): Promise<Received["body"]> => {
        await stage.sessions.set(MAIN, { model });
        await stage.sessions.ask(MAIN, "hello");
        return standin.requests.at(-1)?.body ?? {};
      };
      const { thinking: onABudget } = await bodyOf(modelOf("anthropic"));
      budgets.push(Number((onABudget as { readonly budget_tokens: number }).budget_tokens));
      assert.deepEqual((await bodyOf("anthropic/claude-opus-5"))["output_config"], { effort: thinking });
      assert.deepEqual((await bodyOf(modelOf("openai")))["reasoning"], {
        effort: thinking,
        summary: "detailed",
      });
      assert.equal((await bodyOf(modelOf("openai-compatible")))["reasoning_effort"], thinking);
      await stage.sessions.set(MAIN, { thinking: "off" });
      assert.deepEqual((await bodyOf(modelOf("anthropic")))["thinking"], { type: "disabled" });
      assert.equal((await bodyOf(modelOf("openai-compatible")))["reasoning_effort"], undefined);
    }
    const [low = 0, high = 0] = budgets;
    assert.ok(low >= 1_024 && high > low, budgets.join());
  });

  const LISTS = {
    anthropic: "messages",
    openai: "input",
    google: "contents",
    "openai-compatible": "messages",
  };

  /** All but what was said, then each of what was said, letter by letter; and where it is to be remembered. */
  function pieces({ api, body }: Received) {
    const { [LISTS[api]]: said, ...rest } = body;
    const texts = (said as readonly unknown[]).map((each) => JSON.stringify(each));
    const plain = [rest, ...texts.map((text) => JSON.parse(text) as unknown)].map((each) =>
      JSON.stringify(each).replaceAll(/,?"cache_control":\{[^}]*\}/g, ""),
    );
    return { plain, marks: texts.flatMap((text, at) => (text.includes('"cache_control"') ? [at] : [])) };
  }

  for (const api of APIS)
    test(`begins from step to step, from turn to turn and after a restart with the same letters (${api})`, async (t) => {
      const agent: Agent = { model: modelOf(api), thinking: "medium" };
      const { stage, standin } = await opened(t, agent, { tools: [look, photograph] });
      for (const at of [0, 1, 2, 3]) {
        const { question, thoughts, words, calls } = legOf(at);
        if (at === 2) await stage.reopen();
        standin.play(
          reply({ thinking: thoughts[0], text: words[0], calls }),
          reply({ thinking: thoughts[1], text: words[1] }),
        );
        assert.equal((await stage.sessions.ask(MAIN, question)).text, words[1]);
      }
      const asked = standin.requests.map(pieces);
      assert.equal(asked.length, 8);
      for (const [at, { plain, marks }] of asked.entries()) {
        const before = asked[at - 1];
        if (before !== undefined) assert.deepEqual(plain.slice(0, before.plain.length), before.plain);
        if (api !== "anthropic") continue;
        // Up to its end it is to be remembered, and up to where the last request ended it is.
        const ends = [before, { plain }].flatMap((each) =>
          each === undefined ? [] : [each.plain.length - 2],
        );
        assert.deepEqual(marks, ends);
        assert.match(
          JSON.stringify(standin.requests[at]?.body["system"]),
          /"cache_control":\{"type":"ephemeral"\}/,
        );
      }
      if (api !== "openai") return;
      await stage.sessions.ask("agent:main:direct:ann", "hello");
      const keys = standin.requests.map(({ body }) => String(body["prompt_cache_key"]));
      assert.equal(new Set(keys.slice(0, 8)).size, 1);
      assert.ok(
        keys[0] !== keys[8] && keys.every((key) => key !== "undefined"),
        "another conversation has its own",
      );
    });
});
