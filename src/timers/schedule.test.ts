import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { Schedule } from "./job.ts";
import { EVERY_MS_MIN } from "./limits.ts";
import { checkSchedule, newestFew, nextAfter, staggerOf, timesUpTo } from "./schedule.ts";

function cron(expression: string, zone = "Europe/Berlin"): Schedule {
  return { kind: "cron", expression, zone };
}

/** The times after a moment, as UTC. */
function after(schedule: Schedule, from: string, count: number): string[] {
  const times: string[] = [];
  for (let at = Date.parse(from); times.length < count;) {
    const next = nextAfter(schedule, at);
    if (next === null) break;
    times.push(new Date(next).toISOString().replace(".000Z", "Z"));
    at = next;
  }
  return times;
}

describe("a daily job runs once on each day, also when clocks change", () => {
  const days: readonly (readonly [
    zone: string,
    expression: string,
    from: string,
    times: readonly string[],
  ])[] = [
    // The hour from 02:00 is left out: it is due when the clock shows 03:00 instead.
    ["Europe/Berlin", "30 2 * * *", "2027-03-27T12:00:00Z", ["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]],
    [
      "America/New_York",
      "30 2 * * *",
      "2027-03-13T12:00:00Z",
      ["2027-03-14T07:00:00Z", "2027-03-15T06:30:00Z"],
    ],
    // Half an hour is left out.
    [
      "Australia/Lord_Howe",
      "15 2 * * *",
      "2026-10-03T00:00:00Z",
      ["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"],
    ],
    // The hour comes twice: it is due the first time.
    ["Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z", ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]],
    [
      "America/New_York",
      "30 1 * * *",
      "2026-10-31T12:00:00Z",
      ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"],
    ],
    [
      "Australia/Lord_Howe",
      "45 1 * * *",
      "2026-04-04T00:00:00Z",
      ["2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"],
    ],
    // Midnight itself is left out.
    ["America/Santiago", "@daily", "2026-09-05T12:00:00Z", ["2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"]],
  ];
  for (const [zone, expression, from, times] of days)
    test(`${expression} in ${zone} after ${from}`, () =>
      assert.deepEqual(after(cron(expression, zone), from, times.length), times));
});

describe("what is due several times a day is due when the clock shows it", () => {
  test("every hour is every real hour, over both changes", () => {
    for (const from of ["2027-03-27T20:00:00Z", "2026-10-24T20:00:00Z"]) {
      const start = Date.parse(from);
      const hours = Array.from({ length: 12 }, (_, n) => new Date(start + (n + 1) * 3_600_000));
      assert.deepEqual(
        after(cron("0 * * * *"), from, 12),
        hours.map((at) => at.toISOString().replace(".000Z", "Z")),
      );
    }
  });

  test("twice in the hour that comes twice, and never in the one that is left out", () => {
    assert.deepEqual(after(cron("0,30 2 * * *"), "2026-10-24T12:00:00Z", 5), [
      ...["2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z"],
      "2026-10-26T01:00:00Z",
    ]);
    assert.deepEqual(after(cron("0,30 2 * * *"), "2027-03-27T12:00:00Z", 1), ["2027-03-29T00:00:00Z"]);
  });
});

test("an interval has a fixed length, and is due at its beginning", () => {
  const fromMs = Date.parse("2026-10-24T22:15:00Z");
  const daily: Schedule = { kind: "every", everyMs: 24 * 3_600_000, fromMs };
  assert.deepEqual(after(daily, "2026-10-20T00:00:00Z", 2), ["2026-10-24T22:15:00Z", "2026-10-25T22:15:00Z"]);
  assert.equal(nextAfter(daily, fromMs), fromMs + 24 * 3_600_000);
});

test("a time is due once", () => {
  const at: Schedule = { kind: "at", atMs: 1_000, zone: "UTC" };
  assert.equal(nextAfter(at, 999), 1_000);
  assert.equal(nextAfter(at, 1_000), null);
});

test("six fields begin with seconds; a leap day is waited for; words stand for expressions", () => {
  assert.deepEqual(after(cron("*/20 59 23 * * *", "UTC"), "2026-01-01T00:00:00Z", 4), [
    ...["2026-01-01T23:59:00Z", "2026-01-01T23:59:20Z", "2026-01-01T23:59:40Z"],
    "2026-01-02T23:59:00Z",
  ]);
  assert.deepEqual(after(cron("0 12 29 2 *", "UTC"), "2026-01-01T00:00:00Z", 2), [
    ...["2028-02-29T12:00:00Z", "2032-02-29T12:00:00Z"],
  ]);
  assert.deepEqual(after(cron("@weekly", "UTC"), "2026-01-01T00:00:00Z", 1), ["2026-01-04T00:00:00Z"]);
});

test("what is no schedule is refused, and the words say what would be one", () => {
  const wrong: readonly (readonly [Schedule, RegExp])[] = [
    [cron("* * *"), /five fields, or six.*"\* \* \*"/],
    [cron("61 * * * *"), /^cron: field 1 of "61 \* \* \* \*" is the minute, 0 to 59, not "61"$/],
    [cron("0 0 9 * * 1-9"), /field 6 of .* is the day of the week, .*, not "1-9"$/],
    [cron("0 25 * * *"), /field 2 of .* is the hour, 0 to 23, not "25"$/],
    [cron("60 0 9 * * *"), /field 1 of .* is the second/],
    [cron("0 0 L-x FOO *"), /^(?!.*Cron)cron: field [34] of .* is/],
    [cron("* * * * * * 2027"), /five fields, or six/],
    [cron("@reboot"), /or a word such as @daily, not "@reboot"/],
    [cron("2030-01-01T00:00:00"), /is a moment.*use `at`/],
    [cron("2030-01-01 00:00"), /is a moment.*use `at`/],
    [cron("20300101"), /five fields/],
    [cron(""), /five fields/],
    [cron(`${"1,".repeat(300)}1 * * * *`), /at most 500/],
    [cron("0 0 30 2 *"), /never due/],
    [cron("0 0 * * *", "Europe/Nowhere"), /IANA time zone.*Europe\/Nowhere/],
    [cron("0 0 * * *", ""), /IANA time zone/],
    [{ kind: "every", everyMs: EVERY_MS_MIN - 1, fromMs: 0 }, /from 1000/],
    [{ kind: "every", everyMs: 1_000.5, fromMs: 0 }, /whole milliseconds/],
    [{ kind: "every", everyMs: 1_000, fromMs: Number.NaN }, /beginning/],
    [{ kind: "at", atMs: Number.NaN, zone: "UTC" }, /a time in milliseconds/],
    [{ kind: "at", atMs: 1e300, zone: "UTC" }, /a time in milliseconds/],
  ];
  for (const [schedule, message] of wrong)
    assert.throws(() => checkSchedule(schedule), { name: "Fault", code: "bad_input", message });
  for (const right of [
    cron("30 2 * * *"),
    cron("0 */10 9-17 * * 1-5", "UTC"),
    cron("@hourly"),
    cron(" @Daily "),
  ])
    checkSchedule(right);
  checkSchedule({ kind: "every", everyMs: EVERY_MS_MIN, fromMs: 0 });
  checkSchedule({ kind: "at", atMs: 0, zone: "UTC" });
});

test("a stagger is the same each time, within its bound, and spread over it", () => {
  const spread = Array.from({ length: 1_000 }, (_, n) => staggerOf(`job ${n}`, 60_000));
  assert.ok(spread.every((ms) => Number.isInteger(ms) && ms >= 0 && ms <= 60_000));
  assert.equal(staggerOf("job 1", 60_000), spread[1]);
  assert.equal(staggerOf("job 1", 0), 0);
  for (let part = 0; part < 10; part += 1) {
    const here = spread.filter((ms) => Math.min(9, Math.floor(ms / 6_000)) === part).length;
    assert.ok(here > 50 && here < 200, `${here} of 1,000 in a tenth`);
  }
});

// ── Any schedule ────────────────────────────────────────────────────────────────────────────────────────────

const EXPRESSIONS = [
  ...[
    "30 2 * * *",
    "0 * * * *",
    "*/7 * * * *",
    "* * * * * *",
    "*/13 */7 * * * *",
    "0 0 29 2 *",
    "@hourly",
    "@monthly",
  ],
  ...[
    "0,30 1-3 * * *",
    "15 2 * 3,10 0",
    "0 0 13 * 5",
    "0 9 * * 1-5",
    "59 59 23 L * *",
    "30 0 0 * * SUN#2",
    "5 4 1,15W * *",
  ],
];
const ZONES = [
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "UTC",
  "Asia/Kathmandu",
  "America/Santiago",
];

/** Around the changes of clocks, or anywhere in some years. */
const moment = fc.oneof(
  fc.integer({ min: Date.UTC(2025, 0, 1) / 1_000, max: Date.UTC(2030, 0, 1) / 1_000 }),
  fc
    .tuple(
      fc.constantFrom(
        "2026-03-29",
        "2026-10-25",
        "2026-03-08",
        "2026-11-01",
        "2026-04-04",
        "2026-10-03",
        "2026-09-06",
      ),
      fc.integer({ min: -2 * 86_400, max: 2 * 86_400 }),
    )
    .map(([day, off]) => Date.parse(`${day}T00:00:00Z`) / 1_000 + off),
);
const anySchedule = fc.oneof(
  {
    arbitrary: fc.record({ expression: fc.constantFrom(...EXPRESSIONS), zone: fc.constantFrom(...ZONES) }),
    weight: 4,
  },
  { arbitrary: fc.integer({ min: 1_000, max: 1e8 }), weight: 1 },
);

function scheduleOf(drawn: { expression: string; zone: string } | number): Schedule {
  if (typeof drawn === "number") return { kind: "every", everyMs: drawn, fromMs: 1_234 };
  return cron(drawn.expression, drawn.zone);
}

test("W1: the times of a schedule are one list, wherever one begins to read it", () => {
  const property = fc.property(anySchedule, moment, fc.nat(), (drawn, second, off) => {
    const schedule = scheduleOf(drawn);
    const from = second * 1_000;
    const next = nextAfter(schedule, from);
    assert.ok(next !== null && next > from);
    assert.equal(nextAfter(schedule, from + (off % (next - from))), next);
    const then = nextAfter(schedule, next);
    assert.ok(then !== null && then > next);
  });
  fc.assert(property, { numRuns: 3_000 });
});

test("W2: counted by days, or one by one, they are as many; and the newest are found from the end", () => {
  const property = fc.property(
    anySchedule,
    moment,
    fc.integer({ min: 0, max: 4 * 86_400_000 }),
    (drawn, second, long) => {
      const schedule = scheduleOf(drawn);
      const first = nextAfter(schedule, second * 1_000) ?? 0;
      const times: number[] = [];
      for (let at: number | null = first; at !== null && at <= first + long && times.length < 6_000;) {
        times.push(at);
        at = nextAfter(schedule, at);
      }
      const by = times.length < 6_000 ? first + long : (times.at(-1) ?? 0);
      assert.deepEqual(timesUpTo(schedule, first, by), { count: times.length, newestMs: times.at(-1) });
      assert.equal(newestFew(schedule, first, by, 5), times.slice(-5)[0]);
    },
  );
  fc.assert(property, { numRuns: 150 });
});

test("W2: a year of seconds is soon counted, over both changes of the clock", () => {
  const from = Date.UTC(2026, 0, 1);
  const by = Date.UTC(2027, 0, 1);
  assert.equal(timesUpTo(cron("* * * * * *"), from, by).count, (by - from) / 1_000 + 1);
  assert.equal(timesUpTo(cron("* * * * *"), from, by).count, (by - from) / 60_000 + 1);
  // The hour from 02:00 is left out once, and comes twice once.
  assert.equal(timesUpTo(cron("* 2 * * *"), nextAfter(cron("* 2 * * *"), from) ?? 0, by).count, 365 * 60);
  assert.equal(timesUpTo({ kind: "every", everyMs: 1_000, fromMs: 0 }, 0, by).count, by / 1_000 + 1);
});
