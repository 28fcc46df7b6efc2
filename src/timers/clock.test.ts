import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import { Home } from "../../test/fixtures/home.ts";
import { until } from "../../test/sandbox/stage.ts";
import { DAY_MS, held, HOUR_MS, nameOf, Stage } from "../../test/timers/stage.ts";
import { openLog } from "../base/log.ts";
import { TIMER_LOOK_MS, TIMERS_AT_ONCE_MAX, TIMERS_PAGE_ROWS } from "../limits.ts";
import { letterOf } from "../store/contract/samples.ts";
import type { Change, Receipt } from "../store/change.ts";
import { Clock } from "./clock.ts";
import type { Timer } from "./timer.ts";

test("K1: timers fire when they are due, each once, the soonest first", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  await stage.set(
    a,
    ["third", HOUR_MS],
    ["past", -HOUR_MS],
    ["second", 20],
    ["first", 10],
    ["later", DAY_MS],
  );
  await stage.start();
  assert.deepEqual(await stage.fired(a), ["past"]);
  await stage.pass(HOUR_MS - 1);
  assert.deepEqual(await stage.fired(a), ["past", "first", "second"]);
  await stage.pass(1);
  assert.deepEqual(await stage.fired(a), ["past", "first", "second", "third"]);
  assert.deepEqual((await stage.at.timers()).map(nameOf), ["later"]);
  assert.deepEqual(stage.asked, ["past", "first", "second", "third"]);
});

test("one that comes to nothing is over all the same", async (test) => {
  const stage = new Stage(test);
  await stage.set(await stage.at.open("a"), ["t", 10]);
  await stage.start({ due: async () => [] });
  await stage.pass(10);
  assert.deepEqual(await stage.at.timers(), []);
});

test("one that sets itself again under its id fires each time, and only then", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  await stage.set(a, ["t", 0]);
  const due = async (timer: Timer): Promise<readonly Change[]> => {
    const next = { ...timer, dueAtMs: timer.dueAtMs + 1_000 };
    return [...(await stage.due(timer)), { do: "setTimer", timer: next, expectDueAtMs: null }];
  };
  const commit = async (changes: readonly Change[]): Promise<Receipt> => {
    const receipt = await stage.commit(changes);
    stage.clocks[0]?.told(changes);
    await settle(); // It looks again before this one is over.
    return receipt;
  };
  stage.world.offMs = 4_500; // Of those that were missed, each is made up for: so it says itself.
  await stage.start({ due, commit });
  await until(() => stage.asked.length === 5);
  await stage.pass(500);
  assert.equal((await stage.fired(a)).length, 6);
  await stage.pass(60_000);
  assert.equal((await stage.fired(a)).length, 66);
});

test("a timer that is told of fires in time, also when it is sooner than what is slept for", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  await stage.set(a, ["late", 20_000]);
  await stage.start();
  for (const [name, inMs] of [
    ["sooner", 10_000],
    ["soonest", 5_000],
    ["at once", 0],
  ] as const) {
    const timer = stage.at.timer(name, a, { dueAtMs: stage.world.nowMs() + inMs });
    await stage.tell({ do: "setTimer", timer, expectDueAtMs: null });
  }
  assert.deepEqual(await stage.fired(a), ["at once"]);
  await stage.pass(5_000);
  assert.deepEqual(await stage.fired(a), ["at once", "soonest"]);
  await stage.pass(5_000);
  assert.deepEqual(await stage.fired(a), ["at once", "soonest", "sooner"]);
});

test("K4: a timer that nobody told of is found by the next look, and looks are few", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  await stage.start();
  await stage.pass(100 * TIMER_LOOK_MS);
  assert.ok(stage.looks <= 102, `${stage.looks}`);
  await stage.set(a, ["of another gateway", 1_000]);
  const far = stage.at.timer("far", a, { dueAtMs: stage.world.nowMs() + DAY_MS });
  await stage.tell({ do: "setTimer", timer: far, expectDueAtMs: null });
  await stage.pass(TIMER_LOOK_MS);
  assert.deepEqual(await stage.fired(a), ["of another gateway"]);
});

