import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Fault } from "../base/fault.ts";
import { decodePart, encodePart } from "./part.ts";

// The words once more, on purpose not imported: a word lost from the code must be missed here.
const ALL_WORDS = "main heartbeat direct dm group channel room thread topic subagent cron run hook acp";
const WORDS = ALL_WORDS.split(" ");

test("P1: every id decodes to itself, and two different ids have different parts", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 20 }),
    fc.string({ unit: fc.constantFrom("a", ".", ":", "%", "3", "A", "é"), minLength: 1, maxLength: 3 }),
    fc.constantFrom(...WORDS, ".", ".."),
  );
  fc.assert(
    fc.property(text, text, (one, other) => {
      assert.equal(decodePart(encodePart(one)), one);
      assert.equal(encodePart(one) === encodePart(other), one === other);
    }),
    { numRuns: 10_000 },
  );
});

test("P1: a part that decodes is the encoding of what it decodes to", () => {
  const piece = fc.constantFrom(
    "a",
    "%41",
    "%2F",
    "%2f",
    "%C3",
    "%A9",
    "%C0",
    "%AF",
    "%ED%A0%80",
    "%",
    ".",
    "é",
    "%6D",
    "ain",
  );
  fc.assert(
    fc.property(fc.string({ unit: piece, minLength: 1, maxLength: 4 }), (part) => {
      let foreign: string;
      try {
        foreign = decodePart(part);
      } catch (fault) {
        assert.ok(fault instanceof Fault && fault.code === "bad_input");
        return;
      }
      assert.equal(encodePart(foreign), part);
    }),
    { numRuns: 10_000 },
  );
});

const ENCODED: readonly (readonly [string, string])[] = [
  ["user123", "user123"],
  ["User123", "User123"],
  ["+49 170 1", "+49%20170%201"],
  ["@ada:matrix.org", "@ada%3Amatrix.org"],
  ["a_b.c~d!e'f(g)h@i+j-k", "a_b.c~d!e'f(g)h@i+j-k"],
  ["a*b", "a%2Ab"],
  ["100%", "100%25"],
  ["é", "%C3%A9"],
  ["😀", "%F0%9F%98%80"],
  ["\uFEFF", "%EF%BB%BF"],
  [".", "%2E"],
  ["..", "%2E."],
  ["...", "..."],
  ["main", "%6Dain"],
  ["dm", "%64m"],
  ["MAIN", "MAIN"],
  ["\0", "%00"],
];
for (const [foreign, part] of ENCODED) {
  test(`the id ${JSON.stringify(foreign)} is written ${part}`, () => {
    assert.equal(encodePart(foreign), part);
    assert.equal(decodePart(part), foreign);
  });
}

test("P2: no word of the grammar is the encoding of an id", () => {
  for (const word of WORDS) {
    assert.notEqual(encodePart(word), word);
    assert.throws(() => decodePart(word), { code: "bad_input", message: /is a word of the grammar/ });
  }
});

test("P1: half a surrogate pair is refused, because UTF-8 would write all of them alike", () => {
  for (const half of ["\uD800", "a\uDFFFb", "\uDC00\uD800"]) {
    assert.throws(() => encodePart(half), { code: "bad_input", message: /lone surrogate/ });
    assert.throws(() => decodePart(half), { code: "bad_input" });
  }
});

test("an empty id and an id that no key has room for are refused", () => {
  assert.throws(() => encodePart(""), { code: "bad_input" });
  assert.throws(() => decodePart(""), { code: "bad_input" });
  for (const long of ["a".repeat(257), "é".repeat(43), "a".repeat(10_000_000)]) {
    assert.throws(() => encodePart(long), { code: "bad_input", message: /too long/ });
    assert.throws(() => decodePart(long), { code: "bad_input", message: /too long/ });
  }
});
