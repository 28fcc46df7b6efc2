import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import * as fc from "fast-check";
import {
  APIS,
  ask,
  asking,
  modelAt,
  NAMES,
  PIXEL,
  result,
  saidBy,
  user,
} from "../../test/providers/asking.ts";
import { Standin } from "../../test/providers/standin.ts";
import type { Api } from "../config/config.ts";
import type { Block, Message } from "../transcript/entry.ts";
import { convert, type Target } from "./convert.ts";
import { THINKING, type Model, type Request } from "./model.ts";

let standin: Standin;
before(async () => {
  standin = await Standin.open();
});
after(() => standin.close());

const FACTS = { windowTokens: 1, outputTokens: null, images: true, prices: null };

function target(api: Api, model = NAMES[api]): Target {
  return { api, apiName: `the api of ${api}`, provider: api, model, facts: FACTS };
}

function ownBy({ apiName: api, provider, model: name }: Target, content: readonly Block[]): Message {
  return saidBy({ api, provider, name }, content);
}

function prompt(
  of: Target,
  messages: readonly Message[],
  more: Partial<Request> = {},
): ReturnType<typeof convert>["prompt"] {
  return convert(asking(messages, { system: "", ...more }), of).prompt;
}

function text(of: string): Block {
  return { type: "text", text: of };
}

function call(id: string): Block {
  return { type: "toolCall", id, name: "look", arguments: {} };
}

const STRANGER = { api: "x", provider: "x", name: "x" };

describe("a history that is odd", () => {
  test("ids that a provider refuses, or that come twice, are replaced, the same for a call and its result", () => {
    const odd = `call|${"x".repeat(60)}`;
    const round = [
      saidBy(STRANGER, [call("a"), call(odd)]),
      result(odd, [text("2")]),
      result("a", [text("1")]),
    ];
    const all = prompt(target("openai"), [user("hi"), ...round, ...round]);
    const ids = all.flatMap((message) =>
      message.role === "assistant" || message.role === "tool"
        ? message.content.map((part) => ("toolCallId" in part ? part.toolCallId : ""))
        : [],
    );
    const [first, second, third, fourth, ...others] = ids;
    assert.equal(first, "a");
    assert.deepEqual([third, fourth], [first, second]);
    assert.deepEqual(others.slice(0, 2), others.slice(2));
    assert.equal(new Set(ids).size, 4);
    assert.ok(ids.every((id) => /^[A-Za-z0-9_-]{1,40}$/.test(id)));
    assert.deepEqual(
      prompt(target("openai"), [user("hi"), ...round]),
      all.slice(0, 3),
      "the beginning stays the same",
    );
  });

  test("a call without a result gets one, a result without a call is left out, and nothing stands between", () => {
    const messages = [
      user("hi"),
      saidBy(STRANGER, [call("a"), call("b")]),
      user("wait"),
      result("b", [text("r")]),
      result("z", []),
    ];
    const [, answer, results, said, ...others] = prompt(target("anthropic"), messages);
    assert.equal(answer?.role, "assistant");
    assert.ok(results?.role === "tool");
    assert.deepEqual(
      results.content.map((part) => part.type === "tool-result" && part.output),
      [
        { type: "error-text", value: "There is no result: the call was given up." },
        { type: "text", value: "r" },
      ],
    );
    assert.equal(said?.role, "user");
    assert.deepEqual(others, []);
  });

  test("it begins and ends with the user, and what is empty is not there", () => {
    const empty = saidBy(STRANGER, [text(" \n"), { type: "thinking", thinking: "hm" }]);
    assert.deepEqual(prompt(target("google"), [saidBy(STRANGER, [text("hello")]), empty, user("  ")]), [
      { role: "user", content: [text("(The conversation begins here.)")] },
      { role: "assistant", content: [text("hello")] },
      { role: "user", content: [text("(Go on.)")] },
    ]);
    assert.equal(prompt(target("openai"), []).length, 1);
  });

  test("half a character, a name from elsewhere and arguments that are none do no harm", () => {
    const bad: Block = {
      type: "toolCall",
      id: "a",
      name: "mcp:x.y",
      arguments: { "\ud800": ["\\ud800", "\udfff"] },
    };
    const none = { ...bad, id: "b", arguments: "no" } as unknown as Block;
    const [said, answer] = prompt(target("anthropic"), [user("a\ud800"), saidBy(STRANGER, [bad, none])]);
    assert.deepEqual(said?.content, [text("a\ufffd")]);
    assert.ok(answer?.role === "assistant");
    assert.deepEqual(
      answer.content.map((part) => part.type === "tool-call" && [part.toolName, part.input]),
      [
        ["mcp_x_y", { "\ufffd": ["\\ud800", "\ufffd"] }],
        ["mcp_x_y", {}],
      ],
    );
  });
});

