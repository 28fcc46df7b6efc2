import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI, { APIError } from "openai";
import { isMadeUp, parseKey } from "../../src/routing/key.ts";
import { Forward } from "../fixtures/forward.ts";
import { Gate } from "../sessions/stage.ts";
import { OpenaiStage } from "./openai-stage.ts";

type Params = OpenAI.Responses.ResponseCreateParamsNonStreaming;

function create(
  stage: OpenaiStage,
  input: NonNullable<Params["input"]>,
  more: Params = {},
): Promise<OpenAI.Responses.Response> {
  return stage.client.responses.create({ model: "sessiond", input, ...more });
}

async function keyOf(stage: OpenaiStage, id: string): Promise<string> {
  const { response } = await stage.client.responses.retrieve(id).withResponse();
  return response.headers.get("x-session-key") ?? "";
}

function refused(status: number, words: RegExp): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof APIError, String(error));
    assert.equal(error.status, status, error.message);
    assert.match(error.message, words);
    return true;
  };
}

test("a response is the answer of a session, and can be asked for again", async (t) => {
  const stage = await OpenaiStage.open(t);
  const made = await create(stage, "!say Hello.\n!call list {}\n!then\n!say There.", {
    metadata: { a: "b" },
  });
  assert.equal(made.output_text, "Hello.\n\nThere.");
  assert.equal(made.status, "completed");
  assert.deepEqual(made.metadata, { a: "b" });
  assert.ok((made.usage?.total_tokens ?? 0) > 0);
  const again = await stage.client.responses.retrieve(made.id);
  assert.equal(again.id, made.id);
  assert.equal(again.output_text, made.output_text);
  assert.deepEqual(again.output, made.output);
  assert.deepEqual(again.usage, made.usage);
});

test("instructions and messages are put in front of what is new", async (t) => {
  const stage = await OpenaiStage.open(t);
  const made = await create(
    stage,
    [
      { role: "user", content: "One." },
      { type: "message", role: "assistant", content: "Noted." },
      { role: "user", content: [{ type: "input_text", text: "!say Two." }] },
    ],
    { instructions: "Be brief." },
  );
  assert.equal(made.output_text, "Two.");
  const { entries } = await stage.sessions.history(await keyOf(stage, made.id));
  assert.equal(
    entries.find(({ kind }) => kind === "user")?.text,
    "[The conversation so far]\nuser: One.\n\nassistant: Noted.\n\n[Instructions]\nBe brief.\n\n[The message]\n!say Two.",
  );
});

test("who goes on from the last response goes on in its session, and from an earlier one in a fork", async (t) => {
  const stage = await OpenaiStage.open(t);
  const first = await create(stage, "I am Ada.");
  const second = await create(stage, "Who am I?", { previous_response_id: first.id });
  assert.match(second.output_text, /Earlier here you said "I am Ada\."/);
  assert.equal(second.previous_response_id, first.id);
  assert.equal(await keyOf(stage, second.id), await keyOf(stage, first.id));
  const other = await create(stage, "!list", { previous_response_id: first.id });
  assert.match(other.output_text, /I am Ada/);
  assert.doesNotMatch(other.output_text, /Who am I/);
  const fork = await keyOf(stage, other.id);
  assert.match(fork, /^agent:main:thread:fork-/);
  const third = await create(stage, "!list", { previous_response_id: other.id });
  assert.equal(await keyOf(stage, third.id), fork);
});

test("two who go on from the same response at once do not hear each other", async (t) => {
  const stage = await OpenaiStage.open(t);
  const { id } = await create(stage, "I am Ada.");
  const both = await Promise.all(
    ["red", "blue"].map((word) => create(stage, `${word}\n!list`, { previous_response_id: id })),
  );
  const [one, two] = both.map(({ output_text: text }) => text);
  assert.doesNotMatch(one ?? "", /blue/);
  assert.doesNotMatch(two ?? "", /red/);
});

