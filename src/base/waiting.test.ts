import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import { unlessAborted, unlessLate } from "./waiting.ts";
import { SimulatedWorld } from "./world.ts";

test("a promise that nobody waits for any more may fail without ending the process", async () => {
  const surprises: unknown[] = [];
  const note = (reason: unknown): void => void surprises.push(reason);
  process.on("unhandledRejection", note);
  const before = unlessAborted(Promise.reject(new Error("its own")), AbortSignal.abort(new Error("stopped")));
  await assert.rejects(before, /stopped/);
  const abort = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  const during = unlessAborted(promise, abort.signal);
  abort.abort(new Error("stopped"));
  await assert.rejects(during, /stopped/);
  reject(new Error("its own"));
  await settle();
  await settle();
  process.off("unhandledRejection", note);
  assert.deepEqual(surprises, []);
});

test("a promise's own end is told, and nothing listens for the abort any more", async () => {
  const { signal } = new AbortController();
  let listening = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = ((...args: Parameters<typeof add>) => (
    (listening += 1),
    add(...args)
  )) as typeof add;
  signal.removeEventListener = ((...args: Parameters<typeof remove>) => (
    (listening -= 1),
    remove(...args)
  )) as typeof remove;
  assert.equal(await unlessAborted(Promise.resolve(7), signal), 7);
  await assert.rejects(unlessAborted(Promise.reject(new Error("its own")), signal), /its own/);
  assert.equal(listening, 0);
});

test("what comes in time is told, how it went too, and no alarm is left", async () => {
  const world = new SimulatedWorld(1);
  assert.equal(await unlessLate(world, 1_000, Promise.resolve(7)), 7);
  await assert.rejects(unlessLate(world, 1_000, Promise.reject(new Error("its own"))), /its own/);
  assert.equal(world.step(), false);
});

test("what comes too late is null, and may fail without ending the process", async () => {
  const surprises: unknown[] = [];
  const note = (reason: unknown): void => void surprises.push(reason);
  process.on("unhandledRejection", note);
  const world = new SimulatedWorld(1, 0);
  const { promise, reject } = Promise.withResolvers<number>();
  const waiting = unlessLate(world, 1_000, promise);
  assert.equal(world.step(), true);
  assert.equal(await waiting, null);
  assert.equal(world.nowMs(), 1_000);
  reject(new Error("its own"));
  await settle();
  await settle();
  process.off("unhandledRejection", note);
  assert.deepEqual(surprises, []);
});
