import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  answered,
  asked,
  call,
  compacted,
  entriesOf,
  returned,
  text,
  wordsOf,
} from "../../test/fixtures/conversation.ts";
import type { Block, Body, Message } from "../transcript/entry.ts";
import { assemble } from "./assemble.ts";
import { fitted } from "./fit.ts";
import { bytesOf } from "./weight.ts";

function shown(...bodies: readonly Body[]): Message[] {
  return assemble(entriesOf(bodies), false);
}

function weight(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + bytesOf(message), 0);
}

function steps(count: number, output: string): Body[] {
  return Array.from({ length: count }, (_, at) => [
    answered([call(`${at}`)]),
    returned(`${at}`, output),
  ]).flat();
}

/** F2. */
function assertValid(messages: readonly Message[]): void {
  const open: string[] = [];
  for (const message of messages) {
    if (message.role === "toolResult") {
      assert.equal(message.toolCallId, open.shift());
      continue;
    }
    assert.equal(open.length, 0, "the results come before anything else");
    if (message.role !== "assistant") continue;
    assert.ok(message.content.length > 0, "no answer is empty");
    open.push(...message.content.flatMap((each) => (each.type === "toolCall" ? [each.id] : [])));
  }
  assert.equal(open.length, 0);
}

test("what fits is not touched", () => {
  const messages = shown(asked("hello"), ...steps(3, "output"));
  assert.equal(fitted(messages, weight(messages)), messages);
});

