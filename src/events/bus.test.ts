import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import { FOLLOWER_BYTES_MAX, FOLLOWER_EVENTS_MAX } from "../limits.ts";
import { DEFAULT_AGENT, namedKey } from "../routing/key.ts";
import { Bus, type Event } from "./bus.ts";

const [A, B] = [namedKey(DEFAULT_AGENT, "a"), namedKey(DEFAULT_AGENT, "b")];

function entry(seq: number, key = A): Event {
  return {
    type: "entry",
    key,
    seq,
    entry: {
      type: "session_info",
      id: `e-${seq}`,
      parentId: null,
      seq,
      timestamp: "2026-01-01T00:00:00.000Z",
    },
  };
}

function delta(text: string): Event {
  return { type: "delta", key: A, turn: "t", step: 1, kind: "text", text };
}

test("B1: a follower hears everything that is told from when it joined, in order", async () => {
  const bus = new Bus();
  bus.tell(entry(1));
  const follower = bus.join(A);
  const told = [
    entry(2),
    delta("piece"),
    { type: "state", key: A, state: { kind: "idle" } } as const,
    entry(3),
  ];
  for (const event of told) bus.tell(event);
  assert.deepEqual(await follower.next(), told);
  bus.tell(entry(4));
  assert.deepEqual(await follower.next(), [entry(4)]);
});

test("a follower that waits is woken by the next event", async () => {
  const bus = new Bus();
  const follower = bus.join(A);
  const next = follower.next();
  await settle();
  bus.tell(entry(1));
  assert.deepEqual(await next, [entry(1)]);
});

test("B2: a follower that leaves too many events unread is cut off, hears so, and costs nothing more", async () => {
  const bus = new Bus();
  const [slow, quick] = [bus.join(A), bus.join(A)];
  for (let seq = 1; seq <= FOLLOWER_EVENTS_MAX; seq += 1) bus.tell(entry(seq));
  assert.equal((await quick.next()).length, FOLLOWER_EVENTS_MAX, "so many are kept");
  bus.tell(entry(FOLLOWER_EVENTS_MAX + 1));
  assert.equal(await slow.next(), "cut off");
  assert.equal(await slow.next(), "cut off");
  assert.equal((await quick.next()).length, 1, "others hear on");
  quick.end();
  assert.equal(bus.isQuiet(A), true);
});

test("B2: a follower that leaves too many bytes unread is cut off", async () => {
  const bus = new Bus();
  const follower = bus.join(A);
  const half = "x".repeat(FOLLOWER_BYTES_MAX / 2);
  bus.tell(delta(half));
  bus.tell(delta(half));
  assert.equal((await follower.next()).length, 2, "so many are kept");
  bus.tell(delta(half));
  assert.equal((await follower.next()).length, 1, "what was read does not count any more");
  bus.tell(delta(half));
  bus.tell(delta(half));
  bus.tell(delta("x"));
  assert.equal(await follower.next(), "cut off");
  assert.equal(bus.isQuiet(A), true);
});

test("B2: a follower that is cut off while it waits hears so", async () => {
  const bus = new Bus();
  const follower = bus.join(A);
  const next = follower.next();
  await settle();
  bus.tell(delta("x".repeat(FOLLOWER_BYTES_MAX + 1)));
  assert.equal(await next, "cut off");
});

test("B3: a follower hears nothing of other sessions, and they stay quiet", async () => {
  const bus = new Bus();
  const follower = bus.join(A);
  assert.equal(bus.isQuiet(A), false);
  assert.equal(bus.isQuiet(B), true);
  for (let seq = 1; seq <= FOLLOWER_EVENTS_MAX * 2; seq += 1) bus.tell(entry(seq, B));
  bus.tell(entry(1));
  assert.deepEqual(await follower.next(), [entry(1)]);
});

test("who leaves is forgotten, and the others stay", async () => {
  const bus = new Bus();
  const [one, other] = [bus.join(A), bus.join(A)];
  one.end();
  one.end();
  assert.equal(bus.isQuiet(A), false);
  bus.tell(entry(1));
  assert.equal(await one.next(), "ended");
  assert.deepEqual(await other.next(), [entry(1)]);
  other.end();
  assert.equal(bus.isQuiet(A), true);
});

test("a bus that closes ends everybody, after what they were told", async () => {
  const bus = new Bus();
  const [waits, behind, elsewhere] = [bus.join(A), bus.join(A), bus.join(B)];
  bus.tell(entry(1));
  await waits.next();
  const next = waits.next();
  bus.close();
  assert.equal(await next, "ended");
  assert.deepEqual(await behind.next(), [entry(1)]);
  assert.equal(await behind.next(), "ended");
  assert.equal(await elsewhere.next(), "ended");
  assert.deepEqual([bus.isQuiet(A), bus.isQuiet(B)], [true, true]);
});

test("B4: who follows a session that is deleted hears so, after all that was told, and others hear nothing", async () => {
  const bus = new Bus();
  const [follower, other] = [bus.join(A), bus.join(B)];
  bus.tell(entry(1));
  bus.deleted(A);
  assert.equal(bus.isQuiet(A), true);
  assert.deepEqual(await follower.next(), [entry(1)]);
  assert.equal(await follower.next(), "deleted");
  bus.tell(entry(1, B));
  assert.deepEqual(await other.next(), [entry(1, B)]);
});
