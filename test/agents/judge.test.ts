// The judge must let pass what may be, and nothing else. Each test changes one thing of a family that may be: main gave a task
// to a child, the child one to a grandchild and had ended when that reported, so main was told.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DEFAULT_AGENT,
  mainKey,
  subagentKey,
  type Body,
  type Entry,
  type RunState,
  type Session,
  type SessionKey,
} from "../../src/index.ts";
import { reportId, reportRoute } from "../../src/mail/task.ts";
import { born } from "../../src/store/opened.ts";
import { storyOf } from "../turns/story.ts";
import type { Effect } from "../turns/tools.ts";
import { judge } from "./judge.ts";
import type { Seen } from "./look.ts";
import { AgentReports } from "./reports.ts";

const MAIN = mainKey(DEFAULT_AGENT);
const CHILD = subagentKey(MAIN, "c");
const GRANDCHILD = subagentKey(CHILD, "g");
const [FIRST, SECOND] = ["cause:call:m:3:c0", "cause:call:c:3:c0"];

const note = (what: string, turn: string, outcome = "done"): Body => ({
  type: "custom",
  customType: `sessiond/turn-${what}`,
  data: { turn, outcome, reason: null },
});

function letter(mailId: string, source: SessionKey | null, giver: SessionKey | null = null): Body {
  return {
    type: "message",
    message: { role: "user", content: mailId, timestamp: 0 },
    mailId,
    provenance: source
      ? { kind: "inter_session", source, tool: null }
      : { kind: "external_user", channel: null, peer: null },
    ...(giver === null ? {} : { replyTo: reportRoute(giver, mailId) }),
  };
}

function calling(name: string): Body {
  const content = [{ type: "toolCall" as const, id: "c0", name, arguments: {} }];
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const model = { api: "test", provider: "test", model: "test", stopReason: "toolUse" };
  return { type: "message", message: { role: "assistant", content, usage, ...model, timestamp: 5 } };
}

function result(toolName: string, text: string, details?: object): Body {
  const content = [{ type: "text" as const, text }];
  const more = { isError: false, timestamp: 9, ...(details ? { details } : {}) };
  return { type: "message", message: { role: "toolResult", toolCallId: "c0", toolName, content, ...more } };
}

function spawned(task: string, key: SessionKey): Body {
  const told = { sessionKey: key, id: task, created: true, queued: false };
  return result("sessions_spawn", JSON.stringify(told), { spawned: { task, key, isTold: true } });
}

const MAINS: readonly Body[] = [
  note("started", "t1"),
  letter("ext:a", null),
  calling("sessions_spawn"),
  spawned(FIRST, CHILD),
  note("ended", "t1"),
  note("started", "t2"),
  letter(reportId(FIRST), CHILD),
  letter(reportId(SECOND), GRANDCHILD),
  note("ended", "t2"),
];
const CHILDS: readonly Body[] = [
  note("started", "t3"),
  letter(FIRST, MAIN, MAIN),
  calling("sessions_spawn"),
  spawned(SECOND, GRANDCHILD),
  note("ended", "t3"),
];
const GRANDCHILDS: readonly Body[] = [
  note("started", "t4"),
  letter(SECOND, CHILD, CHILD),
  calling("mark"),
  result("mark", "done"),
  note("ended", "t4"),
];

const effect = (what: Effect["what"], atMs: number): Effect => ({
  cause: "cause:call:g:3:c0",
  tool: "mark",
  what,
  atMs,
});
const RAN = [effect("begun", 6), effect("done", 7)];
const DONE: RunState = { kind: "ended", atMs: 10, outcome: "done", reason: null };
const KILLED: RunState = { kind: "ended", atMs: 10, outcome: "killed", reason: "it was killed" };

interface Case extends Partial<Seen> {
  readonly mains?: readonly Body[];
  readonly childs?: readonly Body[];
  readonly grandchilds?: readonly Body[];
  readonly child?: Partial<Session>;
  readonly grandchild?: Partial<Session>;
  readonly without?: SessionKey;
  readonly killed?: readonly string[];
}

