import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "../../src/base/fault.ts";
import { refusedIn } from "./refused.ts";

const FIELDS = [
  { name: "name", named: ["exists"] },
  { name: "when", named: ["at", "every", "cron"] },
  { name: "timeout" },
  { name: "cost", named: ["limits"] },
];

function sorted(fault: Fault) {
  const { at, rest } = refusedIn(fault, FIELDS);
  return [Object.fromEntries(at), rest];
}

test("a refusal that names a field is of that field, whatever the call says before it", () => {
  const told: Readonly<Record<string, object>> = {
    'timeout: a span such as 15m, not "soon"': { timeout: 'a span such as 15m, not "soon"' },
    "addJob: name: has at most 64 characters": { name: "has at most 64 characters" },
    'cron: field 1 of "61 9 * * *" is the minute': { when: 'field 1 of "61 9 * * *" is the minute' },
    "spawn: limits.cost: a number above 0, not -1": { cost: "a number above 0, not -1" },
    "set: timeout is a whole number": { timeout: "a whole number" },
  };
  for (const [message, at] of Object.entries(told))
    assert.deepEqual(sorted(new Fault("bad_input", message)), [at, null], message);
});

test("several are told each at its own, and what belongs to one stays with it", () => {
  const fault = new Fault("bad_input", "addJob: name: too long; timeout: a span, not x; or leave it out");
  assert.deepEqual(sorted(fault), [{ name: "too long", timeout: "a span, not x; or leave it out" }, null]);
});

test("what names no field is told with what to do about it; so is one that is known by its code", () => {
  const overloaded = new Fault("overloaded", "agent main has 1000 jobs", { todo: "remove some" });
  assert.deepEqual(sorted(overloaded), [{}, "agent main has 1000 jobs (remove some)"]);
  const missing = new Fault("bad_input", "addJob: message: a text; it is missing");
  assert.deepEqual(sorted(missing)[0], {}, "there is no such field");
  assert.match(String(sorted(missing)[1]), /^addJob: message: a text; it is missing/);
  const exists = new Fault("exists", 'agent main has a job "x" already', { todo: "call it otherwise" });
  assert.deepEqual(sorted(exists), [{ name: 'agent main has a job "x" already (call it otherwise)' }, null]);
  const stale = new Fault("stale_writer", "when: somebody changed it", { todo: "save again" });
  assert.deepEqual(sorted(stale), [{ when: "somebody changed it (save again)" }, null]);
});

test("in a form of one field what is wrong is wrong there, but not that nobody answers", () => {
  const path = [{ name: "path" }];
  const { at, rest } = refusedIn(new Fault("bad_input", "it is not in memory/"), path);
  assert.deepEqual([Object.fromEntries(at), rest], [{ path: "it is not in memory/" }, null]);
  const away = refusedIn(new Fault("unreachable", "nobody answers", { todo: "wait" }), path);
  assert.deepEqual([away.at.size, away.rest], [0, "nobody answers (wait)"]);
});
