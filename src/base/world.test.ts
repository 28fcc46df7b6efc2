import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { RealWorld, SimulatedWorld, type World } from "./world.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("ids", () => {
  test("an id is a UUID of version 7 that begins with the time", () => {
    for (const world of [new RealWorld(), new SimulatedWorld(1)]) {
      const beforeMs = world.nowMs();
      const id = world.newId();
      assert.match(id, UUID_V7);
      const atMs = Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
      assert.ok(atMs >= beforeMs && atMs <= world.nowMs());
    }
  });

  test("ids sort in the order they were made, also many within one millisecond (W1)", () => {
    for (const world of [new RealWorld(), new SimulatedWorld(1)]) {
      const ids = Array.from({ length: 20_000 }, () => world.newId());
      assert.deepEqual(ids, ids.toSorted());
      assert.equal(new Set(ids).size, ids.length);
      for (const id of ids) assert.match(id, UUID_V7);
    }
  });

  test("ids go on in order when the clock stands still, goes on, or goes back", () => {
    const property = fc.property(
      fc.array(fc.integer({ min: -5_000, max: 5_000 }), { maxLength: 50 }),
      (steps) => {
        const world = new SimulatedWorld(1);
        const ids: string[] = [];
        for (const ms of steps) {
          world.pass(ms);
          ids.push(world.newId(), world.newId());
        }
        assert.deepEqual(ids, ids.toSorted());
        assert.equal(new Set(ids).size, ids.length);
      },
    );
    fc.assert(property);
  });

  test("when the clock has caught up, ids tell the time again", () => {
    const world = new SimulatedWorld(1, 1_000_000);
    world.newId();
    world.pass(-500);
    world.newId();
    world.pass(5_000);
    const id = world.newId();
    assert.equal(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16), world.nowMs());
  });
});

describe("simulated world", () => {
  test("its clock shows whole milliseconds, and its ids are well formed, also after a part of one", async () => {
    const world = new SimulatedWorld(1, 1_000);
    for (const ms of [0.5, 0.6, 0.001]) {
      const slept = world.sleep(ms, new AbortController().signal);
      world.step();
      await slept;
      world.pass(0.25);
      assert.match(world.newId(), UUID_V7);
      assert.ok(Number.isInteger(world.nowMs()));
    }
    assert.equal(world.nowMs(), 1_001); // no part is lost: together they are 1.851
  });

  test("the same seed and the same calls give the same answers (W2)", async () => {
    const seen = (await day(new SimulatedWorld(7))) as (readonly [string, number, string, number])[];
    for (const [, nowMs, id] of seen) {
      assert.ok(Number.isInteger(nowMs));
      assert.match(id, UUID_V7);
    }
    assert.deepEqual(await day(new SimulatedWorld(7)), await day(new SimulatedWorld(7)));
    assert.notDeepEqual(await day(new SimulatedWorld(7)), await day(new SimulatedWorld(8)));
  });

  test("its dice are in [0, 1) and do not repeat themselves soon", () => {
    const world = new SimulatedWorld(3);
    const rolls = Array.from({ length: 10_000 }, () => world.random());
    assert.ok(rolls.every((roll) => roll >= 0 && roll < 1));
    const mean = rolls.reduce((sum, roll) => sum + roll, 0) / rolls.length;
    assert.ok(Math.abs(mean - 0.5) < 0.02);
    assert.ok(new Set(rolls).size > 9_990);
  });

  test("time stands still until somebody moves it", async () => {
    const world = new SimulatedWorld(1, 5_000);
    assert.equal(world.nowMs(), 5_000);
    world.pass(10);
    assert.equal(world.nowMs(), 5_010);
    const slept = world.sleep(100, new AbortController().signal);
    assert.equal(world.step(), true);
    await slept;
    assert.equal(world.nowMs(), 5_110);
    assert.equal(world.step(), false); // nobody sleeps: the day is over
    assert.equal(world.nowMs(), 5_110);
  });

  test("sleepers wake soonest first, and of those due together the first asleep wakes first", async () => {
    const world = new SimulatedWorld(1, 0);
    const woken: string[] = [];
    const { signal } = new AbortController();
    for (const [name, ms] of [
      ["c", 30],
      ["a", 10],
      ["b", 10],
      ["now", 0],
      ["past", -5],
    ] as const) {
      void world.sleep(ms, signal).then(() => woken.push(`${name} at ${world.nowMs()}`));
    }
    while (world.step()) await settled();
    assert.deepEqual(woken, ["now at 0", "past at 0", "a at 10", "b at 10", "c at 30"]);
  });

  test("time never goes back for a sleeper that was passed over", async () => {
    const world = new SimulatedWorld(1, 0);
    const slept = world.sleep(10, new AbortController().signal);
    world.pass(100);
    world.step();
    await slept;
    assert.equal(world.nowMs(), 100);
  });
});

