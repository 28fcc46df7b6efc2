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
import { ourCompaction, verbatim } from "../../test/fixtures/talk.ts";
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

// ── Pins ────────────────────────────────────────────────────────────────────────────────────────────────────

test("F4: pinned messages stay whole while what is older and newer than they goes", () => {
  const messages = shown(
    asked("first"),
    asked(`pinned ${"p".repeat(1_500)}`),
    ...steps(100, "output ".repeat(30)),
    answered([call("x", { path: "a" }), call("y")]),
    returned("x", `pinned too ${"q".repeat(300)}`),
    returned("y", "beside it ".repeat(500)),
    ...steps(100, "output ".repeat(30)),
    asked("newest"),
  );
  const fit = fitted(messages, 12_000, new Set(["e-2", "e-204"]));
  assertValid(fit);
  assert.ok(weight(fit) <= 12_000);
  assert.ok(fit.includes(messages[1] as Message) && fit.includes(messages[203] as Message), "both are whole");
  assert.ok(!fitted(messages, 12_000).includes(messages[1] as Message), "without the pin it goes");
});

test("F4: what is pinned beyond a quarter of the room is cut, and names its entry", () => {
  const long = (name: string): Body => asked(`${name} ${"p".repeat(9_000)}`);
  const messages = shown(long("one"), long("two"), ...steps(200, "output ".repeat(30)), asked("newest"));
  const fit = fitted(messages, 12_000, new Set(["e-1", "e-2"]));
  assertValid(fit);
  const [one, two] = fit.map(wordsOf).filter((words) => /^(one|two) /.test(words));
  assert.match(
    one ?? "",
    /^one p+\[… \d+ bytes left out to fit the model's window; entry e-1 has them …\]p+$/,
  );
  assert.match(two ?? "", /; entry e-2 has them …\]p+$/);
  assert.ok(Buffer.byteLength(`${one}${two}`) <= 3_000);
});

test("F4: pinned messages that a compaction carries stay while its other words are cut", () => {
  const entry = ourCompaction(0, {
    sections: `## Goal\n${"goal ".repeat(3_000)}`,
    pinned: [verbatim("p-1", "keep this word for word"), verbatim("p-2", "unpinned since")],
  });
  const messages = shown(entry, asked("newest"), ...steps(300, "output ".repeat(30)));
  const [summary] = fitted(messages, 10_000, new Set(["p-1"]));
  const words = summary ? wordsOf(summary) : "";
  assert.match(words, /^Summary of the conversation so far:\n## Goal\n(goal )+.*left out to fit/);
  assert.match(words, /User \(entry p-1\):\n\| keep this word for word$/);
  assert.ok(!words.includes("unpinned since"));
});

test("F4: where not even heads have room, the oldest pinned go, and that is said", () => {
  const messages = shown(
    ...Array.from({ length: 32 }, (_, at) => asked(`${at} ${"p".repeat(3_000)}`)),
    asked("newest"),
  );
  const pins = new Set(Array.from({ length: 32 }, (_, at) => `e-${at + 1}`));
  const fit = fitted(messages, 4_000, pins);
  assert.ok(weight(fit) <= 4_000);
  const words = fit.map(wordsOf).join("\n");
  assert.match(words, /\[… \d+ messages left out to fit the model's window, \d+ of them pinned …\]/);
  assert.match(words, /^31 p+\[… \d+ bytes left out to fit the model's window; entry e-32 has them …\]/m);
});

test("the newest step is shown, however short it must be: who does not see it would do it again", () => {
  const calls = ["1", "2", "3", "4"].map((id) => call(id, { text: "t".repeat(5_000) }));
  const results = ["1", "2", "3", "4"].map((id) => returned(id, "r".repeat(5_000)));
  const messages = shown(asked("go"), ...steps(100, "output ".repeat(30)), answered(calls), ...results);
  const fit = fitted(messages, 6_000);
  assertValid(fit);
  assert.ok(weight(fit) <= 6_000);
  assert.equal(fit.at(-1)?.role, "toolResult");
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

const pins = fc
  .uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 32 })
  .map((seqs): ReadonlySet<string> => new Set(seqs.map((seq) => `e-${seq}`)));

/** The first text of a message that stands for no picture. */
function questionIn({ content }: Message): string {
  if (typeof content === "string") return content;
  const first = content.find((block) => block.type === "text" && !("mimeType" in block));
  return first?.type === "text" ? first.text : "";
}

test("F1, F2, F3, F5: whatever there is, it fits, is valid, and has the newest question; and once is enough", () => {
  let dropped = 0;
  fc.assert(
    fc.property(fc.array(body, { maxLength: 60 }), room, pins, (bodies, bytes, pinned) => {
      const messages = shown(...bodies);
      const fit = fitted(messages, bytes, pinned);
      assert.ok(weight(fit) <= bytes, `${weight(fit)} bytes, not ${bytes}`);
      assertValid(fit);
      assert.equal(fitted(fit, bytes), fit);
      assert.ok(JSON.stringify(fit).isWellFormed() && !JSON.stringify(fit).includes("\ufffd"), "F5");
      const again = fitted(shown(...(JSON.parse(JSON.stringify(bodies)) as Body[])), bytes, pinned);
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