describe("thoughts", () => {
  const signed: Block = { type: "thinking", thinking: "hm", thinkingSignature: "s" };

  test("they go back only whole, signed, before something, and to the model that had them", () => {
    const here = target("anthropic");
    const thoughts = (message: Message): number => {
      const [, answer] = prompt(here, [user("a"), message, user("b")]);
      return answer?.role === "assistant"
        ? answer.content.filter(({ type }) => type === "reasoning").length
        : -1;
    };
    assert.equal(thoughts(ownBy(here, [signed, text("x")])), 1);
    assert.equal(thoughts(ownBy(here, [text("x"), signed])), 0);
    assert.equal(thoughts(ownBy(here, [{ type: "thinking", thinking: "hm" }, text("x")])), 0);
    const blob = { sha256: "0".repeat(64), bytes: 9 };
    assert.equal(thoughts(ownBy(here, [{ ...signed, blob }, text("x")])), 0);
    for (const other of [{ provider: "b" }, { model: "b" }, { apiName: "b" }])
      assert.equal(thoughts(ownBy({ ...here, ...other }, [signed, text("x")])), 0);
  });

  test("a server of one's own gets those that led to calls", () => {
    const here = target("openai-compatible");
    const thought: Block = { type: "thinking", thinking: "hm" };
    assert.match(JSON.stringify(prompt(here, [user("a"), ownBy(here, [thought, call("a")])])), /"reasoning"/);
    assert.doesNotMatch(
      JSON.stringify(prompt(here, [user("a"), ownBy(here, [thought, text("b")])])),
      /"reasoning"/,
    );
  });

  test("an older Claude does not think on after calls that were another's", () => {
    const levels = (model: string, message: Message): unknown =>
      convert(asking([user("a"), message], { thinking: "high" }), target("anthropic", model)).reasoning;
    const here = target("anthropic", "claude-haiku-4-5-20251001");
    assert.equal(levels(here.model, saidBy(STRANGER, [call("a")])), "none");
    assert.equal(levels(here.model, saidBy(STRANGER, [text("a")])), "high");
    assert.equal(levels(here.model, ownBy(here, [signed, call("a")])), "high");
    assert.equal(levels("claude-opus-5-5", saidBy(STRANGER, [call("a")])), "high");
  });
});

test("the same request gives the same prompt, byte for byte", () => {
  const messages = [user("a"), saidBy(STRANGER, [call("?"), call("?")]), result("?", [text("r")]), user("b")];
  for (const api of APIS)
    assert.equal(
      JSON.stringify(prompt(target(api), messages)),
      JSON.stringify(prompt(target(api), messages)),
    );
});

/** A thought as its maker would have written it down: signed, or not, or by a program that signs otherwise. */
function thoughtOf(api: Api, thinking: string, isSigned: boolean): Block {
  if (!isSigned) return { type: "thinking", thinking };
  const signature = standin.sign(thinking);
  const item = { type: "reasoning", id: `rs_${signature}`, encrypted_content: signature };
  return {
    type: "thinking",
    thinking,
    thinkingSignature: api === "openai" ? JSON.stringify(item) : signature,
  };
}

const TEXTS = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom("", " ", "\n\t", "\ud800", "words"),
);
const IDS = fc.oneof(fc.constantFrom("a", "b", "call_1", "call|1", ""), fc.string({ maxLength: 80 }));
const PICTURES = fc.record({
  type: fc.constant("image" as const),
  data: fc.constantFrom(PIXEL, "", "not base64!"),
  mimeType: fc.constantFrom("image/png", "image/jpg", "image/svg+xml", "application/pdf", ""),
});
const WORDS = TEXTS.map((each): Block => text(each));
const CALLS = fc.record({
  type: fc.constant("toolCall" as const),
  id: IDS,
  name: fc.oneof(fc.constant("look"), fc.string()),
  arguments: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 2 }) as fc.Arbitrary<
    Readonly<Record<string, unknown>>
  >,
});
const CONTENT = fc.array(fc.oneof(WORDS, PICTURES), { maxLength: 3 });

function historyOf(api: Api, model: Model): fc.Arbitrary<Message[]> {
  const thoughts = fc.tuple(TEXTS, fc.boolean());
  const block = fc.oneof(
    WORDS,
    CALLS,
    PICTURES,
    thoughts.map((thought) => ({ type: "thought" as const, thought })),
  );
  const answer = fc.tuple(fc.boolean(), fc.array(block, { maxLength: 4 })).map(([isOwn, blocks]) =>
    saidBy(
      isOwn ? model : STRANGER,
      blocks.map((each) =>
        each.type === "thought" ? thoughtOf(api, each.thought[0].toWellFormed(), each.thought[1]) : each,
      ),
    ),
  );
  const said = fc.oneof(TEXTS, CONTENT).map((content) => user(content));
  const results = fc
    .tuple(IDS, CONTENT, fc.boolean())
    .map(([id, content, isError]) => result(id, content, isError));
  return fc.array(fc.oneof(said, answer, results), { maxLength: 10 });
}

for (const api of APIS)
  test(`any history is a request that ${api} takes`, async () => {
    const model = modelAt(standin, api);
    const histories = fc.tuple(historyOf(api, model), fc.constantFrom(...THINKING), TEXTS);
    await fc.assert(
      fc.asyncProperty(histories, async ([messages, thinking, system]) => {
        const tools = [{ name: "look", description: "Looks.", input: { type: "object" } }];
        const { answer } = await ask(model, messages, { tools, thinking, system });
        assert.equal(standin.requests.at(-1)?.refused, null);
        assert.equal(answer.kind, "reply", JSON.stringify(answer));
      }),
      { numRuns: 150 },
    );
  });
