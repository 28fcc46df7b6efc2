import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { roomOf } from "./room.ts";

const UNSET = { sizeTokens: null, reserveTokens: null };

test("a large window is compacted long before it is full, a small one when only the reserve is left", () => {
  assert.equal(roomOf(1_000_000, UNSET, 0).compactAt, 300_000);
  assert.equal(roomOf(200_000, UNSET, 0).compactAt, 60_000);
  assert.equal(roomOf(32_000, UNSET, 0).compactAt, 24_000);
  assert.equal(roomOf(8_000, UNSET, 0).compactAt, 6_000);
});

test("a size or a reserve that was set is taken, within the window", () => {
  assert.equal(roomOf(200_000, { sizeTokens: 150_000, reserveTokens: null }, 0).compactAt, 150_000);
  assert.equal(roomOf(200_000, { sizeTokens: 500_000, reserveTokens: null }, 0).compactAt, 180_000);
  assert.equal(roomOf(200_000, { sizeTokens: 500_000, reserveTokens: 50_000 }, 0).compactAt, 150_000);
  assert.equal(
    roomOf(8_000, { sizeTokens: null, reserveTokens: 20_000 }, 0).compactAt,
    4_000,
    "half is left",
  );
});

test("what tools and the system prompt take is not what pruning and keeping are measured by", () => {
  const { compactAt, pruneAt, keep, batch } = roomOf(8_000, UNSET, 4_200);
  assert.deepEqual([compactAt, pruneAt, keep, batch], [6_000, 4_999, 333, 1_000]);
  assert.deepEqual(
    [roomOf(1_000_000, UNSET, 5_000), roomOf(200_000, UNSET, 5_000)].map(({ pruneAt: at }) => at),
    [34_999, 32_499],
    "a large window is no reason to keep what is stale",
  );
  const small = roomOf(200_000, { sizeTokens: 3_000, reserveTokens: null }, 4_200);
  assert.equal(small.compactAt, 6_200, "a size below them leaves a conversation something");
});

test("whatever is set, there is room, and its parts fit each other", () => {
  const tokens = fc.option(fc.integer({ min: 0, max: 2_000_000 }));
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2_000_000 }),
      tokens,
      tokens,
      fc.integer({ min: 0, max: 50_000 }),
      (window, sizeTokens, reserveTokens, frame) => {
        const room = roomOf(window, { sizeTokens, reserveTokens }, frame);
        assert.ok(room.compactAt >= 1 && room.compactAt <= room.window);
        assert.ok(room.most <= room.window && room.compactAt <= room.most);
        assert.ok(
          room.pruneAt < room.compactAt && room.keep + room.batch < room.compactAt && room.fresh <= room.keep,
        );
        for (const each of Object.values(room)) assert.ok(Number.isSafeInteger(each) && each >= 0);
      },
    ),
  );
});
