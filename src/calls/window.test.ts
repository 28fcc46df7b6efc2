import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { redacted } from "../base/redact.ts";
import { Window } from "./window.ts";

const KEY = `sk-${"Ab1".repeat(14)}`;

test("pieces that are cut where characters begin make the whole, wherever they are cut", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.array(fc.nat(), { maxLength: 8 }), (text, cuts) => {
      const window = new Window(Buffer.from(text), false);
      const { length } = window.bytes;
      const at = [0, ...cuts.map((cut) => window.characterAt(cut % (length + 1))), length].toSorted(
        (a, b) => a - b,
      );
      const pieces = at.slice(1).map((end, index) => window.shown(at[index] ?? 0, end));
      assert.equal(pieces.join(""), text.toWellFormed());
      for (let byte = 0; byte < length; byte += 1) {
        const [from, to] = [window.characterAt(byte), window.characterAfter(window.characterAt(byte))];
        assert.ok(from <= byte && byte < to && window.isText(from, to));
      }
    }),
  );
});

test("of a secret nothing is shown, wherever a piece begins or ends", () => {
  const text = `before ${KEY} between\n-----BEGIN PRIVATE KEY-----\n${"MIIé".repeat(30)}\n-----END PRIVATE KEY-----\nafter`;
  const window = new Window(Buffer.from(text), true);
  const { length } = window.bytes;
  assert.equal(window.shown(0, length), redacted(text));
  for (let cut = 0; cut <= length; cut += 1) {
    const at = window.characterAt(cut);
    const shown = window.shown(0, at) + window.shown(at, length);
    assert.doesNotMatch(shown, /Ab1|MII/);
    assert.equal(shown.replaceAll(/\[redacted: \w+( \w+)?\]/g, ""), "before  between\n\nafter");
  }
});

test("a piece with a few bytes that are no text is shown with signs for them, and still without secrets", () => {
  const bytes = Buffer.concat([
    Buffer.from(`caf\u00e9 ${KEY} `),
    Buffer.from([0xe9, 0x80]),
    Buffer.from(` then ${KEY} password=${"a".repeat(199)}😀b 😀`),
    Buffer.from([0xff]),
  ]);
  const window = new Window(bytes, true);
  assert.equal(
    window.shown(0, bytes.length),
    "café [redacted: key] \ufffd then [redacted: key] password=[redacted]b 😀\ufffd",
  );
  assert.deepEqual([window.bad(0, bytes.length), window.isText(0, bytes.length)], [3, true]);
  assert.deepEqual([window.bad(0, 9), window.isText(0, 9)], [0, true]);
});

test("bytes that are no text are not cut up, and never shown", () => {
  const window = new Window(Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80, 0xff]), true);
  for (let at = 0; at <= 6; at += 1)
    assert.ok(window.characterAt(at) <= at && window.characterAfter(at) <= 6);
  assert.equal(window.shown(0, 6), "[6 bytes that are not text]");
});
