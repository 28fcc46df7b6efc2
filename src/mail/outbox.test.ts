import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import { Fault } from "../base/fault.ts";
import { openLog } from "../base/log.ts";
import { SimulatedWorld } from "../base/world.ts";
import { DELIVERY_RETRY_MS, DELIVERY_TRIES_MAX } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";
import { Corner } from "../store/contract/corner.ts";
import { MemoryStore } from "../store/memory.ts";
import { Outbox, Refused, type Deliver } from "./outbox.ts";

/** A store, a door called "test", and what came through it. */
class Doors {
  readonly world = new SimulatedWorld(1);
  readonly at: Corner;
  readonly handed: { readonly id: string; readonly atMs: number }[] = [];
  readonly logged: string[] = [];
  deliver: Deliver = async () => {};

  constructor() {
    const nothing = async (): Promise<void> => {};
    const store = new MemoryStore(this.world);
    this.at = new Corner({ store, world: this.world, reopen: nothing, sweep: nothing, close: nothing });
  }

  outbox(key: SessionKey): Outbox {
    const { world } = this;
    const { store } = this.at;
    const deliver: Deliver = async (outgoing, signal) => {
      this.handed.push({ id: outgoing.id.split("/").at(-1) ?? "", atMs: world.nowMs() });
      await this.deliver(outgoing, signal);
    };
    const log = openLog("warn", { write: (line) => void this.logged.push(line) });
    const commit = (changes: Parameters<typeof store.commit>[0]) => store.commit(changes);
    return new Outbox({ store, commit, world, log, channels: new Map([["test", deliver]]) }, key);
  }

  get ids(): string[] {
    return this.handed.map(({ id }) => id);
  }

  async pass(): Promise<void> {
    do await settle();
    while (this.world.step());
    await settle();
  }
}

test("O1, O2: answers are handed over in their order, one at a time, and are gone then", async () => {
  const doors = new Doors();
  const { at } = doors;
  const [key, other] = [await at.open("a"), await at.open("b")];
  await at.store.commit([at.sending("1", key), at.sending("not mine", other), at.sending("2", key)]);
  let atOnce = 0;
  doors.deliver = async () => {
    assert.equal((atOnce += 1), 1);
    await settle();
    atOnce -= 1;
  };
  const outbox = doors.outbox(key);
  outbox.kick();
  outbox.kick();
  assert.ok(outbox.delivering);
  await at.store.commit([at.sending("3", key)]);
  outbox.kick();
  await outbox.delivering;
  assert.deepEqual(doors.ids, ["1", "2", "3"]);
  assert.equal(outbox.delivering, null);
  assert.deepEqual(
    (await at.outbox(false)).map((each) => each.key),
    [other],
  );
});

test("an answer that comes just when the last one was delivered is delivered too", async (test) => {
  const doors = new Doors();
  const { at } = doors;
  const key = await at.open("a");
  await at.store.commit([at.sending("1", key)]);
  const outbox = doors.outbox(key);
  const read = at.store.outbox.bind(at.store);
  let asked = 0;
  test.mock.method(at.store, "outbox", async (query: Parameters<typeof read>[0]) => {
    const page = await read(query);
    if ((asked += 1) !== 2) return page;
    assert.deepEqual(page.rows, []);
    await at.store.commit([at.sending("2", key)]);
    outbox.kick();
    return page;
  });
  outbox.kick();
  await outbox.delivering;
  assert.deepEqual(doors.ids, ["1", "2"]);
  assert.deepEqual(await at.outbox(false), []);
});

test("O1, O3: a door that fails is tried again after pauses that double, and holds up what comes after", async () => {
  const doors = new Doors();
  const { at } = doors;
  const key = await at.open("a");
  await at.store.commit([at.sending("1", key), at.sending("2", key)]);
  doors.deliver = async () => {
    if (doors.handed.length <= 3) throw new Error("door is shut");
  };
  doors.outbox(key).kick();
  await doors.pass();
  assert.deepEqual(doors.ids, ["1", "1", "1", "1", "2"]);
  const [firstMs = 0] = doors.handed.map(({ atMs }) => atMs);
  assert.deepEqual(
    doors.handed.slice(0, 4).map(({ atMs }) => (atMs - firstMs) / DELIVERY_RETRY_MS),
    [0, 1, 3, 7],
  );
  assert.deepEqual(await at.outbox(false), []);
});

test("O1: an answer that no try delivered is refused and visible, and the next one goes on", async () => {
  const doors = new Doors();
  const { at } = doors;
  const key = await at.open("a");
  await at.store.commit([at.sending("1", key), at.sending("2", key)]);
  doors.deliver = async ({ id }) => {
    // oxlint-disable-next-line no-throw-literal
    if (id.endsWith("1")) throw "no Error at all";
  };
  doors.outbox(key).kick();
  await doors.pass();
  assert.deepEqual(doors.ids, [...Array.from({ length: DELIVERY_TRIES_MAX }, () => "1"), "2"]);
  const [refused] = await at.outbox(true);
  assert.match(refused?.refused ?? "", /given up after 8 tries: no Error at all/);
  assert.deepEqual(await at.outbox(false), []);
});

