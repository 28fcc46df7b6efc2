import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault, faultFrom, type FaultCode } from "./fault.ts";

// Once more, on purpose: a code is a promise to clients and scripts, and a change of one is a change of the API.
const PROMISED: Readonly<Record<FaultCode, readonly [status: number, exit: number, retry: boolean]>> = {
  bad_input: [400, 64, false],
  unauthorized: [401, 77, false],
  forbidden: [403, 77, false],
  not_found: [404, 66, false],
  exists: [409, 73, false],
  conflict: [409, 65, false],
  would_deadlock: [409, 65, false],
  busy: [409, 75, true],
  stale_writer: [409, 75, true],
  unread: [409, 75, true],
  ended: [410, 69, false],
  cursor_expired: [410, 75, false],
  mailbox_full: [429, 75, true],
  overloaded: [429, 75, true],
  too_slow: [429, 75, true],
  too_large: [413, 65, false],
  rate_limited: [429, 75, true],
  damaged: [500, 65, false],
  disk_full: [507, 74, true],
  disk_failed: [500, 74, false],
  outcome_unknown: [500, 74, false],
  in_use: [409, 78, false],
  port_taken: [409, 78, false],
  unreadable_home: [500, 78, false],
  network_filesystem: [500, 78, false],
  state_too_new: [500, 78, false],
  bug: [500, 70, false],
  closed: [503, 75, true],
  unreachable: [503, 69, true],
};
const CODES = Object.keys(PROMISED) as FaultCode[];

test("every code keeps what it promises to clients and to the shell", () => {
  for (const code of CODES) {
    const fault = new Fault(code, "why");
    assert.deepEqual([fault.status, fault.exit, fault.retry], PROMISED[code], code);
  }
});

test("every code says what to do, in a few words", () => {
  for (const code of CODES) {
    const { todo } = new Fault(code, "why");
    assert.ok(todo.length > 10 && todo.length <= 80, `${code}: ${todo}`);
    assert.doesNotMatch(todo, /^[A-Z]|[.!]$/); // it is put after a colon
  }
});

test("a fault may say better than its code what to do", () => {
  const fault = new Fault("busy", "it is paused", { todo: "let it go on" });
  assert.deepEqual([fault.todo, fault.retry], ["let it go on", true]);
});

test("what may be tried again is told as a client's or a passing error, never as success", () => {
  for (const code of CODES) {
    const { status, exit } = new Fault(code, "why");
    assert.ok(status >= 400 && status <= 599);
    assert.ok(exit >= 64 && exit <= 78, "a number of sysexits.h");
  }
});

test("a fault is an error with a name, a cause and a stack", () => {
  const cause = new Error("disk");
  const fault = new Fault("disk_full", "no room", { cause });
  assert.ok(fault instanceof Error);
  assert.equal(fault.name, "Fault");
  assert.equal(fault.message, "no room");
  assert.equal(fault.cause, cause);
  assert.match(String(fault.stack), /fault\.test/);
});

test("a fault survives a thread as two words", () => {
  const fault = new Fault("stale_writer", "an older fence");
  const crossed = structuredClone({ code: fault.code, message: fault.message });
  const again = faultFrom(crossed);
  assert.ok(again instanceof Fault);
  assert.deepEqual([again.code, again.message, again.retry], ["stale_writer", "an older fence", true]);
});

test("a word of another version is told as it is, and has advice all the same", () => {
  const fault = faultFrom({ code: "from_tomorrow" as FaultCode, message: "the moon is full" });
  assert.deepEqual([fault.code, fault.message, fault.retry], ["bug", "the moon is full", false]);
  assert.notEqual(fault.todo, "");
});
