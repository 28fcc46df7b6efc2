// The judge is what the campaign relies on: it must let pass what may be, and nothing else. Each test changes one thing of
// a story that may be: a letter from a door, a tool, a letter to another session, the answers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_AGENT, namedKey, type Body, type Entry, type Session } from "../../src/index.ts";
import { born } from "../../src/store/opened.ts";
import { judge } from "./judge.ts";
import type { Seen } from "./look.ts";
import { Reports } from "./reports.ts";
import { storyOf } from "./story.ts";
import type { Effect } from "./tools.ts";

const [ONE, OTHER] = [namedKey(DEFAULT_AGENT, "one"), namedKey(DEFAULT_AGENT, "other")];
const DOOR = { channel: "door", to: "ada", thread: null };
const BACK = { channel: "session", to: ONE, thread: null };

function row(key: typeof ONE, transcript: string, toolCalls: number): Session {
  const opening = { key, transcript, cwd: "", parent: null, settings: {} };
  const { row: opened } = born(opening, { parent: null, source: null, copied: 0, atMs: 0 });
  return { ...opened, usage: { ...opened.usage, toolCalls, output: 10 } };
}

const note = (what: string, turn: string): Body => ({
  type: "custom",
  customType: `sessiond/turn-${what}`,
  data: { turn, outcome: "done", reason: null },
});

function letter(mailId: string, replyTo: typeof DOOR | null, source: typeof ONE | null): Body {
  return {
    type: "message",
    message: { role: "user", content: mailId, timestamp: 0 },
    mailId,
    provenance: source
      ? { kind: "inter_session", source, tool: null }
      : { kind: "external_user", channel: null, peer: null },
    ...(replyTo ? { replyTo } : {}),
  };
}

function spoken(output: number, ...calls: readonly (readonly [string, object])[]): Body {
  const blocks = calls.map(([name, input], at) => ({
    type: "toolCall" as const,
    id: `c${at}`,
    name,
    arguments: { ...input },
  }));
  const content = [{ type: "text", text: "a word" } as const, ...blocks];
  const usage = { input: 0, output, cacheRead: 0, cacheWrite: 0 };
  const model = { api: "test", provider: "test", model: "test", stopReason: "stop" };
  return { type: "message", message: { role: "assistant", content, usage, ...model, timestamp: 5 } };
}

function result(toolCallId: string, toolName: string): Body {
  const content = [{ type: "text", text: "done" } as const];
  const message = {
    role: "toolResult",
    toolCallId,
    toolName,
    content,
    isError: false,
    timestamp: 9,
  } as const;
  return { type: "message", message };
}

const HERS: readonly Body[] = [
  note("started", "t1"),
  letter("ext:a", DOOR, null),
  spoken(4, ["mark", {}], ["sessions_send", { sessionKey: OTHER }]),
  result("c0", "mark"),
  result("c1", "sessions_send"),
  spoken(6),
  note("ended", "t1"),
  note("started", "t2"),
  letter("cause:y:t3:answer:0", null, OTHER),
  note("ended", "t2"),
];
const THEIRS: readonly Body[] = [
  note("started", "t3"),
  letter("cause:call:x:3:c1", BACK, ONE),
  spoken(10),
  note("ended", "t3"),
];
const effect = (what: Effect["what"], atMs: number): Effect => ({
  cause: "cause:call:x:3:c0",
  tool: "mark",
  what,
  atMs,
});
const RAN = [effect("begun", 6), effect("done", 7)];
const DELIVERED = { id: "x:t1:answer:0", key: ONE, hash: "h" };

interface Case extends Partial<Seen> {
  readonly hers?: readonly Body[];
  readonly theirs?: readonly Body[];
  readonly acknowledged?: string;
}

function judged({ hers = HERS, theirs = THEIRS, acknowledged = "ext:a", ...seen }: Case): string[] {
  const reports = new Reports();
  const said = { acknowledged: "a", id: acknowledged, key: ONE };
  reports.hearOutput(`${JSON.stringify(said)}\n${JSON.stringify({ heard: "ext:a", key: ONE, seq: 7 })}\n`);
  const stamped = (bodies: readonly Body[]): Entry[] =>
    bodies.map((body, at) => ({ ...body, timestamp: "", id: String(at + 1), parentId: null, seq: at + 1 }));
  const told = [
    { of: row(ONE, "x", 2), entries: stamped(hers) },
    { of: row(OTHER, "y", 0), entries: stamped(theirs) },
  ];
  const problems = judge(reports, {
    stories: told.map(({ of, entries }) => storyOf(of, entries)),
    entries: new Map(told.map(({ of, entries }) => [of.key, entries])),
    waiting: new Map(),
    outbox: [],
    effects: RAN,
    deliveries: [DELIVERED],
    problems: [],
    ...seen,
  });
  return [...new Set(problems.map((problem) => problem.slice(0, 2)))].sort();
}