test("O1: an answer that its door refuses for good is not tried again, is visible with the reason, and the next one goes on", async () => {
  const doors = new Doors();
  const { at } = doors;
  const key = await at.open("a");
  await at.store.commit([at.sending("1", key), at.sending("2", key)]);
  doors.deliver = async ({ id }) => {
    if (id.endsWith("1")) throw new Refused("nobody lives there any more");
  };
  doors.outbox(key).kick();
  await doors.pass();
  assert.deepEqual(doors.ids, ["1", "2"]);
  const [refused] = await at.outbox(true);
  assert.equal(refused?.refused, "the channel refused it: nobody lives there any more");
  assert.deepEqual(await at.outbox(false), []);
});

test("an answer for a channel that is not there is refused, and the next one goes on", async () => {
  const doors = new Doors();
  const { at } = doors;
  const key = await at.open("a");
  const lost = at.sending("1", key);
  const route = { channel: "gone", to: "somebody", thread: null };
  await at.store.commit([{ ...lost, outgoing: { ...lost.outgoing, route } }, at.sending("2", key)]);
  const outbox = doors.outbox(key);
  outbox.kick();
  await outbox.delivering;
  assert.deepEqual(doors.ids, ["2"]);
  assert.match((await at.outbox(true))[0]?.refused ?? "", /there is no channel "gone"/);
});

test("leaving stops it in a pause, and the answer stays for the next owner, under the same id", async () => {
  const doors = new Doors();
  const { at } = doors;
  const key = await at.open("a");
  await at.store.commit([at.sending("1", key), at.sending("2", key)]);
  doors.deliver = async () => {
    throw new Error("door is shut");
  };
  const outbox = doors.outbox(key);
  outbox.kick();
  await settle();
  void outbox.leave();
  await outbox.delivering;
  outbox.kick();
  await doors.pass();
  assert.deepEqual(doors.ids, ["1"]);
  assert.equal((await at.outbox(false)).length, 2);
  doors.deliver = async () => {};
  doors.outbox(key).kick();
  await doors.pass();
  assert.deepEqual(doors.ids, ["1", "1", "2"]);
});

test("leaving is heard by a door, and what it has taken nevertheless is not handed over again", async () => {
  const doors = new Doors();
  const { at } = doors;
  const key = await at.open("a");
  await at.store.commit([at.sending("1", key), at.sending("2", key)]);
  const { promise, resolve } = Promise.withResolvers<void>();
  doors.deliver = (_outgoing, signal) => {
    signal.addEventListener("abort", () => resolve());
    return promise;
  };
  const outbox = doors.outbox(key);
  outbox.kick();
  await settle();
  void outbox.leave();
  await outbox.delivering;
  assert.deepEqual(
    (await at.outbox(false)).map(({ id }) => id.split("/").at(-1)),
    ["2"],
  );
});

test("an answer whose settling a full disk refused is settled later, and not handed over again", async (test) => {
  const doors = new Doors();
  const { at } = doors;
  const key = await at.open("a");
  await at.store.commit([at.sending("1", key)]);
  const broken = test.mock.method(at.store, "commit", () =>
    Promise.reject(new Fault("disk_full", "no room")),
  );
  const outbox = doors.outbox(key);
  outbox.kick();
  await settle();
  broken.mock.restore();
  await doors.pass();
  assert.deepEqual(doors.ids, ["1"]);
  assert.deepEqual(await at.outbox(false), []);
});

test("a store that cannot be read ends delivering with a word in the log, and the next kick tries again", async (test) => {
  const doors = new Doors();
  const { at } = doors;
  const key = await at.open("a");
  await at.store.commit([at.sending("1", key)]);
  const broken = test.mock.method(at.store, "outbox", () => Promise.reject(new Error("unreadable")));
  const outbox = doors.outbox(key);
  outbox.kick();
  await outbox.delivering;
  assert.match(doors.logged.join(""), /unreadable/);
  broken.mock.restore();
  outbox.kick();
  await outbox.delivering;
  assert.deepEqual(doors.ids, ["1"]);
});

test("a door that never says anything is given up, and tried again under the same id", async () => {
  const doors = new Doors();
  const { at } = doors;
  const key = await at.open("a");
  await at.store.commit([at.sending("1", key)]);
  doors.deliver = () => (doors.handed.length < 3 ? new Promise(() => {}) : Promise.resolve());
  doors.outbox(key).kick();
  await doors.pass();
  assert.deepEqual(doors.ids, ["1", "1", "1"]);
  assert.deepEqual((await at.store.outbox({ refused: false })).rows, []);
});

test("a door that never says anything does not keep a gateway from closing, and its answer stays", async () => {
  const doors = new Doors();
  const { at } = doors;
  const key = await at.open("a");
  await at.store.commit([at.sending("1", key)]);
  doors.deliver = () => new Promise(() => {});
  const outbox = doors.outbox(key);
  outbox.kick();
  await settle();
  const left = outbox.leave();
  await doors.pass();
  await left;
  assert.equal((await at.store.outbox({ refused: false })).rows.length, 1);
});
