import assert from "node:assert/strict";
import { test } from "node:test";
import { laneOf, shareOf, ticksOf } from "./lanes.ts";

const HOUR = 3_600_000;
const FROM = Date.parse("2026-06-01T09:00:00Z");
const DAY = { fromMs: FROM, toMs: FROM + 24 * HOUR };

function at(...hours: readonly number[]): readonly string[] {
  return hours.map((each) => new Date(FROM + each * HOUR).toISOString());
}

function told({
  when = "0 9 * * * (UTC)",
  hours,
}: {
  readonly when?: string;
  readonly hours: readonly number[];
}) {
  const times = at(...hours);
  const { marks, bar } = laneOf({ when, next: times[0] ?? null, times }, DAY);
  const hourOf = (ms: number): number => (ms - FROM) / HOUR;
  return { marks: marks.map(hourOf), bar: bar && hourOf(bar.fromMs) };
}

test("what is due seldom has a mark for each time in the window", () => {
  assert.deepEqual(told({ hours: [0.5, 24.5, 48.5, 72.5, 96.5] }), { marks: [0.5], bar: null });
  assert.deepEqual(told({ hours: [30, 54, 78, 102, 126] }), { marks: [], bar: null });
  assert.deepEqual(told({ when: "at 2026-06-01 12:00 (UTC)", hours: [3] }), { marks: [3], bar: null });
  assert.deepEqual(told({ hours: [4, 8, 12, 16, 23] }).bar, null, "the next is behind the window");
});

test("what is due often is a bar, and what goes on further than it was told ends in one", () => {
  assert.deepEqual(told({ hours: [0.1, 0.2, 0.3, 0.4, 0.5] }), { marks: [], bar: 0.1 });
  assert.deepEqual(told({ hours: [1, 2, 3, 4, 5] }), { marks: [1, 2, 3, 4], bar: 5 });
});

test("every so often is counted on from its next time", () => {
  assert.deepEqual(told({ when: "every 6h", hours: [5] }), { marks: [5, 11, 17, 23], bar: null });
  assert.deepEqual(told({ when: "every 5m", hours: [0.05] }), { marks: [], bar: 0.05 });
  assert.deepEqual(told({ when: "every 2d", hours: [20] }), { marks: [20], bar: null });
});

test("what never comes has no mark, and what is past stands at the beginning", () => {
  assert.deepEqual(laneOf({ when: "every 5m", next: null, times: [] }, DAY), { marks: [], bar: null });
  assert.equal(shareOf(FROM - HOUR, DAY), 0);
  assert.equal(shareOf(FROM + 6 * HOUR, DAY), 0.25);
  assert.equal(shareOf(FROM + 60 * HOUR, DAY), 1);
});

test("ticks are whole hours and days by the clock of who looks", () => {
  const half = 5.5 * HOUR; // India
  const hours = ticksOf(DAY, half).map((ms) => ((ms + half) / HOUR) % 24);
  assert.deepEqual(hours, [15, 18, 21, 0, 3, 6, 9, 12]);
  assert.equal(ticksOf({ fromMs: FROM, toMs: FROM + HOUR }, 0).length, 7);
  assert.equal(ticksOf({ fromMs: FROM, toMs: FROM + 7 * 24 * HOUR }, 0).length, 7);
});
