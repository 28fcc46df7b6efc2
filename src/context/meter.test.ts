import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import {
  answered,
  asked,
  call,
  compacted,
  entriesOf,
  returned,
  text,
} from "../../test/fixtures/conversation.ts";
import type { Block, Body, Entry } from "../transcript/entry.ts";
import { FileSource } from "../transcript/lines.ts";
import { readForward } from "../transcript/read.ts";
import { assemble } from "./assemble.ts";
import { bytesOf, cutNote, meter, type Frame } from "./meter.ts";
import { prunePlan } from "./prune.ts";

const FRAME: Frame = { system: 2_000, tools: 1_000 };
const SPEAKER = { provider: "p", name: "m" };

function bytesIn(entries: readonly Entry[]): number {
  return assemble(entries, false).reduce((sum, message) => sum + bytesOf(message), 0);
}

/** A conversation with a model that counts so many tokens for a byte, and reports it after each step. */
function conversation(steps: number, perByte: number, before: readonly Entry[] = []): Entry[] {
  let entries = [...before];
  const say = (...bodies: readonly Body[]): void => {
    entries = [...entries, ...entriesOf(bodies, entries.length)];
  };
  say(asked("go"));
  for (let step = 0; step < steps; step += 1) {
    const id = `${before.length}-${step}`;
    say(answered([text("let me see"), call(id)], counted(entries, perByte)));
    say(returned(id, "output ".repeat(50 + step * 40)));
  }
  return entries;
}

function counted(entries: readonly Entry[], perByte: number): number {
  return Math.round((FRAME.system + FRAME.tools + bytesIn(entries)) * perByte);
}

function isNear(actual: number, expected: number): void {
  assert.ok(Math.abs(actual / expected - 1) < 0.02, `${actual} is not about ${expected}`);
}

test("a model that has reported nothing is estimated from bytes, parts and all", () => {
  const entries = entriesOf([
    asked("x".repeat(700)),
    answered([call("1")]),
    returned("1", "y".repeat(3_500)),
  ]);
  const { tokens, parts } = meter(entries, { system: 350, tools: 35 }, SPEAKER, false);
  assert.equal(parts.system, 100);
  assert.equal(parts.tools, 10);
  assert.ok(parts.toolResults > 1_000 && parts.toolResults < 1_100);
  assert.ok(parts.messages > 200 && parts.messages < 300);
  assert.equal(parts.system + parts.tools + parts.summary + parts.messages + parts.toolResults, tokens);
});

test("what a model reports is what is read, and it teaches how many bytes a token of it is", () => {
  for (const perByte of [0.12, 0.25, 0.5]) {
    const entries = conversation(12, perByte);
    const reading = meter(entries, FRAME, SPEAKER, false);
    isNear(reading.tokensPerByte, perByte);
    isNear(reading.tokens, counted(entries, perByte));
  }
});

