import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { deadlineId, reportId } from "../mail/task.ts";
import { DEFAULT_AGENT, namedKey, type SessionKey } from "../routing/key.ts";
import type { Body, Entry, Message } from "../transcript/entry.ts";
import { restsOn, tasksIn, tasksKeptNote, type Details } from "./tasks.ts";

const USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const AT = "2026-01-01T00:00:00.000Z";
const KEY = namedKey(DEFAULT_AGENT, "child");

function result(toolName: string, details: unknown, isError = false): Body {
  const of = { toolCallId: "c", content: [], isError, timestamp: 0 };
  return { type: "message", message: { role: "toolResult", toolName, ...of, details } as Message };
}

function spawned(task: string, key: SessionKey = KEY): Body {
  const details: Details = { spawned: { task, key, isTold: true } };
  return result("sessions_spawn", details);
}

function yielded(...tasks: readonly string[]): Body {
  const details: Details = { yielded: tasks };
  return result("sessions_yield", details);
}

function said(mailId?: string): Body {
  const message: Message = { role: "user", content: "Report of nobody: done", timestamp: 0 };
  return { type: "message", message, ...(mailId === undefined ? {} : { mailId }) };
}

function reported(task: string): Body {
  return said(reportId(task));
}

const ANSWERED: Body = {
  type: "message",
  message: {
    role: "assistant",
    content: [],
    api: "a",
    provider: "p",
    model: "m",
    usage: USAGE,
    stopReason: "stop",
    timestamp: 0,
  },
};
const ENDED: Body = { type: "custom", customType: "sessiond/turn-ended", data: {} };
const RESUMED: Body = { type: "custom", customType: "sessiond/turn-resumed", data: {} };

function entries(bodies: readonly Body[]): Entry[] {
  return bodies.map((body, at) => ({
    ...body,
    id: `e-${at + 1}`,
    parentId: null,
    seq: at + 1,
    timestamp: AT,
  }));
}

function tasks(...bodies: readonly Body[]): string[] {
  return tasksIn(entries(bodies), 0).map(({ id }) => id);
}

function rests(...bodies: readonly Body[]): string[] {
  return restsOn(entries(bodies), 0).map(({ id }) => id);
}

describe("tasks in flight", () => {
  test("are those that were given and not reported, in their order", () => {
    assert.deepEqual(tasks(), []);
    assert.deepEqual(tasks(spawned("1"), spawned("2"), spawned("3")), ["1", "2", "3"]);
    assert.deepEqual(tasks(spawned("1"), spawned("2"), reported("1"), spawned("3")), ["2", "3"]);
    assert.deepEqual(tasks(spawned("1"), reported("1")), []);
    assert.deepEqual(tasksIn(entries([spawned("1")]), 0), [
      { id: "1", key: KEY, givenAtMs: Date.parse(AT), isTold: true },
    ]);
  });

  test("of one child may be several: each is a task of its own", () => {
    assert.deepEqual(tasks(spawned("1"), spawned("2"), reported("2")), ["1"]);
  });

  test("stay through turns, restarts and everything that is no report", () => {
    assert.deepEqual(tasks(spawned("1"), ANSWERED, ENDED, said("m"), said(), RESUMED), ["1"]);
    assert.deepEqual(tasks(spawned("1"), said(deadlineId("1")), reported("2")), ["1"]);
  });

  test("are known to a conversation that began anew, until they are reported there", () => {
    const before = tasksIn(entries([spawned("1"), spawned("2"), reported("2")]), 0);
    const kept = tasksKeptNote(before);
    assert.deepEqual(tasksIn(entries(kept), 0), before);
    assert.deepEqual(tasks(...kept, reported("1")), []);
    assert.deepEqual(rests(...kept, yielded("1")), ["1"]);
    assert.deepEqual(tasksKeptNote([]), []);
    // Reports of what it never heard of change nothing.
    assert.deepEqual(tasks(reported("9"), spawned("1"), reported("8")), ["1"]);
    const odd = [null, 7, "x", { id: 1 }, { id: "1", key: "k", givenAtMs: "now", isTold: true }];
    for (const data of [undefined, null, { tasks: 7 }, { tasks: odd }])
      assert.deepEqual(tasks({ type: "custom", customType: "sessiond/tasks-kept", data }), []);
  });

  test("are only what our own tools say: neither what looks like it, nor what was refused", () => {
    const details = { spawned: { task: "1", key: KEY } };
    assert.deepEqual(tasks(result("fetch", details), result("sessions_spawn", details, true)), []);
    assert.deepEqual(tasks(result("subagents", details)), ["1"]);
    for (const odd of [null, undefined, "spawned", 7, {}, []])
      assert.deepEqual(tasks(result("subagents", odd)), []);
  });

  test("that stand in entries which were copied are another session's", () => {
    const all = entries([spawned("1"), yielded("1"), spawned("2")]);
    assert.deepEqual(tasksIn(all, 2), tasksIn(all, 0).slice(1));
    assert.deepEqual(restsOn(all.slice(0, 2), 2), []);
  });
});

describe("a turn rests", () => {
  test("on those it was yielded for, until the last of them has reported", () => {
    const before = [spawned("1"), spawned("2"), spawned("3")];
    assert.deepEqual(rests(...before), []);
    assert.deepEqual(rests(...before, yielded("1", "3")), ["1", "3"]);
    assert.deepEqual(rests(...before, yielded("1", "3"), reported("2")), ["1", "3"]);
    assert.deepEqual(rests(...before, yielded("1", "3"), reported("3")), ["1"]);
    assert.deepEqual(rests(...before, yielded("1", "3"), reported("3"), RESUMED, reported("1")), []);
  });

  test("not on what was reported before it was yielded", () => {
    assert.deepEqual(rests(spawned("1"), spawned("2"), reported("1"), yielded("1", "2")), ["2"]);
  });

  test("no longer when somebody else writes, the model speaks, or the turn ends", () => {
    for (const other of [said("m"), said(), ANSWERED, ENDED])
      assert.deepEqual(rests(spawned("1"), yielded("1"), other), []);
    assert.deepEqual(rests(spawned("1"), yielded("1"), said("m"), reported("9")), []);
  });

  test("again when it is yielded again", () => {
    assert.deepEqual(rests(spawned("1"), yielded("1"), said("m"), ANSWERED, yielded("1")), ["1"]);
  });
});

test("whatever is given, reported and yielded in any order, a turn rests on tasks in flight alone", () => {
  const task = fc.constantFrom("1", "2", "3");
  const body = fc.oneof(
    task.map((id) => spawned(id)),
    task.map(reported),
    fc.uniqueArray(task, { minLength: 1 }).map((ids) => yielded(...ids)),
    fc.constantFrom(ANSWERED, said("m"), ENDED, RESUMED),
  );
  fc.assert(
    fc.property(fc.array(body, { maxLength: 20 }), (bodies) => {
      const given = tasks(...bodies);
      assert.equal(new Set(given).size, given.length);
      assert.ok(rests(...bodies).every((id) => given.includes(id)));
      assert.deepEqual(rests(...bodies, ...given.map(reported)), []);
      assert.deepEqual(tasks(...bodies, ...given.map(reported)), []);
    }),
  );
});
