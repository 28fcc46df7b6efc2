import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, HOUR_MS, Stage } from "../../test/timers/stage.ts";
import { Fault, type FaultCode } from "../base/fault.ts";
import { TIMER_LOOK_MS, TIMER_RETRY_MS_MAX, TIMERS_AT_ONCE_MAX } from "../limits.ts";
import type { Change } from "../store/change.ts";
import type { Timer } from "./timer.ts";

test("K3: what cannot be said what it comes to is tried again, ever more rarely, and holds up nobody", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  const names = Array.from({ length: 3 * TIMERS_AT_ONCE_MAX }, (_, n) => `broken ${n}`);
  await stage.set(a, ...names.map((name) => [name, 0] as const), ["well", 5_000]);
  for (const name of names) stage.scripts.set(name, () => Promise.reject(new Error("a bug")));
  await stage.start();
  const tries = (): number => stage.asked.filter((name) => name === "broken 0").length;
  await stage.pass(5_000);
  assert.deepEqual(await stage.fired(a), ["well"]);
  assert.ok(tries() >= 2, `${tries()}`);
  await stage.pass(HOUR_MS);
  const before = tries();
  await stage.pass(10 * TIMER_RETRY_MS_MAX);
  const more = tries() - before;
  assert.ok(more >= 8 && more <= 10, `${more}`);
  stage.scripts.clear();
  await stage.pass(2 * TIMER_RETRY_MS_MAX);
  assert.deepEqual((await stage.fired(a)).toSorted(), ["well", ...names].toSorted());
  assert.match(stage.logged.join(""), /a timer was not fired; it is tried again/);
});

test("K3: one that throws before it promises anything is tried again, too", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  await stage.set(a, ["t", 0]);
  let tries = 0;
  const due = (timer: Timer): Promise<readonly Change[]> => {
    if (tries++ < 3) throw new Error("a bug");
    return stage.due(timer);
  };
  await stage.start({ due });
  await stage.pass(60_000);
  assert.deepEqual(await stage.fired(a), ["t"]);
});

for (const code of ["disk_full", "not_found", "ended", "stale_writer"] satisfies FaultCode[])
  test(`K3: a commit that is refused with ${code} is tried again until it is taken`, async (test) => {
    const stage = new Stage(test);
    const a = await stage.at.open("a");
    await stage.set(a, ["t", 0]);
    const really = stage.commit;
    stage.commit = () => Promise.reject(new Fault(code, "not now"));
    await stage.start();
    await stage.pass(60_000);
    assert.deepEqual(await stage.fired(a), []);
    assert.match(stage.logged.join(""), /was not fired/);
    stage.commit = really;
    await stage.pass(60_000);
    assert.deepEqual(await stage.fired(a), ["t"]);
  });

for (const code of ["closed", "outcome_unknown"] satisfies FaultCode[])
  test(`a store that is ${code} ends the clock, and the next start fires`, async (test) => {
    const stage = new Stage(test);
    const a = await stage.at.open("a");
    await stage.set(a, ["t", 10], ["u", 20]);
    const really = stage.commit;
    stage.commit = () => Promise.reject(new Fault(code, "it is over"));
    await stage.start();
    await stage.pass(HOUR_MS);
    assert.deepEqual(stage.asked, ["t"]);
    assert.equal(stage.world.step(), false, "nobody sleeps");
    stage.commit = really;
    await stage.start();
    assert.deepEqual(await stage.fired(a), ["t", "u"]);
  });

test("a store that cannot be asked is asked again", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  await stage.set(a, ["t", 10]);
  const asking = test.mock.method(stage.at.store, "timers", () => Promise.reject(new Error("not now")));
  await stage.start();
  await stage.pass(HOUR_MS);
  assert.ok(asking.mock.callCount() < 150, "and not without a pause");
  asking.mock.restore();
  await stage.pass(TIMER_LOOK_MS);
  assert.deepEqual(await stage.fired(a), ["t"]);
});

test("K4: when the machine's clock is set forward, what is due by it fires", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  await stage.set(a, ["t", HOUR_MS], ["u", 2 * DAY_MS]);
  await stage.start();
  stage.world.offMs += DAY_MS;
  await stage.pass(TIMER_LOOK_MS);
  assert.deepEqual(await stage.fired(a), ["t"]);
});

test("K4: when the machine's clock is set back, nothing fires twice, and nothing is lost", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  await stage.set(a, ["before", 0], ["broken", 0], ["t", 10_000]);
  stage.scripts.set("broken", () => Promise.reject(new Error("a bug")));
  const setBackMs = DAY_MS;
  await stage.start();
  await stage.pass(9_000);
  const tries = stage.asked.length;
  stage.world.offMs -= setBackMs;
  await stage.pass(2 * TIMER_LOOK_MS);
  assert.deepEqual(await stage.fired(a), ["before"]);
  assert.equal(stage.asked.length, tries, "the broken one is not due any more");
  const timer = stage.at.timer("new", a, { dueAtMs: stage.world.nowMs() + 100 });
  await stage.tell({ do: "setTimer", timer, expectDueAtMs: null });
  await stage.pass(100);
  assert.deepEqual(await stage.fired(a), ["before", "new"]);
  stage.scripts.clear();
  await stage.pass(setBackMs);
  assert.deepEqual((await stage.fired(a)).toSorted(), ["before", "broken", "new", "t"]);
});

test("K4: a pause before another try ends also when the machine's clock is set back in it", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  await stage.set(a, ["broken", -DAY_MS]);
  stage.scripts.set("broken", () => Promise.reject(new Error("a bug")));
  await stage.start();
  stage.scripts.clear();
  stage.world.offMs -= DAY_MS / 2;
  await stage.pass(TIMER_LOOK_MS);
  assert.deepEqual(await stage.fired(a), ["broken"]);
});

test("K4: the store is asked as often as ever when the machine's clock is set back during a look", async (test) => {
  const stage = new Stage(test);
  const { at, world } = stage;
  const a = await at.open("a");
  const asking = test.mock.method(at.store, "timers", async () => {
    asking.mock.restore();
    world.offMs -= DAY_MS;
    return { rows: [], next: null };
  });
  await stage.start();
  await stage.set(a, ["of another gateway", 0]);
  for (let n = 0; n < 4; n += 1) {
    const timer = at.timer(`far ${n}`, a, { dueAtMs: world.nowMs() + HOUR_MS - n * 60_000 });
    await stage.tell({ do: "setTimer", timer, expectDueAtMs: null }); // sooner each time
    await stage.pass(TIMER_LOOK_MS / 3);
  }
  assert.deepEqual(await stage.fired(a), ["of another gateway"]);
});

test("K3: one that is cleared and set again owes nothing to its former failures", async (test) => {
  const stage = new Stage(test);
  const a = await stage.at.open("a");
  const [timer] = await stage.set(a, ["t", 0]);
  assert.ok(timer);
  stage.scripts.set("t", () => Promise.reject(new Error("a bug")));
  await stage.start();
  await stage.pass(2 * HOUR_MS);
  await stage.tell({ do: "clearTimer", id: timer.id, expectDueAtMs: timer.dueAtMs });
  await stage.pass(TIMER_LOOK_MS);
  stage.scripts.clear();
  await stage.tell({ do: "setTimer", timer, expectDueAtMs: null });
  assert.deepEqual(await stage.fired(a), ["t"]);
});
