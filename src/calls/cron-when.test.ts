// How times are read that people and models write down.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { Fault } from "../base/fault.ts";
import type { Schedule } from "../timers/job.ts";
import { scheduleAgain, scheduleOf, spanOf, spanText, whenText, type When } from "./cron-when.ts";
import { JOB_SPAN_MS_MAX } from "./limits.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const ZURICH = { nowMs: NOW, zone: "Europe/Zurich" };
const ANY = { minMs: 0, maxMs: JOB_SPAN_MS_MAX };

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof Fault, String(error));
    assert.equal(error.code, "bad_input");
    return error.message;
  }
  throw new Error("it was not refused");
}

function at(text: string, more: When = {}): string {
  const made = scheduleOf({ at: text, ...more }, ZURICH);
  return made.kind === "at" ? new Date(made.atMs).toISOString() : made.kind;
}

describe("a span", () => {
  test("is read in weeks, days, hours, minutes and seconds, each once", () => {
    const read = (text: string): number => spanOf("x", text, ANY);
    assert.deepEqual(["90s", "15m", "2h", "1d", "1w", "1h30m", "1d 2h", "0s"].map(read), [
      90_000,
      900_000,
      7_200_000,
      86_400_000,
      7 * 86_400_000,
      5_400_000,
      26 * 3_600_000,
      0,
    ]);
    for (const wrong of ["", "15", "m", "1.5h", "-1h", "1h1h", "1 h", "5min", "1e3s", "9".repeat(70)])
      assert.match(
        refusal(() => read(wrong)),
        /^x: a span such as 90s/,
        wrong,
      );
  });

  test("is bounded on both sides", () => {
    const bounds = { minMs: 1_000, maxMs: 60_000 };
    assert.equal(spanOf("x", "1m", bounds), 60_000);
    assert.equal(
      refusal(() => spanOf("x", "61s", bounds)),
      'x: from 1s to 1m, not "61s"',
    );
    assert.match(
      refusal(() => spanOf("x", "0s", bounds)),
      /from 1s/,
    );
  });

  test("is written as it is read", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: JOB_SPAN_MS_MAX / 1_000 }), (seconds) => {
        assert.equal(spanOf("x", spanText(seconds * 1_000), ANY), seconds * 1_000);
      }),
    );
  });
});

describe("a time", () => {
  test("with an offset is that moment, without one it is by the clock of the zone", () => {
    assert.equal(at("2026-10-05T09:00:00Z"), "2026-10-05T09:00:00.000Z");
    assert.equal(at("2026-10-05T09:00+02:00"), "2026-10-05T07:00:00.000Z");
    assert.equal(at("2026-10-05t09:00-0330"), "2026-10-05T12:30:00.000Z");
    assert.equal(at("2026-10-05T09:00"), "2026-10-05T07:00:00.000Z", "in summer");
    assert.equal(at("2026-12-05 09:00:30"), "2026-12-05T08:00:30.000Z", "in winter");
    assert.equal(at("2026-10-05T09:00", { timezone: "America/New_York" }), "2026-10-05T13:00:00.000Z");
    assert.equal(at("2026-10-05T09:00", { timezone: "Asia/Kathmandu" }), "2026-10-05T03:15:00.000Z");
    assert.equal(at("20m"), "2026-03-01T12:20:00.000Z");
  });

  test("that a clock leaves out is as much later as it is put forward; of one that it shows twice it is the first", () => {
    assert.equal(at("2026-03-29T02:30"), "2026-03-29T01:30:00.000Z"); // The clock shows 03:30 then.
    assert.equal(at("2026-10-25T02:30"), "2026-10-25T00:30:00.000Z");
    assert.equal(at("2026-10-25T03:00"), "2026-10-25T02:00:00.000Z");
    assert.equal(at("2026-03-08T02:30", { timezone: "America/New_York" }), "2026-03-08T07:30:00.000Z");
  });

  test("is what the clock of its zone shows, whatever the zone", () => {
    const zones = [
      "UTC",
      "Europe/Zurich",
      "America/St_Johns",
      "Australia/Lord_Howe",
      "Pacific/Apia",
      "Asia/Tehran",
    ];
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.integer({ min: 60, max: 5_000_000 }), (zone, minutes) => {
        const moment = NOW + minutes * 60_000;
        const shown = new Intl.DateTimeFormat("sv-SE", {
          timeZone: zone,
          dateStyle: "short",
          timeStyle: "medium",
        });
        const wall = shown.format(moment);
        const made = scheduleOf({ at: wall, timezone: zone }, ZURICH);
        assert.ok(made.kind === "at");
        assert.equal(shown.format(made.atMs), wall);
        assert.ok(made.atMs <= moment, "the first of two");
      }),
      { numRuns: 500 },
    );
  });

  test("that is none, is over, or is too far away is refused", () => {
    const wrong = [
      "",
      "tomorrow",
      "2026-10-05",
      "2026-02-30T09:00",
      "2026-13-01T09:00",
      "2026-10-05T24:30",
      "09:00",
    ];
    for (const text of [...wrong, "2026-10-05T09:00+25:00", "5min"])
      assert.match(
        refusal(() => at(text)),
        /^at: a time such as 2026-/,
        text,
      );
    assert.match(
      refusal(() => at("2026-03-01T12:59")),
      /2026-03-01T11:59:00.000Z is over; it is 2026-03-01T12:00/,
    );
    assert.match(
      refusal(() => at("0s")),
      /is over/,
    );
    assert.match(
      refusal(() => at("2126-10-05T09:00")),
      /further away than/,
    );
  });
});

