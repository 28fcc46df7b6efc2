import assert from "node:assert/strict";
import { test } from "node:test";
import { byYourClock, cronWords, dotOf, everyMsOf, minutesText, whenWords } from "./words.ts";

test("the usual expressions are said in words, and every other as it is", () => {
  const said: Readonly<Record<string, string | null>> = {
    "0 9 * * 1-5": "weekdays at 09:00",
    "30 8 * * *": "daily at 08:30",
    "5 0 * * 0,3": "Sundays, Wednesdays at 00:05",
    "0 9 * * 7": "Sundays at 09:00",
    "0 9 1 * *": "monthly on day 1, at 09:00",
    "*/5 * * * *": "every 5 minutes",
    "*/1 * * * *": "every minute",
    "15 * * * *": "hourly at :15",
    "0 */2 * * *": "every 2 hours",
    "5 */2 * * *": null,
    "0 */5 * * *": null,
    "*/7 * * * *": null,
    "@daily": "daily at 00:00",
    "0 9 1 * 1": null,
    "0 9 * 6 *": null,
    "0 9-17 * * *": null,
    "*/5 9 * * *": null,
    "0 0 9 * * *": null,
    "0 9 * * MON": null,
    "@yearly": null,
  };
  for (const [expression, words] of Object.entries(said))
    assert.equal(cronWords(expression), words, expression);
  assert.equal(whenWords("0 9 * * 1-5 (Europe/Zurich)"), "weekdays at 09:00 (Europe/Zurich)");
  assert.equal(whenWords("0 9-17 * * * (UTC)"), "0 9-17 * * * (UTC)");
  const spans = ["every 15m", "every 1h", "every 2d", "every 1h30m", "every 90s", "every 1s"].map(whenWords);
  assert.deepEqual(spans, [
    ...["every 15 minutes", "every hour", "every 2 days", "every 1h30m"],
    ...["every 90s", "every second"],
  ]);
  assert.equal(whenWords("at 2026-12-24 17:00 (UTC)"), "once, at 2026-12-24 17:00 (UTC)");
});

test("spans are read and written as the daemon does", () => {
  assert.equal(everyMsOf("every 1h30m"), 90 * 60_000);
  assert.equal(everyMsOf("every 2d"), 2 * 86_400_000);
  assert.equal(everyMsOf("*/5 * * * * (UTC)"), null);
  assert.deepEqual([5, 60, 90].map(minutesText), ["5m", "1h", "1h30m"]);
});

test("a dot says good only of what was done", () => {
  assert.deepEqual(["done", "failed", "lost", "skipped", "alert", "began", null].map(dotOf), [
    "good",
    "bad",
    "bad",
    "idle",
    "warn",
    "running",
    "running",
  ]);
});

test("by whose clock is said where another shows something else", () => {
  const times = ["2026-11-17T08:00:00Z"];
  assert.equal(byYourClock("Europe/Zurich", times, "UTC"), ", by your clock");
  assert.equal(byYourClock("Europe/Zurich", times, "Europe/Paris"), "");
  assert.equal(byYourClock(null, times, "UTC"), "", "every so often is the same by all");
});
