import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI, { APIError } from "openai";
import { Fault } from "../../src/base/fault.ts";
import type { Model } from "../../src/index.ts";
import { Gate, Glass, saying } from "../sessions/stage.ts";
import { OpenaiStage, textIn } from "./openai-stage.ts";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A turn with tools in it, which speaks before and after. */
const TOOLS = "!say I will look.\n!call list {}\n!then\n!say Nothing\n!say is there.";

function refused(status: number, code: string | null, words: RegExp): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof APIError, String(error));
    assert.equal(error.status, status, error.message);
    assert.equal(error.code, code);
    assert.match(error.message, words);
    assert.ok(typeof error.type === "string");
    return true;
  };
}

test("a completion is the answer of a session", async (t) => {
  const stage = await OpenaiStage.open(t);
  const { data, response } = await stage.client.chat.completions
    .create({ model: "sessiond", messages: [{ role: "user", content: "!say Hello." }] })
    .withResponse();
  assert.equal(data.choices[0]?.message.content, "Hello.");
  assert.equal(data.choices[0]?.finish_reason, "stop");
  assert.equal(data.model, "sessiond");
  const { prompt_tokens: input = 0, completion_tokens: output = 0, total_tokens: all } = data.usage ?? {};
  assert.ok(input > 0 && output > 0);
  assert.equal(all, input + output);
  const key = response.headers.get("x-session-key") ?? "";
  assert.match(key, /^agent:main:hook:openai-/);
  const { usage } = await stage.sessions.status(key);
  assert.deepEqual([usage.input, usage.output], [input, output]);
});

test("a stream says what a plain answer says, with tools in the turn too", async (t) => {
  const stage = await OpenaiStage.open(t);
  for (const script of ["!say Hello there.", TOOLS, "!verbose 300", "!think Hm.\n!say So."]) {
    const plain = await stage.say(script);
    const chunks = await stage.pieces(script, { stream_options: { include_usage: true } });
    assert.equal(textIn(chunks), plain);
    assert.equal(chunks[0]?.choices[0]?.delta.role, "assistant");
    assert.equal(chunks.at(-2)?.choices[0]?.finish_reason, "stop");
    assert.deepEqual(chunks.at(-1)?.choices, []);
    assert.ok((chunks.at(-1)?.usage?.total_tokens ?? 0) > 0);
    assert.equal(new Set(chunks.map(({ id }) => id)).size, 1);
  }
  assert.equal(await stage.say(TOOLS), "I will look.\n\nNothing\nis there.");
});

test("words come while the model still speaks", async (t) => {
  const gate = new Gate();
  const model: Model = {
    ...new Glass(),
    id: "slow/one",
    provider: "slow",
    ask: async (_request, show) => {
      show({ kind: "text", text: "First" });
      await gate.pass();
      show({ kind: "text", text: " second" });
      return saying("First second");
    },
  };
  const stage = await OpenaiStage.open(t, { agents: { main: { model: "slow/one" } } }, { models: [model] });
  const stream = await stage.client.chat.completions.create({
    model: "sessiond",
    messages: [{ role: "user", content: "Speak." }],
    stream: true,
  });
  const told: string[] = [];
  for await (const { choices } of stream) {
    const piece = choices[0]?.delta.content ?? "";
    if (piece === "First") gate.open();
    told.push(piece);
  }
  assert.deepEqual(told.filter(Boolean), ["First", " second"]);
});

test("a model that does not stream is told whole", async (t) => {
  const models = [new Glass(() => Promise.resolve(saying("All at once.")))];
  const stage = await OpenaiStage.open(t, { agents: { main: { model: "glass/one" } } }, { models });
  assert.equal(textIn(await stage.pieces("Speak.")), "All at once.");
});

test("who is cut off because a model speaks faster than it reads is told the rest with the answer", async (t) => {
  const stage = await OpenaiStage.open(t);
  // In one go, in more pieces than a follower may have waiting; and longer than an entry keeps a text.
  const script = "!say So.\n!call list {}\n!then\n!verbose 30000";
  const chunks = await stage.pieces(script);
  const text = textIn(chunks);
  assert.ok(chunks.length < 4_000 && text.length > 256 * 1_024);
  assert.ok(text === (await stage.say(script)), text.slice(0, 200));
});