describe("a schedule", () => {
  test("is exactly one of at, every and cron", () => {
    for (const when of [{}, { at: "1h", every: "1h" }, { cron: "* * * * *", every: "1h" }])
      assert.match(
        refusal(() => scheduleOf(when, ZURICH)),
        /exactly one of at, every and cron/,
      );
  });

  test("has the zone of the configuration, unless it names another", () => {
    const cron = { kind: "cron", expression: "0 9 * * 1-5", zone: "Europe/Zurich" } as const;
    assert.deepEqual(scheduleOf({ cron: " 0 9  * * 1-5 " }, ZURICH), cron);
    assert.deepEqual(scheduleOf({ cron: "0 9 * * 1-5", timezone: "UTC" }, ZURICH), { ...cron, zone: "UTC" });
    assert.match(
      refusal(() => scheduleOf({ cron: "0 9 * * *", timezone: "Mars/Base" }, ZURICH)),
      /^timezone: an IANA/,
    );
    assert.match(
      refusal(() => scheduleOf({ every: "1h", timezone: "UTC" }, ZURICH)),
      /^timezone: .*leave it out/,
    );
    assert.match(
      refusal(() => scheduleOf({ cron: "0 9 * *" }, ZURICH)),
      /^cron: five fields/,
    );
    assert.match(
      refusal(() => scheduleOf({ cron: "0 0 30 2 *" }, ZURICH)),
      /never due/,
    );
    assert.match(
      refusal(() => scheduleOf({ every: "0s" }, ZURICH)),
      /^every: from 1s/,
    );
  });

  test("is changed as far as is said", () => {
    const cron: Schedule = { kind: "cron", expression: "0 9 * * *", zone: "Asia/Tokyo" };
    assert.equal(scheduleAgain(cron, {}, ZURICH), null);
    assert.deepEqual(scheduleAgain(cron, { timezone: "UTC" }, ZURICH), { ...cron, zone: "UTC" });
    assert.deepEqual(scheduleAgain(cron, { cron: "0 8 * * *" }, ZURICH), {
      ...cron,
      expression: "0 8 * * *",
    });
    const every: Schedule = { kind: "every", everyMs: 60_000, fromMs: 0 };
    assert.deepEqual(scheduleAgain(cron, { every: "1m" }, ZURICH), { ...every, fromMs: NOW + 60_000 });
    assert.match(
      refusal(() => scheduleAgain(every, { timezone: "UTC" }, ZURICH)),
      /^timezone: alone/,
    );
  });

  test("is told in words", () => {
    const told = ([{ cron: "0 9 * * 1-5" }, { every: "90m" }, { at: "2026-10-05T09:00" }] as const).map(
      (when) => whenText(scheduleOf(when, ZURICH)),
    );
    assert.deepEqual(told, [
      "0 9 * * 1-5 (Europe/Zurich)",
      "every 1h30m",
      "at 2026-10-05 09:00 (Europe/Zurich)",
    ]);
  });
});
