import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as fc from "fast-check";
import { DEFAULT_AGENT, mainKey } from "../routing/key.ts";
import { afterBeatId } from "../mail/beat.ts";
import { reportId } from "../mail/task.ts";
import type { Block, Body, Entry } from "../transcript/entry.ts";
import { aboutOf, beginsAnew, itemOf, sayerOf, type Item } from "./told.ts";

const AT = "2026-01-01T00:00:00.000Z";
const KEY = mainKey(DEFAULT_AGENT);

function entry(body: Body, timestamp = AT): Entry {
  return { ...body, id: "e-7", parentId: "e-6", seq: 7, timestamp };
}

/** Without its number and its time. */
function told(body: Body): Omit<Item, "seq" | "atMs"> {
  const { seq: _seq, atMs: _atMs, ...rest } = itemOf(entry(body));
  return rest;
}

function note(what: string, data: object = {}): Body {
  return { type: "custom", customType: `sessiond/${what}`, data };
}

function wrote(
  content: string | readonly Block[],
  of: Partial<Extract<Body, { type: "message" }>> = {},
): Body {
  return { type: "message", message: { role: "user", content, timestamp: 0 }, ...of };
}

test("what a page is made of needs nothing of Node, however deep it imports", () => {
  const seen = new Set<string>();
  const wanted = [new URL("told.ts", import.meta.url)];
  for (let at = wanted.pop(); at !== undefined; at = wanted.pop()) {
    if (seen.has(at.href)) continue;
    seen.add(at.href);
    const code = readFileSync(at, "utf8");
    assert.ok(!/\b(?:Buffer|process|require)\b[.(]/.test(code), at.pathname);
    for (const [, isType, target = ""] of code.matchAll(
      /^(?:import|export) (type )?[^;]*?from "([^"]+)";/gm,
    )) {
      if (isType !== undefined) continue;
      assert.match(target, /^\.\.?\//, `${at.pathname} imports ${target}`);
      wanted.push(new URL(target, at));
    }
  }
  assert.ok(seen.size > 4, "it was looked at what is imported");
});

test("an entry says when it was, and one without a time that it was never", () => {
  const { seq, atMs } = itemOf(entry(wrote("x")));
  assert.deepEqual([seq, atMs], [7, Date.parse(AT)]);
  assert.equal(itemOf(entry(wrote("x"), "yesterday")).atMs, 0);
});

test("a letter says who wrote it; one of a person here has no name", () => {
  const letter = { what: "letter", mailId: null, text: "hi" };
  assert.deepEqual(told(wrote("hi")), { ...letter, from: "you", isPerson: true });
  const who = { kind: "external_user", channel: "web", peer: "ann" } as const;
  assert.deepEqual(told(wrote("hi", { provenance: who })), { ...letter, from: "web:ann", isPerson: false });
  const another = { kind: "inter_session", source: KEY, tool: null } as const;
  assert.deepEqual(told(wrote("hi", { provenance: another })), { ...letter, from: KEY, isPerson: false });
  const image: Block = { type: "image", data: "", mimeType: "image/png" };
  const shown = told(wrote([{ type: "text", text: "look" }, image, image]));
  assert.deepEqual(shown, { ...letter, from: "you", isPerson: true, text: "look [2 pictures]" });
});

test("an alert says what was found, not what is to be done about it", () => {
  const mailId = afterBeatId("main", "1", "alert");
  const item = itemOf(entry(wrote("Do this.\n\nThe disk is full.\n\nBoth.", { mailId })));
  assert.ok(item.what === "letter" && item.text === "The disk is full.\n\nBoth.");
});

test("a report says how the task ended and what it took", () => {
  const provenance = { kind: "inter_session", source: KEY, tool: "report" } as const;
  const report = (text: string): Omit<Item, "seq" | "atMs"> =>
    told(wrote(text, { provenance, mailId: reportId("t-1") }));
  const of = { child: KEY, task: "t-1" };
  const done = "Report of x (task t-1): done\n2.5 s · 100 tokens in, 20 out\n\nAll well.";
  assert.deepEqual(report(done), {
    what: "report",
    report: { ...of, ended: "done", isGood: true, seconds: 2.5, tokens: 120 },
    text: done,
  });
  const odd = "done, I say";
  assert.deepEqual(report(odd), {
    what: "report",
    report: { ...of, ended: "has ended", isGood: false, seconds: null, tokens: null },
    text: odd,
  });
});