test("a user has a session, which remembers", async (t) => {
  const stage = await OpenaiStage.open(t);
  await stage.say("My name is Ada.", { user: "ada/1" });
  assert.match(await stage.say("Who am I?", { user: "ada/1" }), /My name is Ada/);
  assert.doesNotMatch(await stage.say("Who am I?", { user: "bob" }), /Ada/);
  const { sessions } = await stage.sessions.list({ kind: "direct" });
  assert.deepEqual(sessions.map(({ sessionKey }) => sessionKey).toSorted(), [
    "agent:main:openai:direct:ada%2F1",
    "agent:main:openai:direct:bob",
  ]);
});

test("of a conversation that is sent whole, a session is told what is new", async (t) => {
  const models = [new Glass()];
  const stage = await OpenaiStage.open(t, { agents: { main: { model: "glass/one" } } }, { models });
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "One." },
    { role: "assistant", content: "Noted." },
    { role: "user", content: [{ type: "text", text: "Two." }] },
    { role: "user", content: "Three." },
  ];
  const headers = { "x-session-key": "agent:main:thread:whole" };
  await stage.client.chat.completions.create(
    { model: "sessiond", messages: messages.slice(0, 2) },
    { headers },
  );
  await stage.client.chat.completions.create({ model: "sessiond", messages }, { headers });
  const { entries } = await stage.sessions.history("agent:main:thread:whole");
  assert.deepEqual(
    entries.filter(({ kind }) => kind === "user").map(({ text }) => text),
    ["[Instructions]\nBe brief.\n\n[The message]\nOne.", "Two.\n\nThree."],
  );
});

test("a session of its own is told the conversation so far", async (t) => {
  const stage = await OpenaiStage.open(t);
  const { data, response } = await stage.client.chat.completions
    .create({
      model: "sessiond",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "One." },
        { role: "assistant", content: "Noted." },
        { role: "user", content: "!say Two." },
      ],
    })
    .withResponse();
  assert.equal(data.choices[0]?.message.content, "Two.");
  const { entries } = await stage.sessions.history(response.headers.get("x-session-key") ?? "");
  assert.equal(
    entries.find(({ kind }) => kind === "user")?.text,
    "[The conversation so far]\nsystem: Be brief.\n\nuser: One.\n\nassistant: Noted.\n\n[The message]\n!say Two.",
  );
});

test("pictures come along, and none is fetched", async (t) => {
  const glass = new Glass();
  const stage = await OpenaiStage.open(t, { agents: { main: { model: "glass/one" } } }, { models: [glass] });
  const shown = (url: string): OpenAI.ChatCompletionMessageParam[] => [
    {
      role: "user",
      content: [
        { type: "text", text: "What is it?" },
        { type: "image_url", image_url: { url } },
      ],
    },
  ];
  await stage.say("", { messages: shown(`data:image/png;base64,${PNG}`) });
  const asked = JSON.stringify(glass.requests[0]?.messages);
  assert.ok(asked.includes(PNG), asked);
  await assert.rejects(
    stage.say("", { messages: shown("https://example.com/a.png") }),
    refused(400, "bad_input", /messages\.0\.content\.1\.image_url\.url: .*data: URL.*nothing is fetched/),
  );
});

