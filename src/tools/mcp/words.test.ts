import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { odd } from "../../../test/mcp/rig.ts";
import { shortly, Words, wordsOf } from "./words.ts";

const SECRET = "supersecret-token-0123456789abcdef";
const words = new Words(odd("plain", { TOKEN: SECRET }));

test("wherever a text is cut, no half of a secret is left", () => {
  for (let before = 0; before < 2_200; before += 1)
    for (const filling of ["e", " "]) {
      const text = `${filling.repeat(before)} ${SECRET} ${"and more ".repeat(300)}`;
      assert.doesNotMatch(words.shortly(text, 500), /supers/, `${filling} ${before}`);
    }
  // What was taken out before makes room: what is read then ends within what is told.
  for (let before = 0; before < 2_200; before += 1) {
    const text = `${SECRET.repeat(20)}${" ".repeat(before)}${SECRET.repeat(100)}`;
    assert.doesNotMatch(words.shortly(text, 500), /supers/, String(before));
  }
});

test("what is short is told whole, and what holds no secret is told as far as it is asked for", () => {
  assert.equal(words.shortly(` I was\n given ${SECRET}.`), "I was given [secret].");
  assert.equal(words.shortly("x".repeat(10_000), 500), `${"x".repeat(500)} …`);
  const open = new Words(odd("plain"));
  fc.assert(
    fc.property(
      fc.string({ unit: "binary", maxLength: 3_000 }),
      fc.integer({ min: 1, max: 600 }),
      (text, max) => {
        assert.equal(open.shortly(text, max), shortly(text, max));
      },
    ),
  );
});

test("a text that is given without its end is told like the whole", () => {
  const read = words.charsRead(500);
  const text = `${" ".repeat(read - 10)}${SECRET}${"x".repeat(5_000)}`;
  assert.equal(words.shortly(text.slice(0, read + 1), 500), words.shortly(text, 500));
});

test("of what was thrown the reason is told, also where it stands in the cause", () => {
  assert.equal(wordsOf(new Error("fetch failed", { cause: new Error("refused") })), "fetch failed: refused");
  assert.equal(wordsOf(new TypeError("")), "TypeError");
  assert.equal(wordsOf("words"), "words");
});
