import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Home } from "../../../test/fixtures/home.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Hits } from "../store.ts";

/** The keys that a word is found in, when search has caught up. */
async function found(home: Home, text: string): Promise<string[]> {
  for (;;) {
    const hits: Hits = await home.store.search({ text });
    if (hits.behind === 0) return hits.hits.map(({ key }) => key).toSorted();
    await sleep(5);
  }
}

/** A home with two sessions whose words are in the index, closed. */
async function indexed(t: TestContext): Promise<{ home: Home; one: SessionKey; two: SessionKey }> {
  const home = await Home.open(t);
  const long = Array.from({ length: 200 }, (_, n) => `word${n} apple`).join(" ");
  const one = await home.talk("one", "apple", long);
  const two = await home.talk("two", "apple pear");
  await found(home, "apple");
  await home.close();
  return { home, one, two };
}

describe("a search index that cannot be used is made anew, and the store goes on", () => {
  for (const [what, spoil] of [
    ["is no database", (bytes: Buffer) => bytes.fill("no database")],
    ["lost all but its first page", (bytes: Buffer) => bytes.fill(0, 4_096)],
    ["lost all but its schema", (bytes: Buffer) => bytes.fill(0, 2 * 4_096)],
    ["lost its second half", (bytes: Buffer) => bytes.fill(0, bytes.length >> 1)],
    ["is empty", () => Buffer.alloc(0)],
  ] as const) {
    test(`one that ${what}`, async (t) => {
      const { home, one, two } = await indexed(t);
      writeFileSync(home.paths.search, spoil(readFileSync(home.paths.search)));
      await home.reopen();
      const three = await home.talk("three", "apple");
      assert.deepEqual(await found(home, "apple"), [one, one, three, two].toSorted());
      assert.deepEqual(home.deaths, []);
    });
  }

  test("one that is spoilt while it is in use", async (t) => {
    const { home, one, two } = await indexed(t);
    await home.reopen();
    await found(home, "apple");
    const index = new DatabaseSync(home.paths.search);
    index.exec("DROP TABLE texts");
    index.close();
    await home.store.search({ text: "apple" }); // finds out
    const three = await home.talk("three", "apple");
    assert.deepEqual(await found(home, "apple"), [one, one, three, two].toSorted());
    assert.match(home.heardOf("search")[0]?.msg ?? "", /^the search index is made anew: /);
    assert.deepEqual(home.deaths, []);
  });

  test("where none can be made, search is off and says why", async (t) => {
    const { home } = await indexed(t);
    await home.reopen();
    await found(home, "apple");
    const index = new DatabaseSync(home.paths.search);
    index.exec("DROP TABLE texts");
    index.close();
    // What comes after the first trouble finds the same again.
    const spoiling = setInterval(() => spoilAgain(home), 1);
    t.after(() => clearInterval(spoiling));
    let off = "";
    for (let tries = 0; off === "" && tries < 2_000; tries += 1) {
      await home.say(await home.talk(`more ${tries}`, "apple"), "apple");
      off = await home.store.search({ text: "apple" }).then(
        () => "",
        (error: unknown) => String(error),
      );
      await sleep(5);
    }
    clearInterval(spoiling);
    assert.match(off, /search is off until the next start/);
    await home.talk("after that", "apple");
    assert.deepEqual(home.deaths, []);
    await home.reopen();
    assert.ok((await found(home, "apple")).length > 3);
  });
});

function spoilAgain(home: Home): void {
  try {
    const index = new DatabaseSync(home.paths.search);
    index.exec("DROP TABLE IF EXISTS texts");
    index.close();
  } catch {
    // It is being made, or is in use: then the next time.
  }
}

test("everything that is said while search is behind is found once, in short stretches", async (t) => {
  const home = await Home.open(t);
  const keys = await Promise.all(Array.from({ length: 40 }, (_, n) => home.talk(`${n}`, "plum 0")));
  // More sessions change in one stretch than it looks at, and they go on changing while it does.
  for (let round = 1; round <= 30; round += 1)
    await Promise.all(keys.map((key) => home.say(key, `plum ${round}`)));
  await found(home, "plum");
  for (const key of keys) {
    const { hits } = await home.store.search({ text: "plum", key, limit: 100 });
    const seqs = hits.map(({ seq }) => seq).toSorted((a, b) => a - b);
    assert.deepEqual(
      seqs,
      Array.from({ length: 31 }, (_, n) => n + 1),
    );
  }
});

test("a transcript that cannot be read is passed over, and people hear of it once", async (t) => {
  const { home, two } = await indexed(t);
  await home.reopen();
  const file = await home.file(await home.talk("three", "apple"));
  await found(home, "apple");
  await home.close();
  rmSync(file);
  mkdirSync(file);
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${home.paths.search}${suffix}`, { force: true });
  await home.reopen();
  assert.deepEqual(await found(home, "pear"), [two]);
  assert.equal(home.heardOf("search").length, 1);
  assert.deepEqual(home.deaths, []);
});

test("what was deleted while search was not told is not found", async (t) => {
  const { home, one, two } = await indexed(t);
  const index = home.paths.search;
  copyFileSync(index, `${index}.kept`);
  await home.reopen();
  await home.store.commit([{ do: "delete", key: one, expect: null }]);
  for (let n = 0; n < 5; n += 1) await home.talk(`more ${n}`, "pear");
  await home.close();
  const state = new DatabaseSync(home.paths.state);
  state.exec("DELETE FROM feed WHERE n < (SELECT max(n) FROM feed)"); // as after twenty thousand groups
  state.close();
  for (const suffix of ["-wal", "-shm"]) rmSync(`${index}${suffix}`, { force: true });
  copyFileSync(`${index}.kept`, index);
  await home.reopen();
  assert.deepEqual(await found(home, "apple"), [two]);
  assert.equal((await found(home, "pear")).length, 6);
});

test("a limit that is no number of hits is brought to one", async (t) => {
  const { home } = await indexed(t);
  await home.reopen();
  await found(home, "apple");
  for (const [limit, hits] of [
    [1.5, 1],
    [Number.NaN, 3],
    [-1, 1],
    [Infinity, 3],
  ] as const)
    assert.equal((await home.store.search({ text: "apple", limit })).hits.length, hits, String(limit));
});
