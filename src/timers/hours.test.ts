import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ActiveHours } from "../config/config.ts";
import { isWithin, nextBeat, spoken } from "./hours.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const ZURICH = "Europe/Zurich";

function hours(from: string, to: string, zone = ZURICH): ActiveHours {
  return { fromMinute: minuteOf(from), toMinute: minuteOf(to), zone };
}

function minuteOf(clock: string): number {
  const [hour = 0, minute = 0] = clock.split(":").map(Number);
  return hour * 60 + minute;
}

function at(iso: string): number {
  const ms = Date.parse(iso);
  assert.ok(!Number.isNaN(ms), iso);
  return ms;
}

/** All beats from one time up to another. */
function beats(
  policy: { readonly everyMinutes: number; readonly hours: ActiveHours | null },
  fromMs: number,
  toMs: number,
): number[] {
  const found: number[] = [];
  for (let next = nextBeat("main", policy, fromMs); next < toMs; next = nextBeat("main", policy, next))
    found.push(next);
  return found;
}

/** The clock on the wall, by another way than the code's. */
function wall(ms: number, zone = ZURICH): string {
  const known = clocks.get(zone);
  const clock =
    known ?? new Intl.DateTimeFormat("sv-SE", { timeZone: zone, hour: "2-digit", minute: "2-digit" });
  if (!known) clocks.set(zone, clock);
  return clock.format(ms);
}

const clocks = new Map<string, Intl.DateTimeFormat>();

describe("the grid of an agent", () => {
  test("without hours it beats all day, each time as long after the one before", () => {
    const day = beats({ everyMinutes: 30, hours: null }, at("2026-03-29T00:00Z"), at("2026-03-30T00:00Z"));
    assert.equal(day.length, 48);
    for (const [n, ms] of day.entries()) if (n > 0) assert.equal(ms - (day[n - 1] ?? 0), 30 * MINUTE_MS);
  });

  test("the next beat is after the time that is asked for, also when that is a beat", () => {
    const policy = { everyMinutes: 30, hours: null };
    const one = nextBeat("main", policy, at("2026-01-01T00:00Z"));
    assert.equal(nextBeat("main", policy, one), one + 30 * MINUTE_MS);
    assert.equal(nextBeat("main", policy, one - 1), one);
  });

  test("fifty agents do not beat at once, and each beats when it did before", () => {
    const policy = { everyMinutes: 30, hours: null };
    const names = Array.from({ length: 50 }, (_, n) => `agent${n}`);
    const next = names.map((name) => nextBeat(name, policy, at("2026-01-01T00:00Z")));
    assert.deepEqual(
      next,
      names.map((name) => nextBeat(name, policy, at("2026-01-01T00:00Z"))),
    );
    const minutes = new Set(next.map((ms) => Math.floor(ms / MINUTE_MS)));
    assert.ok(minutes.size > 20, `${minutes.size}`);
  });
});

describe("hours", () => {
  test("all beats are within them, and in each hour of them are as many as there should be", () => {
    const of = hours("08:00", "22:00");
    const days = beats({ everyMinutes: 30, hours: of }, at("2026-01-10T00:00Z"), at("2026-01-13T00:00Z"));
    for (const ms of days) assert.ok(wall(ms) >= "08:00" && wall(ms) < "22:00", wall(ms));
    assert.equal(days.length, 3 * 14 * 2);
  });

  test("over midnight they go on into the next day", () => {
    const of = hours("22:00", "06:00");
    const days = beats({ everyMinutes: 60, hours: of }, at("2026-01-10T12:00Z"), at("2026-01-13T12:00Z"));
    for (const ms of days) assert.ok(wall(ms) >= "22:00" || wall(ms) < "06:00", wall(ms));
    assert.equal(days.length, 3 * 8);
  });

  test("from midnight to midnight, or from a time to the same, is all day", () => {
    for (const whole of [hours("00:00", "24:00"), hours("09:00", "09:00")])
      assert.equal(
        beats({ everyMinutes: 60, hours: whole }, at("2026-01-10T00:00Z"), at("2026-01-11T00:00Z")).length,
        24,
      );
  });

  test("an agent whose grid never meets its hours beats soon after they begin, in each", () => {
    // Some phase of a day is at night for every agent but the lucky ones; so all are tried.
    for (let n = 0; n < 20; n += 1) {
      const policy = { everyMinutes: 24 * 60, hours: hours("08:00", "08:30") };
      let ms = nextBeat(`agent${n}`, policy, at("2026-01-10T12:00Z"));
      for (let day = 0; day < 5; day += 1) {
        assert.ok(wall(ms) >= "08:00" && wall(ms) < "08:30", wall(ms));
        const next = nextBeat(`agent${n}`, policy, ms);
        assert.equal(new Date(next).getUTCDate(), new Date(ms).getUTCDate() + 1);
        ms = next;
      }
    }
  });

  test("a beat every 29 hours is in the next hours after it was due, and none are passed over", () => {
    const policy = { everyMinutes: 29 * 60, hours: hours("08:00", "18:00") };
    const month = beats(policy, at("2026-01-01T00:00Z"), at("2026-02-01T00:00Z"));
    for (const [n, ms] of month.entries()) if (n > 0) assert.ok(ms - (month[n - 1] ?? 0) <= 58 * HOUR_MS);
    assert.ok(month.length >= 20, `${month.length}`);
  });
});

