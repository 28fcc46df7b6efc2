import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Block } from "../transcript/entry.ts";
import { named } from "./spoken.ts";

function call(id: string): Block {
  return { type: "toolCall", id, name: "tool", arguments: { a: 1 } };
}

function idsOf(blocks: readonly Block[]): string[] {
  return blocks.flatMap((block) => (block.type === "toolCall" ? [block.id] : []));
}

test("calls keep ids that are short and differ, and get names of ours where they are not", () => {
  const text: Block = { type: "text", text: "words" };
  const given = [
    text,
    call("toolu_1"),
    call("toolu_1"),
    call(""),
    call("x".repeat(65)),
    call("a b"),
    call("b"),
  ];
  const ids = idsOf(named(given, 7));
  assert.deepEqual(ids, ["toolu_1", "call-7-2", "call-7-3", "call-7-4", "call-7-5", "b"]);
  assert.equal(named(given, 7)[0], text);
});

test("whatever a model calls its calls, they differ afterwards", () => {
  const id = fc.oneof(fc.string(), fc.constantFrom("a", "call-7-0", "call-7-1", "call-7-2", "call-7-3"));
  fc.assert(
    fc.property(fc.array(id, { maxLength: 6 }), (ids) => {
      const names = idsOf(named(ids.map(call), 7));
      assert.equal(names.length, ids.length);
      assert.equal(new Set(names).size, names.length);
    }),
  );
});
