import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { SimulatedWorld } from "../base/world.ts";
import type { Block, Message } from "../transcript/entry.ts";
import type { Answer, Delta, Model, Request } from "./model.ts";
import { rehearsals } from "./rehearsal.ts";

type Reply = Extract<Answer, { kind: "reply" }>;

function modelNamed(name: string, world = new SimulatedWorld(1)): Model {
  return rehearsals(world).find((model) => model.name === name) ?? assert.fail(name);
}

const MODEL = modelNamed("default");

function user(content: string | readonly Block[]): Message {
  return { role: "user", content, timestamp: 1 };
}

function assistant(...content: readonly Block[]): Message {
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const said = { content, api: "x", provider: "x", model: "x", usage, stopReason: "stop", timestamp: 2 };
  return { role: "assistant", ...said };
}

function result(text: string): Message {
  const content = [{ type: "text", text }] as const;
  return { role: "toolResult", toolCallId: "c", toolName: "t", content, isError: false, timestamp: 3 };
}

function asking(messages: readonly Message[], system = ""): Request {
  return { system, messages, tools: [], thinking: "off", cacheKey: "", signal: AbortSignal.any([]) };
}

async function reply(messages: string | readonly Message[], model = MODEL, system = ""): Promise<Reply> {
  const list = typeof messages === "string" ? [user(messages)] : messages;
  const answer = await model.ask(asking(list, system), () => {});
  assert.ok(answer.kind === "reply", JSON.stringify(answer));
  return answer;
}

/** What it said, and that it did nothing else. */
async function said(messages: string | readonly Message[], model = MODEL, system = ""): Promise<string> {
  const { content, stopReason } = await reply(messages, model, system);
  assert.equal(stopReason, "stop");
  const [block, ...others] = content;
  assert.ok(block?.type === "text" && others.length === 0, JSON.stringify(content));
  return block.text;
}

async function failure(messages: string | readonly Message[], model = MODEL): Promise<string> {
  const list = typeof messages === "string" ? [user(messages)] : messages;
  const answer = await model.ask(asking(list), () => assert.fail("a failure shows nothing"));
  assert.ok(answer.kind === "failed");
  assert.equal(answer.retryAfterMs, null);
  return `${answer.why}: ${answer.message}`;
}

