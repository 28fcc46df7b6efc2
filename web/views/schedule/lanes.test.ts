import assert from "node:assert/strict";
import { test } from "node:test";
import { laneOf, shareOf, ticksOf, TIMES_ASKED } from "./lanes.ts";

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
  const { marks, bars } = laneOf({ when, next: times[0] ?? null, times }, DAY);
  const hourOf = (ms: number): number => (ms - FROM) / HOUR;
  const of = (ms: number): number => Math.round(hourOf(ms) * 100) / 100;
  return { marks: marks.map(of), bars: bars.map(({ fromMs, toMs }) => [of(fromMs), of(toMs)]) };
}

/** As many as are asked for, so far apart. */
function every(hours: number): readonly number[] {
  return Array.from({ length: TIMES_ASKED }, (_, n) => (n + 1) * hours);
}

test("what is due seldom has a mark for each time in the window", () => {
  assert.deepEqual(told({ hours: [0.5, 24.5, 48.5] }), { marks: [0.5], bars: [] });
  assert.deepEqual(told({ hours: [30, 54, 78] }), { marks: [], bars: [] });
  assert.deepEqual(told({ when: "at 2026-06-01 12:00 (UTC)", hours: [3] }), { marks: [3], bars: [] });
  assert.deepEqual(told({ hours: every(2) }).marks, [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24]);
  assert.deepEqual(told({ hours: every(1) }).bars, [], "once an hour has room");
});

test("times that run into each other are one stretch, which ends where they do", () => {
  const morning = [1, 1.1, 1.2, 1.3];
  assert.deepEqual(told({ hours: [...morning, 25] }), { marks: [], bars: [[1, 1.3]] });
  assert.deepEqual(told({ hours: [...morning, 9, 12, 12.1] }), {
    marks: [9],
    bars: [
      [1, 1.3],
      [12, 12.1],
    ],
  });
});

test("what goes on further than was told is open to the end of the window", () => {
  assert.deepEqual(told({ hours: every(0.1) }), { marks: [], bars: [[0.1, 24]] });
  const few = [...Array.from({ length: TIMES_ASKED - 1 }, (_, n) => n / 100), 8];
  assert.deepEqual(told({ hours: few }), {
    marks: [],
    bars: [
      [0, 0.48],
      [8, 24],
    ],
  });
});

test("every so often is counted on from its next time", () => {
  assert.deepEqual(told({ when: "every 6h", hours: [5] }), { marks: [5, 11, 17, 23], bars: [] });
  assert.deepEqual(told({ when: "every 5m", hours: [0.05] }), { marks: [], bars: [[0.05, 24]] });
  assert.deepEqual(told({ when: "every 2d", hours: [20] }), { marks: [20], bars: [] });
  assert.deepEqual(
    told({ when: "every 2d", hours: [30] }),
    { marks: [], bars: [] },
    "it is behind the window",
  );
});

test("what never comes has no mark, and what is past stands at the beginning", () => {
  assert.deepEqual(laneOf({ when: "every 5m", next: null, times: [] }, DAY), { marks: [], bars: [] });
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
