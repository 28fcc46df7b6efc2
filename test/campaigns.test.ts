// Short runs of both campaigns, and of the broken variants that they must catch. The long ones are
// `npm run crash` and `npm run powercut`.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { crash } from "./crash/campaign.ts";
import { powercut } from "./powercut/campaign.ts";
import { canTrace } from "./powercut/trace.ts";

const silent = (): void => {};
const hindrance = await canTrace();
const skip = hindrance === null ? false : `power cuts need strace: ${hindrance}`;

describe("the kill campaign", () => {
  test("finds nothing wrong with the real source", async () => {
    const outcome = await crash({ kills: 5, seed: 11, variant: null, said: silent });
    assert.deepEqual(outcome.problems, []);
    assert.equal(outcome.kills, 5);
    assert.ok(outcome.acknowledged > 0);
  });

  test("catches a writer that answers before it commits", async () => {
    const { problems } = await crash({ kills: 20, seed: 12, variant: "told-before-commit", said: silent });
    assert.notDeepEqual(problems, []);
  });
});

describe("the power-cut campaign", { skip }, () => {
  test("finds nothing wrong with the real source", async () => {
    const outcome = await powercut({ cuts: 20, commits: 300, seed: 13, variant: null, said: silent });
    assert.deepEqual(outcome.problems, []);
    assert.equal(outcome.cuts, 20);
    assert.ok(outcome.acknowledged > 0);
  });

  for (const variant of ["synchronous-off", "journal-emptied-early", "no-directory-sync"] as const) {
    test(`catches ${variant}`, async () => {
      const { problems } = await powercut({ cuts: 80, commits: 1_000, seed: 4, variant, said: silent });
      assert.notDeepEqual(problems, []);
    });
  }
});