test("a repeated request goes to the session of the first time, also when that is a fork", async (t) => {
  const stage = await OpenaiStage.open(t);
  const { id: first } = await create(stage, "I am Ada.");
  const repeat = (key: string, input: string) =>
    stage.client.responses.create(
      { model: "sessiond", input, previous_response_id: first },
      { headers: { "idempotency-key": key } },
    );
  const same = [await repeat("a", "!say A."), await repeat("a", "!say A.")];
  const forked = [await repeat("b", "!say B."), await repeat("b", "!say B.")];
  for (const [one, two] of [same, forked]) {
    assert.equal(one?.id, two?.id);
    assert.equal(one?.output_text, two?.output_text);
  }
  assert.notEqual(same[0]?.id, forked[0]?.id);
  const { sessions } = await stage.sessions.list({ kind: "thread" });
  assert.equal(sessions.length, 1);
  assert.equal(
    isMadeUp(parseKey(sessions[0]?.sessionKey ?? "")),
    true,
    "nobody named it, so upkeep may take it",
  );
});

test("forks do not stay for ever: upkeep takes them like all that nobody named", async (t) => {
  const world = new Forward();
  const stage = await OpenaiStage.open(t, { upkeep: { mode: "enforce", staleDays: 30 } }, { world });
  const { id: first } = await create(stage, "I am Ada.", { user: "ada" });
  await create(stage, "!say On.", { previous_response_id: first });
  const forked = (headers: Record<string, string>) =>
    stage.client.responses.create(
      { model: "sessiond", input: "!say Fork.", previous_response_id: first },
      { headers },
    );
  for (const headers of [{}, { "idempotency-key": "b" }]) await forked(headers);
  await stage.sessions.fork("agent:main:openai:direct:ada", { name: "kept" });
  world.put(31 * 86_400_000);
  await stage.sessions.call("upkeep", { waitSeconds: 60 });
  const { sessions } = await stage.sessions.list({ kind: "thread" });
  assert.deepEqual(
    sessions.map(({ sessionKey }) => sessionKey),
    ["agent:main:thread:kept"],
  );
});

test("who goes on from a response whose session was archived is told how to have it back", async (t) => {
  const stage = await OpenaiStage.open(t);
  const { id } = await create(stage, "I am Ada.");
  const key = await keyOf(stage, id);
  await stage.sessions.call("archive", { sessionKey: key });
  const goOn = () => create(stage, "Who am I?", { previous_response_id: id });
  const how = new RegExp(`its session ${key} was archived; .sessiond restore ([\\w-]+). brings that back`);
  const error = await goOn().catch((thrown: unknown) => thrown);
  assert.ok(error instanceof APIError);
  assert.deepEqual(
    [error.status, error.param, error.code, error.type],
    [404, "previous_response_id", "previous_response_not_found", "invalid_request_error"],
  );
  const archive = how.exec(error.message)?.[1] ?? assert.fail(error.message);
  await assert.rejects(stage.client.responses.retrieve(id), refused(404, how));
  await stage.sessions.call("restore", { id: archive });
  assert.match((await goOn()).output_text, /Earlier here you said "I am Ada\."/);

  await stage.sessions.call("reset", { sessionKey: key });
  await assert.rejects(goOn(), refused(404, /has begun anew, .* .sessiond restore [\w-]+ --swap. brings/));
});

test("a stream tells what a response is, in order, and ends with it whole", async (t) => {
  const stage = await OpenaiStage.open(t);
  const input = "!say I look.\n!call list {}\n!then\n!verbose 30";
  const plain = await create(stage, input);
  const stream = await stage.client.responses.create({ model: "sessiond", input, stream: true });
  const events = await Array.fromAsync(stream);
  assert.deepEqual(
    events.map((event) => event.sequence_number),
    events.map((_event, at) => at),
  );
  const types = events.map(({ type }) => type);
  const once = types.filter((type, at) => type !== types[at - 1]);
  assert.deepEqual(once, [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
  ]);
  const text = events
    .map((event) => (event.type === "response.output_text.delta" ? event.delta : ""))
    .join("");
  assert.equal(text, plain.output_text);
  const last = events.at(-1);
  assert.ok(last?.type === "response.completed");
  const kept = await stage.client.responses.retrieve(last.response.id);
  assert.deepEqual(kept.output, last.response.output);
});

test("the client's own reader of streams puts a response together", async (t) => {
  const stage = await OpenaiStage.open(t);
  const stream = stage.client.responses.stream({ model: "sessiond", input: "!verbose 50" });
  const whole = await stream.finalResponse();
  assert.equal(whole.output_text, (await create(stage, "!verbose 50")).output_text);
});

