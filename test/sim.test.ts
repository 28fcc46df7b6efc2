// A short run of the simulator: the real source comes through, and a broken copy of it is caught. The long run is
// `npm run sim -- --seeds 1000`, also with each of its variants.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { again, partOf, simulate } from "../sim/campaign.ts";
import { planOf } from "../sim/plan.ts";
import { run } from "../sim/run.ts";
import { shrink } from "../sim/shrink.ts";
import { brokenRun, VARIANTS } from "../sim/variants.ts";

/** One with some deaths in its plan. */
const SEED = 31;

const said = (): void => {};

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "sessiond-sim-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe("the simulator", () => {
  test("finds every promise kept, and every seed the same twice", async () => {
    const { tally, failed } = await simulate({ run, from: 1, seeds: 25, said });
    assert.deepEqual(failed?.problems ?? [], []);
    assert.ok(tally.lives > 25, "some lives were cut off");
    assert.ok(tally.toolCalls > 0 && tally.spawned > 0 && tally.deliveries > 0, "something happened in them");
  });

  test("catches letters that are taken before they are written down, and shrinks what it found", async (t) => {
    const broken = await brokenRun("mail-taken-before-written", folderOf(t));
    const { failed } = await simulate({ run: broken, from: 1, seeds: 200, said });
    assert.ok(failed, "it was caught");
    const whole = planOf(failed.plan.seed);
    assert.ok(failed.plan.deeds.length < whole.deeds.length, "some of it was left out");
    assert.deepEqual((await run(failed.plan)).problems, [], "the real source has no such problem");
  });

  test("has variants that can be made of the source: their words are there once", () => {
    for (const [variant, edits] of Object.entries(VARIANTS))
      for (const { file, from } of edits)
        assert.equal(readFileSync(file, "utf8").split(from).length, 2, `${variant}: ${file}: ${from}`);
  });

  test("leaves out of a plan what it fails without, and says how to run the rest again", async () => {
    const plan = planOf(SEED);
    const needed = new Set([plan.deeds[0]?.n, plan.deeds.at(-1)?.n]);
    const fails = async ({ deeds }: typeof plan): Promise<boolean> =>
      deeds.filter(({ n }) => needed.has(n)).length === needed.size;
    const small = await shrink(plan, fails);
    assert.deepEqual(new Set(small.deeds.map(({ n }) => n)), needed);
    assert.deepEqual(small.deaths, []);
    assert.match(again(small), /^npm run sim -- --seed \d+ --deeds [\d,]+ --deaths none$/);
    assert.deepEqual(partOf(SEED, [...needed].join(","), "none"), small);
  });

  test("loads no threads, sockets, streams, programs, providers or files of its own", () => {
    const outside = importedBy("sim/run.ts");
    // The API of OpenTelemetry does nothing by itself.
    const ours = "croner json5 node:buffer node:crypto node:fs node:fs/promises node:path node:util zod";
    const allowed = new Set([...ours.split(" "), "@opentelemetry/api"]);
    assert.deepEqual(
      [...outside].filter((each) => !allowed.has(each)),
      [],
    );
  });
});

/** All that a file and those it imports take from elsewhere; types are nothing at run time. */
function importedBy(start: string): ReadonlySet<string> {
  const outside = new Set<string>();
  const seen = new Set<string>();
  for (const queue = [start]; queue.length > 0;) {
    const file = queue.pop() ?? "";
    if (seen.has(file)) continue;
    seen.add(file);
    for (const [, isType, names = "", from = ""] of readFileSync(file, "utf8").matchAll(
      /^(?:import|export) (type )?([^;]*?)from "([^"]+)";/gm,
    )) {
      if (isType !== undefined || /^\{\s*(?:type \w+,?\s*)+\}\s*$/.test(names)) continue;
      if (from.startsWith(".")) queue.push(join(dirname(file), from));
      else outside.add(from);
    }
  }
  return outside;
}
