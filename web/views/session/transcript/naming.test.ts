import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "../../../../src/transcript/entry.ts";
import { nameOfEntry } from "./naming.ts";

const AT = new Date(2026, 10, 16, 9, 5).toISOString();
const LATER = new Date(2026, 10, 16, 23, 0).getTime();

function entry(body: object): Entry {
  return { id: "t-3", parentId: null, seq: 3, timestamp: AT, ...body } as unknown as Entry;
}

function letter(content: unknown): Entry {
  return entry({ type: "message", message: { role: "user", content, timestamp: 0 } });
}

test("an entry is named by its first words on one line, and its time", () => {
  assert.equal(nameOfEntry(letter("Compare\n\nthem."), LATER), "“Compare them.” (09:05)");
  const long = nameOfEntry(letter(`${"word ".repeat(400)}end`), LATER);
  assert.match(long, /^“(?:word )+\S*…” \(09:05\)$/);
  assert.ok(long.length < 64, long);
});

test("of another day it has the day; without words it is named by what it is; without a time it has none", () => {
  assert.match(nameOfEntry(letter("hi"), LATER + 86_400_000), /^“hi” \(.*16.*09:05\)$/);
  const step = { role: "assistant", content: [], provider: "x", model: "y", stopReason: "toolUse" };
  assert.equal(nameOfEntry(entry({ type: "message", message: step }), LATER), "the step (09:05)");
  const ended = { type: "custom", customType: "sessiond/turn-ended", data: { outcome: "done" } };
  assert.equal(nameOfEntry(entry(ended), LATER), "the end of the turn (09:05)");
  assert.equal(nameOfEntry(entry({ ...ended, timestamp: "never" }), LATER), "the end of the turn");
});

test("whatever stands in it is harmless in a line", () => {
  assert.equal(nameOfEntry(letter("\u001b[31mred\u202eder\u001b[0m"), LATER), "“redder” (09:05)");
});
