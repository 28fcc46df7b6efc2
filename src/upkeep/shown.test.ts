// The plan that people look at, page by page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fill, NOTHING, SetClock } from "../../test/fixtures/upkeep.ts";
import { openLog } from "../base/log.ts";
import { unlessAborted } from "../base/waiting.ts";
import { MemoryStore } from "../store/memory.ts";
import type { Use } from "../store/store.ts";
import { PLAN_KEPT_MS } from "./limits.ts";
import { Upkeep } from "./rounds.ts";

/** Nothing is too old by itself. */
class Held extends SetClock {
  override async sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (ms === PLAN_KEPT_MS) await unlessAborted(new Promise<never>(() => {}), signal);
    else await super.sleep(ms, signal);
  }
}

/** Whose answers take a while by its clock; every plan asks once. */
class Slow extends MemoryStore {
  readonly #clock: SetClock;
  looks = 0;
  tookMs = 0;

  constructor(clock: SetClock) {
    super(clock);
    this.#clock = clock;
  }

  override async use(): Promise<Use> {
    this.looks += 1;
    this.#clock.set(this.#clock.nowMs() + this.tookMs);
    return await super.use();
  }
}

function opened(world: SetClock, store: MemoryStore): Upkeep {
  const commit = store.commit.bind(store);
  const policy = { ...NOTHING, staleDays: 30 };
  return new Upkeep({ world, log: openLog("silent"), store, commit, policy, programs: () => new Set() });
}

test("a plan is made once for all who ask, and kept until there is another, or a run", async (t) => {
  const world = new Held();
  const store = new Slow(world);
  await fill(store, world, 20);
  const kept = opened(world, store);
  t.after(() => kept.close());
  const both = await Promise.all([kept.show(), kept.show()]);
  assert.equal(both[0], both[1]);
  assert.equal(store.looks, 1);
  assert.equal(kept.shown(both[0].id), both[0]);
  const second = await kept.show();
  assert.deepEqual([store.looks, kept.shown(both[0].id), kept.shown(second.id)], [2, null, second]);
  store.tookMs = 15_000;
  const long = await kept.show();
  assert.equal(await kept.show(), long, "it took long: who asks soon after gets the same");
  assert.equal(store.looks, 3);
  world.set(long.madeAtMs + 15_000);
  const fresh = await kept.show();
  assert.notEqual(fresh.id, long.id);
  world.set(fresh.madeAtMs + PLAN_KEPT_MS);
  assert.equal(kept.shown(fresh.id), null, "it is too old");
  world.set(fresh.madeAtMs);
  assert.equal(kept.shown(fresh.id), fresh);
  await kept.run().ended;
  world.set(fresh.madeAtMs);
  assert.equal(kept.shown(fresh.id), null, "it is not what there is any more");
});

test("a plan that nobody reads on is forgotten by itself", async (t) => {
  const world = new SetClock(); // in which a minute takes no time
  const store = new MemoryStore(world);
  const kept = opened(world, store);
  t.after(() => kept.close());
  const { id } = await kept.show();
  for (let tries = 0; kept.shown(id) !== null && tries < 1_000; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 1));
  assert.equal(kept.shown(id), null);
});