test("a result that is larger than the window keeps its head and tail, and everything else is whole", () => {
  const huge = `begin ${"x".repeat(19_000_000)} end`;
  const messages = shown(
    asked("what is in it?"),
    answered([call("1", { path: "log" })]),
    returned("1", huge),
  );
  const fit = fitted(messages, 30_000);
  assert.deepEqual(fit.slice(0, 2), messages.slice(0, 2));
  const [result] = fit.slice(2);
  assert.ok(result);
  assert.match(wordsOf(result), /^begin x+\[… \d+ bytes left out to fit the model's window …\]x+ end$/);
  assert.ok(weight(fit) <= 30_000 && weight(fit) > 29_000, "no more is left out than must be");
});

test("the longest are cut first: what is short stays whole beside them", () => {
  const messages = shown(asked("go"), ...steps(3, "short".repeat(100)), ...steps(3, "long".repeat(20_000)));
  const fit = fitted(messages, 60_000);
  assert.equal(fit.length, messages.length);
  assert.deepEqual(fit.slice(0, 7), messages.slice(0, 7));
});

test("when cutting is not enough the oldest exchanges go, and that is said in their place", () => {
  const messages = shown(
    asked("one"),
    ...steps(200, "output ".repeat(20)),
    asked("two"),
    ...steps(2, "newest"),
  );
  const fit = fitted(messages, 10_000);
  assertValid(fit);
  assert.ok(weight(fit) <= 10_000);
  const [first] = fit;
  assert.match(first ? wordsOf(first) : "", /^\[… \d+ messages left out to fit the model's window …\]$/);
  assert.deepEqual(fit.slice(-5), messages.slice(-5));
});

test("the newest question stays while what came after it goes, and so does a summary", () => {
  const messages = shown(
    asked("old"),
    compacted("so far", ""),
    asked("the task"),
    ...steps(300, "output ".repeat(30)),
  );
  const fit = fitted(messages, 8_000);
  assertValid(fit);
  assert.deepEqual(fit.slice(0, 2), messages.slice(0, 2));
  assert.match(fit[2] ? wordsOf(fit[2]) : "", /messages left out/);
  assert.deepEqual(fit.at(-1), messages.at(-1));
});

test("long arguments keep their names, and are left out only when they cannot be cut", () => {
  const given = { path: "notes.md", content: "line\n".repeat(10_000), more: [{ old: "o".repeat(9_000) }] };
  const odd = { numbers: Array.from({ length: 20_000 }, (_, at) => at) };
  const messages = shown(
    asked("go"),
    answered([call("1", given), call("2", odd)]),
    returned("1", "ok"),
    returned("2", "ok"),
  );
  const [, answer] = fitted(messages, 6_000);
  assert.ok(answer?.role === "assistant");
  const [first, second] = answer.content as readonly Extract<Block, { type: "toolCall" }>[];
  assert.deepEqual(Object.keys(first?.arguments ?? {}), ["path", "content", "more"]);
  assert.equal(first?.arguments["path"], "notes.md");
  assert.match(JSON.stringify(second?.arguments), /^\{"left_out":"\[… \d+ bytes left out .*"\}$/);
});

test("signatures do not stay with what was cut, and an answer of thoughts alone does not become empty", () => {
  const long = "thought ".repeat(5_000);
  const thought: Block = { type: "thinking", thinking: long, thinkingSignature: "s" };
  const signed: Block = { type: "text", text: long, textSignature: "s" };
  const fit = fitted(
    shown(asked("go"), answered([thought]), answered([thought, signed]), asked("on")),
    5_000,
  );
  assertValid(fit);
  assert.ok(!JSON.stringify(fit).includes("Signature"));
  assert.match(fit[1] ? wordsOf(fit[1]) : "", /^\[… 40000 bytes left out/);
});

// ── Any messages, any room ──────────────────────────────────────────────────────────────────────────────────

const blob = { sha256: "a".repeat(64), bytes: 9_000 };
const piece = fc.constantFrom("a", "é", "語", "🙂", "\n", '"', "[[sessiond end]]");
const long = fc.tuple(piece, fc.oneof(fc.nat(20), fc.nat(5_000))).map(([each, times]) => each.repeat(times));
const said: fc.Arbitrary<Block> = fc.oneof(
  { weight: 4, arbitrary: long.map(text) },
  fc.constant({ ...text("[a picture]"), blob, mimeType: "image/png" } as Block),
  fc.constant<Block>({ type: "image", data: "AAAA", mimeType: "image/png" }),
);
const spoken: fc.Arbitrary<Block> = fc.oneof(
  long.map(text),
  long.map((thinking): Block => ({ type: "thinking", thinking, thinkingSignature: "s" })),
  fc
    .tuple(fc.constantFrom("1", "2", "3"), fc.jsonValue(), long)
    .map(([id, value, each]) => call(id, { value, each })),
);
const body: fc.Arbitrary<Body> = fc.oneof(
  { weight: 3, arbitrary: fc.oneof(long, fc.array(said, { maxLength: 12 })).map(asked) },
  { weight: 4, arbitrary: fc.array(spoken, { maxLength: 5 }).map((blocks) => answered(blocks)) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom("1", "2", "3"), fc.array(said, { maxLength: 3 }))
      .map(([id, blocks]) => returned(id, blocks)),
  },
  long.map((summary) => compacted(summary, "e-3")),
);
const room = fc.oneof(fc.integer({ min: 2_000, max: 4_000 }), fc.integer({ min: 2_000, max: 100_000 }));

/** The first text of a message that stands for no picture. */
function questionIn({ content }: Message): string {
  if (typeof content === "string") return content;
  const first = content.find((block) => block.type === "text" && !("mimeType" in block));
  return first?.type === "text" ? first.text : "";
}

test("F1, F2, F3, F5: whatever there is, it fits, is valid, and has the newest question; and once is enough", () => {
  let dropped = 0;
  fc.assert(
    fc.property(fc.array(body, { maxLength: 60 }), room, (bodies, bytes) => {
      const messages = shown(...bodies);
      const fit = fitted(messages, bytes);
      assert.ok(weight(fit) <= bytes, `${weight(fit)} bytes, not ${bytes}`);
      assertValid(fit);
      assert.equal(fitted(fit, bytes), fit);
      assert.ok(JSON.stringify(fit).isWellFormed() && !JSON.stringify(fit).includes("\ufffd"), "F5");
      const again = fitted(JSON.parse(JSON.stringify(messages)) as Message[], bytes);
      assert.equal(JSON.stringify(again), JSON.stringify(fit));
      if (fit.some((message) => /messages left out/.test(wordsOf(message)))) dropped += 1;
      const newest = messages.findLast(({ role }) => role === "user");
      if (newest === undefined) return;
      const head = questionIn(newest)
        .slice(0, 20)
        .replace(/[\ud800-\udbff]$/, "");
      assert.ok(
        fit.some((message) => message.role === "user" && wordsOf(message).includes(head)),
        head,
      );
    }),
    { numRuns: 600 },
  );
  assert.ok(dropped > 20, "there was something to leave out");
});
