// What a reader is told of damage, case by case: mostly five entries that continue each other, one of them spoilt.

import assert from "node:assert/strict";
import { test } from "node:test";
import { LINE_BYTES_MAX } from "../limits.ts";
import { Bytes, chain, fileOf, said, Sparse, written } from "../../test/fixtures/transcripts.ts";
import { encodeHeader } from "./codec.ts";
import type { Gap } from "./entry.ts";
import type { Source } from "./lines.ts";
import { pathSpans, readForward, readPathBackward, seekSeq } from "./read.ts";

const FIVE = chain(["one", "two", "three", "four", "five"].map(said));
const LINES = FIVE.map(({ line }) => line);

/** Stands for four bytes that are no UTF-8, where a file is made of text; rotten() puts them there. */
const ROT = "\u{10ffff}";

const SPOILT: readonly (readonly [what: string, line: string, reason: Gap["reason"]])[] = [
  ["is not JSON", "garbage\n", "not_json"],
  ["is cut off in the middle", `${LINES[0]?.slice(0, 30)}\n`, "not_json"],
  ["is zeroes", `${"\0".repeat(50)}\n`, "not_json"],
  ["is an entry but for bytes that are no UTF-8", LINES[0]?.replace("one", ROT) ?? "", "not_json"],
  ["is JSON but no object", "[1,2,3]\n", "wrong_shape"],
  ["is null", "null\n", "wrong_shape"],
  ["is an object of another shape", '{"some":"thing"}\n', "wrong_shape"],
  [
    "is a second header",
    encodeHeader({ type: "session", version: 3, id: "x", timestamp: "", cwd: "" }),
    "wrong_shape",
  ],
  ["is empty", "\n", "missing"],
  ["is as blank as recovery leaves it", `${" ".repeat(200)}\n`, "missing"],
  ["is blank and ends as on Windows", "  \r\n", "missing"],
];

for (const [what, line, reason] of SPOILT) {
  test(`R1, R3: a line that ${what} is one gap (${reason}), wherever it stands, and hides no other`, () => {
    for (let at = 0; at < LINES.length; at += 1) {
      const lines = LINES.with(at, line);
      const expected = [1, 2, 3, 4, 5].map((seq) => (seq === at + 1 ? reason : seq));
      const gap = { type: "gap", reason, offset: offsetOf(lines, at), bytes: Buffer.byteLength(line) };
      const source = new Bytes(rotten(fileOf(lines)));
      assert.deepEqual(forward(source), ["header", ...expected]);
      assert.deepEqual(backward(source).toReversed(), expected);
      for (const read of [readForward(source, 0), readPathBackward(source)])
        assert.deepEqual(
          [...read].map(({ item }) => item).find((item) => item.type === "gap"),
          gap,
        );
    }
  });
}

test("a line that somebody put in between is a gap, and takes no number from the entries after it", () => {
  for (const extra of ["garbage\n", "\n", "{}\n"]) {
    const source = new Bytes(fileOf(LINES.toSpliced(2, 0, extra)));
    const seen = forward(source);
    assert.deepEqual(
      seen.filter((each) => typeof each === "number"),
      [1, 2, 3, 4, 5],
    );
    assert.equal(seen.length, 7); // with the header and one gap
    // Three continues two, so what stands between them is not of the path.
    assert.deepEqual(backward(source), [5, 4, 3, 2, 1]);
  }
});

test("a line above the most bytes is a gap, and hides no other", () => {
  const before = fileOf(LINES.slice(0, 2));
  const fill = LINE_BYTES_MAX + 1024 * 1024;
  const source = new Sparse(`${before}{"x":"`, fill, `"}\n${LINES.slice(3).join("")}`);
  assert.deepEqual(forward(source), ["header", 1, 2, "too_long", 4, 5]);
  assert.deepEqual(backward(source), [5, 4, "too_long", 2, 1]);
  const gap = [...readForward(source, 0)].map(({ item }) => item).find((item) => item.type === "gap");
  assert.deepEqual(gap, { type: "gap", reason: "too_long", offset: before.length, bytes: fill + 9 });
  const foreign = new Sparse(fileOf([theirs("a", null)]), fill, `\n${theirs("b", "a")}`);
  assert.deepEqual(forward(foreign), ["header", 1, "too_long", 3]);
});

test("a torn last line is a gap; a whole one that only lacks its newline is an entry", () => {
  const whole = fileOf(LINES);
  const torn = new Bytes(whole.slice(0, -10));
  assert.deepEqual(forward(torn), ["header", 1, 2, 3, 4, "not_json"]);
  assert.deepEqual(backward(torn), ["not_json", 4, 3, 2, 1]);
  const unended = new Bytes(whole.slice(0, -1));
  assert.deepEqual(forward(unended), ["header", 1, 2, 3, 4, 5]);
  assert.deepEqual(backward(unended), [5, 4, 3, 2, 1]);
});