test("K1: a commit that fails after it was durable does not fire a timer twice", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  await stage.set(a, ["t", 10], ["u", HOUR_MS]);
  let failures = 0;
  stage.commit = async (changes) => {
    const receipt = await stage.at.store.commit(changes);
    if (failures++ === 0) throw new Error("the wire broke");
    return receipt;
  };
  await stage.start();
  await stage.pass(2 * HOUR_MS);
  assert.deepEqual(await stage.fired(a), ["t", "u"]);
  assert.deepEqual(stage.asked, ["t", "u"]);
});

test("K1: of several gateways one fires a timer, and the others take no offence", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  const names = Array.from({ length: 50 }, (_, n) => `${n}`);
  await stage.set(a, ...names.map((name, n) => [name, n * 100] as const));
  const due = async (timer: Timer): Promise<readonly Change[]> => {
    for (let n = 0; n < 5; n += 1) await settle(); // so long that the others ask, too
    return await stage.due(timer);
  };
  for (let n = 0; n < 3; n += 1) await stage.start({ due });
  await stage.pass(10_000);
  await until(async () => (await stage.at.timers()).length === 0);
  assert.deepEqual((await stage.fired(a)).toSorted(), names.toSorted());
  assert.ok(stage.asked.length > names.length, "they met");
  assert.match(stage.logged.join(""), /somebody else fired or moved a timer/);
  assert.doesNotMatch(stage.logged.join(""), /was not fired/);
});

test("K1: a timer that is moved while it is fired fires at its new time, and only then", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  const [timer] = await stage.set(a, ["t", 10]);
  assert.ok(timer);
  const { waits, letGo } = held(test);
  stage.scripts.set("t", waits);
  await stage.start();
  await stage.pass(10);
  const moved = { ...timer, dueAtMs: timer.dueAtMs + HOUR_MS };
  await stage.tell({ do: "setTimer", timer: moved, expectDueAtMs: timer.dueAtMs });
  letGo();
  await stage.pass(HOUR_MS - 1);
  assert.deepEqual(await stage.fired(a), []);
  await stage.pass(1);
  assert.deepEqual(await stage.fired(a), ["t"]);
});

test("K1: a timer that is cleared while it is fired, or whose session goes, does not fire", async (test) => {
  const stage = new Stage(test);
  const [a, b] = [await stage.at.open("a"), await stage.at.open("b")];
  const [timer] = await stage.set(a, ["t", 0]);
  assert.ok(timer);
  await stage.set(b, ["u", 0]);
  const { waits, letGo } = held(test);
  for (const name of ["t", "u"]) stage.scripts.set(name, waits);
  await stage.start();
  await stage.tell({ do: "clearTimer", id: timer.id, expectDueAtMs: timer.dueAtMs });
  await stage.tell({ do: "delete", key: b, expect: null });
  letGo();
  await stage.pass(HOUR_MS);
  assert.deepEqual(await stage.fired(a), []);
  assert.deepEqual(stage.asked, ["t", "u"], "what is gone is not tried again");
});

test("K2: of thousands that are due some are fired at once, the soonest first; one that hangs holds up none", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  const keys = [];
  for (let n = 0; n < 4; n += 1) keys.push(await stage.at.open(`b${n}`)); // A mailbox has room for a thousand letters.
  const names = Array.from({ length: 3_000 }, (_, n) => `${n}`);
  const dues = names.map((name, n) => [name, n - names.length] as const);
  for (const [at, key] of keys.entries())
    await stage.set(key, ...dues.filter((_, n) => n % keys.length === at));
  await stage.set(a, ["hangs", -HOUR_MS]);
  const { waits, letGo } = held(test);
  stage.scripts.set("hangs", waits);
  let [now, most] = [0, 0];
  const due = async (timer: Timer): Promise<readonly Change[]> => {
    now += 1;
    most = Math.max(most, now);
    if (nameOf(timer) !== "hangs") await settle();
    const changes = await stage.due(timer);
    now -= 1;
    return changes;
  };
  await stage.start({ due });
  await until(async () => (await stage.at.timers()).length === 1);
  assert.equal(most, TIMERS_AT_ONCE_MAX);
  assert.deepEqual(stage.asked, ["hangs", ...names]);
  letGo();
  await until(async () => (await stage.fired(a)).length === 1);
  assert.deepEqual(await stage.at.timers(), []);
});

