// How large the context of a session is: the row knows it, without its transcript being read.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SessionKey } from "../../routing/key.ts";
import type { Corner } from "./corner.ts";
import { rotate } from "./generations.ts";
import { answered, compacted, noted, said } from "./samples.ts";

export function gaugeContract(corner: () => Corner): void {
  describe("gauge", () => {
    appends(corner);
    ways(corner);
  });
}

function appends(corner: () => Corner): void {
  test("a row says how large the context was at the newest entry that counts it", async () => {
    const at = corner();
    const key = await at.talk("a", ["1"]);
    assert.equal(await tokensOf(at, key), 0);
    await at.append(key, [said("2"), answered(120), noted("x"), said("3")]);
    assert.equal(await tokensOf(at, key), 120);
    await at.append(key, [said("4"), answered(0)]); // it failed
    assert.equal(await tokensOf(at, key), 120);
    await at.append(key, [answered(300), answered(250)]);
    assert.equal(await tokensOf(at, key), 250);
    await at.reopen();
    assert.equal(await tokensOf(at, key), 250);
    await at.append(key, [said("5")]);
    assert.equal(await tokensOf(at, key), 250);
  });

  test("a compaction of ours says what is left; after another's nobody knows until the next answer", async () => {
    const at = corner();
    const key = await at.open("a");
    await at.append(key, [said("1"), answered(900)]);
    await at.append(key, [compacted("", { by: "sessiond", tokensAfter: 77 })], { contextSeq: 3 });
    assert.equal(await tokensOf(at, key), 77);
    await at.append(key, [answered(90), compacted("", { tokensAfter: 5 })], { contextSeq: 5 });
    assert.equal(await tokensOf(at, key), 0);
    await at.append(key, [compacted("", undefined), answered(40)], { contextSeq: 6 });
    assert.equal(await tokensOf(at, key), 40);
  });

  test("a rewind is to another context, and says how large that is, or nobody knows", async () => {
    const at = corner();
    const key = await at.open("a");
    await at.append(key, [said("1"), answered(10), said("3"), answered(30)]);
    await at.rewind(key, 4, ["5"]); // to the last entry: nothing is left
    assert.equal(await tokensOf(at, key), 30);
    await at.rewind(key, 2, ["6"]);
    assert.equal(await tokensOf(at, key), 0);
    await at.append(key, [said("7"), answered(12)]);
    assert.equal(await tokensOf(at, key), 12);
    const [, second] = await at.entries(key, { since: 0 });
    const rewindTo = { id: second?.id ?? "", seq: 2 };
    const note = { ...noted({ to: 2, from: 8, contextTokens: 10 }), customType: "sessiond/rewound" };
    await at.append(key, [note, said("10")], { rewindTo });
    assert.equal(await tokensOf(at, key), 10);
  });
}

function ways(corner: () => Corner): void {
  test("a new file keeps it with the context, and without one nobody has said anything", async () => {
    const at = corner();
    const key = await at.open("a");
    await at.append(key, [said("1"), answered(70), said("3")]);
    await at.append(key, [said("4")], { contextSeq: 4 });
    await rotate(at, key);
    assert.equal(await tokensOf(at, key), 70);
    await at.append(key, [answered(80)]);
    await rotate(at, key, { keep: "nothing" });
    assert.equal(await tokensOf(at, key), 0);
    const [archive] = await at.archives();
    assert.equal(archive?.session.transcript.contextTokens, 80);
  });

  test("a fork has what the entries say that it copied", async () => {
    const at = corner();
    const source = await at.open("a");
    await at.append(source, [said("1"), answered(10), said("3"), answered(30)]);
    for (const [throughSeq, tokens] of [
      [1, 0],
      [2, 10],
      [3, 10],
      [4, 30],
    ] as const) {
      const fork = await at.open(`fork ${throughSeq}`, { copy: { of: source, fromSeq: 1, throughSeq } });
      assert.equal(await tokensOf(at, fork), tokens);
      await at.append(fork, [said("on")]);
      assert.equal(await tokensOf(at, fork), tokens);
    }
    assert.equal(await tokensOf(at, source), 30);
  });

  test("what was archived comes back with it", async () => {
    const at = corner();
    const key = await at.open("a");
    await at.append(key, [said("1"), answered(10)]);
    const archive = await at.archive(key);
    await at.reopen();
    await at.restore(archive);
    assert.equal(await tokensOf(at, key), 10);
    await at.append(key, [said("on")]);
    assert.equal(await tokensOf(at, key), 10);
  });
}

async function tokensOf(at: Corner, key: SessionKey): Promise<number> {
  return (await at.row(key)).transcript.contextTokens;
}
