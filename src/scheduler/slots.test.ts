import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import { SimulatedWorld } from "../base/world.ts";
import { DEFAULT_AGENT, namedKey } from "../routing/key.ts";
import { Slots, type Asking, type Slot, type SlotSettings } from "./slots.ts";

const never = new AbortController().signal;

interface Setting {
  readonly world: SimulatedWorld;
  readonly slots: Slots;
  /** Who has got one, in this order. */
  readonly got: string[];
  readonly held: Map<string, Slot>;
  ask(name: string, how?: Partial<Asking>, signal?: AbortSignal): void;
}

function setting(given: Partial<SlotSettings> = {}): Setting {
  const world = new SimulatedWorld(1);
  const slots = new Slots(world, { slots: 1, reserve: 0, share: 16, providers: new Map(), ...given });
  const got: string[] = [];
  const held = new Map<string, Slot>();
  const ask: Setting["ask"] = (name, how, signal = never) => {
    slots.take(asking(name, how), signal).then(
      (slot) => {
        got.push(name);
        held.set(name, slot);
      },
      (error: Error) => got.push(`${name}: ${error.message}`),
    );
  };
  return { world, slots, got, held, ask };
}

function asking(name: string, how: Partial<Asking> = {}): Asking {
  const key = namedKey(DEFAULT_AGENT, name);
  return { key, root: key, class: "interactive", nice: 0, provider: "any", ...how };
}

test("whoever waits gets the slot that is given back, and the higher class gets it first", async () => {
  const { slots, got, held, ask } = setting();
  ask("first");
  ask("low", { class: "background" });
  ask("high");
  await settle();
  assert.deepEqual(got, ["first"]);
  held.get("first")?.giveBack(10);
  await settle();
  held.get("high")?.giveBack(10);
  await settle();
  assert.deepEqual(got, ["first", "high", "low"]);
  assert.equal(slots.load().inUse.background, 1);
});

test("whoever gives up leaves the others as they were", async () => {
  const { slots, got, held, ask } = setting();
  const impatient = new AbortController();
  ask("first");
  ask("a");
  ask("b", {}, impatient.signal);
  ask("c");
  impatient.abort(new Error("enough"));
  await settle();
  assert.deepEqual(got, ["first", "b: enough"]);
  assert.equal(slots.why(asking("b").key), null);
  assert.equal(slots.load().waiting.interactive, 2);
  held.get("first")?.giveBack(null);
  await settle();
  held.get("a")?.giveBack(null);
  await settle();
  assert.deepEqual(got.slice(2), ["a", "c"]);
  ask("d", {}, AbortSignal.abort(new Error("before")));
  await settle();
  assert.equal(got.at(-1), "d: before");
  assert.equal(slots.load().waiting.interactive, 0);
});

test("a slot that was granted is not lost when its taker gives up in the same moment", async () => {
  const { got, held, ask } = setting();
  const late = new AbortController();
  ask("first");
  ask("a", {}, late.signal);
  ask("b");
  await settle();
  held.get("first")?.giveBack(1);
  late.abort(new Error("too late"));
  await settle();
  assert.deepEqual(got, ["first", "a"]);
  held.get("a")?.giveBack(1);
  await settle();
  assert.deepEqual(got, ["first", "a", "b"]);
});

test("a slot given back twice counts once", async () => {
  const { slots, got, held, ask } = setting();
  for (const name of ["a", "b", "c"]) ask(name);
  await settle();
  held.get("a")?.giveBack(5);
  held.get("a")?.giveBack(5);
  await settle();
  assert.deepEqual(got, ["a", "b"]);
  assert.deepEqual(slots.load().inUse, { interactive: 1, delegated: 0, scheduled: 0, background: 0 });
});

test("a session that a person waits for is raised, and goes at once when a slot is kept for people", async () => {
  const { slots, got, ask } = setting({ slots: 2, reserve: 1 });
  for (const name of ["a", "b", "c"]) ask(name, { class: "background" });
  await settle();
  assert.deepEqual(got, ["a"]);
  slots.raise(asking("c").key, "interactive");
  await settle();
  assert.deepEqual(got, ["a", "c"]);
  slots.raise(asking("nobody").key, "interactive");
  assert.equal(slots.load().waiting.background, 1);
});

test("a pause ends by itself, then one call is tried, then all go", async () => {
  const { world, slots, got, held, ask } = setting({ slots: 4 });
  ask("first");
  await settle();
  slots.throttled("any", 5_000);
  held.get("first")?.giveBack(null);
  assert.ok(slots.coolsForMs("any") >= 5_000 && slots.coolsForMs("other") === 0);
  for (const name of ["a", "b", "c"]) ask(name);
  ask("elsewhere", { provider: "other" });
  await settle();
  assert.deepEqual(got, ["first", "elsewhere"]);
  const fromMs = world.nowMs();
  assert.ok(world.step(), "there is an alarm");
  await settle();
  assert.ok(world.nowMs() - fromMs >= 5_000);
  assert.deepEqual(got.slice(2), ["a"]);
  assert.equal(world.step(), false, "and only one");
  held.get("a")?.giveBack(null);
  await settle();
  assert.deepEqual(got.slice(2), ["a", "b"], "it came back without an answer");
  held.get("b")?.works();
  await settle();
  assert.deepEqual(got.slice(2), ["a", "b", "c"], "while b is still being answered");
});

