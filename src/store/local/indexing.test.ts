// How much of the index is made, or forgotten, in one stretch.

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { afterwards, Home, scratch } from "../../../test/fixtures/home.ts";
import type { SessionKey } from "../../routing/key.ts";
import { addTexts, Budget, TEXTS_AT_ONCE } from "./indexing.ts";
import { snapshot } from "./spliced.ts";
import { Words } from "./words.ts";

const OF = { key: "k" as SessionKey, agent: "main" };

function opened(t: TestContext): Words {
  const words = Words.open(join(scratch(t), "search.sqlite"));
  afterwards(t, () => words.close());
  return words;
}

test("a long session is read in stretches, each of which goes on where the last one stopped", async (t) => {
  const home = await Home.open(t);
  const texts = Array.from({ length: 600 }, (_, n) => `plum ${n}`);
  const key = await home.talk("long", ...texts);
  const { id } = (await home.row(key)).transcript;
  await home.close();
  const state = new DatabaseSync(home.paths.state);
  afterwards(t, () => state.close());
  const words = opened(t);
  const found: number[] = [];
  for (let isWhole = false; !isWhole;) {
    const taken = snapshot(state, home.paths, id);
    assert.ok(taken);
    isWhole = addTexts(words, taken, Infinity, new Budget());
    taken.source.close();
    found.push(words.place(id, OF).seq);
  }
  assert.deepEqual(found, [TEXTS_AT_ONCE, 2 * TEXTS_AT_ONCE, 600]);
  assert.deepEqual(
    words.find({ text: "plum", limit: 500 }).map(({ seq }) => seq),
    Array.from({ length: 500 }, (_, n) => 600 - n),
  );
});

test("long texts end a stretch as well", async (t) => {
  const home = await Home.open(t);
  const key = await home.talk("long", "first");
  for (let n = 0; n < 6; n += 1) await home.say(key, `plum ${"x".repeat(1024 * 1024)}`);
  const { id } = (await home.row(key)).transcript;
  await home.close();
  const state = new DatabaseSync(home.paths.state);
  afterwards(t, () => state.close());
  const taken = snapshot(state, home.paths, id);
  assert.ok(taken);
  const words = opened(t);
  assert.equal(addTexts(words, taken, Infinity, new Budget()), false);
  assert.equal(words.find({ text: "plum", limit: 10 }).length, 4);
  assert.equal(addTexts(words, taken, Infinity, new Budget()), true);
  assert.equal(words.find({ text: "plum", limit: 10 }).length, 6);
  taken.source.close();
});

test("what is forgotten is not found at once, its texts go in parts, and one that comes back keeps its own", (t) => {
  const words = opened(t);
  const add = (count: number): void => {
    const { n } = words.place("id", OF);
    for (let seq = 1; seq <= count; seq += 1) words.add(n, seq, "plum");
  };
  const found = (): number => words.find({ text: "plum", limit: 1_000 }).length;
  add(10);
  words.forget("id");
  assert.deepEqual([found(), words.isForgetting], [0, true]);
  add(3);
  const rounds: [number, boolean][] = [];
  for (let round = 0; round < 3; round += 1) {
    words.forgetSome(4);
    rounds.push([found(), words.isForgetting]);
  }
  assert.deepEqual(rounds, [
    [3, true],
    [3, true],
    [3, false],
  ]);
});

test("a history under another name is found under that", (t) => {
  const words = opened(t);
  words.add(words.place("a", OF).n, 1, "plum");
  words.rename("a", "b");
  assert.deepEqual(
    words.find({ text: "plum" }).map(({ transcript }) => transcript),
    ["b"],
  );
});

test("an index of another shape is made anew", (t) => {
  const path = join(scratch(t), "search.sqlite");
  const old = new DatabaseSync(path);
  old.exec("CREATE TABLE transcripts (id TEXT PRIMARY KEY)");
  old.close();
  const words = Words.open(path);
  assert.equal(words.place("a", OF).seq, 0);
  words.close();
});

test("a session that goes and comes back while search is behind is found once, and all of it", async (t) => {
  const home = await Home.open(t);
  const key = await home.talk("long", ...Array.from({ length: 700 }, (_, n) => `plum ${n}`));
  const caughtUp = async (): Promise<number> => {
    for (;;) {
      const { hits, behind } = await home.store.search({ text: "plum", limit: 1_000 });
      if (behind === 0) return hits.length;
      await sleep(5);
    }
  };
  const most = await caughtUp();
  for (let round = 0; round < 5; round += 1) {
    const { id, lastSeq } = (await home.row(key)).transcript;
    const expect = { transcript: id, lastSeq };
    await home.store.commit([{ do: "archive", key, expect, why: "asked" }]);
    if (round % 2 === 0) assert.equal(await caughtUp(), 0);
    await home.store.commit([{ do: "restore", archive: id, over: null }]);
    assert.equal(await caughtUp(), most);
  }
  const { hits } = await home.store.search({ text: "plum", key, limit: 1_000 });
  assert.equal(new Set(hits.map(({ seq }) => seq)).size, hits.length);
});