test("after close nothing is fired, and what was under way is over; the rest is for the next", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  const names = Array.from({ length: 2 * TIMERS_PAGE_ROWS }, (_, n) => `${n}`);
  await stage.set(a, ...names.map((name, n) => [name, n] as const));
  stage.world.offMs = HOUR_MS;
  const { waits, letGo } = held(test);
  for (const name of names) stage.scripts.set(name, waits);
  const clock = await stage.start();
  let isClosed = false;
  const closed = clock.close().then(() => (isClosed = true));
  await settle();
  assert.equal(isClosed, false);
  letGo();
  await closed;
  assert.deepEqual(await stage.fired(a), names.slice(0, TIMERS_AT_ONCE_MAX));
  assert.equal(stage.world.step(), false, "nobody sleeps");
  await stage.tell({ do: "setTimer", timer: stage.at.timer("t", a), expectDueAtMs: null });
  assert.equal(stage.asked.length, TIMERS_AT_ONCE_MAX);
  await stage.start();
  await stage.pass(1_000);
  assert.deepEqual(await stage.fired(a), [...names, "t"]);
});

test("one that takes long is not begun again, and close waits for it", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  await stage.set(a, ["t", 0]);
  const { waits, letGo } = held(test);
  stage.scripts.set("t", waits);
  const clock = await stage.start();
  await stage.pass(5 * TIMER_LOOK_MS);
  assert.deepEqual(stage.asked, ["t"]);
  let isClosed = false;
  const closed = clock.close().then(() => (isClosed = true));
  await settle();
  assert.equal(isClosed, false);
  letGo();
  await closed;
  assert.deepEqual(await stage.fired(a), ["t"]);
});

test("a clock that sleeps, or was never started, closes at once", async (test) => {
  const stage = new Stage(test);
  const clock = await stage.start();
  await clock.close();
  await clock.close();
  assert.equal(stage.world.step(), false, "nobody sleeps");
  const { world, at } = stage;
  const parts = { world, log: openLog("silent"), store: at.store, commit: stage.commit, due: async () => [] };
  await new Clock(parts).close();
});

test("timers of the local store outlive it, and fire once in the next life", async (test) => {
  const home = await Home.open(test);
  const { world } = home;
  const key = await home.talk("a", "hello");
  const timer = (id: string, inMs: number): Change => ({
    do: "setTimer",
    timer: { id, key, dueAtMs: world.nowMs() + inMs, body: { id } },
    expectDueAtMs: null,
  });
  await home.store.commit([timer("1", 1_000), timer("2", 2_000), timer("3", DAY_MS)]);
  const asked: string[] = [];
  const live = async (isDone: () => boolean): Promise<void> => {
    const { store } = home;
    const due = async ({ id }: Timer): Promise<readonly Change[]> => {
      asked.push(id);
      return [{ do: "post", to: [key], letter: letterOf(`cause:${world.newId()}`, id) }];
    };
    const commit = async (changes: readonly Change[]): Promise<Receipt> => {
      const receipt = await store.commit(changes);
      if (asked.length === 1) throw new Error("it ended before it heard that it was durable");
      return receipt;
    };
    const clock = new Clock({ world, log: openLog("silent"), store, commit, due });
    clock.start();
    await until(async () => {
      if (!isDone()) world.step(); // Its threads take the time they take: the day may be over sooner than they answer.
      return isDone();
    });
    await clock.close();
    await home.reopen();
  };
  await home.reopen();
  await live(() => asked.length === 1);
  await live(() => asked.length === 2);
  assert.deepEqual(asked, ["1", "2"]);
  const { rows } = await home.store.mail(key, {});
  assert.equal(rows.length, 2);
  const left = await home.store.timers({ dueByMs: world.nowMs() + 2 * DAY_MS });
  assert.deepEqual(
    left.rows.map(({ id }) => id),
    ["3"],
  );
});
