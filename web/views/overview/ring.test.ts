import assert from "node:assert/strict";
import { test } from "node:test";
import { added, lateness, rateNow, SPAN_MS, timesOf, valuesOf, type Point } from "./ring.ts";

const NOTHING = { input: 0, output: 0, cost: 0, commits: 0 };

function point(atMs: number, input: number, more: Partial<Point> = {}): Omit<Point, "rates"> {
  const level = { inUse: 0, waiting: 0, loopDelayMs: 1, freeBytes: null, journalBytes: null };
  return { atMs, since: "a", counted: { ...NOTHING, input }, level, ...more };
}

function ringOf(...points: readonly Omit<Point, "rates">[]): readonly Point[] {
  return points.reduce<readonly Point[]>(added, []);
}

test("a rate is what came in between two looks, by the second", () => {
  const ring = ringOf(point(0, 100), point(2_000, 140), point(4_000, 140));
  assert.deepEqual(
    ring.map(({ rates }) => rates?.input ?? null),
    [null, 20, 0],
  );
  assert.equal(rateNow(ring)?.input, 10, "of four seconds");
});

test("a gateway that was started anew counts from nothing", () => {
  const ring = ringOf(point(0, 5_000), point(2_000, 5_200), point(4_000, 10, { since: "b" }));
  assert.equal(ring[2]?.rates, null);
  assert.equal(rateNow(ring), null);
  const later = added(ring, point(6_000, 30, { since: "b" }));
  assert.equal(rateNow(later)?.input, 10);
});

test("where nobody looked there is a gap, in every line", () => {
  const ring = ringOf(point(0, 0), point(2_000, 2), point(62_000, 900), point(64_000, 902));
  assert.deepEqual(timesOf(ring), [0, 2_000, 61_999, 62_000, 64_000]);
  assert.deepEqual(
    valuesOf(ring, ({ level }) => level.inUse),
    [0, 0, null, 0, 0],
  );
  assert.deepEqual(
    valuesOf(ring, ({ rates }) => rates && rates.input),
    [null, 1, null, null, 1],
  );
});

test("what is older than what is shown goes", () => {
  const ring = ringOf(point(0, 0), point(1_000, 0), point(SPAN_MS + 500, 0));
  assert.deepEqual(
    ring.map(({ atMs }) => atMs),
    [1_000, SPAN_MS + 500],
  );
});

test("late once is not late; late three times is", () => {
  const at = (atMs: number, loopDelayMs: number | null): Omit<Point, "rates"> =>
    point(atMs, 0, { level: { inUse: 0, waiting: 0, loopDelayMs, freeBytes: null, journalBytes: null } });
  assert.equal(lateness(ringOf(at(0, 900), at(1, 2))), null);
  assert.equal(lateness(ringOf(at(0, 900), at(1, 2), at(2, 900))), 2);
  assert.equal(lateness(ringOf(at(0, 900), at(1, 400), at(2, 900))), 400);
  assert.equal(lateness(ringOf(at(0, 900), at(1, null), at(2, 900))), null);
});
