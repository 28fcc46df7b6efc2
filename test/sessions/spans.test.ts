// What whoever traces with OpenTelemetry is told of a turn. The exporter keeps it in memory; nothing leaves this process.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { Gate, Stage, tool } from "./stage.ts";

const KEY = "agent:main:main";

const exporter = new InMemorySpanExporter();
/** Names of spans that have begun and not ended. */
const open: string[] = [];
const counting: SpanProcessor = {
  onStart: ({ name }) => void open.push(name),
  onEnd: ({ name }) => void open.splice(open.indexOf(name), 1),
  forceFlush: async () => {},
  shutdown: async () => {},
};
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter), counting] }),
);

/** The spans that have ended, in the order of their beginning, and none of an earlier test. No other is open. */
async function ended(stage: Stage): Promise<ReadableSpan[]> {
  await stage.rest(KEY); // Who asks is answered a moment before the turn is over.
  assert.deepEqual(open, []);
  const spans = exporter.getFinishedSpans();
  exporter.reset();
  const at = ({ startTime: [seconds, nanos] }: ReadableSpan): number => seconds * 1e9 + nanos;
  return spans.toSorted((one, other) => at(one) - at(other));
}

function one(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const [span, ...others] = spans.filter((each) => each.name === name);
  assert.ok(span && others.length === 0, `one ${name} among ${spans.map((each) => each.name).join(", ")}`);
  return span;
}

const good = tool("good", async () => "a secret result");
const bad = tool("bad", async () => {
  throw new Error("a secret failure");
});

describe("whoever traces", () => {
  test("is told of a turn, of each time its model is asked, and of each tool, the latter below the turn", async (t) => {
    const stage = await Stage.open(t, {}, { tools: [good, bad] });
    const { sessions } = stage;
    await sessions.ask(KEY, "!call good {}\n!call bad {}\n!then\n!say a secret answer");
    const spans = await ended(stage);
    const turn = one(spans, "invoke_agent main");
    assert.equal(turn.parentSpanContext, undefined);
    assert.deepEqual(turn.attributes, {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "main",
      "gen_ai.conversation.id": KEY,
      "sessiond.turn.outcome": "done",
    });
    for (const span of spans) {
      if (span !== turn) assert.equal(span.parentSpanContext?.spanId, turn.spanContext().spanId, span.name);
      assert.equal(span.spanContext().traceId, turn.spanContext().traceId);
      assert.doesNotMatch(JSON.stringify([span.attributes, span.status, span.events]), /secret/, span.name);
    }
    const chats = spans.filter((each) => each.name === "chat default");
    assert.equal(chats.length, 2);
    for (const { kind, attributes, status } of chats) {
      assert.equal(kind, SpanKind.CLIENT);
      assert.equal(status.code, SpanStatusCode.UNSET);
      assert.equal(attributes["gen_ai.operation.name"], "chat");
      assert.equal(attributes["gen_ai.provider.name"], "rehearsal");
      assert.equal(attributes["gen_ai.request.model"], "default");
      assert.equal(attributes["gen_ai.conversation.id"], KEY);
    }
    const told = (of: string): number =>
      chats.reduce((sum, { attributes }) => sum + Number(attributes[`gen_ai.usage.${of}_tokens`]), 0);
    const { usage } = await sessions.status(KEY);
    assert.deepEqual([told("input"), told("output")], [usage.input, usage.output]);
    assert.deepEqual(
      chats.map(({ attributes }) => attributes["gen_ai.response.finish_reasons"]),
      [["toolUse"], ["stop"]],
    );
    assert.equal(spans.length, 5);
  });

  test("sees which tool failed, and by which call it was called", async (t) => {
    const stage = await Stage.open(t, {}, { tools: [good, bad] });
    await stage.sessions.ask(KEY, "!call good {}\n!call bad {}\n!call missing {}\n!then\n!say ok");
    const spans = await ended(stage);
    const results = (await stage.messages(KEY)).filter((message) => message.role === "toolResult");
    for (const [name, isError] of [
      ["good", false],
      ["bad", true],
      ["missing", true],
    ] as const) {
      const { attributes, status } = one(spans, `execute_tool ${name}`);
      assert.equal(attributes["gen_ai.operation.name"], "execute_tool");
      assert.equal(attributes["gen_ai.tool.name"], name);
      const called = results.find(({ toolName }) => toolName === name)?.toolCallId;
      assert.equal(attributes["gen_ai.tool.call.id"], called);
      assert.equal(attributes["error.type"], isError ? "tool_error" : undefined, name);
      assert.equal(status.code, isError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET, name);
    }
  });

  test("sees a model that fails, and a turn that fails because of it", async (t) => {
    const stage = await Stage.open(t);
    assert.equal((await stage.sessions.ask(KEY, "!fail overflow")).outcome, "overflow");
    const spans = await ended(stage);
    for (const name of ["chat default", "invoke_agent main"]) {
      const { attributes, status } = one(spans, name);
      assert.deepEqual([attributes["error.type"], status.code], ["overflow", SpanStatusCode.ERROR], name);
    }
  });

  test("finds no span left open by a turn that was stopped while a tool ran, or a model was asked", async (t) => {
    const gate = new Gate();
    const stage = await Stage.open(t, {}, { tools: [gate.tool] });
    const { sessions } = stage;
    const asked = sessions.ask(KEY, "!call gate {}\n!then\n!say never");
    await gate.reached();
    await sessions.call("abort", { sessionKey: KEY });
    assert.equal((await asked).outcome, "aborted");
    const stopped = await ended(stage);
    const turn = one(stopped, "invoke_agent main");
    assert.equal(turn.attributes["sessiond.turn.outcome"], "aborted");
    assert.equal(turn.status.code, SpanStatusCode.UNSET);
    one(stopped, "execute_tool gate");

    const slow = sessions.ask(KEY, "!slow 60000\n!say never");
    await stage.until(async () => open.includes("chat default"));
    await sessions.call("abort", { sessionKey: KEY });
    assert.equal((await slow).outcome, "aborted");
    assert.equal(one(await ended(stage), "chat default").attributes["error.type"], "aborted");
  });

  test("finds one span for each part of a turn that rested: it goes on in a span of its own", async (t) => {
    const stage = await Stage.open(t);
    const task = JSON.stringify({ task: "!say done" });
    await stage.sessions.ask(KEY, `!spawn ${task}\n!call sessions_yield {}\n!then\n!say all done`);
    const turns = (await ended(stage)).filter(
      ({ name, attributes }) => name === "invoke_agent main" && attributes["gen_ai.conversation.id"] === KEY,
    );
    assert.deepEqual(
      turns.map(({ attributes }) => attributes["sessiond.turn.outcome"]),
      ["yielded", "done"],
    );
  });
});
