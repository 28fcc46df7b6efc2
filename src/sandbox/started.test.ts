import assert from "node:assert/strict";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import { alive, until } from "../../test/sandbox/stage.ts";
import { afterwards, scratch } from "../../test/fixtures/home.ts";
import { openLog } from "../base/log.ts";
import { RealWorld } from "../base/world.ts";
import { KILLED_GRACE_MS } from "../limits.ts";
import { launch } from "./launch.ts";
import { HAS_PROC, seenOf } from "./proc.ts";
import { plainEnv } from "./processes.ts";
import { Started } from "./started.ts";
import { Looks, type Look } from "./tree.ts";

const skip = HAS_PROC ? false : "trees are found through /proc";

/** Nobody has to wait long in it. */
class Hurried extends RealWorld {
  override sleep(ms: number, signal: AbortSignal): Promise<void> {
    return super.sleep(Math.min(ms, 5), signal);
  }
}

/** A pause that only a long grace has is never over in it, unless it is called off. */
class Held extends Hurried {
  held = 0;

  override sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (ms < 300) return super.sleep(ms, signal);
    this.held += 1;
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  }
}

/** Looks that fail as often as a test says, or see more than there is. */
class Unsure extends Looks {
  fails = 0;
  sees: (look: Look) => Look = (look) => look;

  override async take(sinceTicks: number): Promise<Look> {
    if (this.fails > 0) {
      this.fails -= 1;
      throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
    }
    return this.sees(await super.take(sinceTicks));
  }
}

async function stageOf(
  test: TestContext,
  script: string,
  world: RealWorld = new Hurried(),
): Promise<{
  readonly started: Started;
  readonly looks: Unsure;
  readonly logged: string[];
  /** How often it was said to be gone. */
  readonly gone: () => number;
}> {
  const id = world.newId();
  const launched = await launch({
    id,
    command: ["sh", "-c", script],
    cwd: scratch(test),
    env: plainEnv(process.env),
  });
  afterwards(test, () => {
    for (const pid of alive([id])) process.kill(pid, "SIGKILL");
  });
  const startTicks = (await seenOf(launched.pid))?.startTicks ?? assert.fail();
  const [looks, logged] = [new Unsure(), [] as string[]];
  const log = openLog("warn", { write: (line) => void logged.push(line) });
  let times = 0;
  const gone = async (): Promise<void> => void (times += 1);
  const started = new Started(launched, { id, startTicks }, { looks, world, log, gone });
  started.stdout.resume();
  started.stderr.resume();
  launched.goOn();
  return { started, looks, logged, gone: () => times };
}

test("a look that fails for a while does not keep a tree alive", { skip }, async (test) => {
  const { started, looks, gone } = await stageOf(test, "sleep 1000 & sleep 1000");
  looks.fails = 3;
  await started.kill();
  assert.deepEqual(alive([started.id]), []);
  assert.ok(gone() > 0);
});

test(
  "F4: when nothing can be looked at, the group is killed, and whoever asks again is heard",
  { skip },
  async (test) => {
    const { started, looks, gone } = await stageOf(test, "trap '' TERM; sleep 1000 & sleep 1000");
    looks.fails = 1_000;
    await assert.rejects(started.kill(), { code: "EMFILE" });
    await until(() => alive([started.id]).length === 0);
    assert.equal(gone(), 0); // Nobody has seen that nothing is left.
    looks.fails = 0;
    await started.kill();
    assert.ok(gone() > 0);
  },
);

test("what could not be killed can be tried again", { skip }, async (test) => {
  const { started, looks, logged, gone } = await stageOf(test, "sleep 1000");
  const [pid, startTicks] = [process.ppid, Number.MAX_SAFE_INTEGER]; // There is none that started then: nobody is signalled.
  const parent = (await seenOf(pid)) ?? assert.fail();
  looks.sees = (look) => ({
    ...look,
    processes: new Map([...look.processes, [pid, { ...parent, startTicks }]]),
    markers: new Map([...look.markers, [pid, started.id]]),
    byParent: new Map(),
    bySession: new Map(),
  });
  await started.kill();
  assert.match(logged.join(""), /cannot be killed/);
  assert.equal(gone(), 0);
  looks.sees = (look) => look;
  await started.kill();
  assert.ok(gone() > 0);
  assert.deepEqual(alive([started.id]), []);
});

test("what a program left behind is something when nobody can say what", { skip }, async (test) => {
  const { started, looks, logged, gone } = await stageOf(test, "sleep 1000 & exit 3");
  looks.fails = 1_000;
  const { exitCode, left } = await started.ended;
  assert.deepEqual({ exitCode, left }, { exitCode: 3, left: 1 });
  assert.match(logged.join(""), /is not known; its record stays/);
  assert.equal(gone(), 0);
  looks.fails = 0;
  await started.kill();
  assert.deepEqual(alive([started.id]), []);
});

/** A program that ignores SIGTERM, and has said so. */
async function stubborn(
  test: TestContext,
  world: RealWorld,
): Promise<{ readonly started: Started; readonly gone: () => number }> {
  const stage = await stageOf(test, "trap '' TERM; echo on; sleep 1000 & while :; do sleep 1; done", world);
  await once(stage.started.stdout, "data");
  return stage;
}

test("a kill with a short grace cuts one with a longer short", { skip }, async (test) => {
  const world = new Held();
  const { started, gone } = await stubborn(test, world);
  const done: string[] = [];
  const long = started.kill().then(() => done.push("long"));
  await until(() => world.held > 0);
  assert.notDeepEqual(alive([started.id]), []);
  assert.equal(done.join(), "");
  const short = started.kill(KILLED_GRACE_MS).then(() => done.push("short"));
  await until(() => done.length === 2);
  await Promise.all([long, short]);
  assert.equal(world.held, 1, "the rest of the long grace was not waited for");
  assert.deepEqual(alive([started.id]), []);
  assert.ok(gone() > 0);
});

test("a kill with a long grace does not hold up one with a shorter", { skip }, async (test) => {
  const world = new Held();
  const { started } = await stubborn(test, world);
  let isDone = false;
  const both = Promise.all([started.kill(KILLED_GRACE_MS), started.kill()]).then(() => (isDone = true));
  await until(() => isDone);
  await both;
  assert.equal(world.held, 0);
  assert.deepEqual(alive([started.id]), []);
});