test("a model of the catalog is set for the session, and an agent is named", async (t) => {
  const stage = await OpenaiStage.open(t, { agents: { main: {}, coder: {} } });
  await stage.say("Hi.", { model: "rehearsal/small", user: "ada" });
  const key = "agent:main:openai:direct:ada";
  const { settings, settingsVersion } = await stage.sessions.status(key);
  assert.equal(settings.model, "rehearsal/small");
  await stage.say("Hi again.", { model: "rehearsal/small", user: "ada" });
  assert.equal((await stage.sessions.status(key)).settingsVersion, settingsVersion);
  await stage.say("Hi.", { model: "sessiond", user: "ada" });
  assert.equal((await stage.sessions.status(key)).model, "rehearsal/small");
  await stage.say("Hi.", { model: "sessiond/coder", user: "ada" });
  assert.equal((await stage.sessions.status("agent:coder:openai:direct:ada")).agent, "coder");
  const fresh = await stage.client.chat.completions
    .create({ model: "rehearsal/large", messages: [{ role: "user", content: "Hi." }] })
    .withResponse();
  const { model, cost } = await stage.sessions.status(fresh.response.headers.get("x-session-key") ?? "");
  assert.equal(model, "rehearsal/large");
  assert.ok(cost > 0); // the first answer was this model's already
});

test("models are agents and what the catalog knows", async (t) => {
  const stage = await OpenaiStage.open(t, { agents: { main: {}, coder: {} } });
  const models = await Array.fromAsync(stage.client.models.list());
  const names = new Set(models.map(({ id }) => id));
  for (const name of ["sessiond", "sessiond/main", "sessiond/coder", "rehearsal/default"])
    assert.ok(names.has(name), name);
  assert.equal((await stage.client.models.retrieve("sessiond/coder")).id, "sessiond/coder");
  assert.equal((await stage.client.models.retrieve("sessiond")).object, "model");
  await assert.rejects(stage.client.models.retrieve("gpt-9"), refused(404, "model_not_found", /gpt-9/));
});

test("what cannot be done is refused, with what to do instead", async (t) => {
  const stage = await OpenaiStage.open(t);
  const say = (more: object): Promise<string> => stage.say("Hi.", more);
  await assert.rejects(
    say({ model: "gpt-9" }),
    refused(404, "model_not_found", /there is no model "gpt-9".*rehearsal\/default.*sessiond\/main/s),
  );
  await assert.rejects(say({ model: "sessiond/x" }), refused(404, "model_not_found", /sessiond\/main/));
  await assert.rejects(
    say({ tools: [{ type: "function", function: { name: "f" } }] }),
    refused(400, "unsupported_parameter", /tools: an agent has tools of its own/),
  );
  await assert.rejects(say({ n: 2 }), refused(400, "unsupported_parameter", /n: /));
  await assert.rejects(
    say({ response_format: { type: "json_object" } }),
    refused(400, "unsupported_parameter", /response_format: /),
  );
  await assert.rejects(say({ messages: [] }), refused(400, "bad_input", /messages: has at least one/));
  await assert.rejects(say({ messages: "Hi." }), refused(400, "bad_input", /messages: is a list/));
  await assert.rejects(
    say({
      messages: [
        { role: "user", content: "Hi." },
        { role: "assistant", content: "Ho." },
      ],
    }),
    refused(400, "bad_input", /nothing new/),
  );
  await assert.rejects(
    say({ messages: [{ role: "user", content: [{ type: "file", file: {} }] }] }),
    refused(400, "unsupported_parameter", /"file" is neither text nor image/),
  );
  const headers = { "x-session-key": "agent:nowhere" };
  const messages = [{ role: "user", content: "Hi." }] as const;
  await assert.rejects(
    stage.client.chat.completions.create({ model: "sessiond", messages: [...messages] }, { headers }),
    refused(400, "bad_input", /X-Session-Key: .*is not a session key/),
  );
  const broken = await fetch(`${stage.url}/chat/completions`, { method: "POST", body: "{" });
  assert.equal(broken.status, 400);
  const { error } = (await broken.json()) as { readonly error: { readonly type: string } };
  assert.equal(error.type, "invalid_request_error");
  assert.deepEqual(stage.heard, []);
});

test("settings of sampling are taken and not used", async (t) => {
  const stage = await OpenaiStage.open(t);
  assert.equal(await stage.say("!say Hi.", { temperature: 2, max_tokens: 1, stop: ["H"], seed: 1 }), "Hi.");
});

