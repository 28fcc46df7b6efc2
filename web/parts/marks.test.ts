import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { piecesOf } from "./marks.ts";

function markedIn(text: string, asked: string): readonly string[] {
  return piecesOf(text, asked).flatMap((piece) => (piece.isMarked ? [piece.text] : []));
}

test("words are marked whole, whatever their case and accents; of the last the beginning is enough", () => {
  assert.deepEqual(markedIn("Zürich has pears, PEARS and pearls", "zurich pears"), [
    "Zürich",
    "pears",
    "PEARS",
  ]);
  assert.deepEqual(markedIn("pears and pearls", "and pea"), ["pears", "and", "pearls"]);
  assert.deepEqual(markedIn("a pearl of pears", "pear x"), [], "only the last may be a beginning");
  assert.deepEqual(markedIn("cafe\u0301 and café", "cafe"), ["cafe\u0301", "café"], "also of two characters");
});

test("what is no word marks nothing, and is never read as a pattern", () => {
  assert.deepEqual(piecesOf("a.b", ".* ("), [{ text: "a.b", isMarked: false }]);
  assert.deepEqual(piecesOf("", "a"), []);
  assert.deepEqual(markedIn("<b>bold</b>", "<b>"), ["b", "bold", "b"]);
});

test("joined, the pieces are the text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), (text, asked) => {
      const pieces = piecesOf(text, asked);
      assert.equal(pieces.map((piece) => piece.text).join(""), text);
      assert.ok(pieces.every((piece) => piece.text !== ""));
    }),
  );
});
