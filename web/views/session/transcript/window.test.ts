import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry, Gap } from "../../../../src/transcript/entry.ts";
import {
  ENTRIES_MAX,
  opened,
  seqsIn,
  withEarlier,
  withLater,
  withNew,
  type Line,
  type Page,
  type Window,
} from "./window.ts";

const GAP: Gap = { type: "gap", reason: "not_json", offset: 0, bytes: 8 };

function entry(seq: number, parent: number | null = seq === 1 ? null : seq - 1): Entry {
  return {
    type: "session_info",
    id: `e${seq}`,
    parentId: parent === null ? null : `e${parent}`,
    seq,
    timestamp: "2026-01-02T10:00:00.000Z",
  };
}

/** A transcript of so many entries, some of which are followed by a gap, as `entries` gives pages of it. */
class Transcript {
  readonly gaps: ReadonlySet<number>;
  count: number;

  constructor(count: number, gaps: readonly number[] = []) {
    this.count = count;
    this.gaps = new Set(gaps);
  }

  all(): Line[] {
    return Array.from({ length: this.count }, (_, at) => this.#with(at + 1)).flat();
  }

  from(from: number, most: number): Page {
    const to = Math.min(this.count, from + most - 1);
    return this.#page(from, to);
  }

  before(before: number, most: number): Page {
    return this.#page(Math.max(1, before - most), before - 1);
  }

  #page(first: number, last: number): Page {
    const lines = Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => this.#with(first + at));
    return {
      transcript: "t",
      lastSeq: this.count,
      lines: lines.flat(),
      prev: first <= 1 ? null : first,
      next: last >= this.count ? null : last + 1,
    };
  }

  #with(seq: number): Line[] {
    return this.gaps.has(seq) ? [entry(seq), GAP] : [entry(seq)];
  }
}

function agrees(window: Window, transcript: Transcript): void {
  const seqs = seqsIn(window.lines);
  const [first = 0, last = 0] = [seqs[0], seqs.at(-1)];
  const all = transcript.all();
  const from = first <= 1 ? 0 : all.findIndex((line) => line.type !== "gap" && line.seq === first);
  const to = all.findIndex((line) => line.type !== "gap" && line.seq === last + 1);
  assert.deepEqual(window.lines, all.slice(from, to === -1 ? undefined : to));
  assert.equal(window.prev, first <= 1 ? null : first);
  assert.equal(window.next, last >= window.lastSeq ? null : last + 1);
}

test("whichever way a window is moved, it has no hole, nothing twice, and an end to its size", () => {
  const transcript = new Transcript(5_000, [1, 60, 61, 2_000, 2_499, 4_999]);
  let window = opened(transcript.from(2_500, 60));
  let dice = 42;
  for (let move = 0; move < 400; move += 1) {
    dice = (dice * 1_103_515_245 + 12_345) % 2_147_483_648;
    const most = 1 + (dice % 97);
    const isUp = move % 200 < 100 ? dice % 5 > 0 : dice % 5 === 0;
    const { prev, next } = window;
    if (isUp && prev !== null) window = withEarlier(window, transcript.before(prev, most), prev);
    if (!isUp && next !== null) window = withLater(window, transcript.from(next, most), next);
    agrees(window, transcript);
    assert.ok(seqsIn(window.lines).length <= ENTRIES_MAX);
  }
});

test("what happens is added at the end, and only counted where the end is not there", () => {
  const transcript = new Transcript(1_000);
  let window = opened(transcript.from(500, 60));
  transcript.count = 1_001;
  window = withNew(window, entry(1_001), "end") ?? window;
  assert.deepEqual([window.lines.length, window.lastSeq, window.next], [60, 1_001, 560]);
  window = opened(transcript.from(990, 60));
  for (let seq = 1_002; seq <= 1_800; seq += 1) window = withNew(window, entry(seq), "end") ?? window;
  transcript.count = 1_800;
  agrees(window, transcript);
  assert.deepEqual([seqsIn(window.lines)[0], window.next], [1_201, null]);
});

test("who reads further up keeps what they read, however much happens", () => {
  const transcript = new Transcript(100);
  let window = opened(transcript.from(41, 60));
  for (let seq = 101; seq <= 1_000; seq += 1) window = withNew(window, entry(seq), "beginning") ?? window;
  transcript.count = 1_000;
  agrees(window, transcript);
  assert.deepEqual([seqsIn(window.lines)[0], window.next], [41, 641]);
});

test("what is told twice, or was on a page already, is there once", () => {
  const window = opened(new Transcript(10).from(1, 60));
  assert.equal(withNew(window, entry(10), "end"), window);
  const grown = withNew(window, entry(11), "end");
  assert.ok(grown);
  assert.equal(withNew(grown, entry(11), "end"), grown);
});

test("an entry that was told of while an older page was on its way is not missed", () => {
  const transcript = new Transcript(10);
  const late = transcript.from(8, 60);
  assert.equal(opened(late, 12).next, 11);
  let window = opened(transcript.from(1, 5));
  window = withNew(window, entry(11), "end") ?? window;
  window = withLater(window, transcript.from(6, 60), 6);
  assert.equal(window.next, 11);
  transcript.count = 11;
  window = withLater(window, transcript.from(11, 60), 11);
  agrees(window, transcript);
  assert.equal(window.next, null);
});

test("after a rewind, and where the entry before is not known, the path is read anew", () => {
  const window = opened(new Transcript(10).from(1, 60));
  assert.equal(withNew(window, entry(11, 4), "end"), null);
  assert.equal(withNew(window, entry(12), "end"), null, "11 was never told of");
  const above = opened(new Transcript(100).from(1, 60));
  const rewound: Entry = { ...entry(101), type: "custom", customType: "sessiond/rewound" };
  assert.equal(withNew(above, rewound, "end"), null, "also when the end is not there");
  assert.equal(withNew(above, { ...entry(101), parentId: null }, "end"), null, "a conversation begins anew");
});

test("an end that cannot be read is the end", () => {
  const lines = [entry(1), entry(2), GAP, GAP];
  const window = opened({ transcript: "t", lastSeq: 4, lines, prev: null, next: null });
  assert.equal(window.next, null);
  assert.equal(withNew(window, entry(5), "end"), null, "what it continues is not there: it is read anew");
});

test("a page that answers an older question changes nothing", () => {
  const transcript = new Transcript(100);
  const window = opened(transcript.from(41, 20));
  assert.equal(withEarlier(window, transcript.before(90, 20), 90), window);
  assert.equal(withLater(window, transcript.from(90, 20), 90), window);
  assert.equal(withLater(window, { ...transcript.from(61, 20), transcript: "u" }, 61), window);
});

test("the first entry of an empty transcript is added", () => {
  const empty = opened({ transcript: "t", lastSeq: 0, lines: [], prev: null, next: null });
  assert.deepEqual(seqsIn(withNew(empty, entry(1), "end")?.lines ?? []), [1]);
});
