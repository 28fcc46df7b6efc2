import assert from "node:assert/strict";
import { test } from "node:test";
import { givenBy, saidBy, typedIn, typedOf, type Typed } from "./when.ts";

const NONE = { at: null, every: null, cron: null, timezone: "UTC" };

function chosen(of: Partial<Record<"at" | "every" | "cron" | "timezone", string>>): Typed {
  return typedOf({ ...NONE, ...of });
}

test("what somebody chooses is said as the daemon takes it", () => {
  const first = typedOf(null);
  assert.deepEqual(saidBy(first), { cron: "0 9 * * *" });
  assert.deepEqual(saidBy({ ...first, how: "weekdays", time: "08:05" }), { cron: "5 8 * * 1-5" });
  assert.deepEqual(saidBy({ ...first, how: "weekly", day: "0" }), { cron: "0 9 * * 0" });
  assert.deepEqual(saidBy({ ...first, how: "every", amount: "2", unit: "h" }), { every: "2h" });
  assert.deepEqual(saidBy({ ...first, how: "in", amount: "020" }), { at: "20m" });
  assert.deepEqual(saidBy({ ...first, how: "at", at: "2026-10-05T09:00" }), { at: "2026-10-05T09:00" });
  assert.deepEqual(saidBy({ ...first, how: "cron", cron: " @daily " }), { cron: "@daily" });
  for (const missing of [
    { how: "every", amount: "" },
    { how: "in", amount: "1.5" },
    { how: "daily", time: "" },
    { how: "at" },
    { how: "cron", cron: " " },
  ] as const)
    assert.equal(saidBy({ ...first, ...missing }), null, missing.how);
});

test("what a job has is chosen where it can be, and is else an expression, to the letter", () => {
  const how = (cron: string): readonly string[] => {
    const typed = chosen({ cron });
    assert.equal(saidBy(typed)?.cron, cron);
    return [typed.how, typed.time, typed.day];
  };
  assert.deepEqual(how("30 8 * * *"), ["daily", "08:30", "1"]);
  assert.deepEqual(how("0 9 * * 1-5"), ["weekdays", "09:00", "1"]);
  assert.deepEqual(how("0 9 * * 0"), ["weekly", "09:00", "0"]);
  for (const cron of [
    "0 9 * * 7",
    "00 9 * * *",
    "0 9 1 * *",
    "*/5 * * * *",
    "0 0 9 * * *",
    "@daily",
    "99 99 * * *",
  ])
    assert.equal(how(cron)[0], "cron", cron);
  const { amount, unit } = chosen({ every: "1h30m" });
  assert.deepEqual([amount, unit], ["90", "m"]);
  assert.deepEqual(saidBy(chosen({ every: "2d" })), { every: "2d" });
  assert.deepEqual(saidBy(chosen({ every: "90s" })), { every: "90s" });
  const once = chosen({ at: "2026-12-24T17:00:00.000Z", timezone: "Europe/Zurich" });
  assert.deepEqual([once.how, once.at], ["at", "2026-12-24T18:00"], "by the clock of the job");
});

test("a form gives back what it was given, and what it does not show is as usual", () => {
  const typed = chosen({ cron: "0 9 * * 3" });
  assert.deepEqual(typedIn(givenBy(typed)), typed);
  assert.deepEqual(typedIn({ "when.how": "nonsense" }), typedOf(null));
});