test("a bad first line is a gap, and the entries after it are there", () => {
  for (const [line, reason] of [
    ["garbage\n", "not_json"],
    ['{"type":"session","version":9,"id":"x"}\n', "wrong_shape"],
    ["\n", "missing"],
  ] as const) {
    const source = new Bytes(line + LINES.join(""));
    assert.deepEqual(forward(source), [reason, 1, 2, 3, 4, 5]);
    assert.deepEqual(backward(source), [5, 4, 3, 2, 1]);
  }
  const headless = new Bytes(LINES.join(""));
  assert.deepEqual(forward(headless), [1, 2, 3, 4, 5]);
  assert.deepEqual(backward(headless), [5, 4, 3, 2, 1]);
});

test("lines that vanished without a trace are one gap where they stood", () => {
  const lines = LINES.toSpliced(1, 2);
  const source = new Bytes(fileOf(lines));
  const gap = { type: "gap", reason: "missing", offset: offsetOf(lines, 1), bytes: 0 };
  assert.deepEqual(forward(source), ["header", 1, "missing", 4, 5]);
  assert.deepEqual(backward(source), [5, 4, "missing", 1]);
  for (const read of [readForward(source, 0), readPathBackward(source)])
    assert.deepEqual(
      [...read].map(({ item }) => item).find((item) => item.type === "gap"),
      gap,
    );
  assert.deepEqual(pathSpans(source, 1), [
    [1, 1],
    [4, 5],
  ]);
});

test("R1: a first entry that vanished without a trace is a gap, though no number tells of it", () => {
  const gap = { type: "gap", reason: "missing", offset: offsetOf([], 0), bytes: 0 };
  for (const lines of [LINES.slice(1), LINES.slice(3), [theirs("b", "a"), theirs("c", "b")]]) {
    const items = [...readForward(new Bytes(fileOf(lines)), 0)].map(({ item }) => item);
    assert.deepEqual(items[1], gap);
    assert.equal(items.filter((item) => item.type === "gap").length, 1);
  }
  assert.deepEqual(backward(new Bytes(fileOf(LINES.slice(1)))), [5, 4, 3, 2, "missing"]);
  // Without its header the numbers tell it too, and it is told once.
  assert.deepEqual(forward(new Bytes(fileOf(LINES.slice(1), null))), ["missing", 2, 3, 4, 5]);
});

