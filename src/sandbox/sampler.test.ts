import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import { afterwards } from "../../test/fixtures/home.ts";
import { openLog } from "../base/log.ts";
import { SimulatedWorld } from "../base/world.ts";
import { groupLeft } from "./group.ts";
import { HAS_PROC, seenOf } from "./proc.ts";
import { Sampler, type Sampled } from "./sampler.ts";
import { Looks, type Look } from "./tree.ts";

const skip = HAS_PROC ? false : "trees are found through /proc";

/** Looks that are counted, and may fail. */
class Counted {
  taken = 0;
  isBroken = false;
  readonly #looks = new Looks();

  async take(sinceTicks: number): Promise<Look> {
    this.taken += 1;
    if (this.isBroken) throw new Error("too many files are open");
    return await this.#looks.take(sinceTicks);
  }
}

/** A sampler of one program that does nothing, in a world whose time the test makes. */
async function stageOf(test: Parameters<typeof afterwards>[0]): Promise<{
  readonly looks: Counted;
  readonly samples: number[];
  readonly logged: string[];
  pass(ms: number): Promise<void>;
}> {
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  afterwards(test, () => child.kill("SIGKILL"));
  const pid = child.pid ?? 0;
  const startTicks = (await seenOf(pid))?.startTicks ?? 0;
  const world = new SimulatedWorld(1);
  const [looks, samples, logged]: [Counted, number[], string[]] = [new Counted(), [], []];
  const log = openLog("warn", { write: (line) => void logged.push(line) });
  const known = new Map([[pid, startTicks]]);
  const sampled: Sampled = {
    tree: { id: "one", group: groupLeft(pid), sinceTicks: startTicks, known },
    startedAtMs: world.nowMs(),
    seen: (members, bytes) => void samples.push(members.length === 1 ? bytes : 0),
  };
  new Sampler({ looks, world, log }).add(sampled);
  const pass = async (ms: number): Promise<void> => {
    for (const endMs = world.nowMs() + ms; world.nowMs() < endMs;) {
      const before = samples.length + logged.length;
      assert.ok(world.step());
      while (samples.length + logged.length === before) await settle(); // It was looked at, or could not be.
      await settle();
    }
    assert.equal(sampled.tree.known.size, 1);
  };
  return { looks, samples, logged, pass };
}

test("a tree that does nothing is measured every second, and rarely looked for", { skip }, async (test) => {
  const { looks, samples, pass } = await stageOf(test);
  await pass(20_000);
  const young = looks.taken;
  assert.ok(young <= 20, `${young}`);
  await pass(600_000);
  assert.ok(looks.taken - young <= 600 / 25, `${looks.taken - young}`);
  assert.ok(looks.taken - young >= 600 / 35, `${looks.taken - young}`);
  assert.ok(samples.length >= 600);
  assert.ok(samples.every((bytes) => bytes > 0));
});

test("looks that fail are not tried more often than others", { skip }, async (test) => {
  const { looks, logged, pass } = await stageOf(test);
  await pass(2_000);
  looks.isBroken = true;
  const taken = looks.taken;
  await pass(60_000);
  assert.ok(logged.length > 0);
  assert.ok(looks.taken - taken <= 62, `${looks.taken - taken}`);
});

test("a look that began before a tree did says nothing of it", { skip }, async (test) => {
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  afterwards(test, () => child.kill("SIGKILL"));
  const startTicks = (await seenOf(child.pid ?? 0))?.startTicks ?? 0;
  const world = new SimulatedWorld(1);
  const treeOf = (pid: number): Sampled & { readonly samples: number[] } => {
    const samples: number[] = [];
    const known = new Map([[pid, startTicks]]);
    const tree = { id: `${pid}`, group: groupLeft(pid), sinceTicks: startTicks, known };
    return { tree, samples, startedAtMs: world.nowMs(), seen: (_, bytes) => void samples.push(bytes) };
  };
  const nothing = { processes: new Map(), markers: new Map(), byParent: new Map(), bySession: new Map() };
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<Look>()];
  const really = new Looks();
  let taken = 0;
  const take = async (sinceTicks: number): Promise<Look> => {
    if (taken++ > 0) return await really.take(sinceTicks);
    begun.resolve();
    return await held.promise;
  };
  const sampler = new Sampler({ looks: { take }, world, log: openLog("silent") });
  const [before, late] = [treeOf(1), treeOf(child.pid ?? 0)];
  sampler.add(before);
  assert.ok(world.step());
  await begun.promise;
  sampler.add(late);
  held.resolve(nothing);
  while (before.samples.length === 0) await settle();
  sampler.remove(before);
  await settle();
  while (late.samples.length === 0) {
    world.step();
    await settle();
  }
  assert.ok((late.samples[0] ?? 0) > 0, "its launcher is still known");
  sampler.remove(late);
});
