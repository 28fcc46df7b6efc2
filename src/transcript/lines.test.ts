import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { LINE_BYTES_MAX } from "../limits.ts";
import { Bytes, Sparse } from "../../test/fixtures/transcripts.ts";
import { FileSource, lineStartAfter, linesBackward, linesForward, type Line } from "./lines.ts";

const CHUNK_BYTES = 64 * 1024;

// Lengths around the size of a chunk are where a border can fall: inside a line, inside a character, on the newline.
const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom("a", "é", "€", "🙂"), fc.integer({ min: CHUNK_BYTES - 6, max: CHUNK_BYTES + 6 }))
      .map(([char, bytes]) => char.repeat(Math.ceil(bytes / Buffer.byteLength(char)))),
  },
  { weight: 1, arbitrary: fc.constant("b".repeat(3 * CHUNK_BYTES)) },
);
const line = text.map((words) => words.replaceAll("\n", " "));
const file = fc.record({ lines: fc.array(line, { maxLength: 8 }), tail: fc.option(line) });

test("lines come out in both directions as they went in, whatever their length", () => {
  fc.assert(
    fc.property(file, ({ lines, tail }) => {
      const expected = expectedLines(lines, tail);
      const bytes = lines.map((each) => `${each}\n`).join("") + (tail ?? "");
      const source = new Bytes(bytes);
      assert.deepEqual([...linesForward(source, 0)], expected);
      assert.deepEqual([...linesForward(source, 0, 7)], expected);
      assert.deepEqual([...linesBackward(source, source.size)].toReversed(), expected);
      assert.deepEqual([...linesBackward(source, source.size, 7)].toReversed(), expected);
    }),
    { numRuns: 150 },
  );
});

test("reading can begin at the start of any line, and go back from the end of any line", () => {
  const { source, lines } = sample(["one", "", "x".repeat(CHUNK_BYTES), "four"]);
  for (const [at, { offset, bytes }] of lines.entries()) {
    assert.deepEqual([...linesForward(source, offset)], lines.slice(at));
    assert.deepEqual([...linesBackward(source, offset + bytes)].toReversed(), lines.slice(0, at + 1));
  }
});

test("the first line at or after a byte is found, for every byte of the file", () => {
  const { source, lines } = sample(["one", "", "three", "four"]);
  const starts = lines.map(({ offset }) => offset);
  for (let at = 0; at <= source.size; at += 1) {
    const expected = starts.find((start) => start >= at) ?? source.size;
    assert.equal(lineStartAfter(source, at), expected);
  }
  const long = sample(["a", "x".repeat(2 * CHUNK_BYTES), "b"]);
  assert.equal(lineStartAfter(long.source, 3), long.lines[2]?.offset);
});

test("an unfinished last line begins nowhere after its own start", () => {
  const source = new Bytes("one\ntwo");
  assert.equal(lineStartAfter(source, 4), 4);
  assert.equal(lineStartAfter(source, 5), source.size);
});

test("an empty source has no lines", () => {
  assert.deepEqual([...linesForward(new Bytes(""), 0)], []);
  assert.deepEqual([...linesBackward(new Bytes(""), 0)], []);
});

test("a line that is not UTF-8 has no text, and the lines around it are as they were", () => {
  const bad = Buffer.from([0x61, 0xff, 0x62]);
  const cut = Buffer.from("é".repeat(CHUNK_BYTES)).subarray(1); // begins inside a character, ends chunks later
  for (const rotten of [bad, cut, Buffer.from([0xed, 0xa0, 0x80]), Buffer.from([0xc0, 0xaf])]) {
    const source = new Bytes(
      Buffer.concat([Buffer.from("one\n"), rotten, Buffer.from("\n\ufeffthree \ufffd\n")]),
    );
    const texts = [...linesForward(source, 0)].map((each) => each.text);
    assert.deepEqual(texts, ["one", null, "\ufeffthree \ufffd"]);
    assert.deepEqual([...linesBackward(source, source.size)].toReversed(), [...linesForward(source, 0)]);
  }
});

test("a line of exactly the most bytes is read in both directions, wherever it begins", () => {
  for (const before of ["", "a\n"]) {
    const source = new Sparse(before, LINE_BYTES_MAX, "\nb\n");
    const at = before.length;
    const expected = [
      { offset: at, bytes: LINE_BYTES_MAX + 1, chars: LINE_BYTES_MAX, ended: true },
      { offset: at + LINE_BYTES_MAX + 1, bytes: 2, chars: 1, ended: true },
    ];
    const forward = [...linesForward(source, 0, 1024 * 1024)].map(shape);
    const backward = [...linesBackward(source, source.size)].map(shape).toReversed();
    assert.deepEqual(forward.slice(-2), expected);
    assert.deepEqual(backward, forward);
  }
});

test("a line of more has no text, and the lines around it are as they were", () => {
  const tooLong = 65 * 1024 * 1024;
  const source = new Sparse("a\n", tooLong, "\nb\n");
  const backward = [...linesBackward(source, source.size)].toReversed();
  for (const lines of [[...linesForward(source, 0)], backward]) {
    assert.deepEqual(lines.map(shape), [
      { offset: 0, bytes: 2, chars: 1, ended: true },
      { offset: 2, bytes: tooLong + 1, chars: null, ended: true },
      { offset: tooLong + 3, bytes: 2, chars: 1, ended: true },
    ]);
  }
});

test("a last line that is too long and not ended says both, in both directions", () => {
  const source = new Sparse("a\n", LINE_BYTES_MAX + 1, "");
  const expected = { offset: 2, bytes: LINE_BYTES_MAX + 1, chars: null, ended: false };
  assert.deepEqual([...linesForward(source, 0)].map(shape).at(-1), expected);
  assert.deepEqual([...linesBackward(source, source.size)].map(shape)[0], expected);
});

test("a file source does not look beyond the size it was given", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sessiond-lines-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "file");
  writeFileSync(path, "one\ntwo\nthree\n");
  for (const [sizeMax, expected] of [
    [null, ["one", "two", "three"]],
    [8, ["one", "two"]],
    [1_000, ["one", "two", "three"]],
    [0, []],
  ] as const) {
    const source = new FileSource(path, sizeMax);
    try {
      assert.deepEqual(
        [...linesForward(source, 0)].map((each) => each.text),
        expected,
      );
      assert.deepEqual(
        [...linesBackward(source, source.size)].map((each) => each.text),
        expected.toReversed(),
      );
      assert.equal(source.read(source.size, 10).length, 0);
    } finally {
      source.close();
    }
  }
});

function sample(texts: readonly string[]): { source: Bytes; lines: Line[] } {
  return { source: new Bytes(texts.map((each) => `${each}\n`).join("")), lines: expectedLines(texts, null) };
}

function expectedLines(lines: readonly string[], tail: string | null): Line[] {
  const all: Line[] = [];
  let offset = 0;
  const add = (words: string, ended: boolean): void => {
    const bytes = Buffer.byteLength(words) + (ended ? 1 : 0);
    all.push({ offset, bytes, text: words, ended });
    offset += bytes;
  };
  for (const each of lines) add(each, true);
  if (tail !== null && tail !== "") add(tail, false);
  return all;
}

/** The text's length instead of the text: nobody wants 64 MiB in a failure's message. */
function shape({ offset, bytes, text: words, ended }: Line): object {
  return { offset, bytes, chars: words === null ? null : words.length, ended };
}