test("a second conversation in the same file, which continues nothing either, is no damage", () => {
  const again = LINES.with(3, LINES[3]?.replace(/"parentId":"[^"]*"/, '"parentId":null') ?? "");
  assert.deepEqual(forward(new Bytes(fileOf(again))), ["header", 1, 2, 3, 4, 5]);
  assert.deepEqual(backward(new Bytes(fileOf(again))), [5, 4]);
});

test("one blank line stands for all the lines whose bytes vanished, and is one gap", () => {
  const blank = `${" ".repeat(Buffer.byteLength(LINES.slice(1, 4).join("")) - 1)}\n`;
  const source = new Bytes(fileOf(LINES.toSpliced(1, 3, blank)));
  assert.deepEqual(forward(source), ["header", 1, "missing", 5]);
  assert.deepEqual(backward(source), [5, "missing", 1]);
});

test("a repeated number is a gap where it stands again, and hides nothing", () => {
  const again = LINES.toSpliced(3, 0, LINES[1] ?? "");
  assert.deepEqual(forward(new Bytes(fileOf(again))), ["header", 1, 2, 3, "wrong_seq", 4, 5]);
  const twice = [...LINES, ...LINES];
  const expected = ["header", 1, 2, 3, 4, 5, ...Array<string>(5).fill("wrong_seq")];
  assert.deepEqual(forward(new Bytes(fileOf(twice))), expected);
  const items = [...readForward(new Bytes(fileOf(again)), 0)].map(({ item }) => item);
  assert.deepEqual(
    items.find((item) => item.type === "gap"),
    {
      type: "gap",
      reason: "wrong_seq",
      offset: offsetOf(again, 3),
      bytes: Buffer.byteLength(LINES[1] ?? ""),
    },
  );
});

const SIXTY = chain(Array.from({ length: 60 }, (_, at) => said("x".repeat(at % 7 === 0 ? 9_000 : 40))));

/** Too small, too large, and both; rising, falling and equal. `at` is the number that stood there. */
const WRONG: readonly (readonly [what: string, numbers: (at: number) => readonly number[]])[] = [
  ["one too small", () => [1]],
  ["one too large", () => [999]],
  ["one a little too large", (at) => [at + 2]],
  ["two too small", () => [1, 1]],
  ["two too large", () => [998, 999]],
  ["two too large, falling", () => [999, 998]],
  ["two too large, equal", () => [999, 999]],
  ["two a little too large", (at) => [at + 4, at + 5]],
  ["two a little too large, with a hole", (at) => [at + 4, at + 6]],
  ["too large, then too small", () => [999, 1]],
  ["too small, then too large", () => [1, 999]],
  ["three too large", () => [997, 998, 999]],
];

for (const [what, numbers] of WRONG) {
  test(`R4: wrong numbers in a row (${what}) hide no other entry and mislead no seek`, () => {
    for (const wrong of [3, 30, 52]) {
      const changed = new Map(numbers(wrong).map((number, at) => [wrong + at, number]));
      const lines = SIXTY.map(({ line, entry: { seq } }) => renumbered(line, changed.get(seq) ?? seq));
      const source = new Bytes(fileOf(lines));
      const expected = SIXTY.map(({ entry: { seq } }) => (changed.has(seq) ? "wrong_seq" : seq));
      assert.deepEqual(forward(source), ["header", ...expected]);
      assert.deepEqual(
        backward(source).toReversed(),
        SIXTY.map(({ entry: { seq } }) => changed.get(seq) ?? seq),
      );
      for (const { entry } of SIXTY.filter(({ entry: { seq } }) => !changed.has(seq))) {
        const { seq } = entry;
        const from = seekSeq(source, seq);
        assert.equal(from, offsetOf(lines, seq - 1), `seq ${seq} of ${wrong}`);
        const rest = expected.slice(seq - 1);
        assert.deepEqual(forward(source, from), rest);
        const spans = pathSpans(source, seq);
        assert.deepEqual(
          spans,
          spans.toSorted(([one], [other]) => one - other),
        );
        assert.ok(rest.every((each) => typeof each === "string" || isIn(spans, each)));
      }
    }
  });
}

test("R4: a number above the last that was committed is wrong, also where nothing after it says so", () => {
  const eight = chain(Array.from({ length: 8 }, (_, at) => said(`m${at + 1}`))).map(({ line }) => line);
  for (const [at, numbers, expected] of [
    [2, [7, 9], [1, 2, "wrong_seq", "wrong_seq", 5, 6, 7, 8]],
    [6, [20, 30], [1, 2, 3, 4, 5, 6, "wrong_seq", "wrong_seq"]],
    [7, [9], [1, 2, 3, 4, 5, 6, 7, "wrong_seq"]],
  ] as const) {
    const lines = eight.map((line, index) => renumbered(line, numbers[index - at] ?? index + 1));
    const source = new Bytes(fileOf(lines));
    const known = [...readForward(source, 0, 8)].map(({ item }) => name(item));
    assert.deepEqual(known, ["header", ...expected]);
  }
  assert.deepEqual(
    forward(new Bytes(fileOf([...eight.slice(0, 7), renumbered(eight[7] ?? "", 9)]))).slice(-2),
    ["missing", 9],
  );
});

test("R4: a last line with a wrong number does not hide the one before it from a seek", () => {
  // The third is so large that the first probe, in the middle of it, meets only the last.
  const sizes = [10, 10, 100_000, 10_000];
  const lines = chain(sizes.map((size) => said("x".repeat(size)))).map(({ line }) => line);
  const spoilt = lines.with(3, lines[3]?.replace('"seq":4', '"seq":1') ?? "");
  const source = new Bytes(fileOf(spoilt));
  for (const seq of [1, 2, 3]) assert.equal(seekSeq(source, seq), offsetOf(spoilt, seq - 1), `seq ${seq}`);
  assert.equal(seekSeq(source, 4), source.size);
});

test("a transcript whose numbers begin later is whole: an earlier generation has the others", () => {
  const later = written(
    ["six", "seven"].map((text) => ({ draft: said(text), continues: null })),
    6,
  );
  const source = new Bytes(fileOf(later));
  assert.deepEqual(forward(source), ["header", 6, 7]);
  assert.deepEqual(backward(source), [7, 6]);
  assert.equal(seekSeq(source, 2), offsetOf([], 0));
});

test("a bad line at the end of a branch that was left is not taken for part of the path", () => {
  const tree = branches([null, null, null, null, 1, null]); // five continues two; three and four were left
  const source = new Bytes(fileOf(tree.with(3, "garbage\n")));
  assert.deepEqual(backward(source), [6, 5, 2, 1]);
  assert.deepEqual(forward(source), ["header", 1, 2, 3, "not_json", 5, 6]);
});

test("R3: a bad line to which a rewind went back is where the path goes on", () => {
  const tree = branches([null, null, null, null, 1, null]);
  const spoilt = new Bytes(fileOf(tree.with(1, "garbage\n")));
  assert.deepEqual(backward(spoilt), [6, 5, "not_json", 1]);
  const gone = new Bytes(fileOf(tree.toSpliced(1, 1)));
  assert.deepEqual(backward(gone), [6, 5, "missing", 1]);
});

test("R3: after a bad line that began a branch the path goes on above it, and the gap tells why", () => {
  const tree = branches([null, null, null, null, 1, null]);
  const source = new Bytes(fileOf(tree.with(4, "garbage\n")));
  assert.deepEqual(backward(source), [6, "not_json", 4, 3, 2, 1]);
});

test("R3: reading on upwards from just below a bad line tells of it and goes on", () => {
  const source = new Bytes(fileOf(LINES.with(2, "garbage\n")));
  const below = [...readPathBackward(source)][1];
  assert.ok(below && below.item.type !== "gap" && below.item.seq === 4);
  const rest = [...readPathBackward(source, { to: below.offset, wanted: below.item.parentId })];
  assert.deepEqual(
    rest.map(({ item }) => name(item)),
    ["not_json", 2, 1],
  );
});

test("lines that another program added without numbers are read forward, bad ones among them too", () => {
  const lines = [...LINES, theirs("a", FIVE[4]?.entry.id ?? ""), "garbage\n", theirs("b", "a")];
  const source = new Bytes(fileOf(lines));
  assert.deepEqual(forward(source), ["header", 1, 2, 3, 4, 5, 6, "not_json", 8]);
});

test("a path that leads in a circle or to nowhere ends, and says so", () => {
  const self = LINES.with(4, LINES[4]?.replace(/"parentId":"[^"]*"/, '"parentId":"feedbeef-5"') ?? "");
  assert.deepEqual(backward(new Bytes(fileOf(self))), [5, "missing", 4, 3, 2, 1]);
  const nowhere = LINES.with(0, LINES[0]?.replace('"parentId":null', '"parentId":"nobody"') ?? "");
  assert.deepEqual(backward(new Bytes(fileOf(nowhere))), [5, 4, 3, 2, 1, "missing"]);
});

test("R2: reading backward through much damage takes as many reads for each bad line as through a little", () => {
  const reads = (count: number): number => {
    const all = chain(Array.from({ length: count }, (_, at) => said(`entry ${at + 1} ${"x".repeat(200)}`)));
    const source = new Bytes(fileOf(all.map(({ line }, at) => (at % 2 === 1 ? "garbage\n" : line))));
    const seen = backward(source);
    assert.equal(seen.length, count);
    assert.equal(seen.filter((each) => each === "not_json").length, count / 2);
    return source.reads;
  };
  const few = reads(1_000);
  const many = reads(4_000);
  assert.ok(many < 5 * few, `${few} reads for 500 bad lines, ${many} for 2,000`);
});

test("R3: rewinds are followed also above damage", () => {
  // Seven continues two, nine continues four. The bad line comes first on the way up.
  const tree = branches([null, null, null, null, null, null, 1, null, 3, null, null, null]);
  const source = new Bytes(fileOf(tree.with(10, "garbage\n")));
  assert.deepEqual(backward(source), [12, "not_json", 10, 9, 4, 3, 2, 1]);
  const twice = new Bytes(fileOf(tree.with(10, "garbage\n").with(3, "garbage\n")));
  assert.deepEqual(backward(twice), [12, "not_json", 10, 9, "not_json", 3, 2, 1]);
});

/** As others write them. */
function theirs(id: string, parentId: string | null): string {
  const message = { role: "user", content: id, timestamp: 0 };
  return `${JSON.stringify({ type: "message", id, parentId, timestamp: "", message })}\n`;
}

function branches(continues: readonly (number | null)[]): string[] {
  const drafts = continues.map((at, index) => ({ draft: said(`entry ${index + 1}`), continues: at }));
  return written(drafts).map(({ line }) => line);
}

function forward(source: Source, from = 0): (string | number)[] {
  return [...readForward(source, from)].map(({ item }) => name(item));
}

function backward(source: Source): (string | number)[] {
  return [...readPathBackward(source)].map(({ item }) => name(item));
}

function name(item: { readonly type: string }): string | number {
  if ("reason" in item) return String(item.reason);
  return "seq" in item ? Number(item.seq) : "header";
}

function renumbered(line: string, seq: number): string {
  return line.replace(/"seq":\d+/, `"seq":${seq}`);
}

function rotten(file: string): Buffer {
  const bytes = Buffer.from(file);
  for (let at = bytes.indexOf(ROT); at >= 0; at = bytes.indexOf(ROT)) bytes.fill(0xff, at, at + 4);
  return bytes;
}

function offsetOf(lines: readonly string[], at: number): number {
  return Buffer.byteLength(fileOf(lines.slice(0, at)));
}

function isIn(spans: readonly (readonly [number, number])[], seq: number): boolean {
  return spans.some(([first, last]) => first <= seq && seq <= last);
}
