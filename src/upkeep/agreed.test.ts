// Who agrees to a plan agrees to what it erases, and to nothing that comes to be due while the question stands.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { afterwards } from "../../test/fixtures/home.ts";
import { DAY, make, NOTHING, NOW, SetClock } from "../../test/fixtures/upkeep.ts";
import { openLog } from "../base/log.ts";
import { parseKey } from "../routing/key.ts";
import { MemoryStore } from "../store/memory.ts";
import { Agreements } from "./agreed.ts";
import { AGREED_IDS_MAX, AGREED_PLANS_MAX } from "./limits.ts";
import type { Plan, Step } from "./plan.ts";
import { Upkeep, type Run } from "./rounds.ts";

interface Scene {
  readonly world: SetClock;
  readonly store: MemoryStore;
  readonly upkeep: Upkeep;
  readonly left: () => Promise<readonly string[]>;
}

/** Archives a, b and c: on this day the first is due, then one more each day. */
async function scene(test: TestContext): Promise<Scene> {
  const world = new SetClock();
  const store = new MemoryStore(world);
  afterwards(test, () => store.close());
  for (const [days, name] of ["a", "b", "c"].entries()) {
    world.set(NOW + (days - 30) * DAY);
    const key = parseKey(`agent:main:direct:${name}`);
    await make(store, world, key);
    const { id: transcript = "", lastSeq = 0 } = (await store.session(key))?.transcript ?? {};
    await store.commit([{ do: "archive", key, expect: { transcript, lastSeq }, why: "asked" }]);
  }
  world.set(NOW);
  const upkeep = new Upkeep({
    ...{ world, store, log: openLog("silent"), policy: { ...NOTHING, archiveDays: 30 } },
    ...{ commit: (changes) => store.commit(changes), programs: () => new Set() },
  });
  afterwards(test, () => upkeep.close());
  const left = async () =>
    (await store.archives({})).rows.map(({ key }) => key.replace("agent:main:direct:", ""));
  return { world, store, upkeep, left };
}

async function over(run: Run): Promise<Run> {
  await run.ended;
  return run;
}

test("what has come to be due since the plan was shown is not erased: nothing is done, until that is agreed to as well", async (t) => {
  const { world, upkeep, left } = await scene(t);
  const { erases } = (await upkeep.show()).plan;
  world.set(NOW + DAY);
  const refused = await over(upkeep.run(erases));
  assert.deepEqual([refused.isRefused, refused.report?.purged, refused.report?.packed], [true, 0, 0]);
  assert.deepEqual(await left(), ["a", "b", "c"]);
  const again = (await upkeep.show()).plan;
  assert.notEqual(again.erases, erases);
  const done = await over(upkeep.run(again.erases));
  assert.deepEqual([done.isRefused, done.report?.purged], [false, 2]);
  assert.deepEqual(await left(), ["c"]);
});

test("to erase fewer than was agreed to is fine", async (t) => {
  const { world, store, upkeep, left } = await scene(t);
  world.set(NOW + DAY);
  const { erases, totals } = (await upkeep.show()).plan;
  assert.equal(totals.purge, 2);
  const [first] = (await store.archives({})).rows;
  await store.commit([{ do: "restore", archive: first?.id ?? "", over: null }]);
  const done = await over(upkeep.run(erases));
  assert.deepEqual([done.isRefused, done.report?.purged], [false, 1]);
  assert.deepEqual(await left(), ["c"]);
});

test("who was shown a plan that erases nothing has agreed to that; who says nothing has agreed to whatever is due", async (t) => {
  const { world, upkeep, left } = await scene(t);
  world.set(NOW - DAY);
  assert.equal((await upkeep.show()).plan.erases, null);
  assert.equal((await over(upkeep.run(null))).isRefused, false);
  world.set(NOW);
  assert.equal((await over(upkeep.run(null))).isRefused, true);
  assert.equal((await over(upkeep.run("made up"))).isRefused, true);
  assert.deepEqual(await left(), ["a", "b", "c"]);
  assert.equal((await over(upkeep.run())).report?.purged, 1);
  assert.deepEqual(await left(), ["b", "c"]);
});

function planOf(erases: string, archives: readonly string[]): Plan {
  const steps = archives.map((archive) => ({ do: "purge", archive }) as unknown as Step);
  const totals = { purge: steps.length, archive: 0, rotate: 0, pack: 0, collect: 0 };
  return { steps, totals, erases, usedBytes: 0, leftBytes: 0, over: 0 };
}

test("of few plans is remembered what they erase, and of none that erases very many; the same is known by its name alone", () => {
  const agreements = new Agreements();
  const names = Array.from({ length: AGREED_PLANS_MAX + 1 }, (_, at) => `plan ${at}`);
  for (const name of names) agreements.show(planOf(name, ["a", "b"]));
  const fewer = planOf("fewer", ["a"]);
  assert.deepEqual(
    names.map((name) => agreements.holds(fewer, name)),
    [false, ...names.slice(1).map(() => true)],
  );
  assert.equal(agreements.holds(planOf("plan 0", ["a", "b"]), "plan 0"), true);
  agreements.show(
    planOf(
      "huge",
      Array.from({ length: AGREED_IDS_MAX + 1 }, (_, at) => (at === 0 ? "a" : `h${at}`)),
    ),
  );
  assert.deepEqual(
    [agreements.holds(fewer, "huge"), agreements.holds(fewer, names.at(-1) ?? "")],
    [false, true],
  );
});
