import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { widthOf } from "../output.ts";
import { wordRows } from "./cells.ts";

test("lines are broken between words, and what follows stands below where the words begin", () => {
  assert.deepEqual(wordRows("  /new [model]  begins a new conversation now", 30), [
    "  /new [model]  begins a new",
    "    conversation now",
  ]);
  assert.deepEqual(wordRows("  /stop  stops the turn that runs", 20), [
    "  /stop  stops the",
    "         turn that",
    "         runs",
  ]);
  assert.deepEqual(wordRows("one two three", 8), ["one two", "  three"]);
  assert.deepEqual(wordRows("fits\nand this, too", 20), ["fits", "and this, too"]);
  assert.deepEqual(wordRows("", 5), [""]);
});

test("wide characters count as wide, and a word that is wider than a row is cut", () => {
  assert.deepEqual(wordRows("日本 語語 日本", 9), ["日本 語語", "  日本"]);
  assert.deepEqual(wordRows("a 0123456789", 6), ["a", "  0123", "456789"]);
});

test("no row is wider than there is room, and no word is lost", () => {
  const word = fc.constantFrom("a", "word", "価格", "👨‍👩‍👧", "  ", "e\u0301xact", "very-long-indeed-and-longer");
  fc.assert(
    fc.property(fc.array(word, { maxLength: 20 }), fc.integer({ min: 2, max: 40 }), (words, width) => {
      const text = words.join(" ");
      const rows = wordRows(text, width);
      for (const row of rows) assert.ok(widthOf(row) <= width, `${widthOf(row)} > ${width}: ${row}`);
      assert.equal(rows.join("").replaceAll(" ", ""), text.replaceAll(" ", ""));
    }),
  );
});