for (const [name, make] of [
  ["real", () => new RealWorld()],
  ["simulated", () => new SimulatedWorld(1)],
] as const) {
  describe(`sleep in a ${name} world`, () => {
    test("an aborted sleeper rejects with the reason and leaves nothing behind (W3)", async () => {
      const world: World = make();
      const controller = new AbortController();
      const asleep = [world.sleep(60_000, controller.signal), world.sleep(60_000, controller.signal)];
      const reason = new Error("get up");
      controller.abort(reason);
      for (const result of await Promise.allSettled(asleep)) {
        assert.deepEqual(result, { status: "rejected", reason });
      }
      assert.equal(getEventListeners(controller.signal, "abort").length, 0);
      if (world instanceof SimulatedWorld) assert.equal(world.step(), false);
    });

    test("a sleeper that wakes by itself leaves nothing behind either", async () => {
      const world: World = make();
      const { signal } = new AbortController();
      const slept = world.sleep(1, signal);
      if (world instanceof SimulatedWorld) world.step();
      await slept;
      assert.equal(getEventListeners(signal, "abort").length, 0);
    });

    test("nobody falls asleep whose signal is aborted already", async () => {
      const world: World = make();
      const reason = new Error("never");
      await assert.rejects(world.sleep(60_000, AbortSignal.abort(reason)), reason);
      if (world instanceof SimulatedWorld) assert.equal(world.step(), false);
    });
  });
}

describe("a long sleep in the real world", () => {
  const months = 100 * 24 * 60 * 60 * 1_000; // longer than a timer of Node can wait

  test("it does not end at once, and can be aborted", async () => {
    const world = new RealWorld();
    const controller = new AbortController();
    const woken: string[] = [];
    const asleep = [months, Infinity].map((ms) =>
      world.sleep(ms, controller.signal).then(
        () => woken.push("awake"),
        (reason: unknown) => woken.push(String(reason)),
      ),
    );
    for (let short = 0; short < 5; short += 1) await world.sleep(2, new AbortController().signal);
    assert.deepEqual(woken, []);
    controller.abort("get up");
    await Promise.all(asleep);
    assert.deepEqual(woken, ["get up", "get up"]);
    assert.equal(getEventListeners(controller.signal, "abort").length, 0);
  });

  test("it is as long as was asked, piece by piece", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    syncBuiltinESMExports(); // so that what was imported by name is mocked too
    t.after(() => {
      t.mock.timers.reset();
      syncBuiltinESMExports();
    });
    const most = 2 ** 31 - 1;
    let awake = false;
    void new RealWorld().sleep(2 * most + 10, new AbortController().signal).then(() => (awake = true));
    for (const [ms, expected] of [
      [most, false],
      [most, false],
      [9, false],
      [1, true],
    ] as const) {
      t.mock.timers.tick(ms);
      await settled();
      assert.equal(awake, expected);
    }
  });
});

/** A day in which everything that a world can be asked is asked. */
async function day(world: SimulatedWorld): Promise<unknown[]> {
  const seen: unknown[] = [];
  const controller = new AbortController();
  const nap = async (name: string): Promise<void> => {
    for (let n = 0; n < 5; n += 1) {
      await world.sleep(world.random() * 1_000, controller.signal);
      seen.push([name, world.nowMs(), world.newId(), world.random()]);
    }
  };
  const naps = Promise.allSettled(["a", "b", "c"].map(nap));
  for (let steps = 0; world.step(); steps += 1) {
    await settled();
    if (steps === 10) controller.abort("enough");
  }
  await naps;
  return seen;
}

/** Lets everybody who can go on do so. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}
