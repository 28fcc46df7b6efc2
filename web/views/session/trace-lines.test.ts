import assert from "node:assert/strict";
import { test } from "node:test";
import { ticksOf, waterfallOf, type Trace } from "./trace-lines.ts";

const USAGE = { input: 100, output: 10, cacheRead: 5, cacheWrite: 0 };
const AT = Date.parse("2026-01-01T00:00:00.000Z");

function at(ms: number): string {
  return new Date(AT + ms).toISOString();
}

function traced(more: Partial<Trace>): Trace {
  const totals = { steps: 1, tools: 1, failedTools: 0, ms: 900, modelMs: 300, usage: USAGE, cost: 0 };
  const tool = {
    name: "read",
    arguments: "{}",
    startedAt: at(300),
    endedAt: at(500),
    ms: 200,
    isError: true,
    child: null,
  };
  const step = {
    step: 1,
    seq: 3,
    model: "m",
    startedAt: at(0),
    endedAt: at(300),
    ms: 300,
    usage: USAGE,
    cost: 0,
    stopReason: "toolUse",
    text: "",
    tools: [tool],
  };
  return {
    ...{ sessionKey: "agent:main:main", turn: "t", class: null, startedAt: at(0), endedAt: at(900) },
    ...{ outcome: "done", reason: null, now: null, resumes: 0, isCut: false, steps: [step], totals },
    ...more,
  };
}

test("each step and each tool call is a line, from the beginning of the turn on", () => {
  const { lines, spanMs } = waterfallOf(traced({}), AT);
  assert.equal(spanMs, 900, "to the end of the turn");
  assert.deepEqual(
    lines.map(({ is, name, fromMs, toMs, isBad, tokens }) => [is, name, fromMs, toMs, isBad, tokens]),
    [
      ["step", "1. m", 0, 300, false, 115],
      ["tool", "read", 300, 500, true, null],
    ],
  );
});

test("a turn that runs has a line for what it does now, also by a clock that is behind", () => {
  const running = traced({ outcome: null, endedAt: null, now: "asks the model" });
  const [, , now] = waterfallOf(running, AT + 800).lines;
  assert.deepEqual([now?.is, now?.fromMs, now?.toMs, now?.isOpen], ["now", 500, 800, true]);
  assert.equal(waterfallOf(running, AT - 5_000).spanMs, 500);
});

test("a turn that was gone back into is over: nothing of it grows", () => {
  const [step] = traced({}).steps;
  const tools = (step?.tools ?? []).map((tool) => ({ ...tool, endedAt: null, ms: null, isError: null }));
  const steps = step === undefined ? [] : [{ ...step, tools }];
  const { lines, spanMs } = waterfallOf(traced({ outcome: "rewound", endedAt: null, steps }), AT + 9_000);
  assert.deepEqual(
    lines.map(({ is, isOpen, toMs }) => [is, isOpen, toMs]),
    [
      ["step", false, 300],
      ["tool", false, 300],
    ],
  );
  assert.equal(spanMs, 300);
});

test("a turn without a beginning or a step has an axis all the same", () => {
  const { lines, spanMs } = waterfallOf(traced({ startedAt: null, endedAt: null, steps: [] }), AT);
  assert.deepEqual([lines, spanMs], [[], 1]);
});

test("marks of an axis are few and round", () => {
  assert.deepEqual(ticksOf(586), [0, 500]);
  assert.deepEqual(ticksOf(4_000), [0, 2_000, 4_000]);
  for (const span of [1, 7, 999, 61_000, 86_400_000]) assert.ok(ticksOf(span).length <= 3);
});
