import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { Output } from "./output.ts";

test("what fits is kept whole", () => {
  const output = new Output({ headChars: 4, tailChars: 4 });
  for (const each of "abcdefgh") output.add(each);
  assert.equal(output.text(), "abcdefgh");
});

test("of what does not fit, the beginning and the end are kept, and the rest is counted", () => {
  const output = new Output({ headChars: 4, tailChars: 3 });
  output.add("abcdefgh");
  output.add("ij");
  assert.equal(output.text(), "abcd\n[3 characters were left out here]\nhij");
  assert.equal(output.chars, 10);
});

test("memory stays bounded however much is printed, in large pieces and in small ones", () => {
  for (const [piece, times] of [
    ["x".repeat(65_536), 800],
    ["y", 600_000],
  ] as const) {
    const output = new Output({ headChars: 1_024, tailChars: 65_536 });
    for (let count = 0; count < times; count += 1) output.add(piece);
    assert.equal(output.chars, piece.length * times);
    assert.ok(output.keptChars <= 1_024 + 2 * 65_536 + 4_096, `${output.keptChars}`);
    assert.ok(output.text().endsWith(piece));
  }
});

test("a character that arrives in pieces stays whole, also when the other stream prints between them", async () => {
  const output = new Output({ headChars: 100, tailChars: 100 });
  const [out, err] = [new PassThrough(), new PassThrough()];
  output.read(out);
  output.read(err);
  const euro = Buffer.from("a€b");
  out.write(euro.subarray(0, 2));
  err.write("!");
  out.end(euro.subarray(2));
  err.end(Buffer.from("ü").subarray(0, 1)); // and one that never gets whole
  await output.isRead;
  assert.deepEqual([...output.text()].toSorted(), [..."a!€b\uFFFD"].toSorted());
  assert.ok(output.text().includes("€b"));
});

test("a pair that a cut splits does not make the text ill-formed", () => {
  const output = new Output({ headChars: 1, tailChars: 1 });
  output.add("😀xx😀");
  assert.ok(output.text().isWellFormed());
});

test("reading goes on where the last one ended, and says from where the text is", () => {
  const output = new Output({ headChars: 0, tailChars: 6 });
  output.add("abcdef");
  assert.deepEqual(output.since(0, 4), { text: "abcd", from: 0, to: 4 });
  assert.deepEqual(output.since(4, 4), { text: "ef", from: 4, to: 6 });
  output.add("ghij");
  assert.deepEqual(output.since(2, 100), { text: "efghij", from: 4, to: 10 });
  assert.deepEqual(output.since(99, 100), { text: "", from: 10, to: 10 });
});
