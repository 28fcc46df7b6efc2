import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import { z } from "zod";
import { calls, Step, textIn, tool } from "../../test/fixtures/step.ts";
import { TOOL_OUTPUT_BYTES_MAX, TOOLS_PARALLEL_MAX } from "../limits.ts";
import { DEFAULT_AGENT, namedKey } from "../routing/key.ts";
import type { Change } from "../store/change.ts";
import type { Spilled } from "../transcript/entry.ts";
import { settleLeft } from "./left.ts";
import { Stopped } from "./stop.ts";
import { runCalls } from "./toolcalls.ts";

const circular: unknown[] = [];
circular.push(circular);

const FAILING: Readonly<Record<string, () => unknown>> = {
  "throws at once": () => {
    throw new Error("broken");
  },
  "throws later": () => Promise.reject(new Error("broken")),
  "throws null": () => Promise.reject(null),
  "throws a symbol": () => Promise.reject(Symbol("s")),
  "throws what has no words": () => Promise.reject(Object.create(null)),
  "throws an Error without a message": () =>
    Promise.reject(Object.assign(new Error(), { message: undefined })),
  "throws a very long reason": () => Promise.reject(new Error("x".repeat(1_000_000))),
  "returns undefined": () => undefined,
  "returns null": () => null,
  "returns a number": () => 7,
  "returns an object": () => ({}),
  "returns a number as content": () => ({ content: 7 }),
  "returns null as a block": () => ({ content: [null] }),
  "returns a number as a block": () => ({ content: [7] }),
  "returns undefined as a block": () => ({ content: [undefined] }),
  "returns a text block without a text": () => ({ content: [{ type: "text" }] }),
  "returns a picture without data": () => ({ content: [{ type: "image", mimeType: "image/png" }] }),
  "returns a call": () => ({ content: calls("again") }),
  "returns circular details": () => ({ content: "text", details: circular }),
  "returns circular details beside blocks": () => ({
    content: [{ type: "text", text: "t" }],
    details: circular,
  }),
  "returns a bigint in its details": () => ({ content: "text", details: { a: 1n } }),
  "returns a bigint in a block": () => ({ content: [{ type: "text", text: "t", a: 1n }] }),
  "returns changes that are no list": () => ({ content: "text", changes: {} }),
  "returns changes that are none": () => ({ content: "text", changes: [null, 7] }),
  "has a getter that throws": () => ({
    get content(): string {
      throw new Error("broken");
    },
  }),
};

for (const [what, run] of Object.entries(FAILING)) {
  test(`a tool that ${what} ends in a result that says it failed`, async () => {
    const result = await new Step().result(tool("t", run));
    assert.equal(result.isError, true);
    assert.match(textIn(result), /^t failed: ./);
  });
}

test("a tool that never returns is given up after its time, and hears so", async () => {
  const step = new Step();
  let heard: unknown = null;
  const never = tool("t", ({ signal }) => {
    signal.addEventListener("abort", () => (heard = signal.reason));
    return new Promise(() => {});
  });
  const running = step.result(never);
  await settle();
  assert.equal(step.world.step(), true);
  assert.match(textIn(await running), /took longer than 60 s/);
  assert.ok(heard instanceof Error);
  assert.equal(step.world.step(), false, "no alarm is left");
});

test("a tool that is not there, or is called with wrong arguments, is not run, and the model is told why", async () => {
  let ran = 0;
  const strict = tool("strict", () => (ran += 1), { input: z.object({ name: z.string() }) });
  const step = new Step();
  await runCalls(await step.parts(strict), 1, calls("strict", `x${"\ud800".repeat(500)}`));
  const [wrong, unknown] = await step.results();
  assert.match(textIn(wrong), /The arguments of strict are wrong: name: /);
  assert.match(textIn(unknown), /There is no tool .* You have: strict/);
  assert.deepEqual([wrong?.isError, unknown?.isError, ran], [true, true, 0]);
});

test("a tool whose form throws ends in a result too", async () => {
  const input = z.any().transform(() => {
    throw new Error("bad form");
  });
  assert.match(textIn(await new Step().result(tool("t", () => "text", { input }))), /t failed: bad form/);
});

test("what a tool returns is kept whole in a blob, and cut where it is longer than anyone keeps", async () => {
  const step = new Step();
  const large = await step.result(tool("t", () => "x".repeat(50 * 1024 * 1024)));
  assert.equal(large.isError, false);
  assert.equal(large.content[0]?.blob?.bytes, 50 * 1024 * 1024);
  const cut = await new Step().result(tool("t", () => "x".repeat(TOOL_OUTPUT_BYTES_MAX + 7)));
  assert.match(textIn(cut), /\[cut: 7 more characters are not kept\]$/);
});