describe("words", () => {
  test("!say says exactly what follows, and several are the lines of one text", async () => {
    assert.equal(await said("!say  two  blanks "), " two  blanks ");
    assert.equal(await said("!say one\r\n!say two\r\n"), "one\ntwo");
  });

  test("!think thinks, apart from what is said", async () => {
    const { content, stopReason } = await reply("!think hm\n!think so\n!say yes\n!think or no");
    assert.equal(stopReason, "stop");
    assert.deepEqual(content, [
      { type: "thinking", thinking: "hm\nso" },
      { type: "text", text: "yes" },
      { type: "thinking", thinking: "or no" },
    ]);
  });

  test("!call calls, the calls of a step go out together, and no JSON is {}", async () => {
    const { content, stopReason } = await reply('!say a\n!call read {"path": "x y"}\n!call ls');
    assert.equal(stopReason, "toolUse");
    assert.deepEqual(content, [
      { type: "text", text: "a" },
      { type: "toolCall", id: "call_1_1", name: "read", arguments: { path: "x y" } },
      { type: "toolCall", id: "call_1_2", name: "ls", arguments: {} },
    ]);
  });

  test("!then waits for the results, step by step, and at the end it is done", async () => {
    const messages = [user("!call a\n!then\n!say x\n!call b\n!then\n!results")];
    for (const names of [["a"], ["x", "b"]]) {
      const { content, stopReason } = await reply(messages);
      assert.equal(stopReason, "toolUse");
      assert.deepEqual(
        content.map((block) =>
          block.type === "toolCall" ? block.name : block.type === "text" && block.text,
        ),
        names,
      );
      messages.push(assistant(...content), result(`of ${names.at(-1)}`));
    }
    assert.equal(await said(messages), "of a\nof b");
    messages.push(assistant(), result("more"));
    assert.equal(await said(messages), "done.");
  });

  test("a step that says and calls nothing says that it is done", async () => {
    assert.equal(await said("!then\n!say never"), "done.");
    assert.equal(await said("!fail retry 0"), "done.");
  });

  test("!spawn and !wait are short for calls", async () => {
    const { content } = await reply('!spawn {"task":"!say hi"}\n!wait\n!wait {"ids":["a"]}');
    assert.deepEqual(
      content.map((block) => block.type === "toolCall" && [block.name, block.arguments]),
      [
        ["sessions_spawn", { task: "!say hi" }],
        ["subagents", { action: "wait" }],
        ["subagents", { action: "wait", ids: ["a"] }],
      ],
    );
  });

  test("!verbose says so many numbered words", async () => {
    assert.equal(await said("!verbose 3"), "word1 word2 word3");
    assert.equal((await said("!verbose 100000")).split(" ").length, 100_000);
  });

  test("!list says what it was shown", async () => {
    const long = `${"x".repeat(58)}😀😀`;
    const messages = [user("a\nb"), assistant(), result("r"), user(long), user("!list")];
    assert.equal(
      await said(messages),
      `5 messages: 3 user, 1 assistant, 1 toolResult.\n1. "a\\nb"\n2. "${"x".repeat(58)}…"\n3. "!list"`,
    );
  });

  test("!system says the system prompt, as far as anybody would read it", async () => {
    assert.equal(await said("!system", MODEL, "\n You are x. \nMore\n"), "You are x. \nMore");
    assert.equal((await said("!system", MODEL, "x".repeat(10_000))).length, 4_000);
    assert.equal(await said("!system"), "(the system prompt is empty)");
  });

  test("!results says the results since the last user message", async () => {
    const messages = [user("a"), assistant(), result("old"), user("!then\n!results"), assistant()];
    assert.equal(await said([...messages, result("new"), result("newer")]), "new\nnewer");
    assert.equal(await said("!results"), "(no text of tool results)");
  });

  test("!slow waits in the world's time, and without it nothing waits", async () => {
    const world = new SimulatedWorld(1, 0);
    const model = modelNamed("default", world);
    assert.equal(await said("!say at once", model), "at once");
    const waiting = said("!say later\n!slow 1500\n!slow 500", model);
    assert.ok(world.step());
    assert.equal(await waiting, "later");
    assert.equal(world.nowMs(), 2_000);
    assert.equal(world.step(), false);
  });

  test("!fail fails each way, every time", async () => {
    for (const why of ["retry", "overflow", "auth", "local"])
      for (let times = 0; times < 3; times += 1)
        assert.equal(await failure(`!fail ${why}`), `${why}: rehearsed: the script says !fail ${why}`);
  });

  test("!fail with a number fails so often for the same messages, then goes on", async () => {
    const model = modelNamed("default");
    const messages = [user("!fail retry 2\n!fail auth 1\n!say here")];
    assert.match(await failure(messages, model), /^retry: .* 1 of 2 times$/);
    assert.match(await failure([user("!say else"), ...messages], model), /^retry: .* 1 of 2 times$/);
    assert.match(await failure(messages, model), /^retry: .* 2 of 2 times$/);
    assert.match(await failure(messages, model), /^auth: .* 1 of 1 times$/);
    assert.equal(await said(messages, model), "here");
    assert.equal(await said(messages, model), "here");
    assert.match(await failure(messages, modelNamed("default")), /^retry: .* 1 of 2 times$/);
  });

  test("the failures of many message lists are counted without end, the oldest forgotten", async () => {
    const model = modelNamed("default");
    const list = (each: number): Message[] => [user(`${each}\n!fail retry 1\n!say here`)];
    for (let each = 0; each <= 1_000; each += 1) await failure(list(each), model);
    assert.equal(await said(list(1), model), "here");
    assert.match(await failure(list(0), model), /^retry/);
  });
});

describe("in a conversation", () => {
  test("the newest user messages are one script, also in blocks and envelopes", async () => {
    const envelope = "[[sessiond message from agent:main:main]]\n!say b\n[[sessiond end]]";
    const image: Block = { type: "image", data: "AAAA", mimeType: "image/png" };
    const blocks = user([{ type: "text", text: "look:\n!say c" }, image, { type: "text", text: "!say d" }]);
    assert.equal(await said([user("!say a"), user(envelope), blocks]), "a\nb\nc\nd");
  });

  test("ids of calls are new in the conversation, also when messages were taken out of it", async () => {
    const call: Block = { type: "toolCall", id: "call_3_1", name: "a", arguments: {} };
    const { content } = await reply([user("a"), assistant(call), user("!call b\n!call c")]);
    const ids = content.map((block) => block.type === "toolCall" && block.id);
    assert.deepEqual(ids, ["call_3_2", "call_3_3"]);
  });
});

