import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI, { AuthenticationError } from "openai";
import { Daemon } from "./daemon.ts";
import { textIn } from "./openai-stage.ts";

test("the official client talks to a daemon, and goes on after its restart", async (t) => {
  const daemon = await Daemon.start(t);
  const client = (): OpenAI =>
    new OpenAI({ baseURL: `${daemon.url}/v1`, apiKey: daemon.token, maxRetries: 0 });
  const stream = await client().chat.completions.create({
    model: "sessiond",
    messages: [{ role: "user", content: "!say Hello.\n!call list {}\n!then\n!say There." }],
    stream: true,
  });
  assert.equal(textIn(await Array.fromAsync(stream)), "Hello.\n\nThere.");
  const models = await Array.fromAsync(client().models.list());
  assert.ok(models.some(({ id }) => id === "sessiond/main"));
  const first = await client().responses.create({ model: "sessiond", input: "I am Ada." });
  await daemon.kill();
  await daemon.begin();
  assert.equal((await client().responses.retrieve(first.id)).output_text, first.output_text);
  const next = await client().responses.create({
    model: "sessiond",
    input: "Who am I?",
    previous_response_id: first.id,
  });
  assert.match(next.output_text, /I am Ada/);
  const stranger = new OpenAI({ baseURL: `${daemon.url}/v1`, apiKey: "wrong", maxRetries: 0 });
  await assert.rejects(stranger.responses.retrieve(first.id), AuthenticationError);
});