test("a turn that fails is an error, in a stream a failed response, and kept as one", async (t) => {
  const stage = await OpenaiStage.open(t);
  await assert.rejects(create(stage, "!fail local"), refused(500, /rehearsed/));
  const stream = await stage.client.responses.create({
    model: "sessiond",
    input: "!fail local",
    stream: true,
  });
  const last = (await Array.fromAsync(stream)).at(-1);
  assert.ok(last?.type === "response.failed");
  assert.match(last.response.error?.message ?? "", /rehearsed/);
  assert.equal((await stage.client.responses.retrieve(last.response.id)).status, "failed");
  const next = await create(stage, "!say On.", { previous_response_id: last.response.id });
  assert.equal(next.output_text, "On.");
});

test("a response in the background is there when its turn is over", async (t) => {
  const gate = new Gate();
  const stage = await OpenaiStage.open(t, {}, { tools: [gate.tool] });
  const made = await create(stage, "!call gate\n!then\n!say Done.", { background: true });
  assert.equal(made.status, "queued");
  await gate.reached();
  assert.equal((await stage.client.responses.retrieve(made.id)).status, "in_progress");
  await assert.rejects(
    stage.client.responses.create({ input: "Hi.", previous_response_id: made.id }, { maxRetries: 0 }),
    refused(409, /not there yet/),
  );
  gate.open();
  const key = await keyOf(stage, made.id);
  for await (const event of stage.sessions.follow(key, { from: 0 }))
    if (event.type === "entry" && JSON.stringify(event.entry).includes("turn-ended")) break;
  const done = await stage.client.responses.retrieve(made.id);
  assert.deepEqual([done.status, done.output_text], ["completed", "Done."]);
});

test("a response has one id, however often and however late its request is repeated", async (t) => {
  const gate = new Gate();
  const stage = await OpenaiStage.open(t, {}, { tools: [gate.tool] });
  const busy = await create(stage, "!call gate\n!then\n!say First.", { background: true, user: "ada" });
  await gate.reached();
  const repeat = (background = true): Promise<OpenAI.Responses.Response> =>
    stage.client.responses.create(
      { model: "sessiond", input: "!say Second.", user: "ada", background },
      { headers: { "idempotency-key": "2" } },
    );
  const waiting = [await repeat(), await repeat()];
  waiting.push(await stage.client.responses.retrieve(waiting[0]?.id ?? ""));
  gate.open();
  const key = await keyOf(stage, busy.id);
  assert.equal((await repeat(false)).id, waiting[0]?.id); // It waits for the turn.
  const over = [await repeat(), await repeat()];
  assert.deepEqual(
    [...waiting, ...over].map(({ status }) => status),
    ["queued", "queued", "queued", "completed", "completed"],
  );
  assert.deepEqual([over[0]?.output_text, over[0]?.created_at], ["Second.", over[1]?.created_at]);
  assert.equal(new Set([...waiting, ...over].map(({ id }) => id)).size, 1);
  const { bornAt } = await stage.sessions.call("entries", { sessionKey: key });
  for (const { created_at } of [...waiting, ...over])
    assert.ok(created_at >= Math.floor(Date.parse(bornAt) / 1_000));
});

test("what cannot be done is refused, with what to do instead", async (t) => {
  const stage = await OpenaiStage.open(t, { agents: { main: {}, coder: {} } });
  const { id } = await create(stage, "Hi.");
  await assert.rejects(create(stage, "Hi.", { previous_response_id: "resp_x" }), refused(404, /no response/));
  const forged = Buffer.from(JSON.stringify(["agent:main:main", 999, "x"])).toString("base64url");
  await assert.rejects(stage.client.responses.retrieve(`resp_${forged}`), refused(404, /no response/));
  await assert.rejects(stage.client.responses.retrieve(`${id}x`), refused(404, /no response/));
  await assert.rejects(
    create(stage, "Hi.", { previous_response_id: id, model: "sessiond/coder" }),
    refused(400, /another agent/),
  );
  await assert.rejects(
    create(stage, "Hi.", { tools: [{ type: "web_search" }] }),
    refused(400, /tools of its own/),
  );
  await assert.rejects(create(stage, "Hi.", { conversation: "conv_1" }), refused(400, /X-Session-Key/));
  await assert.rejects(
    create(stage, [{ type: "function_call_output", call_id: "1", output: "x" }]),
    refused(400, /input\.0: .*function_call_output/),
  );
  await assert.rejects(
    create(stage, [
      { role: "user", content: [{ type: "input_image", image_url: "http://a/b.png", detail: "auto" }] },
    ]),
    refused(400, /nothing is fetched/),
  );
  assert.deepEqual(stage.heard, []);
});
