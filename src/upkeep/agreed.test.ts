// Who agrees to a plan agrees to what it erases, and to nothing else that comes to be due while the question stands.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { afterwards } from "../../test/fixtures/home.ts";
import { DAY, make, NOTHING, NOW, SetClock } from "../../test/fixtures/upkeep.ts";
import { openLog } from "../base/log.ts";
import { parseKey } from "../routing/key.ts";
import { MemoryStore } from "../store/memory.ts";
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

test("who agreed to more than is due now is asked again; when nothing is erased any more, there is nothing to ask", async (t) => {
  const { world, store, upkeep, left } = await scene(t);
  world.set(NOW + DAY);
  const { erases, totals } = (await upkeep.show()).plan;
  assert.equal(totals.purge, 2);
  const [first, second] = (await store.archives({})).rows;
  await store.commit([{ do: "restore", archive: first?.id ?? "", over: null }]);
  assert.equal((await over(upkeep.run(erases))).isRefused, true);
  assert.deepEqual(await left(), ["b", "c"]);
  await store.commit([{ do: "restore", archive: second?.id ?? "", over: null }]);
  assert.equal((await over(upkeep.run(erases))).isRefused, false);
  assert.deepEqual(await left(), ["c"]);
});

test("nobody is refused because of what somebody else agreed to: their own run comes after that one", async (t) => {
  const { upkeep, left } = await scene(t);
  const { erases } = (await upkeep.show()).plan;
  const [stale, mine, same, whatever] = [
    upkeep.run("another plan"),
    upkeep.run(erases),
    upkeep.run(erases),
    upkeep.run(),
  ];
  assert.equal(same, mine);
  assert.deepEqual(
    [stale, mine, whatever].map(({ id }) => upkeep.find(id)),
    [stale, mine, whatever],
  );
  for (const each of [stale, mine, whatever]) await over(each);
  assert.deepEqual([stale.isRefused, mine.isRefused, whatever.isRefused], [true, false, false]);
  assert.deepEqual([mine.report?.purged, whatever.report?.purged], [1, 0]);
  assert.deepEqual(await left(), ["b", "c"]);
});

test("who comes while a run looks that does whatever is due, or while one does what it may, joins it", async (t) => {
  const { world, upkeep, left } = await scene(t);
  const due = upkeep.run();
  assert.equal(upkeep.run("another plan"), due);
  await over(due);
  world.set(NOW + DAY);
  const { erases } = (await upkeep.show()).plan;
  const agreed = upkeep.run(erases);
  while (agreed.plan === null) await new Promise(setImmediate);
  assert.equal(agreed.report, null);
  assert.equal(upkeep.run("another plan"), agreed);
  await over(agreed);
  assert.deepEqual([agreed.isRefused, await left()], [false, ["c"]]);
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
