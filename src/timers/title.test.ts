import assert from "node:assert/strict";
import { test } from "node:test";
import { nameOf, titleOf } from "./title.ts";

const AT_MS = Date.parse("2026-11-16T11:41:07.312Z");

test("a run is called by the clock of its job, and one that was asked for is not said to be due", () => {
  const job = { id: "1f0c", name: "news", message: "read it" };
  const cron = { kind: "cron", expression: "0 9 * * *", zone: "Europe/Zurich" } as const;
  const every = { kind: "every", everyMs: 60_000, fromMs: 0 } as const;
  const due = { dueAtMs: AT_MS - 7_312, isAsked: false };
  assert.equal(
    titleOf({ ...job, schedule: cron }, due, "Asia/Tokyo"),
    '"news" (1f0c), due at 2026-11-16 12:41 (Europe/Zurich)',
  );
  assert.equal(
    titleOf(
      { ...job, name: "", message: "", schedule: every },
      { dueAtMs: AT_MS, isAsked: true },
      "Asia/Tokyo",
    ),
    "1f0c, run by request at 2026-11-16 20:41:07 (Asia/Tokyo)",
  );
});

test("a job without a name is called by the first words of its message, harmless and without secrets", () => {
  const called = (message: string): string => nameOf({ id: "1f0c", name: "", message });
  assert.equal(called("what is new?\nSay it briefly."), '"what is new? Say it briefly." (1f0c)');
  assert.equal(called(`${"word ".repeat(8)}more`), '"word word word word word word word word…" (1f0c)');
  assert.equal(called("\u202e\u001b[31mred"), '"red" (1f0c)');
  assert.doesNotMatch(called("use sk-abcdefghijklmnopqrstuvwx"), /sk-a/);
});
