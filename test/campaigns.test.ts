// Short runs of both campaigns: the real source comes through, and each broken copy of it is caught. The long runs
// are `npm run crash` and `npm run powercut`.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { crash } from "./crash/campaign.ts";
import type { Variant } from "./crash/variants.ts";
import { powercut } from "./powercut/campaign.ts";
import { canTrace } from "./powercut/trace.ts";

const said = (): void => {};

describe("the kill campaign", () => {
  test("finds nothing lost, doubled or half done", async () => {
    const outcome = await crash({ kills: 7, seed: 1, variant: null, said });
    assert.deepEqual(outcome.problems, []);
    assert.equal(outcome.kills, 7);
    assert.ok(outcome.acknowledged > 0, "something was acknowledged before a kill");
  });

  test("catches a store that says done before it is", async () => {
    const outcome = await crash({ kills: 10, seed: 1, variant: "told-before-commit", said });
    assert.notDeepEqual(outcome.problems, []);
  });
});

describe("the power-cut campaign", { skip: (await canTrace()) ?? false }, () => {
  test("finds nothing lost, doubled or half done", async () => {
    const outcome = await powercut({ cuts: 12, commits: 120, seed: 1, variant: null, said });
    assert.deepEqual(outcome.problems, []);
    assert.equal(outcome.cuts, 12);
    assert.ok(outcome.acknowledged > 0, "something was acknowledged before a cut");
  });

  for (const [variant, what] of [
    ["synchronous-off", "a database that does not wait for the disk"],
    ["journal-emptied-early", "lines that leave the journal before their files are safe"],
    ["no-directory-sync", "files whose names are not synced"],
    ["no-directory-sync-in-recovery", "names that a killed process left unsynced, and recovery too"],
    ["twins-emptied-apart", "a recovery that a second crash finds half done"],
    ["log-left-unsynced", "a start that shows what a killed process wrote and never synced"],
  ] as const) {
    test(`catches ${what}`, async () => assert.ok(await isCaught(variant), `${variant} was not caught`));
  }
});

/** Once is enough as a rule. When and where the cuts fall depends on the machine, so it is tried up to six times. */
async function isCaught(variant: Variant): Promise<boolean> {
  for (let seed = 1; seed <= 6; seed += 1) {
    const { problems } = await powercut({ cuts: 40, commits: 120, seed, variant, said });
    if (problems.length > 0) return true;
  }
  return false;
}
