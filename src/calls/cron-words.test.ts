import assert from "node:assert/strict";
import { test } from "node:test";
import { countsText, noteText, until } from "./cron-words.ts";

test("how long it is until a job fires is rounded to the nearest, also into the next unit", () => {
  const nowMs = Date.parse("2026-11-16T12:00:00Z");
  const told = (ms: number): string => until(new Date(nowMs + ms).toISOString(), nowMs);
  const SECOND = 1_000;
  const MINUTE = 60 * SECOND;
  const HOUR = 60 * MINUTE;
  assert.equal(told(20 * MINUTE - 40), "in 20m");
  assert.equal(told(5 * SECOND - 40), "in 5s");
  assert.equal(told(MINUTE - 40), "in 1m");
  assert.equal(told(HOUR - 40), "in 1h");
  assert.equal(told(24 * HOUR - 40), "in 1d");
  assert.equal(told(3 * HOUR + 40 * MINUTE), "in 3h");
  assert.equal(told(999), "now");
  assert.equal(told(-HOUR), "now");
  assert.equal(until(null, nowMs), "–");
});

test("what became of its times says that runs by request are none of them", () => {
  const asked = "runs that somebody asked for do not count";
  const text = `3 runs by its schedule, 2 times skipped, 1 time made up for by another run; ${asked}`;
  assert.equal(countsText({ ran: 3, skipped: 2, coalesced: 1 }), text);
  assert.equal(countsText({ ran: 0, skipped: 0, coalesced: 0 }), `no run by its schedule; ${asked}`);
});

test("what a run said stands before why it was not told", () => {
  assert.equal(noteText({ note: "TEA", untold: null }), "TEA");
  assert.equal(noteText({ note: "TEA", untold: "stays in the session" }), "TEA (stays in the session)");
  assert.equal(noteText({ note: null, untold: null }), "");
});
