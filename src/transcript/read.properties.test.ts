import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  Bytes,
  chain,
  fileOf,
  pathOf,
  said,
  written,
  type Written,
} from "../../test/fixtures/transcripts.ts";
import type { Entry, Gap } from "./entry.ts";
import { pathSpans, readForward, readPathBackward, seekSeq, type Placed } from "./read.ts";

// Mostly short lines; some longer than a chunk, so that borders fall everywhere.
const text = fc
  .tuple(fc.constantFrom("x", "é", "🙂"), fc.oneof({ weight: 9, arbitrary: fc.nat(60) }, fc.nat(40_000)))
  .map(([char, times]) => char.repeat(times));

/** A conversation in which people go back and take another way. `back` null: the entry continues the one before it. */
const tree = fc
  .array(fc.record({ text, back: fc.option(fc.nat(1_000), { freq: 4 }) }), { minLength: 1, maxLength: 30 })
  .map((steps) =>
    written(
      steps.map((step, at) => ({
        draft: said(step.text),
        continues: step.back === null || at === 0 ? null : step.back % at,
      })),
    ),
  );

test("the path read backward is the path from the last entry along its parents", () => {
  fc.assert(
    fc.property(tree, (lines) => {
      const placed = [...readPathBackward(new Bytes(fileOf(lines)))].toReversed();
      assert.deepEqual(itemsOf(placed), pathOf(entriesOf(lines)));
      checkPlaces(fileOf(lines), placed);
    }),
    { numRuns: 300 },
  );
});

test("the path read forward, by its spans, is the path read backward, from every seq on", () => {
  fc.assert(
    fc.property(tree, fc.nat(1_000), (lines, pick) => {
      const source = new Bytes(fileOf(lines));
      const from = 1 + (pick % lines.length);
      const spans = pathSpans(source, from);
      assert.deepEqual(
        spans.flat(),
        spans.flat().toSorted((a, b) => a - b),
      );
      const forward = itemsOf(readForward(source, seekSeq(source, from))).filter((item) =>
        spans.some(([first, last]) => "seq" in item && first <= item.seq && item.seq <= last),
      );
      const backward = itemsOf(readPathBackward(source)).filter((item) => "seq" in item && item.seq >= from);
      assert.deepEqual(forward, backward.toReversed());
    }),
    { numRuns: 300 },
  );
});

test("reading backward can stop after any entry and go on from there", () => {
  fc.assert(
    fc.property(tree, fc.nat(1_000), (lines, pick) => {
      const source = new Bytes(fileOf(lines));
      const whole = [...readPathBackward(source)];
      const first = whole.slice(0, 1 + (pick % whole.length));
      const last = first.at(-1);
      assert.ok(last && last.item.type !== "gap");
      const rest = [...readPathBackward(source, { to: last.offset, wanted: last.item.parentId })];
      assert.deepEqual([...first, ...rest], whole);
    }),
    { numRuns: 200 },
  );
});

test("R1: every byte of a file is in exactly one of the things that reading it forward gives", () => {
  const garbage = fc.oneof(fc.constantFrom("", " ", "{", "null", "[]", "{}", '{"type":"x"}'), fc.string());
  const bad = garbage.map((words) => `${words.replaceAll("\n", " ")}\n`);
  fc.assert(
    fc.property(tree, fc.array(fc.tuple(fc.nat(1_000), bad)), (lines, holes) => {
      const all = lines.map(({ line }) => line);
      for (const [pick, line] of holes) all[pick % all.length] = line;
      const file = fileOf(all);
      const placed = [...readForward(new Bytes(file), 0)];
      let at = 0;
      for (const { offset, bytes } of placed) {
        assert.equal(offset, at);
        at += bytes;
      }
      assert.equal(at, Buffer.byteLength(file));
      const readable = lines.filter(({ line }) => all.includes(line)).map(({ entry }) => entry);
      assert.deepEqual(
        itemsOf(placed).filter((item) => "seq" in item),
        readable,
      );
      checkPlaces(file, placed);
    }),
    { numRuns: 300 },
  );
});

