import assert from "node:assert/strict";
import { test } from "node:test";
import { composed, textIn, tooLong } from "./attaching.ts";

test("what is not UTF-8, or has a zero in it, is no text", () => {
  const of = (...bytes: number[]): ArrayBuffer => new Uint8Array(bytes).buffer;
  assert.equal(textIn(of(0x68, 0xc3, 0xa9)), "hé");
  assert.equal(textIn(of(0xff, 0xfe, 0x41)), null);
  assert.equal(textIn(of(0x41, 0, 0x42)), null);
});

test("a file cannot end the fence that it stands in", () => {
  const message = composed("look", [{ name: "a.md", text: "```js\n1\n```\n" }]);
  assert.equal(message, "look\n\na.md:\n\n````\n```js\n1\n```\n````");
  assert.equal(composed("", [{ name: "b", text: "x" }]), "b:\n\n```\nx\n```");
});

test("a message that is too long when it is written down is refused before it is sent", () => {
  assert.equal(tooLong("short"), null);
  assert.match(tooLong("\u0001".repeat(200_000)) ?? "", /at most/, "six bytes each, in JSON");
});
