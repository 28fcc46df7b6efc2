import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, call, compaction, entries, result, said, STARTED, user } from "../../test/fixtures/talk.ts";
import { cutOf } from "../context/cut.ts";
import { flushNote, withoutFlushes } from "../context/flush.ts";
import { meter } from "../context/meter.ts";
import { roomOf } from "../context/room.ts";
import type { Entry } from "../transcript/entry.ts";
import { worthCutting, type Measured, type WorthCut } from "./compacting.ts";

const FRAME = { system: 0, tools: 0 };

function measured(all: readonly Entry[], windowTokens: number): Measured {
  const reading = meter(all, FRAME, { provider: "p", name: "m" }, false);
  const room = roomOf(windowTokens, { sizeTokens: null, reserveTokens: null }, 0);
  return { entries: all, reading, room, model: "p/m" };
}

function worth(all: readonly Entry[], pins: readonly string[] = []): WorthCut | null {
  return worthCutting(measured(all, 12_000), { pins: new Set(pins), shared: false, copied: 0 });
}

const LONG = "word ".repeat(1_500);

test("what is cut off counts, wherever an older compaction stands that kept it", () => {
  const all = entries(user("one"), said("1"), user("two"), said(LONG), compaction(0));
  assert.equal(worth(all), null, "there is hardly anything before the last turn");
  const more = entries(user(LONG), said("1"), user("two"), said("2"), compaction(0));
  assert.equal(worth(more)?.at, 2);
});

test("what comes back word for word is not saved", () => {
  const pinned = entries(user(LONG), said("1"), user("two"), said(LONG), user("three"));
  assert.ok((worth(pinned)?.savedBytes ?? 0) > 4_000);
  const short = entries(user(LONG), said("1"), user("two"), said("2"), user("three"), said(LONG));
  assert.ok(worth(short) !== null);
  assert.equal(worth(short, ["e-0"]), null);
});

test("no cut is made inside of a flush: what is kept of it would be shown", () => {
  const flushed = [flushNote(), answer(call("1")), user("steered"), result("1"), said("NO_REPLY")];
  const all = entries(STARTED, user("go"), said(LONG), ...flushed, said("2"));
  const [steered, second] = [all[5], all[8]];
  const cut = worth(all);
  assert.deepEqual([steered?.id, second?.id], ["e-5", "e-8"]);
  assert.equal(withoutFlushes(all)[cut?.at ?? -1], second);
  assert.equal(
    cutOf(withoutFlushes(all), 100)?.at,
    withoutFlushes(all).indexOf(steered as Entry),
    "else it would",
  );
});
