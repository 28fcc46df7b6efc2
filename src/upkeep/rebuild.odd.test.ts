// Transcripts that are not as they should be, and what a rebuild makes of them.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { filledHome, KEYS } from "../../test/fixtures/content.ts";
import { Home, said, scratch } from "../../test/fixtures/home.ts";
import { rebuild, type Rebuilt } from "./rebuild.ts";

function rebuilt(home: Home): Rebuilt {
  return rebuild(home.path, home.world.nowMs(), () => {});
}

/** What is said whenever the state is not there, since nobody knows what it knew. */
const NO_STATE =
  "there is no old state: waiting letters, timers, jobs, answers to deliver, and entries of the last seconds before it broke, if there were any";

describe("a transcript that is not as it should be", () => {
  test("of two transcripts of one key the one written to last has the session; the other is named and left", async (t) => {
    const home = await Home.open(t);
    const key = await home.talk("one", "older");
    const file = await home.file(key);
    await home.close();
    const newer = join(file, "../newer.jsonl");
    const text = readFileSync(file, "utf8").replace(/"id":"[^"]+","timestamp"/, '"id":"newer","timestamp"');
    writeFileSync(
      newer,
      text
        .replaceAll("older", "newer")
        .replace(/2026-01-01T00:00:00.000Z","message/, '2027-01-01T00:00:00.000Z","message'),
    );
    const { sessions, lost } = rebuilt(home);
    assert.equal(sessions, 1);
    assert.match(
      lost.at(-1) ?? "",
      new RegExp(`^${key}: transcript .* is older than newer; it is left on the disk`),
    );
    assert.ok(existsSync(file));
    await home.reopen();
    assert.deepEqual(await home.read(key), ["newer"]);
  });

  for (const [what, first] of [
    ["no header", '{"type":"message","id":"x","parentId":null,"seq":1}'],
    ["a header without a key", '{"type":"session","version":3,"id":"x","timestamp":"","cwd":""}'],
    [
      "a header with something that is no key",
      '{"type":"session","version":3,"id":"x","timestamp":"","cwd":"","key":"../../etc"}',
    ],
    ["a first line that is no JSON", "something else"],
    [
      "the key of another agent",
      '{"type":"session","version":3,"id":"x","timestamp":"","cwd":"","key":"agent:other:main"}',
    ],
  ] as const) {
    test(`with ${what} is named and left as it is, and the others are restored`, async (t) => {
      const home = await filledHome(t);
      const folder = join(home.paths.agents, "main", "sessions");
      mkdirSync(folder, { recursive: true });
      const file = join(folder, "odd.jsonl");
      writeFileSync(file, `${first}\n`);
      home.loseDatabases();
      const { sessions, lost } = rebuilt(home);
      assert.equal(sessions, Object.keys(KEYS).length);
      assert.deepEqual([lost.length, lost[0], lost[1]?.startsWith(file)], [2, NO_STATE, true]);
      assert.equal(readFileSync(file, "utf8"), `${first}\n`);
    });
  }

  test("that has lost its first entry, or has a line that nobody can read, is restored and named", async (t) => {
    const home = await Home.open(t);
    const key = await home.talk("one", "a", "b", "c");
    const file = await home.file(key);
    await home.close();
    const [header, , ...rest] = readFileSync(file, "utf8").split("\n");
    writeFileSync(file, [header, rest[0], "something else", ...rest.slice(1)].join("\n"));
    home.loseDatabases();
    assert.deepEqual(rebuilt(home).lost, [
      NO_STATE,
      `${file}: line 2 is missing`,
      `${file}: line 3 is not JSON`,
    ]);
  });

  test("with a torn last line is restored up to it, and the torn part goes to foreign/ with the next entry", async (t) => {
    const home = await Home.open(t);
    const key = await home.talk("one", "a", "b");
    const file = await home.file(key);
    await home.close();
    writeFileSync(file, '{"type":"message","id":"torn', { flag: "a" });
    home.loseDatabases();
    assert.deepEqual(rebuilt(home).lost, [NO_STATE]);
    await home.reopen();
    await home.append(key, [said("c")]);
    await home.store.checkpoint();
    assert.deepEqual(await home.read(key), ["a", "b", "c"]);
    assert.equal(home.heardOf("foreign_bytes").length, 1);
  });
});

test("rebuild refuses a home that is in use, and one that is not there, which it does not make", async (t) => {
  const home = await Home.open(t);
  assert.throws(() => rebuilt(home), { code: "in_use" });
  const nowhere = join(scratch(t), "nowhere");
  assert.throws(() => rebuild(nowhere, 0, () => {}), { code: "not_found" });
  assert.equal(existsSync(nowhere), false);
});