test("who does not wait for long pauses hears of one: before, and while it waits", async () => {
  const { slots, got, held, ask } = setting({ slots: 1 });
  ask("first");
  await settle();
  const never = new AbortController().signal;
  const waiting = (): number => slots.load().waiting[asking("any").class];
  const hasty = slots.takeSoon(asking("hasty"), never, 5_000);
  const other = slots.takeSoon(asking("other", { provider: "other" }), never, 5_000);
  ask("patient");
  slots.throttled("any", 4_000); // with what chance adds it is no longer than it is waited for
  await settle();
  assert.equal(waiting(), 3);
  slots.throttled("any", 60_000);
  assert.equal(await hasty, null);
  assert.equal(slots.why(asking("hasty").key), null);
  assert.equal(await slots.takeSoon(asking("late"), never, 5_000), null);
  assert.equal(waiting(), 2);
  held.get("first")?.giveBack(1);
  assert.notEqual(await other, null);
  assert.deepEqual(got, ["first"], "the patient one waits");
});

test("an alarm moves with the pause, and there is none when nobody waits for it", async () => {
  const { world, slots, got, ask } = setting({ slots: 4 });
  const giving = new AbortController();
  slots.throttled("any", 5_000);
  assert.equal(world.step(), false, "nobody waits");
  ask("a", {}, giving.signal);
  slots.throttled("any", 60_000);
  const untilMs = world.nowMs() + slots.coolsForMs("any");
  assert.ok(world.step());
  await settle();
  assert.equal(world.nowMs(), untilMs);
  assert.deepEqual(got, ["a"]);
  slots.throttled("any", null);
  ask("b", {}, giving.signal);
  giving.abort(new Error("enough"));
  await settle();
  assert.deepEqual(got, ["a", "b: enough"]);
  assert.equal(world.step(), false, "called off");
});

test("a slot that comes free while somebody waits for a pause goes to whoever can use it", async () => {
  const { world, slots, got, held, ask } = setting();
  ask("first");
  await settle();
  slots.throttled("slow", 1_000);
  ask("a", { provider: "slow" });
  ask("b", { class: "background" });
  assert.equal(world.step(), false, "without a free slot the end of the pause changes nothing");
  held.get("first")?.giveBack(1);
  await settle();
  assert.deepEqual(got, ["first", "b"]);
  held.get("b")?.giveBack(1);
  assert.ok(world.step());
  await settle();
  assert.deepEqual(got, ["first", "b", "a"]);
});

test("why somebody waits is said in words", async () => {
  const { slots, held, ask } = setting({ slots: 3, reserve: 2, providers: new Map([["narrow", 1]]) });
  const why = (name: string): string | null => slots.why(asking(name).key);
  ask("a", { provider: "narrow", class: "background" });
  assert.equal(why("a"), null);
  ask("b", { provider: "narrow" });
  assert.equal(why("b"), "waits for narrow: 1 of 1 calls are in flight");
  ask("c", { class: "background" });
  assert.equal(
    why("c"),
    "waits for a slot: the 2 free slots are kept for people; 1 interactive is in front of it",
  );
  for (const name of ["d", "e", "f"]) ask(name);
  assert.equal(why("c"), "waits for a slot: all 3 are in use; 2 interactive are in front of it");
  assert.equal(why("f"), "waits for a slot: all 3 are in use; up to 1 interactive is in front of it");
  ask("g", { class: "background" });
  assert.match(why("g") ?? "", /; 2 interactive and up to 1 background are in front of it$/);
  slots.throttled("narrow", 11_000);
  assert.match(why("b") ?? "", /^waits for narrow, which asked for a pause; it is asked again in 1[1-4] s$/);
  await settle();
  assert.deepEqual(slots.load(), {
    slots: 3,
    reserved: 2,
    inUse: { interactive: 2, delegated: 0, scheduled: 0, background: 1 },
    waiting: { interactive: 2, delegated: 0, scheduled: 0, background: 2 },
    providers: [
      { provider: "narrow", inUse: 1, limit: 1, coolsForMs: slots.coolsForMs("narrow") },
      { provider: "any", inUse: 2, limit: null, coolsForMs: 0 },
    ],
  });
  for (const slot of held.values()) slot.giveBack(1);
});

test("a provider that is tried with one call says so to the others", async () => {
  const { world, slots, ask } = setting({ slots: 4 });
  slots.throttled("any", null);
  ask("a");
  ask("b");
  assert.ok(world.step());
  await settle();
  assert.equal(slots.why(asking("b").key), "waits for any, which is tried with one call after its pause");
});
