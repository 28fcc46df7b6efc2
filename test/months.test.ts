// Months of cron and heartbeat, in seconds: the real clock, jobs and heartbeats for fifty agents, while the gateway dies again and
// again. The longer run is `npm run sim -- --months`, also with each of its variants.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { AUTUMN, planOf, SPRING } from "../sim/months/plan.ts";
import { runMonths } from "../sim/months/run.ts";
import { brokenMonths, MONTHS_VARIANTS, type MonthsVariant } from "../sim/months/variants.ts";

/** Five weeks in which the clocks of both hemispheres change. */
const WEEKS = { fromMs: Date.UTC(2026, 9, 1), toMs: Date.UTC(2026, 10, 5) };

describe("months without anybody", () => {
  test("three of them: fifty agents, every time that a job was due counted once, under each rule", async () => {
    const { problems, tally } = await runMonths(planOf(1, AUTUMN));
    assert.deepEqual(problems, []);
    assert.equal(tally.ran + tally.skipped + tally.coalesced, tally.times);
    assert.ok(tally.times > 20_000 && tally.lives > 50 && tally.beats > 5_000, JSON.stringify(tally));
    const { skipped, coalesced, lost, timeouts, disabled } = tally;
    assert.ok(
      skipped > 0 && coalesced > 0 && lost > 0 && timeouts > 0 && disabled > 0,
      "of each there were some",
    );
  });

  test("three others, in which clocks are set forward where they were set back", async () => {
    const { problems, tally } = await runMonths(planOf(2, SPRING, 7));
    assert.deepEqual(problems, []);
    assert.ok(tally.times > 3_000);
  });

  test("the same plan is the same months", async () => {
    const [one, other] = [await runMonths(planOf(3, WEEKS, 2)), await runMonths(planOf(3, WEEKS, 2))];
    assert.equal(one.hash, other.hash);
    assert.notEqual(one.hash, (await runMonths(planOf(4, WEEKS, 2))).hash);
  });

  for (const [variant, edits] of Object.entries(MONTHS_VARIANTS))
    test(`a broken copy is caught: ${variant}`, async (t) => {
      for (const { file, from } of edits)
        assert.equal(readFileSync(file, "utf8").split(from).length, 2, `${file}: ${from}`);
      const folder = mkdtempSync(join(tmpdir(), "sessiond-months-"));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      const broken = await brokenMonths(variant as MonthsVariant, folder);
      const { problems } = await broken(planOf(5, WEEKS, 6));
      assert.ok(problems.length > 0);
    });

  test("what they are caught in has no problem by itself", async () => {
    assert.deepEqual((await runMonths(planOf(5, WEEKS, 6))).problems, []);
  });
});