/** In which some zone sets its clock: New York, Zurich, Lord Howe and Casablanca, in spring and in autumn. */
const CHANGES = [
  ["2026-02-13T00:00Z", "2026-04-08T00:00Z"],
  ["2026-10-01T00:00Z", "2026-11-04T00:00Z"],
] as const;

describe("a change of the clock", () => {
  test("in spring the day is an hour shorter, and hours are those of the wall", () => {
    const of = hours("08:00", "22:00");
    const days = beats({ everyMinutes: 30, hours: of }, at("2026-03-28T00:00Z"), at("2026-03-31T00:00Z"));
    for (const ms of days) assert.ok(wall(ms) >= "08:00" && wall(ms) < "22:00", wall(ms));
    assert.equal(days.length, 3 * 14 * 2);
    // The first of Saturday by winter time, the first of Sunday by summer time: an hour closer.
    const first = (day: number): number => days.find((ms) => new Date(ms).getUTCDate() === day) ?? 0;
    assert.equal(first(29) - first(28), 23 * HOUR_MS);
  });

  test("in autumn it is an hour longer", () => {
    const of = hours("08:00", "22:00");
    const days = beats({ everyMinutes: 30, hours: of }, at("2026-10-24T00:00Z"), at("2026-10-27T00:00Z"));
    for (const ms of days) assert.ok(wall(ms) >= "08:00" && wall(ms) < "22:00", wall(ms));
    const first = (day: number): number => days.find((ms) => new Date(ms).getUTCDate() === day) ?? 0;
    assert.equal(first(25) - first(24), 25 * HOUR_MS);
  });

  test("hours that begin when there is no such time begin when the clock goes on", () => {
    // 2026-03-29 01:00Z: the clock goes from 02:00 to 03:00. One beat in so long an interval is at the beginning of the hours.
    const policy = { everyMinutes: 24 * 60 * 3, hours: hours("02:30", "03:10") };
    const found = [...Array(40).keys()]
      .map((n) => nextBeat(`a${n}`, policy, at("2026-03-25T12:00Z")))
      .filter((ms) => ms > at("2026-03-28T12:00Z") && ms < at("2026-03-29T12:00Z"));
    assert.ok(found.length > 0);
    for (const ms of found) {
      assert.ok(ms >= at("2026-03-29T01:00Z") && ms < at("2026-03-29T01:10Z"), new Date(ms).toISOString());
      assert.ok(wall(ms) >= "03:00" && wall(ms) < "03:10", wall(ms));
    }
  });

  test("whatever the zone and the hours, a beat is within its hours and no window is left out", () => {
    for (const zone of [
      ZURICH,
      "America/New_York",
      "Australia/Lord_Howe",
      "Asia/Kathmandu",
      "Africa/Casablanca",
    ])
      for (const [from, to] of [
        ["02:15", "03:30"],
        ["23:45", "00:45"],
        ["00:00", "05:00"],
        ["01:00", "24:00"],
      ] as const) {
        const of = hours(from, to, zone);
        const isIn = (ms: number): boolean => {
          const now = wall(ms, zone);
          return from < to ? now >= from && now < to : now >= from || now < to;
        };
        for (const [first, end] of CHANGES) {
          const policy = { everyMinutes: 15, hours: of };
          const found = beats(policy, at(first), at(end));
          const grid = beats({ ...policy, hours: null }, at(first), at(end)).filter(isIn);
          assert.deepEqual(found, grid, `${zone} ${from} ${to}`);
          for (const ms of grid) assert.ok(isWithin(of, ms));
        }
      }
  });
});

test("a time is told as the clock on the wall shows it", () => {
  assert.match(spoken(ZURICH, at("2026-07-01T12:05Z")), /^Wednesday,? 1 July 2026.* 14:05$/);
});
