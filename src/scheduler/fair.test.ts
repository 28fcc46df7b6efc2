import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_AGENT, namedKey } from "../routing/key.ts";
import type { Asking } from "./asking.ts";
import { Fair, type Grant, type SlotSettings } from "./fair.ts";
import { Provider } from "./provider.ts";

function fair(settings: Partial<SlotSettings> = {}): Fair {
  return new Fair({ slots: 1, reserve: 0, share: 16, providers: new Map(), ...settings });
}

function asking(name: string, how: Partial<Asking> = {}): Asking {
  const key = namedKey(DEFAULT_AGENT, name);
  return { key, root: key, class: "background", nice: 0, provider: "any", ...how };
}

function grantAll(fair: Fair, nowMs = 0): Grant[] {
  const grants: Grant[] = [];
  for (let grant = fair.next(nowMs); grant !== null; grant = fair.next(nowMs)) grants.push(grant);
  return grants;
}

/** Who goes next, one after the other, each costing the same. */
function order(fair: Fair, costs = 100): string[] {
  const names: string[] = [];
  for (let grant = fair.next(0); grant !== null; grant = fair.next(0)) {
    names.push(nameOf(grant));
    fair.settle(grant, costs);
  }
  return names;
}

function nameOf(grant: Grant | null): string {
  return grant?.ask.asking.key.split(":").at(-1) ?? "nobody";
}

test("a person waits for one running step at most, however much is queued, and not at all while a reserved slot is free", () => {
  for (const [slots, reserve] of [
    [1, 4],
    [4, 0],
    [4, 2],
    [32, 2],
  ] as const) {
    const scheduler = fair({ slots, reserve });
    for (let n = 0; n < 1_000; n += 1) scheduler.ask(asking(`background${n}`));
    const running = grantAll(scheduler);
    assert.equal(running.length, slots - Math.min(reserve, slots - 1));
    for (let person = 0; person < scheduler.reserved; person += 1) {
      scheduler.ask(asking(`person${person}`, { class: "interactive" }));
      assert.equal(nameOf(scheduler.next(0)), `person${person}`);
    }
    assert.equal(scheduler.inUse, slots);
    scheduler.ask(asking("late", { class: "interactive" }));
    assert.equal(scheduler.next(0), null);
    const [first] = running;
    assert.ok(first);
    scheduler.settle(first, 50);
    assert.deepEqual(grantAll(scheduler).map(nameOf), ["late"]);
  }
});

test("a root that was idle has not saved anything up", () => {
  const scheduler = fair();
  scheduler.ask(asking("idle"));
  for (let n = 0; n < 10; n += 1) scheduler.ask(asking("busy"));
  order(scheduler, 1_000);
  for (let n = 0; n < 4; n += 1) {
    scheduler.ask(asking("busy"));
    scheduler.ask(asking("idle"));
  }
  const names = order(scheduler, 1_000);
  for (let at = 0; at < names.length; at += 2) assert.notEqual(names[at], names[at + 1], names.join(" "));
});

test("a new root starts where those who are awake stand", () => {
  const scheduler = fair({ slots: 2 });
  for (const name of ["a", "b"]) scheduler.ask(asking(name));
  const running = grantAll(scheduler);
  const leaving = ["c", "d"].map((name) => scheduler.ask(asking(name)));
  for (const grant of running) scheduler.settle(grant, 1_000);
  for (let n = 0; n < 3; n += 1) for (const name of ["a", "b"]) scheduler.ask(asking(name));
  for (const ask of leaving) scheduler.withdraw(ask);
  for (let n = 0; n < 3; n += 1) scheduler.ask(asking("new"));
  assert.deepEqual(order(scheduler, 1_000).slice(0, 3), ["a", "b", "new"]);
});