test("a tool names no blob: what it says was spilled is taken for what it is, and is spilled when it is long", async () => {
  const blob = { sha256: "a".repeat(64), bytes: 1 };
  const long = "x".repeat(1_000_000);
  const content = [
    { type: "text", text: "short", blob },
    { type: "text", text: "a picture of another", mimeType: "image/png", blob },
    { type: "image", data: "aGk=", mimeType: "image/png", blob },
    { type: "text", text: long, blob },
  ];
  const result = await new Step().result(tool("t", () => ({ content, details: { spilled: "head", blob } })));
  assert.deepEqual(
    result.content.map((block) => block.blob?.bytes),
    [undefined, undefined, undefined, long.length],
  );
  assert.deepEqual(result.details, { spilled: "head" });
  assert.ok(!JSON.stringify(result).includes(blob.sha256));
  const other = await new Step().result(
    tool("t", () => ({ content: "text", details: { spilled: long, blob } })),
  );
  assert.ok(!JSON.stringify(other.details).includes(blob.sha256));
  assert.equal((other.details as Spilled).blob.bytes, JSON.stringify({ spilled: long }).length);
});

test("ten thousand blocks, and details of any size, fit an entry", async () => {
  const content = Array.from({ length: 10_000 }, (_, n) => ({ type: "text", text: `block ${n}` }));
  const details = { all: "x".repeat(1_000_000) };
  const result = await new Step().result(tool("t", () => ({ content, details })));
  assert.equal(result.isError, false);
  assert.match(textIn(result), /more blocks, a JSON list/);
  const none = await new Step().result(tool("t", () => ({ content: "text", details: () => 1 })));
  assert.equal("details" in none, false, "what JSON says nothing of is left out");
});

test("halves of characters become whole ones", async () => {
  const whole = await new Step().result(tool("t", () => "a\ud800b"));
  assert.equal(textIn(whole), "a\ufffdb");
  const inBlock = await new Step().result(
    tool("t", () => ({ content: [{ type: "text", text: "a\udc00b" }] })),
  );
  assert.equal(textIn(inBlock), "a\ufffdb");
});

test("so many tools run at once, and each call gets its own result", async () => {
  const step = new Step();
  let atOnce = 0;
  let most = 0;
  const slow = tool("t", async ({ cause }) => {
    most = Math.max(most, (atOnce += 1));
    await settle();
    atOnce -= 1;
    return cause;
  });
  await runCalls(await step.parts(slow), 5, calls(...Array.from({ length: 30 }, () => "t")));
  assert.equal(most, TOOLS_PARALLEL_MAX);
  const results = await step.results();
  assert.equal(results.length, 30);
  for (const result of results) assert.ok(textIn(result).endsWith(`:5:${result.toolCallId}`));
  assert.equal((await step.at.row(step.key)).usage.toolCalls, 30);
  assert.equal(step.world.step(), false, "no alarm is left");
});

test("T2: what a tool did to the store is there with its result", async () => {
  const step = new Step();
  const posting = step.at.posting(step.key, "to itself");
  const result = await step.result(tool("t", () => ({ content: "posted", changes: [posting] })));
  assert.equal(result.isError, false);
  assert.deepEqual(await step.at.waiting(step.key), ["to itself"]);
});

test("T2: what the store refuses becomes the result, and nothing of it has happened", async () => {
  const refused: readonly ((step: Step) => Change)[] = [
    (step) => step.at.posting(namedKey(DEFAULT_AGENT, "nobody"), "lost"),
    (step) => ({ do: "set", key: step.key, version: 99, settings: { label: "x" } }),
    (step) => ({ do: "settle", id: step.at.id("nothing"), refused: null }),
  ];
  for (const change of refused) {
    const step = new Step();
    const posting = step.at.posting(step.key, "to itself");
    const changes = [posting, change(step)];
    const result = await step.result(tool("t", () => ({ content: "done", changes })));
    assert.equal(result.isError, true);
    assert.match(textIn(result), /^t failed: /);
    assert.deepEqual(await step.at.mail(step.key), []);
  }
});

test("that the session is somebody else's now is no result, and no runner begins another call", async () => {
  const step = new Step();
  let ran = 0;
  const parts = await step.parts(tool("t", () => `run ${(ran += 1)}`));
  await step.at.post(step.key, "work");
  await step.at.claim("other");
  await assert.rejects(runCalls(parts, 1, calls(...Array.from({ length: 50 }, () => "t"))), {
    code: "stale_writer",
  });
  assert.ok(ran <= TOOLS_PARALLEL_MAX, `${ran} ran`);
  assert.deepEqual(await step.results(), []);
});