test("a request that is repeated with its key is answered by the first turn", async (t) => {
  const stage = await OpenaiStage.open(t);
  const once = async (content: string): Promise<string> => {
    const made = stage.client.chat.completions.create(
      { model: "sessiond", messages: [{ role: "user", content }] },
      { headers: { "idempotency-key": "order-1" } },
    );
    return JSON.stringify(await made.then(({ id, choices, usage }) => ({ id, choices, usage })));
  };
  assert.equal(await once("!say Once."), await once("!say Once."));
  const { sessions } = await stage.sessions.list({ kind: "hook" });
  assert.equal(sessions.length, 1);
  await assert.rejects(once("!say Something else."), refused(409, "conflict", /./));
  const repeated = await stage.client.chat.completions.create(
    { model: "sessiond", messages: [{ role: "user", content: "!say Once." }], stream: true },
    { headers: { "idempotency-key": "order-1" } },
  );
  assert.equal(textIn(await Array.fromAsync(repeated)), "Once.");
});

test("a turn that fails is an error, once, and in a stream the last event", async (t) => {
  const stage = await OpenaiStage.open(t);
  const user = "ada";
  await assert.rejects(stage.say("!fail local", { user }), refused(500, "failed", /rehearsed/));
  const { entries } = await stage.sessions.history("agent:main:openai:direct:ada");
  assert.equal(entries.filter(({ kind }) => kind === "user").length, 1); // the client did not come back by itself
  await assert.rejects(stage.pieces("!fail local"), /without an answer \(failed\): rehearsed/);
  await assert.rejects(stage.say("!fail overflow"), refused(400, "context_length_exceeded", /overflow/));
});

test("a turn that a person stops says so", async (t) => {
  const gate = new Gate();
  const stage = await OpenaiStage.open(t, {}, { tools: [gate.tool] });
  const stopped = assert.rejects(
    stage.say("!call gate", { user: "ada" }),
    refused(409, "aborted", /a person stopped it/),
  );
  await gate.reached();
  await stage.sessions.abort("agent:main:openai:direct:ada");
  await stopped;
});

test("a client that goes away leaves the turn going", async (t) => {
  const gate = new Gate();
  const stage = await OpenaiStage.open(t, {}, { tools: [gate.tool] });
  for (const stream of [true, false]) {
    const user = `stream-${stream}`;
    const away = new AbortController();
    const asked = stage.client.chat.completions.create(
      {
        model: "sessiond",
        user,
        stream,
        messages: [{ role: "user", content: "!call gate\n!then\n!say Done." }],
      },
      { signal: away.signal },
    );
    if (stream) await asked;
    else asked.catch(() => {});
    await gate.reached(stream ? 1 : 2);
    away.abort();
  }
  gate.open();
  for (const user of ["stream-true", "stream-false"]) {
    const key = `agent:main:openai:direct:${user}`;
    for await (const event of stage.sessions.follow(key, { from: 0 }))
      if (event.type === "entry" && JSON.stringify(event.entry).includes("turn-ended")) break;
    const { entries } = await stage.sessions.history(key);
    assert.equal(entries.at(-1)?.text, "Done.");
  }
  assert.deepEqual(stage.heard, []);
});

test("a gateway that closes says so in a stream, and the turn goes on", async (t) => {
  const gate = new Gate();
  const stage = await OpenaiStage.open(t, {}, { tools: [gate.tool] });
  const ended = assert.rejects(
    stage.pieces("!call gate\n!then\n!say Done.", { user: "ada" }),
    /the gateway is closing/,
  );
  await gate.reached();
  stage.closing.abort(new Fault("closed", "the gateway is closing"));
  await ended;
  assert.equal((await stage.sessions.status("agent:main:openai:direct:ada")).state, "running");
  gate.open();
});

test("two requests for one session are answered each by a turn of its own", async (t) => {
  const stage = await OpenaiStage.open(t);
  const both = ["!slow 20\n!say One.", "!say Two."].map((script) => stage.say(script, { user: "ada" }));
  assert.deepEqual((await Promise.all(both)).toSorted(), ["One.", "Two."]);
});
