import assert from "node:assert/strict";
import { test } from "node:test";
import { assert as believe, unreachable } from "./assert.ts";
import { Fault } from "./fault.ts";

test("a belief that holds passes; one that does not is an error that says which, and no fault", () => {
  believe(true, "fine");
  const broken = (): void => believe(false, "two is less than one");
  assert.throws(broken, (error) => !(error instanceof Fault));
  assert.throws(broken, /^Error: assertion failed: two is less than one$/);
});

test("what the compiler proved impossible is shown when it happens", () => {
  assert.throws(() => unreachable({ do: "fly" } as never), /\{"do":"fly"\}/);
});