test("T3: a stop gives up what runs, and what has not begun is never begun; each gets a result", async () => {
  const step = new Step();
  let ran = 0;
  const endless = tool("t", () => {
    ran += 1;
    return new Promise(() => {});
  });
  const running = runCalls(await step.parts(endless), 1, calls(...Array.from({ length: 20 }, () => "t")));
  await settle();
  step.stop.abort(new Stopped({ kind: "aborted", why: "a person said so" }));
  await running;
  const texts = (await step.results()).map(textIn);
  assert.equal(ran, TOOLS_PARALLEL_MAX);
  const unknown =
    "t was given up: a person said so. It may or may not have taken effect: check before you repeat it.";
  assert.equal(texts.filter((text) => text === unknown).length, TOOLS_PARALLEL_MAX);
  assert.equal(texts.filter((text) => text === "It was not run: a person said so.").length, 12);
});

test("T3: when a person steers, what has not begun is not begun", async () => {
  const step = new Step();
  const steers = tool("t", () => {
    step.isSteered = true;
    return "ran";
  });
  await runCalls(await step.parts(steers), 1, calls("t", "t"));
  assert.deepEqual((await step.results()).map(textIn).toSorted().toReversed(), [
    "ran",
    "It was not run: a new message came in. Read it first.",
  ]);
});

test("whoever leaves begins nothing, waits for what runs, and writes nothing of what it gave up", async () => {
  const step = new Step();
  const { promise, resolve } = Promise.withResolvers<string>();
  let begun = 0;
  const endless = tool("endless", () => {
    begun += 1;
    return new Promise(() => {});
  });
  const parts = await step.parts(
    tool("t", () => promise),
    endless,
  );
  const stop = new Stopped({ kind: "leaving", why: "the gateway stops" });
  const many = ["t", ...Array.from({ length: 20 }, () => "endless")];
  const running = runCalls(parts, 1, calls(...many));
  await settle();
  step.leaving.abort(stop);
  resolve("done");
  await settle();
  assert.deepEqual((await step.results()).map(textIn), ["done"]);
  assert.equal(begun, TOOLS_PARALLEL_MAX - 1);
  step.stop.abort(stop);
  await assert.rejects(running, stop);
  assert.equal((await step.results()).length, 1);
});

test("in a turn that somebody has stopped every call has a result, also when the gateway stops just then", async () => {
  const step = new Step();
  const parts = await step.parts(
    tool("t", () => "ran"),
    tool("d", () => "ran", { delegates: true }),
  );
  step.stop.abort(new Stopped({ kind: "aborted", why: "a person stopped it" }));
  step.leaving.abort(new Stopped({ kind: "leaving", why: "the gateway stops" }));
  await runCalls(parts, 1, calls("t", "d"));
  const results = (await step.results()).map(textIn);
  assert.deepEqual(
    results,
    Array.from({ length: 2 }, () => "It was not run: a person stopped it."),
  );
});

test("of calls that a dead process left, only those that are safe run again, with all of their arguments", async () => {
  const step = new Step();
  const given: unknown[] = [];
  const safe = tool("safe", () => "ran", {
    replay: "safe",
    run: async (input) => {
      given.push(input);
      return "ran";
    },
  });
  const parts = await step.parts(
    safe,
    tool("never", () => "ran"),
  );
  const whole = { text: "x".repeat(300_000) };
  const blob = await step.at.store.putBlob(Buffer.from(JSON.stringify(whole)));
  const [one, two, three] = calls("safe", "never", "gone");
  assert.ok(one && two && three);
  const left = [{ ...one, arguments: { spilled: "head" }, blob }, two, three];
  await settleLeft(parts, { seq: 1, calls: left }, step.at.store);
  assert.deepEqual(given, [whole]);
  const results = new Map((await step.results()).map((result) => [result.toolCallId, result]));
  assert.equal(textIn(results.get("c0")), "ran");
  for (const id of ["c1", "c2"]) assert.match(textIn(results.get(id)), /may or may not have taken effect/);
});

test("a key of the configuration that a tool returns is not written down, wherever it stands", async () => {
  const blocks = [{ type: "text", text: "one sk-secret" }];
  const told = await new Step().result(
    tool("t", () => ({ content: blocks, details: { deep: ["sk-secret", { more: "x sk-secret y" }] } })),
  );
  assert.equal(textIn(told), "one [secret]");
  assert.deepEqual(told.details, { deep: ["[secret]", { more: "x [secret] y" }] });
});