test("what may be is let pass", () => {
  assert.deepEqual(judged({}), []);
  assert.deepEqual(judged({ deliveries: [DELIVERED, DELIVERED] }), [], "delivered at least once");
  const outgoing = { id: DELIVERED.id, key: ONE, route: DOOR, content: [], postedAtMs: 0 };
  const refused = [{ ...outgoing, refused: "there is no such channel" }];
  assert.deepEqual(judged({ deliveries: [], outbox: refused }), [], "refused, and visible");
  assert.deepEqual(judged({ deliveries: [], outbox: [{ ...outgoing, refused: null }] }), ["J6"]);
});

test("a letter that was acknowledged and is lost or doubled is found (J1)", () => {
  assert.ok(judged({ acknowledged: "ext:b" }).includes("J1"));
  assert.ok(judged({ hers: HERS.toSpliced(2, 0, letter("ext:a", DOOR, null)) }).includes("J1"));
  assert.ok(judged({ hers: HERS.toSpliced(6, 0, note("resumed", "t1")) }).includes("J1"), "heard elsewhere");
});

test("turns that overlap or do not end, and calls without one result, are found (J2)", () => {
  assert.ok(judged({ hers: HERS.toSpliced(6, 1) }).includes("J2"));
  assert.ok(judged({ hers: HERS.slice(0, -1) }).includes("J2"));
  assert.ok(judged({ hers: HERS.toSpliced(4, 1) }).includes("J2"));
  assert.ok(judged({ hers: HERS.toSpliced(4, 0, result("c0", "mark")) }).includes("J2"));
});

test("a tool that ran too often, too late, not at all or for nobody is found (J3)", () => {
  assert.deepEqual(judged({ effects: [effect("begun", 5), ...RAN] }), ["J3"]);
  assert.deepEqual(judged({ effects: [effect("begun", 10), effect("done", 11)] }), ["J3"]);
  assert.deepEqual(judged({ effects: [effect("begun", 6)] }), ["J3"]);
  assert.deepEqual(judged({ effects: [...RAN, { ...effect("begun", 6), cause: "another" }] }), ["J3"]);
});

test("a letter between sessions that is lost, doubled or nobody's is found (J4)", () => {
  assert.ok(judged({ theirs: [] }).includes("J4"));
  assert.ok(judged({ hers: HERS.slice(0, 7) }).includes("J4"), "the answer");
  const doubled = THEIRS.toSpliced(1, 0, letter("cause:call:x:3:c1", BACK, ONE));
  assert.ok(judged({ theirs: doubled }).includes("J4"));
  assert.deepEqual(judged({ theirs: THEIRS.toSpliced(1, 0, letter("cause:z", null, ONE)) }), ["J4"]);
});

test("what a session began with that work was handed to is somebody's, and must be there (J4)", () => {
  const handed: Body = {
    type: "custom",
    customType: "sessiond/handoff",
    data: { path: "handoff/t-9.md", key: OTHER },
  };
  const theirs = THEIRS.toSpliced(1, 0, letter("cause:begin:t-9", null, ONE));
  assert.deepEqual(judged({ hers: [...HERS, handed], theirs }), []);
  assert.deepEqual(judged({ theirs }), ["J4"]);
  assert.deepEqual(judged({ hers: [...HERS, handed] }), ["J4"]);
});

test("an answer that is lost, or that nobody gave, is found (J5)", () => {
  assert.deepEqual(judged({ deliveries: [] }), ["J5"]);
  assert.deepEqual(judged({ deliveries: [DELIVERED, { ...DELIVERED, hash: "another" }] }), ["J5"]);
  assert.deepEqual(judged({ deliveries: [DELIVERED, { ...DELIVERED, id: "x:t9:answer:0" }] }), ["J5"]);
});

test("a letter that waits, and tokens that nobody used, are found (J6)", () => {
  assert.deepEqual(judged({ waiting: new Map([[ONE, 1]]) }), ["J6"]);
  assert.deepEqual(judged({ theirs: THEIRS.with(2, spoken(11)) }), ["J6"]);
});
