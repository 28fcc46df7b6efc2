import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { DEFAULT_AGENT, namedKey } from "../routing/key.ts";
import type { RunState, Session, Signal } from "../sessions/session.ts";
import { born, NO_USAGE } from "./opened.ts";
import { addUsage, changedRow, hasWork, tell } from "./rules.ts";
import type { Changed } from "./store.ts";

const [A, B, C] = ["a", "b", "c"].map((name) => namedKey(DEFAULT_AGENT, name));
assert(A && B && C);

const OPENING = { key: A, transcript: "t", cwd: "/tmp", parent: null, settings: {} };
const { row: ROW } = born(OPENING, { parent: null, source: null, copied: 0, atMs: 0 });

test("what has ended has no work but to deliver; what is to be killed always has, until it has ended", () => {
  const kinds = ["idle", "queued", "running", "waiting", "paused", "ended"] as const;
  for (const kind of kinds) {
    for (const mail of [true, false]) {
      const waits = { mail, answers: false };
      const row = (signal: Signal): Session => ({ ...ROW, signal, state: { kind } as RunState });
      assert.equal(hasWork(row("kill"), waits), kind !== "ended");
      assert.equal(hasWork(row("pause"), { mail, answers: true }), true);
      if (kind === "ended") assert.equal(hasWork(row("none"), waits), false);
      // Mail alone never wakes what shall stay paused.
      if (kind === "idle" || kind === "paused") assert.equal(hasWork(row("pause"), waits), false);
    }
  }
});

test("usage adds up in any order", () => {
  const charge = fc.record(
    { input: fc.nat(), steps: fc.nat(), toolPeakBytes: fc.nat() },
    { requiredKeys: [] },
  );
  const property = fc.property(charge, charge, (one, two) => {
    assert.deepEqual(addUsage(addUsage(NO_USAGE, one), two), addUsage(addUsage(NO_USAGE, two), one));
  });
  fc.assert(property);
  assert.deepEqual(addUsage({ ...NO_USAGE, toolPeakBytes: 5 }, { toolPeakBytes: 3 }).toolPeakBytes, 5);
});

test("a revival changes what has ended, and is nothing to what lives", () => {
  const over: RunState = { kind: "ended", atMs: 1, outcome: "killed", reason: "it was killed" };
  const dead: Session = { ...ROW, state: over, signal: "kill", title: "words" };
  const alive = changedRow(dead, { do: "revive", key: A }, 7, 5);
  assert.deepEqual(alive, { ...dead, state: { kind: "idle" }, signal: "none", updatedAtMs: 5 });
  for (const kind of ["idle", "queued", "running", "waiting", "paused"] as const) {
    const row: Session = { ...dead, state: { kind } as RunState };
    assert.equal(changedRow(row, { do: "revive", key: A }, 7, 5), row);
  }
});

test("a row is never changed in place", () => {
  const before = structuredClone(ROW);
  const changed = changedRow(ROW, { do: "charge", key: A, usage: { input: 1 } }, 0, 5);
  changedRow(changed, { do: "set", key: A, version: 1, settings: { label: "x" } }, 0, 6);
  changedRow(changed, { do: "run", key: A, fence: 0, state: { kind: "queued", sinceMs: 1 } }, 0, 7);
  assert.deepEqual(ROW, before);
  assert.deepEqual([changed.usage.input, changed.updatedAtMs], [1, 5]);
});

test("of a group of commits the last word on each session is told, and every deletion", () => {
  const said = (key: string, lastSeq: number, deleted = false): Changed =>
    ({ key, lastSeq, deleted }) as Changed;
  const told = new Map<string, Changed>();
  for (const changed of [
    said(A, 1),
    said(B, 1),
    said(A, 2),
    said(C, 1),
    said(B, 0, true),
    said(B, 3),
    said(C, 0, true),
    said(C, 4),
    said(A, 3),
    said(C, 0, true), // once more, after A
  ]) {
    tell(told, changed);
  }
  assert.deepEqual([...told.values()], [said(B, 0, true), said(B, 3), said(A, 3), said(C, 0, true)]);
});
