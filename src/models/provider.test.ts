import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  APIS,
  ask,
  asking,
  KEY,
  modelAt,
  NAMES,
  PIXEL,
  result,
  saidBy,
  user,
} from "../../test/providers/asking.ts";
import {
  cutMidToolCall,
  cutMidWord,
  endEarly,
  errorMidway,
  garbage,
  hang,
  hangBefore,
  overflow,
  page,
  reply,
  Standin,
  status,
} from "../../test/providers/standin.ts";
import { errorBody } from "../../test/providers/wire.ts";
import { Secret } from "../base/secret.ts";
import { SimulatedWorld } from "../base/world.ts";
import type { Api } from "../config/config.ts";
import type { Block } from "../transcript/entry.ts";
import type { Answer, Model } from "./model.ts";

type Reply = Extract<Answer, { kind: "reply" }>;
type Failed = Extract<Answer, { kind: "failed" }>;

const TOOL = {
  name: "look",
  description: "Looks.",
  input: { type: "object", properties: { path: { type: "string" } } },
};
const PRICES = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

let standin: Standin;
before(async () => {
  standin = await Standin.open();
});
after(() => standin.close());

function replied(answer: Answer): Reply {
  assert.ok(answer.kind === "reply", JSON.stringify(answer));
  return answer;
}

async function failure(model: Model): Promise<Failed> {
  const { answer } = await ask(model, [user("hi")], { tools: [TOOL] });
  assert.ok(answer.kind === "failed", JSON.stringify(answer));
  assert.ok(!answer.message.includes(KEY), answer.message);
  assert.ok(answer.message.length <= 500);
  return answer;
}

function lastBody(): string {
  return JSON.stringify(standin.requests.at(-1)?.body);
}