test("R3: bad lines that neither begin a branch nor hide where one began leave the path as it was", () => {
  fc.assert(
    fc.property(tree, fc.uniqueArray(fc.nat(40), { maxLength: 6 }), (lines, picks) => {
      const path = new Set(pathOf(entriesOf(lines)));
      const isBad = (at: number): boolean => at < lines.length - 1 && picks.includes(at) && isTold(lines, at);
      const isTold = (all: readonly Written[], at: number): boolean => {
        const [self, next] = [all[at], all[at + 1]];
        if (!self || !next || !continuesAbove(all, at)) return false;
        if (!path.has(self.entry)) return true;
        return continuesAbove(all, at + 1) && (path.has(next.entry) || !picks.includes(at + 1));
      };
      const file = fileOf(lines.map(({ line }, at) => (isBad(at) ? "torn{\n" : line)));
      const seen = itemsOf(readPathBackward(new Bytes(file))).map((item) =>
        "seq" in item ? item.seq : item.type,
      );
      const expected = lines.flatMap(({ entry }, at) =>
        path.has(entry) ? [isBad(at) ? "gap" : entry.seq] : [],
      );
      assert.deepEqual(seen.toReversed(), expected);
    }),
    { numRuns: 2_000 },
  );
});

test("seeking a seq finds what a plain scan finds, in files with bad lines, missing numbers and repeats", () => {
  const kind = fc.constantFrom("good", "good", "good", "good", "bad", "blank", "missing", "twice");
  const size = fc.oneof({ weight: 5, arbitrary: fc.nat(100) }, fc.nat(9_000), fc.nat(200_000));
  fc.assert(
    fc.property(fc.array(fc.tuple(kind, size), { maxLength: 40 }), fc.nat(50), (made, seq) => {
      const lines = chain(made.map(([, bytes]) => said("x".repeat(bytes))));
      const file = fileOf(
        lines.flatMap(({ line }, at) => {
          const what = made[at]?.[0];
          if (what === "bad") return [`${line.slice(0, -3)}\n`];
          if (what === "blank") return [`${" ".repeat(Buffer.byteLength(line) - 1)}\n`];
          if (what === "missing") return [];
          return what === "twice" ? [line, line] : [line];
        }),
      );
      assert.equal(seekSeq(new Bytes(file), seq), plainSeek(file, seq));
    }),
    { numRuns: 300 },
  );
});

test("R2: seeking reads few pieces of a large file", () => {
  const file = fileOf(chain(Array.from({ length: 20_000 }, (_, at) => said("x".repeat(at % 997)))));
  const source = new Bytes(file);
  for (const seq of [1, 2, 777, 10_000, 19_999, 20_000, 20_001]) {
    source.reads = 0;
    assert.equal(seekSeq(source, seq), plainSeek(file, seq));
    assert.ok(source.reads < 40, `${source.reads} reads for ${source.size} bytes`);
  }
});

function itemsOf<Item>(placed: Iterable<Placed<Item>>): Item[] {
  return [...placed].map(({ item }) => item);
}

function entriesOf(lines: readonly Written[]): Entry[] {
  return lines.map(({ entry }) => entry);
}

function continuesAbove(lines: readonly Written[], at: number): boolean {
  return lines[at]?.entry.parentId === (lines[at - 1]?.entry.id ?? null);
}

/** What is said of a place is true: the line stands there, and a gap names its own bytes. */
function checkPlaces(file: string, placed: readonly Placed<Entry | Gap | object>[]): void {
  const bytes = Buffer.from(file);
  for (const { item, offset, bytes: length, text: line } of placed) {
    const there = bytes.toString("utf8", offset, offset + length);
    if ("reason" in item) assert.deepEqual([item.offset, item.bytes, line], [offset, length, ""]);
    else assert.equal(there, `${line}\n`);
  }
}

function plainSeek(file: string, seq: number): number {
  let offset = 0;
  for (const line of file.split("\n")) {
    try {
      const found = (JSON.parse(line) as { seq?: number }).seq;
      if (found !== undefined && found >= seq) return offset;
    } catch {
      // A bad line has no seq.
    }
    offset += Buffer.byteLength(line) + 1;
  }
  return Buffer.byteLength(file);
}