function judged(given: Case): string[] {
  const { mains = MAINS, childs = CHILDS, grandchilds = GRANDCHILDS, child, grandchild, ...rest } = given;
  const { without, killed = [], ...seen } = rest;
  const reports = new AgentReports();
  const said = [{ acknowledged: "a", id: "ext:a", key: MAIN }, { killed }];
  reports.hearOutput(said.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const main = rowOf(MAIN, "m", null);
  const row = { ...rowOf(CHILD, "c", main), state: DONE, ...child };
  const below = { ...rowOf(GRANDCHILD, "g", row), state: DONE, ...grandchild };
  const told = [
    { of: main, entries: stamped(mains) },
    { of: row, entries: stamped(childs) },
    { of: below, entries: stamped(grandchilds) },
  ].filter(({ of }) => of.key !== without);
  const problems = judge(reports, {
    stories: told.map(({ of, entries }) => storyOf(of, entries)),
    entries: new Map(told.map(({ of, entries }) => [of.key, entries])),
    waiting: new Map(),
    outbox: [],
    effects: RAN,
    deliveries: [],
    problems: [],
    gone: [],
    timers: [],
    ...seen,
  });
  return [...new Set(problems.map((problem) => problem.slice(0, 2)))].sort();
}

function rowOf(key: SessionKey, transcript: string, parent: Session | null): Session {
  const opening = { key, transcript, cwd: "", parent: parent?.key ?? null, settings: {} };
  const { row } = born(opening, { parent, source: null, copied: 0, atMs: 0 });
  return { ...row, usage: { ...row.usage, toolCalls: 1 } };
}

function stamped(bodies: readonly Body[]): Entry[] {
  const timestamp = new Date(5).toISOString();
  return bodies.map((body, at) => ({ ...body, timestamp, id: String(at + 1), parentId: null, seq: at + 1 }));
}

test("what may be is let pass", () => {
  assert.deepEqual(judged({}), []);
  const kept = CHILDS.toSpliced(4, 0, letter(reportId(SECOND), GRANDCHILD));
  assert.deepEqual(judged({ mains: MAINS.toSpliced(7, 1), childs: kept }), [], "told to who gave the task");
  assert.deepEqual(judged({ without: CHILD, gone: [{ key: CHILD, transcript: "c" }] }), [], "deleted");
  assert.deepEqual(judged({ child: { state: KILLED }, killed: [CHILD] }), []);
});

test("a report that is lost, doubled, told to a stranger or of nothing is found (A1)", () => {
  assert.deepEqual(judged({ mains: MAINS.toSpliced(6, 1) }), ["A1"]);
  assert.deepEqual(judged({ mains: MAINS.toSpliced(7, 1) }), ["A1"]);
  const doubled = GRANDCHILDS.toSpliced(4, 0, letter(reportId(SECOND), GRANDCHILD));
  assert.deepEqual(judged({ grandchilds: doubled }), ["A1"]);
  assert.ok(judged({ mains: MAINS.toSpliced(6, 0, letter(reportId(FIRST), CHILD)) }).includes("A1"));
  assert.ok(judged({ mains: MAINS.toSpliced(6, 0, letter(reportId("cause:x"), CHILD)) }).includes("A2"));
  assert.deepEqual(judged({ child: { state: { kind: "idle" } } }), ["A1", "A6"], "who gave it lives");
});

test("a child or a task that is lost, doubled or nobody's is found (A2)", () => {
  assert.ok(judged({ without: GRANDCHILD }).includes("A2"));
  assert.ok(judged({ grandchilds: [] }).includes("A2"));
  assert.ok(judged({ grandchilds: GRANDCHILDS.toSpliced(1, 0, letter(SECOND, CHILD)) }).includes("A2"));
  const unsaid = CHILDS.with(3, result("sessions_spawn", "{}"));
  assert.ok(judged({ childs: unsaid.toSpliced(2, 2) }).includes("A2"), "no result speaks of it");
});

test("a mark that was made too often, too late or not at all is found (A3)", () => {
  assert.deepEqual(judged({ effects: [effect("begun", 5), ...RAN] }), ["J3"]);
  assert.deepEqual(judged({ effects: [effect("begun", 10), effect("done", 11)] }), ["J3"]);
  assert.deepEqual(judged({ effects: [] }), ["J3"]);
  const gone = { without: CHILD, gone: [{ key: CHILD, transcript: "c" }] };
  const twice = [effect("begun", 5), effect("begun", 8)].map((each) => ({ ...each, cause: SECOND }));
  assert.deepEqual(judged({ ...gone, effects: [...RAN, ...twice] }), ["A3"]);
});

test("a message without an answer, a turn that is open and a letter that waits are found (A4, A5)", () => {
  assert.ok(judged({ mains: MAINS.with(1, letter("ext:b", null)) }).includes("J1"));
  assert.ok(judged({ mains: MAINS.slice(0, -1) }).includes("J2"));
  assert.ok(judged({ childs: CHILDS.toSpliced(3, 1) }).includes("J2"));
  assert.deepEqual(judged({ waiting: new Map([[CHILD, 1]]) }), ["J6"]);
});

test("who outlives its end or a kill, and a timer of nobody, are found (A6)", () => {
  const idle: RunState = { kind: "idle" };
  assert.deepEqual(judged({ grandchild: { state: idle } }), ["A6"], "it runs once");
  const stays = { ...rowOf(GRANDCHILD, "g", null).settings, oneShot: false };
  const lives = { state: idle, settings: stays };
  assert.deepEqual(judged({ grandchild: lives }), []);
  assert.deepEqual(judged({ grandchild: lives, child: { state: KILLED } }), ["A6"], "of one that was killed");
  assert.deepEqual(judged({ grandchild: lives, killed: [GRANDCHILD] }), ["A6"], "as a person was told");
  assert.deepEqual(judged({ grandchild: { ...lives, signal: "kill" } }), ["A6"]);
  assert.deepEqual(judged({ timers: ["agent:main:subagent:x"] }), ["A6"]);
});
