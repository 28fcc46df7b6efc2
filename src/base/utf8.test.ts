import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import { test } from "node:test";
import * as fc from "fast-check";
import { textRuns } from "./utf8.ts";

function runsOf(bytes: Buffer): readonly string[] {
  return [...textRuns(bytes, { from: 0, to: bytes.length })].map(({ from, to }) =>
    bytes.toString("utf8", from, to),
  );
}

test("the runs of text among any bytes are text, and nothing between them is", () => {
  const piece = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 4 }).map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom([0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82])
      .map(Buffer.from),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const bytes = Buffer.concat(pieces);
      let last = -1;
      for (const { from, to } of textRuns(bytes, { from: 0, to: bytes.length })) {
        assert.ok(from > last && to > from && isUtf8(bytes.subarray(from, to)));
        last = to;
      }
      // Node shows one � or more for each stretch that is no text, and every character of the others.
      const shown = bytes
        .toString("utf8")
        .split("\ufffd")
        .filter((text) => text !== "");
      assert.deepEqual(
        runsOf(bytes)
          .flatMap((text) => text.split("\ufffd"))
          .filter((text) => text !== ""),
        shown,
      );
    }),
    { numRuns: 1_000 },
  );
});

test("a character that the end cuts is none", () => {
  assert.deepEqual(runsOf(Buffer.from("a€").subarray(0, 3)), ["a"]);
  assert.deepEqual(runsOf(Buffer.alloc(0)), []);
});
