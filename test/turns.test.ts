// Short runs of the campaign of turns: the real source comes through, and broken copies of it are caught. The long run is
// `npm run crash:turns`, also with each of its variants.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { turns } from "./turns/campaign.ts";
import { brokenSource, VARIANTS, type Variant } from "./turns/variants.ts";

const said = (): void => {};

describe("the campaign of turns", () => {
  test("finds every message answered, and no finished tool call run twice", async () => {
    const { tally, problems } = await turns({ kills: 8, seed: 1, variant: null, killsPerHome: 8, said });
    assert.deepEqual(problems, []);
    assert.equal(tally.kills, 8);
    assert.ok(tally.acknowledged > 0, "something was acknowledged before a kill");
    assert.ok(tally.toolCalls > 0, "tools were called");
  });

  test("catches a restart that forgets which calls have a result", async () => {
    const campaign = { kills: 40, seed: 1, variant: "result-forgotten", killsPerHome: 4, said } as const;
    assert.notDeepEqual((await turns(campaign)).problems, []);
  });

  for (const variant of Object.keys(VARIANTS) as Variant[])
    test(`has a variant ${variant} that can be made of the source`, (t) => {
      const folder = mkdtempSync(join(tmpdir(), "sessiond-variant-"));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      brokenSource(variant, folder);
    });
});
