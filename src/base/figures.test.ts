import assert from "node:assert/strict";
import { test } from "node:test";
import { counted } from "./figures.ts";

test("one of a thing is told as one, and none or many as many", () => {
  assert.deepEqual(
    [0, 1, 2, 18_400].map((n) => counted(n, "turn")),
    ["0 turns", "1 turn", "2 turns", "18.4k turns"],
  );
  assert.equal(counted(1, "entry", "entries"), "1 entry");
});