for (const api of APIS)
  describe(api, () => {
    test("a reply comes in pieces, with what it used and what that cost", async () => {
      const cacheWrite = api === "anthropic" || api === "openai" ? 40 : 0; // The others do not tell.
      standin.play(
        reply({ text: "Hello, world", usage: { input: 100, output: 20, cacheRead: 1_000, cacheWrite } }),
      );
      const { answer, shown } = await ask(modelAt(standin, api, { facts: { prices: PRICES } }), [user("hi")]);
      const { content, usage, stopReason } = replied(answer);
      assert.equal(stopReason, "stop");
      assert.deepEqual(
        content.map((block) => block.type === "text" && block.text),
        ["Hello, world"],
      );
      assert.ok(shown.length > 1);
      assert.equal(shown.map(({ text }) => text).join(""), "Hello, world");
      const total = (100 * 3 + 20 * 15 + 1_000 * 0.3 + cacheWrite * 3.75) / 1_000_000;
      assert.deepEqual(usage, { input: 100, output: 20, cacheRead: 1_000, cacheWrite, cost: { total } });
    });

    test("without prices there is no cost", async () => {
      standin.play(reply({ text: "hi" }));
      const { usage } = replied(
        (await ask(modelAt(standin, api, { name: "new-model" }), [user("hi")])).answer,
      );
      assert.deepEqual(usage, { input: 10, output: 5, cacheRead: 0, cacheWrite: 0 });
    });

    test("thoughts, a call and its result make a round, and what was signed goes back to who signed it", async () => {
      const model = modelAt(standin, api);
      const tools = [TOOL];
      const calls = [
        { name: "look", arguments: { path: "a" } },
        { name: "look", arguments: {} },
      ];
      standin.play(reply({ thinking: "I should look.", text: "Looking.", calls }));
      const first = await ask(model, [user("look")], { tools, thinking: "high" });
      const { content, stopReason } = replied(first.answer);
      assert.equal(stopReason, "toolUse");
      assert.deepEqual(
        content.map(({ type }) => type),
        ["thinking", "text", "toolCall", "toolCall"],
      );
      assert.ok(first.shown.some(({ kind }) => kind === "thinking"));
      const results = content.flatMap((block) =>
        block.type === "toolCall" ? [result(block.id, [{ type: "text", text: `found ${block.name}` }])] : [],
      );
      const messages = [user("look"), saidBy(model, content), ...results];
      replied((await ask(model, messages, { tools, thinking: "high" })).answer);
      assert.match(lastBody(), /I should look\./);
      assert.match(lastBody(), /found look/);
      if (api !== "openai-compatible") assert.match(lastBody(), /signed-\d/);
      // Another model is shown the same, without the thoughts.
      replied((await ask(modelAt(standin, api, { name: `${NAMES[api]}-2` }), messages, { tools })).answer);
      assert.doesNotMatch(lastBody(), /I should look\.|"signed-\d/);
      assert.match(lastBody(), /Looking\./);
    });

    test("pictures are shown, of people and of tools, and told of in words to a model that sees none", async () => {
      const picture: Block = { type: "image", data: PIXEL, mimeType: "image/png" };
      const call: Block = { type: "toolCall", id: "c1", name: "look", arguments: {} };
      const blind = modelAt(standin, api, { facts: { images: false } });
      const model = modelAt(standin, api);
      const messages = [
        user([{ type: "text", text: "see" }, picture]),
        saidBy(model, [call]),
        result("c1", [picture]),
      ];
      for (const isError of [false, true]) {
        const all = [...messages.slice(0, 2), result("c1", [picture], isError)];
        replied((await ask(model, all, { tools: [TOOL] })).answer);
        assert.equal(lastBody().split(PIXEL).length - 1, 2);
      }
      replied((await ask(blind, messages, { tools: [TOOL] })).answer);
      assert.equal(lastBody().includes(PIXEL), false);
      assert.equal(lastBody().split("which this model cannot see").length - 1, 2);
    });

    test("an answer that was cut anywhere is no answer, and is asked for again", async () => {
      for (const play of [cutMidWord(), cutMidToolCall(), endEarly(), garbage(), page()]) {
        standin.play(play);
        const { why, throttled, message } = await failure(modelAt(standin, api));
        assert.deepEqual([why, throttled], ["retry", false], `${play.do}: ${message}`);
        assert.match(message, /cut off/);
      }
    });

    test("the output limit ends a text, and never a call", async () => {
      standin.play(reply({ text: "Once upon", ends: "length" }));
      const { content, stopReason } = replied((await ask(modelAt(standin, api), [user("hi")])).answer);
      assert.equal(stopReason, "length");
      assert.equal(content[0]?.type, "text");
      standin.play(reply({ calls: [{ name: "look", arguments: {} }], ends: "length" }));
      const { why, message } = await failure(modelAt(standin, api));
      assert.equal(why, "local");
      assert.match(message, /output tokens cut off a tool call/);
      standin.play(reply({ text: "I can", ends: "filtered" }));
      assert.equal((await failure(modelAt(standin, api))).why, "local");
    });

    test("who says nothing is given up, before the headers and after them", async () => {
      for (const play of [hang(), hangBefore()]) {
        standin.play(play);
        const { why, throttled, message } = await failure(modelAt(standin, api, { silenceMs: 60 }));
        assert.deepEqual([why, throttled, message], ["retry", false, `${api} said nothing for 0.06 s`]);
      }
    });

    test("an aborted request rejects with the reason, whatever the provider does", async () => {
      const reason = new Error("enough");
      const model = modelAt(standin, api);
      await assert.rejects(
        model.ask(asking([user("hi")], { signal: AbortSignal.abort(reason) }), () => {}),
        reason,
      );
      for (const play of [hang(), hangBefore()]) {
        const controller = new AbortController();
        const asked = standin.requests.length;
        standin.play(play);
        const waiting = model.ask(asking([user("hi")], { signal: controller.signal }), () => {});
        while (standin.requests.length === asked) await new Promise(setImmediate);
        controller.abort(reason);
        await assert.rejects(waiting, reason);
      }
    });

    test("each refusal says what can be done about it", async () => {
      const expected: readonly (readonly [number, Failed["why"], boolean])[] = [
        [400, "local", false],
        [401, "auth", false],
        [402, "auth", false],
        [403, "auth", false],
        [404, "local", false],
        [408, "retry", false],
        [409, "retry", false],
        [413, "overflow", false],
        [422, "local", false],
        [429, "retry", true],
        [500, "retry", false],
        [502, "retry", false],
        [503, "retry", true],
        [504, "retry", false],
        [529, "retry", true],
      ];
      for (const [code, why, throttled] of expected) {
        standin.play(
          status(code),
          status(code, `<html><title>Error ${code}</title>${"x".repeat(9_000)}</html>`),
        );
        for (const words of [/no/, /a page of HTML, "Error/]) {
          const failed = await failure(modelAt(standin, api));
          assert.deepEqual([failed.why, failed.throttled], [why, throttled], `${code}: ${failed.message}`);
          assert.match(failed.message, words);
        }
      }
      standin.play(overflow());
      assert.equal((await failure(modelAt(standin, api))).why, "overflow");
    });

    test("a provider says when to come back, and not later than we like", async () => {
      const nearly = new Date(Date.now() + 30_000).toUTCString();
      const waits: readonly (readonly [Readonly<Record<string, string>>, (ms: number | null) => boolean])[] =
        [
          [{ "retry-after": "7" }, (ms) => ms === 7_000],
          [{ "retry-after-ms": "250", "retry-after": "9" }, (ms) => ms === 250],
          [{ "retry-after": nearly }, (ms) => ms !== null && ms > 0 && ms <= 30_000],
          [{ "retry-after": "999999999" }, (ms) => ms === 600_000],
          [{ "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }, (ms) => ms === 0],
          [{ "retry-after": "soon" }, (ms) => ms === null],
          [{}, (ms) => ms === null],
        ];
      for (const [headers, holds] of waits) {
        standin.play(status(429, null, headers));
        const { retryAfterMs } = await failure(modelAt(standin, api));
        assert.ok(holds(retryAfterMs), `${JSON.stringify(headers)}: ${retryAfterMs}`);
      }
    });

    test("no key is told, wherever a provider repeats it", async () => {
      const header = "very-secret-header";
      const provider = { headers: { "x-mine": new Secret(header) } };
      for (const code of [400, 401, 429, 500]) {
        const echo = `Incorrect key ${KEY} (header ${header}) ${"…".repeat(450)} ${KEY}`;
        standin.play(status(code, errorBody(api, code, echo)));
        const { message } = await failure(modelAt(standin, api, { provider }));
        assert.equal(message.includes(header), false);
        assert.match(message, /Incorrect key \[secret\]/);
        assert.equal(standin.requests.at(-1)?.headers["x-mine"], header);
      }
    });

    test("a key that a header is put together of is not told either, and a header that is no secret is no hole", async () => {
      const headers = {
        "x-mine": new Secret("Token zebra-crossing", ["zebra-crossing"]),
        "x-other": new Secret("Bearer literal-token-of-ours"),
        "x-version": new Secret("1"),
      };
      const echo = "Incorrect key zebra-crossing, literal-token-of-ours in version 1";
      standin.play(status(400, errorBody(api, 400, echo)));
      const { message } = await failure(modelAt(standin, api, { provider: { headers } }));
      assert.match(message, /: Incorrect key \[secret\], \[secret\] in version 1$/);
    });

    test("a provider that nobody reaches is asked again later", async () => {
      const gone = await Standin.open();
      const model = modelAt(gone, api);
      await gone.close();
      const { why, throttled, message } = await failure(model);
      assert.deepEqual([why, throttled], ["retry", false]);
      assert.match(message, /cannot be reached at 127\.0\.0\.1:\d+ \(ECONNREFUSED\)/);
    });
  });

test("without a key nobody is asked, and the answer says where to put one", async () => {
  for (const api of APIS) {
    const asked = standin.requests.length;
    const { answer } = await ask(modelAt(standin, api, { provider: { apiKey: null } }), [user("hi")]);
    if (api === "openai-compatible") {
      replied(answer);
      assert.equal(standin.requests.at(-1)?.headers.authorization, undefined);
      continue;
    }
    assert.ok(answer.kind === "failed" && answer.why === "auth");
    const variable = `${api.toUpperCase()}_API_KEY`;
    assert.equal(answer.message, `no key for ${api}: set ${variable}, or models.providers.${api}.apiKey`);
    assert.equal(standin.requests.length, asked);
  }
});

test("an account without money needs a person, whatever status it is told with", async () => {
  const refusals: readonly (readonly [Api, number, string, string | null])[] = [
    ["openai", 429, "You exceeded your current quota", "insufficient_quota"],
    ["anthropic", 400, "Your credit balance is too low to access the Anthropic API.", null],
    ["google", 400, "API key not valid. Please pass a valid API key.", null],
  ];
  for (const [api, code, message, type] of refusals) {
    standin.play(status(code, errorBody(api, code, message, type)));
    const failed = await failure(modelAt(standin, api));
    assert.deepEqual([failed.why, failed.throttled], ["auth", false], failed.message);
    const helps =
      api === "google"
        ? /; set GOOGLE_API_KEY, or models\.providers\./
        : /; see to its account: the key is known$/;
    assert.match(failed.message, helps);
  }
  standin.play(
    status(429, errorBody("google", 429, "You exceeded your current quota. Check your plan and billing.")),
  );
  assert.equal(
    (await failure(modelAt(standin, "google"))).why,
    "retry",
    "Google says so to everybody who is fast",
  );
});

test("what is not there may be the model or the address, and both are named", async () => {
  standin.play(status(404, errorBody("openai", 404, "no such thing", null)));
  const { why, message } = await failure(modelAt(standin, "openai"));
  assert.equal(why, "local");
  assert.match(
    message,
    /^openai answered 404 at 127\.0\.0\.1:\d+: no such thing; is the model's name right, and .*baseUrl/,
  );
});

test("an error in the middle of an answer is sorted like one before it", async () => {
  const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  standin.play(errorMidway(overloaded));
  const busy = await failure(modelAt(standin, "anthropic"));
  assert.deepEqual([busy.why, busy.throttled], ["retry", true]);
  standin.play(errorMidway({ error: { message: "the context window is full, exceeds context", code: 400 } }));
  assert.equal((await failure(modelAt(standin, "openai-compatible"))).why, "overflow");
  standin.play(errorMidway({ error: { message: "out of memory" } }));
  assert.equal((await failure(modelAt(standin, "openai-compatible"))).why, "retry");
  const response = { error: { code: "server_error", message: "sorry" }, incomplete_details: null };
  standin.play(errorMidway({ type: "response.failed", sequence_number: 9, response }));
  assert.equal((await failure(modelAt(standin, "openai"))).why, "retry");
  standin.play(errorMidway({ error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } }));
  assert.deepEqual((await failure(modelAt(standin, "google"))).throttled, true);
});

test("thinking that only Anthropic can read goes back as it came", async () => {
  const model = modelAt(standin, "anthropic");
  standin.play(reply({ thinking: "hidden", redacted: true, text: "yes" }));
  const { content } = replied((await ask(model, [user("hi")])).answer);
  assert.equal(content[0]?.type === "thinking" && content[0].redacted, true);
  replied((await ask(model, [user("hi"), saidBy(model, content), user("and?")])).answer);
  assert.match(lastBody(), /"redacted_thinking","data":"signed-\d+"/);
});

test("what is asked again is marked for the providers' caches", async () => {
  const messages = [user("a"), saidBy(modelAt(standin, "openai"), [{ type: "text", text: "b" }]), user("c")];
  replied((await ask(modelAt(standin, "anthropic"), messages, { tools: [TOOL] })).answer);
  assert.equal(lastBody().split('"cache_control":{"type":"ephemeral"}').length - 1, 3);
  replied((await ask(modelAt(standin, "openai"), messages, { cacheKey: "c".repeat(64) })).answer);
  assert.equal(standin.requests.at(-1)?.body["prompt_cache_key"], "c".repeat(64));
  replied((await ask(modelAt(standin, "openai"), messages, { cacheKey: "c".repeat(65) })).answer);
  assert.match(String(standin.requests.at(-1)?.body["prompt_cache_key"]), /^[0-9a-f]{64}$/);
});

test("who says something now and then is waited for, and who does not is given up after two minutes", async () => {
  const world = new SimulatedWorld(1, 0);
  const model = modelAt(standin, "anthropic", { world });
  standin.play(reply({ text: "Hello, world" }));
  const answer = await model.ask(asking([user("hi")]), () => {
    world.pass(100_000);
    if (world.nowMs() > 120_000) world.step(); // The alarm of the beginning rings, and finds that something was heard.
  });
  replied(answer);
  assert.equal(world.nowMs(), 200_000);
  assert.equal(world.step(), false, "no alarm is left");

  const asked = standin.requests.length;
  standin.play(hang());
  const waiting = model.ask(asking([user("hi")]), () => {});
  while (standin.requests.length === asked) await new Promise(setImmediate);
  world.step();
  assert.deepEqual(await waiting, {
    kind: "failed",
    why: "retry",
    message: "anthropic said nothing for 120 s",
    retryAfterMs: null,
    throttled: false,
  });
});