test("the account of a root that rests is kept, but not of any number of them", () => {
  const scheduler = fair();
  const step = (name: string, cost: number): number => {
    scheduler.ask(asking(name));
    const grant = scheduler.next(0);
    assert.ok(grant);
    scheduler.settle(grant, cost);
    return grant.estimate;
  };
  step("early", 7);
  assert.equal(step("early", 7), 7);
  for (let n = 0; n < 5_000; n += 1) step(`root${n}`, 1_000);
  step("late", 9);
  assert.equal(step("late", 9), 9);
  assert.ok(step("early", 7) > 100, "it is estimated like a new one");
});

test("a root between two steps does not forget what it owes", () => {
  const scheduler = fair();
  scheduler.ask(asking("dear"));
  const dear = scheduler.next(0);
  for (let n = 0; n < 20; n += 1) scheduler.ask(asking("cheap"));
  assert.ok(dear);
  scheduler.settle(dear, 1_000);
  for (let step = 0; step < 3; step += 1) {
    const grant = scheduler.next(0);
    assert.ok(grant);
    scheduler.settle(grant, 100);
  }
  scheduler.ask(asking("dear")); // it was away for three steps of the other, and is 700 ahead of it
  const names = order(scheduler, 100);
  assert.ok(names.indexOf("dear") >= 6 && names.indexOf("dear") <= 8, names.join(" "));
});

test("a root that owes much gets its turn, though new roots never cease to come", () => {
  const scheduler = fair();
  scheduler.ask(asking("dear"));
  scheduler.ask(asking("new0"));
  const dear = scheduler.next(0);
  assert.ok(dear);
  scheduler.settle(dear, 10_000);
  scheduler.ask(asking("dear"));
  let turns = 1;
  for (; turns < 1_000; turns += 1) {
    scheduler.ask(asking(`new${turns}`));
    const grant = scheduler.next(0);
    assert.ok(grant);
    if (nameOf(grant) === "dear") break;
    scheduler.settle(grant, 100);
  }
  assert.ok(turns > 50 && turns < 500, `${turns} went before it`);
});

test("a class gets its calls of a provider that people keep busy, though it is granted others all the time", () => {
  const scheduler = fair({ slots: 8, share: 8, providers: new Map([["busy", 1]]) });
  const person = (): unknown => scheduler.ask(asking("person", { class: "interactive", provider: "busy" }));
  person();
  let running = grantAll(scheduler);
  scheduler.ask(asking("patient", { provider: "busy" }));
  const went: string[] = [];
  for (let step = 0; step < 8 && !went.includes("patient"); step += 1) {
    person();
    scheduler.ask(asking(`other${step}`));
    for (const grant of running) scheduler.settle(grant, 10);
    running = grantAll(scheduler);
    went.push(...running.map(nameOf));
  }
  assert.ok(went.includes("patient"), went.join(" "));
  assert.equal(went.filter((name) => name === "person").length, 4);
});

test("who comes when those who were passed over have left has not waited", () => {
  const scheduler = fair({ share: 8 });
  const patient = scheduler.ask(asking("patient"));
  for (let n = 0; n < 4; n += 1) {
    scheduler.ask(asking(`person${n}`, { class: "interactive" }));
    const grant = scheduler.next(0);
    assert.equal(nameOf(grant), `person${n}`);
    if (grant) scheduler.settle(grant, 10);
  }
  scheduler.withdraw(patient);
  scheduler.ask(asking("other"));
  scheduler.ask(asking("person", { class: "interactive" }));
  assert.deepEqual(order(scheduler), ["person", "other"]);
});

test("whose provider takes no calls is stepped over, within a root and between roots", () => {
  const scheduler = fair({ slots: 4, providers: new Map([["narrow", 1]]) });
  scheduler.ask(asking("a1", { root: asking("a").key, provider: "narrow" }));
  scheduler.ask(asking("a2", { root: asking("a").key, provider: "narrow" }));
  scheduler.ask(asking("a3", { root: asking("a").key }));
  scheduler.ask(asking("b", { provider: "narrow" }));
  scheduler.ask(asking("c"));
  const running = grantAll(scheduler);
  assert.deepEqual(running.map(nameOf), ["a1", "c", "a3"]);
  const [narrow] = running;
  assert.ok(narrow);
  scheduler.settle(narrow, 1);
  assert.deepEqual(grantAll(scheduler).map(nameOf), ["b"], "a has had two");
});

