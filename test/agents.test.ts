// Short runs of the campaign of sub-agents: the real source comes through, and a broken copy of it is caught. The long run is
// `npm run crash -- --agents`, also with each of its variants.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { agents } from "./agents/campaign.ts";
import { brokenSource, VARIANTS, type Variant } from "./agents/variants.ts";

const said = (): void => {};

describe("the campaign of sub-agents", () => {
  test("finds every child reported once, every mark made once and every message answered", async () => {
    const { tally, problems } = await agents({ kills: 8, seed: 1, variant: null, killsPerHome: 8, said });
    assert.deepEqual(problems, []);
    assert.equal(tally.kills, 8);
    assert.ok(tally.reports > 0, "children reported");
    assert.ok(tally.marks > 0, "tools left marks");
  });

  test("catches a child that has its task before its parent knows of it", async () => {
    const campaign = { kills: 40, seed: 1, variant: "spawn-apart", killsPerHome: 4, said } as const;
    assert.notDeepEqual((await agents(campaign)).problems, []);
  });

  for (const variant of Object.keys(VARIANTS) as Variant[])
    test(`has a variant ${variant} that can be made of the source`, (t) => {
      const folder = mkdtempSync(join(tmpdir(), "sessiond-variant-"));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      brokenSource(variant, folder);
    });
});