describe("without a script", () => {
  const INTRODUCTION = "Rehearsal (a scripted stand-in, no real model)";

  test("it says what it is, what it was told, and what it was told first", async () => {
    const messages = [user("Hi, I'm working on Project X.")];
    assert.equal(await said(messages), `${INTRODUCTION}: you said "Hi, I'm working on Project X.".`);
    messages.push(assistant(), user("What was I working on?"));
    const now = `${INTRODUCTION}: you said "What was I working on?". Earlier here you said`;
    assert.equal(await said(messages), `${now} "Hi, I'm working on Project X." (1 earlier message).`);
    assert.match(
      await said([user("!say 0"), ...messages]),
      /Earlier here you said "!say 0" \(2 earlier messages\)\.$/,
    );
  });

  test("it quotes at most 200 characters, and no half of one", async () => {
    const text = await said(`${"x".repeat(198)}😀${"y".repeat(1_000)}`);
    assert.equal(text, `${INTRODUCTION}: you said "${"x".repeat(198)}…".`);
  });

  test("it quotes tool results that nobody scripted, and says when there is nothing", async () => {
    const results = Array.from({ length: 7 }, (_, at) => result(`r${at}`));
    const quotes = '"r0", "r1", "r2", "r3", "r4", and 2 more';
    assert.equal(
      await said([user("a"), assistant(), ...results]),
      `${INTRODUCTION}: the tools gave back ${quotes}.`,
    );
    assert.equal(await said([]), `${INTRODUCTION}: nothing was said yet.`);
  });
});

describe("answers", () => {
  test("the same request gives the same answer in the same pieces, which are its texts", async () => {
    const line = fc.oneof(
      fc.string({ unit: "binary" }),
      fc
        .string({ unit: fc.constantFrom("😀", "a", "\ud83d", "\ude00"), maxLength: 200 })
        .map((text) => `!say ${text}`),
      fc.string({ unit: "binary", maxLength: 200 }).map((text) => `!think ${text}`),
      fc.constantFrom("!verbose 50", "!list", "!system", "!results", "!call a", "!then", "!what", "!"),
    );
    const property = fc.asyncProperty(fc.array(line), async (lines) => {
      const ask = async (): Promise<{ answer: Answer; deltas: Delta[] }> => {
        const deltas: Delta[] = [];
        const request = asking([user("earlier"), user(lines.join("\n"))], "You are 😀.");
        return { answer: await modelNamed("default").ask(request, (delta) => deltas.push(delta)), deltas };
      };
      const { answer, deltas } = await ask();
      assert.deepEqual(await ask(), { answer, deltas });
      assert.ok(answer.kind === "reply");
      const joined = (kind: Delta["kind"]): string =>
        deltas.map((delta) => (delta.kind === kind ? delta.text : "")).join("");
      const texts = answer.content.map((block) => (block.type === "text" ? block.text : ""));
      const thoughts = answer.content.map((block) => (block.type === "thinking" ? block.thinking : ""));
      assert.equal(joined("text"), texts.join(""));
      assert.equal(joined("thinking"), thoughts.join(""));
      for (const { text } of deltas) assert.ok(text.length > 0 && text.length <= 40);
    });
    await fc.assert(property);
  });

  test("no piece ends in the middle of a character", async () => {
    for (const before of ["", "x"]) {
      const deltas: string[] = [];
      await MODEL.ask(asking([user(`!say ${before}${"😀".repeat(500)}`)]), ({ text }) => deltas.push(text));
      assert.ok(deltas.length > 20 && deltas.every((text) => text.isWellFormed()));
    }
  });

  test("usage is a quarter of the characters, and only the large one pretends a price", async () => {
    const call: Block = {
      type: "toolCall",
      id: "i",
      name: "read",
      arguments: { path: "ab", deep: [{ n: 12 }] },
    };
    const messages = [
      user("12345678"),
      assistant({ type: "thinking", thinking: "1234" }, call),
      result("12345"),
      user("!say 12345"),
    ];
    // 3 of the system, 8, 4, then read + "{}" + path + ab + deep + "[]" + "{}" + n + 12, 5 and 10
    const input = Math.ceil((3 + 8 + 4 + 23 + 5 + 10) / 4);
    const tokens = { input, output: 2, cacheRead: 0, cacheWrite: 0 };
    for (const name of ["default", "small"])
      assert.deepEqual((await reply(messages, modelNamed(name), "sys")).usage, {
        ...tokens,
        cost: { total: 0 },
      });
    const total = (input * 3 + 2 * 15) / 1_000_000;
    assert.deepEqual((await reply(messages, modelNamed("large"), "sys")).usage, {
      ...tokens,
      cost: { total },
    });
  });

  test("what is larger than the window is an overflow that says both numbers", async () => {
    for (const model of rehearsals(new SimulatedWorld(1))) {
      const { windowTokens } = model;
      const fits = `!say 1\n${"x".repeat(windowTokens * 4 - 7)}`;
      assert.equal(await said(fits, model), "1");
      assert.equal(
        await failure(`${fits}x`, model),
        `overflow: ${windowTokens + 1} tokens do not fit ${model.id}, which takes ${windowTokens}`,
      );
    }
  });

  test("an aborted signal rejects with its reason: before, while waiting, between pieces", async () => {
    const world = new SimulatedWorld(1);
    const model = modelNamed("default", world);
    const reason = new Error("enough");
    const isReason = (error: unknown): boolean => error === reason;
    const aborted = { ...asking([user("!say a")]), signal: AbortSignal.abort(reason) };
    await assert.rejects(
      model.ask(aborted, () => assert.fail()),
      isReason,
    );

    const waiting = new AbortController();
    const slow = { ...asking([user("!slow 1000\n!say a")]), signal: waiting.signal };
    const asked = model.ask(slow, () => assert.fail());
    waiting.abort(reason);
    await assert.rejects(asked, isReason);
    assert.equal(world.step(), false);

    const speaking = new AbortController();
    const deltas: Delta[] = [];
    const long = { ...asking([user("!verbose 1000")]), signal: speaking.signal };
    const stop = (delta: Delta): void => {
      deltas.push(delta);
      if (deltas.length === 3) speaking.abort(reason);
    };
    await assert.rejects(model.ask(long, stop), isReason);
    assert.equal(deltas.length, 3);
  });
});

