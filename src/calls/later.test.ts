import assert from "node:assert/strict";
import { test } from "node:test";
import { Forward } from "../../test/fixtures/forward.ts";
import { Fault } from "../base/fault.ts";
import { openLog } from "../base/log.ts";
import { DELIVERY_RETRY_MS } from "../limits.ts";
import { DEFAULT_AGENT, mainKey } from "../routing/key.ts";
import { Later } from "./later.ts";

const KEY = mainKey(DEFAULT_AGENT);

function opened() {
  const [world, logged] = [new Forward(), new Array<string>()];
  const later = new Later(world, openLog("debug", { write: (line) => void logged.push(line) }));
  return { later, world, logged };
}

async function until(is: () => boolean, meanwhile: () => void = () => {}): Promise<void> {
  while (!is()) {
    meanwhile();
    await new Promise((wake) => setImmediate(wake));
  }
}

test("what came of the work is told again and again while the disk is full, and counts until then", async () => {
  const { later, world, logged } = opened();
  const told: string[] = [];
  let tries = 0;
  later.add(KEY, Promise.resolve("done"), async (text) => {
    if ((tries += 1) < 4) throw new Fault("disk_full", "no room");
    told.push(text);
  });
  assert.equal(later.of(KEY), 1);
  const pass = (): void => world.put(DELIVERY_RETRY_MS);
  await until(() => later.of(KEY) === 0, pass);
  assert.deepEqual([told, tries, logged], [["done"], 4, []]);
});

test("what cannot be told is logged, with its session, and nobody else is harmed", async () => {
  const { later, logged } = opened();
  const told: string[] = [];
  later.add(KEY, Promise.reject(new Error("our bug")), async () => {});
  later.add(KEY, Promise.resolve("x"), () => Promise.reject(new Fault("not_found", "it was removed")));
  later.add(KEY, Promise.resolve("y"), async (text) => void told.push(text));
  await until(() => later.of(KEY) === 0);
  assert.deepEqual(told, ["y"]);
  assert.equal(logged.length, 2);
  for (const line of logged) assert.match(line, /agent:main:main.*(?:our bug|it was removed)/);
});

test("closing waits for what has just begun, too, and for what comes of it", async () => {
  const { later } = opened();
  const told: string[] = [];
  const stopped = new Promise<void>((resolve) =>
    later.closing.addEventListener("abort", () => setImmediate(resolve)),
  );
  const work = later.begun(
    stopped.then(() => {
      told.push("first");
      later.add(KEY, Promise.resolve("then"), async (text) => void told.push(text));
    }),
  );
  await later.close();
  await work;
  assert.deepEqual(told, ["first", "then"]);
});

test("closing ends the waiting, and waits until what is told then is durable", async () => {
  const { later } = opened();
  const { promise: work, resolve } = Promise.withResolvers<string>();
  later.closing.addEventListener("abort", () => resolve((later.closing.reason as Fault).message));
  const told: string[] = [];
  later.add(KEY, work, async (text) => {
    await new Promise((wake) => setImmediate(wake));
    told.push(text);
  });
  await later.close();
  assert.deepEqual(told, ["sessiond stops before this is done"]);
  assert.equal(later.of(KEY), 0);
});