test("M2: reports of another model, and those that cannot be true, are not believed", () => {
  const entries = conversation(12, 0.2);
  const { tokens } = meter(entries, FRAME, SPEAKER, false);
  const other = meter(entries, FRAME, { provider: "p", name: "other" }, false);
  isNear(other.tokensPerByte, 1 / 3.5);
  const usages: unknown[] = [
    undefined,
    null,
    "many",
    {},
    { input: "900" },
    { input: Number.NaN },
    { input: Infinity },
    { input: -5, cacheRead: 10_000 },
    { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    { input: 1 },
    { input: 1e12 },
  ];
  for (const usage of usages) {
    const odd = answered([text("x")]) as Extract<Body, { type: "message" }>;
    const body = { ...odd, message: { ...odd.message, usage } } as Body;
    const reading = meter([...entries, ...entriesOf([body], entries.length)], FRAME, SPEAKER, false);
    assert.ok(reading.tokens >= tokens && reading.tokens < tokens + 10, JSON.stringify(usage));
  }
});

test("a model that does not count its tools is believed, and what comes after is not underestimated for it", () => {
  const frame = { system: 400, tools: 40_000 };
  const entries = entriesOf([
    asked("hello there"),
    answered([call("1")], 103),
    returned("1", "y".repeat(20_000)),
  ]);
  const { tokens } = meter(entries, frame, SPEAKER, false);
  assert.ok(tokens > 103 + 20_000 / 10 && tokens < 103 + 20_000 / 3, `${tokens}`);
});

test("what was pruned after the last report is not there any more", () => {
  const entries = conversation(20, 0.3);
  const note = prunePlan(entries, { fresh: 500, batch: 100 }, 0.3);
  assert.ok(note);
  const less = [...entries, ...entriesOf([note], entries.length)];
  const [before, after] = [entries, less].map((each) => meter(each, FRAME, SPEAKER, false));
  assert.ok(before && after && after.tokens < before.tokens / 2);
  isNear(after.tokens, counted(less, 0.3));
  const later = conversation(5, 0.3, less);
  isNear(meter(later, FRAME, SPEAKER, false).tokens, counted(later, 0.3));
  isNear(meter(later, FRAME, SPEAKER, false).tokensPerByte, 0.3);
});

test("M3: after a compaction the rest is estimated as the model counts, until it reports again", () => {
  const entries = conversation(20, 0.2);
  const summary = compacted("what was done. ".repeat(100), entries[20]?.id ?? "");
  const less = [...entries, ...entriesOf([summary], entries.length)];
  const reading = meter(less, FRAME, SPEAKER, false);
  isNear(reading.tokens, counted(less, reading.tokensPerByte));
  assert.ok(Math.abs(reading.tokensPerByte / 0.2 - 1) < 0.1, "what it kept still says how it counts");
  assert.ok(reading.parts.summary > 250 && reading.parts.summary < 450);
  const later = conversation(5, 0.2, less);
  isNear(meter(later, FRAME, SPEAKER, false).tokens, counted(later, 0.2));
  const window = later.slice(20);
  assert.deepEqual(meter(window, FRAME, SPEAKER, false), meter(later, FRAME, SPEAKER, false), "M1");
});

test("M4: an answer to messages that were cut says how the model counts, and not that this is all", () => {
  const entries = conversation(5, 0.25);
  const bodies = [asked("x".repeat(150_000)), cutNote(20_000), answered([text("ok")], 23_000 / 4)];
  const cut = [...entries, ...entriesOf(bodies, entries.length)];
  for (const all of [cut, conversation(5, 0.25, cut.slice(0, -3))]) {
    isNear(meter(all, FRAME, SPEAKER, false).tokensPerByte, 0.25);
    isNear(meter(all, FRAME, SPEAKER, false).tokens, counted(all, 0.25));
  }
});

const junk = fc.constantFrom<unknown[]>(
  null,
  undefined,
  7,
  "words",
  {},
  [null],
  [7],
  [{}],
  [{ type: "toolCall" }],
);
const odd: fc.Arbitrary<Body> = fc.oneof(
  fc.tuple(fc.constantFrom("user", "assistant", "toolResult", "custom"), junk, fc.double()).map(
    ([role, content, input]) =>
      ({
        type: "message",
        message: { role, content, toolCallId: "1", provider: "p", model: "m", usage: { input } },
      }) as unknown as Body,
  ),
  fc.nat(10_000).map((input) => answered([call("1"), text("words")], input)),
  fc.nat(3_000).map((length) => returned("1", "r".repeat(length))),
  fc.nat(20).map((seq) => compacted("so far", `e-${seq}`)),
  fc.nat(20).map((seq): Body => ({
    type: "custom",
    customType: "sessiond/pruned",
    data: { through: `e-${seq}`, except: [`e-${seq - 1}`] },
  })),
);

test("whatever a file holds, a reading is a whole number whose parts add up, and the same after a restart", () => {
  fc.assert(
    fc.property(fc.array(odd, { maxLength: 30 }), fc.nat(5_000), (bodies, system) => {
      const entries = entriesOf(bodies);
      const { tokens, parts, tokensPerByte } = meter(entries, { system, tools: 0 }, SPEAKER, false);
      assert.ok(Number.isSafeInteger(tokens) && tokens >= 0);
      const all = Object.values(parts);
      for (const part of all) assert.ok(Number.isSafeInteger(part) && part >= 0);
      assert.equal(
        all.reduce((sum, part) => sum + part, 0),
        tokens,
      );
      assert.ok(tokensPerByte >= 1 / 50 && tokensPerByte <= 1);
      const again = JSON.parse(JSON.stringify(entries)) as Entry[];
      assert.equal(meter(again, { system, tools: 0 }, SPEAKER, false).tokens, tokens);
    }),
    { numRuns: 500 },
  );
});

test("a picture weighs the same whether its words or its bytes stand for it", () => {
  const blob = { sha256: "a".repeat(64), bytes: 900_000 };
  const words = { type: "text", text: "[a picture]", blob, mimeType: "image/png" } as Block;
  const picture: Block = { type: "image", data: "A".repeat(1_200_000), mimeType: "image/png" };
  const [one, other] = [words, picture].map((block) =>
    bytesOf({ role: "user", content: [block], timestamp: 0 }),
  );
  assert.equal(one, other);
});

// ── A real one ──────────────────────────────────────────────────────────────────────────────────────────────

const real = join(process.env["SESSIOND_TRANSCRIPTS"] ?? "", "pi-session-v3.jsonl");
const skip = existsSync(real) ? false : "SESSIOND_TRANSCRIPTS names no folder with the real transcript";
const CLAUDE = { provider: "anthropic", name: "claude-sonnet-4-5" };

/** What the program that wrote it put around the conversation is not known: about 1,600 tokens, says its first report. */
const REAL_FRAME: Frame = { system: 4_000, tools: 1_200 };

function readReal(t: TestContext): Entry[] {
  const source = new FileSource(real);
  t.after(() => source.close());
  return [...readForward(source, 0)].flatMap(({ item }) =>
    item.type === "session" || item.type === "gap" ? [] : [item],
  );
}

/** The index of each answer of the model in these, with the tokens of its prompt as they were reported. */
function reportsIn(entries: readonly Entry[]): { readonly at: number; readonly tokens: number }[] {
  return entries.flatMap((entry, at) => {
    if (entry.type !== "message" || entry.message.role !== "assistant") return [];
    const { input, cacheRead, cacheWrite } = entry.message.usage;
    const tokens = input + cacheRead + cacheWrite;
    return tokens > 0 && entry.message.provider === CLAUDE.provider ? [{ at, tokens }] : [];
  });
}

test(
  "real: every prompt of the second half is foretold within 1 % from what stands before it",
  { skip },
  (t) => {
    const entries = readReal(t);
    const reports = reportsIn(entries).filter(({ at }) => at >= entries.length / 2);
    assert.ok(reports.length > 200);
    for (const { at, tokens } of reports) {
      const reading = meter(entries.slice(0, at), REAL_FRAME, CLAUDE, false);
      assert.ok(
        Math.abs(reading.tokens / tokens - 1) < 0.01,
        `entry ${at}: ${reading.tokens}, not ${tokens}`,
      );
    }
  },
);

/** Its writer did not send again what was stopped half-way, and we do: without these it sent what we would. */
function resent(entries: readonly Entry[]): Entry[] {
  return entries.filter(
    (entry) =>
      entry.type !== "message" ||
      entry.message.role !== "assistant" ||
      !["aborted", "error"].includes(entry.message.stopReason),
  );
}

test(
  "real: calibrated on the first half, every prompt of the second is estimated within 5 % from its bytes alone",
  { skip },
  (t) => {
    const entries = resent(readReal(t));
    const half = Math.floor(entries.length / 2);
    const { tokensPerByte } = meter(entries.slice(0, half), REAL_FRAME, CLAUDE, false);
    for (const { at, tokens } of reportsIn(entries).filter((report) => report.at >= half)) {
      const estimate = (REAL_FRAME.system + REAL_FRAME.tools + bytesIn(entries.slice(0, at))) * tokensPerByte;
      assert.ok(Math.abs(estimate / tokens - 1) < 0.05, `entry ${at}: ${estimate}, not ${tokens}`);
    }
  },
);
