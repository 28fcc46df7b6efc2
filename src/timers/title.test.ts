import assert from "node:assert/strict";
import { test } from "node:test";
import { titleOf } from "./title.ts";

const AT_MS = Date.parse("2026-11-16T11:41:07.312Z");

test("a run is called by the clock of its job, and one that was asked for is not said to be due", () => {
  const job = { id: "1f0c", name: "news" };
  const cron = { kind: "cron", expression: "0 9 * * *", zone: "Europe/Zurich" } as const;
  const every = { kind: "every", everyMs: 60_000, fromMs: 0 } as const;
  const due = { dueAtMs: AT_MS - 7_312, isAsked: false };
  assert.equal(
    titleOf({ ...job, schedule: cron }, due, "Asia/Tokyo"),
    '"news" (1f0c), due at 2026-11-16 12:41 (Europe/Zurich)',
  );
  assert.equal(
    titleOf({ id: "1f0c", name: "", schedule: every }, { dueAtMs: AT_MS, isAsked: true }, "Asia/Tokyo"),
    "1f0c, run by request at 2026-11-16 20:41:07 (Asia/Tokyo)",
  );
});
