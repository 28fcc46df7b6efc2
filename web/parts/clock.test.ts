import assert from "node:assert/strict";
import { test } from "node:test";
import { clock } from "./clock.ts";

const AFTERNOON = new Date(2026, 2, 4, 14, 5, 9).getTime();
const MIDNIGHT = new Date(2026, 2, 4, 0, 5, 9).getTime();

test("a time is told by 24 hours, in every form, and midnight is 00", () => {
  assert.match(clock(AFTERNOON), /^14\D05$/);
  assert.match(clock(new Date(AFTERNOON).toISOString(), "seconds"), /^14\D05\D09$/);
  for (const form of ["day", "whole"] as const) {
    assert.match(clock(AFTERNOON, form), /14\D05/);
    assert.match(clock(MIDNIGHT, form), /00\D05/);
    assert.doesNotMatch(clock(AFTERNOON, form), /\b[AP]M\b/i);
  }
  assert.equal(clock("not a time"), "not a time");
});