test("within a root the oldest goes first, and who is raised keeps its age and never falls", () => {
  const scheduler = fair();
  const root = asking("root").key;
  scheduler.ask(asking("old", { root }));
  scheduler.ask(asking("high", { root, class: "delegated" }));
  scheduler.ask(asking("low", { root }));
  scheduler.raise(asking("old").key, "delegated");
  scheduler.raise(asking("high").key, "background");
  assert.deepEqual(scheduler.waiting(), { interactive: 0, delegated: 2, scheduled: 0, background: 1 });
  assert.deepEqual(order(scheduler), ["old", "high", "low"]);
});

test("what nobody measured is charged by estimate: its root's average, or that of all", () => {
  const scheduler = fair();
  const costs = [1_000, null, 100];
  const estimates = costs.map((cost, at) => {
    scheduler.ask(asking(at < 2 ? "a" : "b"));
    const grant = scheduler.next(0);
    assert.ok(grant);
    scheduler.settle(grant, cost);
    return grant.estimate;
  });
  assert.deepEqual(estimates, [1, 1_000, 1_000]);
});

test("a pause lasts as long as the provider said; else it is doubled each time in a row", () => {
  const provider = new Provider("busy", null);
  const pauses: number[] = [];
  let nowMs = 0;
  for (let n = 0; n < 8; n += 1) {
    provider.out();
    provider.refused(null, nowMs, 0);
    provider.refused(null, nowMs + 1, 0); // another call that was on its way
    pauses.push(provider.coolsForMs(nowMs));
    assert.equal(provider.isOpen(nowMs), false);
    nowMs += provider.coolsForMs(nowMs);
  }
  assert.deepEqual(pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  provider.refused(5_000, nowMs, 0);
  provider.refused(12_000, nowMs, 0);
  provider.refused(3_000, nowMs, 0);
  assert.equal(provider.coolsForMs(nowMs), 12_000, "the longest of those that were named");
  provider.refused(Number.POSITIVE_INFINITY, nowMs, 0.999);
  assert.ok(provider.coolsForMs(nowMs) <= 750_000);
  assert.equal(
    provider.coolsForMs(nowMs - 86_400_000),
    0,
    "a clock that was set back does not make it a day",
  );
});

test("after a pause one call is tried at a time, and older calls prove nothing", () => {
  const provider = new Provider("busy", 4);
  const older = [provider.out(), provider.out()];
  provider.refused(1_000, 0, 0);
  provider.back(older.pop() ?? 0);
  assert.ok(provider.isOpen(1_000) && provider.isTried);
  provider.refused(null, 1_000, 0); // from the older one that is left: a pause, but it is not doubled
  assert.equal(provider.coolsForMs(1_000), 1_000);
  const tried = provider.out();
  assert.equal(provider.isOpen(2_000), false, "one at a time");
  provider.works(older[0] ?? 0);
  provider.back(older.pop() ?? 0);
  assert.equal(provider.isOpen(2_000), false);
  provider.back(tried);
  assert.ok(
    provider.isOpen(2_000) && provider.isTried,
    "it came back without an answer: that proves nothing",
  );
  const again = provider.out();
  assert.equal(provider.isOpen(2_000), false);
  provider.works(again);
  assert.ok(provider.isOpen(2_000) && !provider.isTried, "others need not wait for the end of the answer");
  provider.back(again);
  for (let n = 0; n < 4; n += 1) provider.out();
  assert.ok(provider.isFull && !provider.isOpen(2_000));
  provider.refused(null, 2_000, 0);
  assert.equal(provider.coolsForMs(2_000), 1_000, "the row of refusals had ended");
});
