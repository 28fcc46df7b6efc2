// A write that is made again after a crash: what it had done is known, whatever others have done since.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Desk } from "../../test/fixtures/desk.ts";
import { afterwards, cannotMount, scratch } from "../../test/fixtures/home.ts";
import { RealWorld } from "../base/world.ts";
import { RECEIPTS_MAX, UNFINISHED_KEPT_MS } from "../limits.ts";
import type { Writing } from "./memory.ts";
import { Receipts } from "./receipts.ts";

const path = "memory/log.md";

function appending(cause: string, text: string): Writing {
  return { path, cause, mode: "append", text };
}

/** Aborted when the new content is there, beside the note: as a crash before the exchange leaves it. */
function cutOff(): AbortSignal {
  const { signal } = new AbortController();
  let looks = 0;
  signal.throwIfAborted = () => {
    looks += 1;
    if (looks === 2) throw new Error("cut off");
  };
  return signal;
}

describe("a write that is made again under its cause", () => {
  test("changes nothing, also when others have appended, or replaced what stands around it", async (t) => {
    const desk = new Desk(t);
    await desk.write(appending("one", "- one"));
    await desk.write(appending("two", "- two"));
    for (const [cause, text] of [
      ["one", "- one"],
      ["two", "- two"],
    ] as const)
      assert.equal((await desk.write(appending(cause, text))).changed, false, cause);
    assert.equal(desk.has(path), "- one\n- two\n");
    desk.put(path, "# Log\n- one\n- two\n- three\n");
    assert.equal((await desk.write(appending("one", "- one"))).changed, false);
    const { version } = await desk.memory.read(desk.workspace, path);
    const replacing: Writing = { path, cause: "all", mode: "replace", version, text: "new\n" };
    assert.equal((await desk.write(replacing)).changed, true);
    await desk.append(path, "- later");
    assert.equal((await desk.write(replacing)).changed, false);
    assert.equal(desk.has(path), "new\n- later\n");
  });

  test("is made if it had not happened, also when the same is there already", async (t) => {
    const desk = new Desk(t);
    await assert.rejects(desk.write(appending("one", "- tea"), cutOff()), /cut off/);
    assert.deepEqual(await desk.paths(), []);
    assert.equal((await desk.write(appending("one", "- tea"))).changed, true);
    await desk.append(path, "- milk");
    await assert.rejects(desk.write(appending("two", "- tea"), cutOff()), /cut off/);
    assert.equal((await desk.write(appending("two", "- tea"))).changed, true);
    await assert.rejects(desk.write(appending("three", "- honey"), cutOff()), /cut off/);
    await desk.append(path, "- by another");
    assert.equal((await desk.write(appending("three", "- honey"))).changed, true);
    assert.equal(desk.has(path), "- tea\n- milk\n- tea\n- by another\n- honey\n");
    assert.deepEqual(readdirSync(join(desk.workspace, "memory")), ["log.md"]);
  });

  test("is made if it had not happened, also when others have written since, and the same was there before", async (t) => {
    const desk = new Desk(t);
    await desk.append(path, "- tea");
    await desk.append(path, "- milk");
    await assert.rejects(desk.write(appending("one", "- tea"), cutOff()), /cut off/);
    await desk.append(path, "- eggs");
    assert.equal((await desk.write(appending("one", "- tea"))).changed, true);
    assert.equal(desk.has(path), "- tea\n- milk\n- eggs\n- tea\n");
    desk.put(path, `# Log\n${desk.has(path)}- flour\n`);
    assert.equal((await desk.write(appending("one", "- tea"))).changed, false, "now there is one more");
    await desk.append(path, "- a\n- a");
    await desk.append(path, "- end");
    await desk.write(appending("two", "- a\n- a"));
    desk.put(path, `# Shopping\n${desk.has(path)}- salt\n`);
    assert.equal((await desk.write(appending("two", "- a\n- a"))).changed, false);
  });
});

test(
  "a write has happened when the note is exchanged, whatever cannot be done after it",
  { skip: cannotMount() },
  async (t) => {
    const desk = new Desk(t);
    const left = join(desk.workspace, "memory/.unfinished-0123456789abcdef01234567");
    desk.put("memory/.unfinished-0123456789abcdef01234567", "half");
    const old = (new RealWorld().nowMs() - 2 * UNFINISHED_KEPT_MS) / 1_000;
    utimesSync(left, old, old);
    execFileSync("mount", ["--bind", left, left], { stdio: "pipe" }); // so that it cannot be removed
    afterwards(t, () => execFileSync("umount", ["--lazy", left], { stdio: "pipe" }));
    assert.equal((await desk.write(appending("one", "- tea"))).changed, true);
    assert.deepEqual([desk.has(path), existsSync(left)], ["- tea\n", true]);
  },
);

test("of receipts the newest are kept, and one that is torn says nothing", async (t) => {
  const folder = join(scratch(t), "home", "receipts");
  mkdirSync(folder, { recursive: true });
  for (let at = 0; at < RECEIPTS_MAX + 50; at += 1) {
    writeFileSync(join(folder, `old${at}`), "{");
    utimesSync(join(folder, `old${at}`), at + 1, at + 1);
  }
  symlinkSync("gone", join(folder, "gone too")); // as one that another write removes between two looks
  const receipts = new Receipts(folder);
  const receipt = { before: null, after: "a", bytes: 1, times: 0 };
  await receipts.put("mine", receipt);
  const names = new Set(readdirSync(folder));
  assert.deepEqual([names.size, names.has("old49"), names.has("old50")], [RECEIPTS_MAX + 1, false, true]);
  assert.deepEqual([await receipts.of("mine"), await receipts.of("nobody's")], [receipt, null]);
  const torn = [...names].find((name) => name.length === 64) ?? assert.fail("it is named by a digest");
  writeFileSync(join(folder, torn), '{"before":nu');
  assert.equal(await receipts.of("mine"), null);
});
