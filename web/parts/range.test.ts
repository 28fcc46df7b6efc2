import assert from "node:assert/strict";
import { test } from "node:test";
import { rangeOf } from "./range.ts";

test("a plot begins at nothing, and its top is at least so much", () => {
  assert.deepEqual(rangeOf({ lines: [{ values: [1, null, 3] }], least: 10 }), [0, 10]);
  assert.deepEqual(rangeOf({ lines: [{ values: [1] }, { values: [40] }], least: 10 }), [0, 40]);
  assert.deepEqual(rangeOf({ lines: [], least: 10 }), [0, 10]);
});

test("around what is never near nothing there is at least so much: a little less does not look like a crash", () => {
  const [low, high] = rangeOf({ lines: [{ values: [81.5, 81.2] }], least: 10, isAround: true });
  assert.deepEqual([high - low, low < 77 && high > 86], [10, true]);
  const [from, to] = rangeOf({ lines: [{ values: [90, 10] }], least: 10, isAround: true });
  assert.ok(from <= 10 && from >= 0 && to >= 90 && to < 110);
  assert.deepEqual(rangeOf({ lines: [{ values: [1] }], least: 10, isAround: true }), [0, 10]);
});