test("an answer names the tools it calls, and one that failed says why", () => {
  const by = { api: "a", provider: "p", model: "m", timestamp: 0 };
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const content: Block[] = [
    { type: "text", text: "I look." },
    { type: "toolCall", id: "c", name: "exec", arguments: { command: "ls\n -la", wait: true } },
  ];
  const answer = (stopReason: string, errorMessage?: string): Omit<Item, "seq" | "atMs"> =>
    told({
      type: "message",
      message: {
        role: "assistant",
        content,
        usage,
        stopReason,
        ...by,
        ...(errorMessage ? { errorMessage } : {}),
      },
    } as Body);
  const calls = [
    { id: "c", name: "exec", about: "command=ls -la wait=true", given: { command: "ls\n -la", wait: true } },
  ];
  const said = { what: "answer", text: "I look.", model: "p/m", calls };
  assert.deepEqual(answer("toolUse"), { ...said, trouble: null });
  assert.deepEqual(answer("error", "it is full"), { ...said, trouble: "it is full" });
  assert.deepEqual(answer("error"), { ...said, trouble: "the model failed" });
  assert.equal(aboutOf({ path: "a  b" }), "a b");
});

test("the result of a spawn says to whom a task was given; one that failed gave none", () => {
  const result = (tool: string, isError: boolean, details: unknown): Omit<Item, "seq" | "atMs"> =>
    told({
      type: "message",
      message: {
        role: "toolResult",
        toolCallId: "c",
        toolName: tool,
        content: [{ type: "text", text: "ok" }],
        isError,
        details,
        timestamp: 0,
      },
    } as Body);
  const details = { spawned: { key: KEY, task: "t-1" } };
  const of = { what: "result", id: "c", name: "sessions_spawn", isError: false, text: "ok" };
  assert.deepEqual(result("sessions_spawn", false, details), {
    ...of,
    spawned: { key: KEY, task: "t-1", isTold: true },
  });
  assert.deepEqual(result("sessions_spawn", true, details), { ...of, isError: true, spawned: null });
  assert.deepEqual(result("exec", false, details), { ...of, name: "exec", spawned: null });
});

test("notes are told in words, and bookkeeping is not told", () => {
  assert.deepEqual(told(note("turn-started", { turn: "t" })), { what: "began", turn: "t" });
  assert.deepEqual(told(note("turn-ended", { outcome: "done" })), {
    what: "ended",
    outcome: "done",
    reason: null,
  });
  assert.deepEqual(told(note("rewound", { to: 4, from: 9 })), {
    what: "note",
    text: "went back to #4, from #9",
  });
  assert.deepEqual(told(note("generation", { title: "" })), { what: "note", text: "a new conversation" });
  assert.deepEqual(told(note("generation", { title: "x" })), { what: "nothing" });
  assert.deepEqual(told(note("of another program")), { what: "nothing" });
  assert.ok(beginsAnew(entry(note("generation", { title: "" }))));
  assert.ok(!beginsAnew(entry(note("generation", { title: "x" }))));
  assert.deepEqual(told(wrote("to its memory", { silent: true })), { what: "silent" });
});

test("whatever others wrote into an entry, something can be said of it", () => {
  const type = fc.constantFrom("message", "custom", "custom_message", "compaction", "x");
  const role = fc.constantFrom("user", "assistant", "toolResult", "x");
  const what = fc
    .constantFrom("turn-ended", "rewound", "pruned", "generation")
    .map((each) => `sessiond/${each}`);
  const any = fc.anything();
  const message = fc.record({ role, content: fc.oneof(any, fc.array(any)), details: any });
  const body = fc.record({
    type,
    message,
    data: any,
    customType: what,
    details: any,
    content: any,
    summary: any,
  });
  const property = fc.property(body, (each) => {
    assert.equal(itemOf(entry(each as unknown as Body)).seq, 7);
  });
  fc.assert(property);
});

test("who said what was found is a word or two, or none where its entry cannot be read", () => {
  const said = (kind: string | null, from: string | null = null): string => sayerOf({ kind, from });
  assert.deepEqual(
    [said("user"), said("user", "a person"), said("user", "telegram:ann"), said("user", KEY)],
    ["you", "you", "telegram:ann", KEY],
  );
  assert.deepEqual(
    [said("assistant"), said("toolResult", "exec"), said("toolResult"), said("compaction")],
    ["the model", "result of exec", "a tool", "a summary"],
  );
  assert.deepEqual([said("custom_message"), said(null)], ["sessiond", ""]);
});