describe("bounds", () => {
  const large = modelNamed("large");

  test("a script with a mistake is answered with the mistake, and nothing of it is done", async () => {
    const text = await said('!say a\n!call read {path}\n!call b {"c":1}');
    assert.match(text, /^The script is wrong, so nothing of it was done:\n"!call read \{path\}": /);
    assert.equal(await said([user("!what"), assistant()]), await said("!what"));
  });

  test("a line of ten megabytes is an overflow, and one that just fits is too much to say", async () => {
    assert.match(await failure(`!say ${"x".repeat(10_000_000)}`, large), /^overflow/);
    assert.match(
      await said(`!say ${"x".repeat(3_900_000)}`, large),
      /more than 2000000 characters: too much/,
    );
  });

  test("a script cannot multiply what it was shown without end", async () => {
    const script = `!then\n${"!results\n".repeat(9_000)}`;
    const messages = [user(script), assistant(), result("x".repeat(100_000))];
    assert.match(await said(messages), /more than 2000000 characters: too much/);
    assert.match(await said("!verbose 100000\n".repeat(9_000)), /too much/);
  });

  test("a thousand calls go out together, each with its own id", async () => {
    const { content } = await reply("!call a\n".repeat(1_000));
    assert.equal(new Set(content.map((block) => block.type === "toolCall" && block.id)).size, 1_000);
  });

  test("arguments of any depth in earlier messages are counted", async () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    const call: Block = { type: "toolCall", id: "i", name: "a", arguments: { deep } };
    assert.equal((await reply([user("a"), assistant(call), user("!say b")])).usage.input, 50_004);
  });
});

test("docs/rehearsal.md has every word and every model, and its examples are right", async () => {
  const page = readFileSync(new URL("../../docs/rehearsal.md", import.meta.url), "utf8");
  const named = [...page.matchAll(/^\| `(![a-z]+)/gm)].map(([, word]) => word);
  assert.deepEqual(named, (/the words are (.*)$/m.exec(await said("!"))?.[1] ?? "").split(", "));
  for (const { id, windowTokens } of rehearsals(new SimulatedWorld(1)))
    assert.ok(page.includes(`| \`${id}\` | ${windowTokens.toLocaleString("en")} tokens`), id);
  const [tools = "", busy = ""] = [...page.matchAll(/^```text\n(.*?)^```$/gms)].map(
    ([, script]) => script ?? "",
  );
  const { content } = await reply(tools);
  assert.equal(content.map(({ type }) => type).join(), "text,toolCall,toolCall");
  assert.equal(await said([user(tools), assistant(...content), result("a"), result("b")]), "a\nb");
  const world = new SimulatedWorld(1, 0);
  const model = modelNamed("default", world);
  const answers: string[] = [];
  for (let times = 0; times < 3; times += 1) {
    const asked = model.ask(asking([user(busy)]), () => {});
    assert.ok(world.step());
    answers.push((await asked).kind);
  }
  assert.deepEqual(answers, ["failed", "failed", "reply"]);
});
