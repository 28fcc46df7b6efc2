// A prompt is cut to fit only where there is no room for it, by the same numbers that people are shown.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answer, Model, Request } from "../../src/index.ts";
import { MAIN } from "./family.ts";
import { notesIn, saying, Stage, tool } from "./stage.ts";

/** Counts a quarter of the texts' characters, and nothing of the tools: other providers count these by another measure. */
class Blind implements Model {
  readonly id = "blind/one";
  readonly provider = "blind";
  readonly name = "one";
  readonly api = "blind";
  readonly windowTokens = 8_000;
  readonly requests: Request[] = [];

  ask(request: Request): Promise<Answer> {
    this.requests.push(request);
    const input = Math.ceil(JSON.stringify([request.system, request.messages]).length / 4);
    const said = saying(`Noted ${this.requests.length}.`);
    return Promise.resolve(said.kind === "reply" ? { ...said, usage: { ...said.usage, input } } : said);
  }
}

test("what the meter says there is room for is shown whole, however the model counts its tools", async (t) => {
  const model = new Blind();
  const tools = Array.from({ length: 10 }, (_, n) => ({
    ...tool(`tool_${n}`, () => Promise.resolve("ok")),
    description: "What it does is written here at length. ".repeat(40),
  }));
  const allow = tools.map(({ name }) => name);
  const stage = await Stage.open(
    t,
    { agents: { main: { model: model.id, tools: { allow } } } },
    { models: [model], tools },
  );
  for (let n = 1; n <= 12; n += 1) {
    const message = `Question ${n}: ${"why do the leaves fall? ".repeat(60)}`;
    assert.equal((await stage.sessions.ask(MAIN, message)).outcome, "done");
    const { tokens, compactAt } = await stage.sessions.call("context", {});
    assert.ok(tokens <= compactAt, `${n}: ${tokens} of ${compactAt}`);
    assert.equal(model.requests.at(-1)?.messages.length, 2 * n - 1, "nothing was left out");
  }
  assert.deepEqual(notesIn(await stage.entries(MAIN), "cut"), []);
});
