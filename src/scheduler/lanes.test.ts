import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import { Stage, stubborn, takeAll } from "../../test/fixtures/lanes.ts";
import { Fault } from "../base/fault.ts";
import { HOT_SESSIONS_MAX, LEASE_MS, LEASE_RENEWED_MS } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";

test("L1: work whose lease ran out is not joined by the work of the next claim", async (test) => {
  const stage = new Stage();
  const { at, world } = stage;
  const [a, b] = [await at.open("a"), await at.open("b")];
  const { works, letGo } = stubborn(test);
  stage.scripts.set(a, works);
  await stage.start(test);
  await stage.tell(at.posting(a, "1"));
  assert.equal(stage.times(a), 1);
  world.pass(LEASE_MS + 1); // The whole process slept. A letter to somebody else makes it ask for work first.
  await stage.tell(at.posting(b, "2"));
  assert.equal(stage.made[0]?.hasLeft, true, "the first is told to stop");
  await stage.waitsFor(a, letGo);
});

test("L1: a session that was somebody else's meanwhile waits for its old work too", async (test) => {
  const stage = new Stage();
  const { at, world } = stage;
  const a = await at.open("a");
  const { works, letGo } = stubborn(test);
  stage.scripts.set(a, works);
  await stage.start(test);
  await stage.tell(at.posting(a, "1"));
  world.pass(LEASE_MS + 1);
  const stolen = await at.store.claim("other", 1_000, 10);
  await at.store.release(stolen);
  await stage.pass(2 * LEASE_RENEWED_MS); // The loss is noticed, and the session claimed again.
  assert.equal(stage.made[0]?.hasLeft, true, "the first is told to stop");
  await stage.waitsFor(a, letGo);
});

test("L1: a session that somebody else has now is left to them", async (test) => {
  const stage = new Stage();
  const { at, world } = stage;
  const a = await at.open("a");
  await stage.start(test);
  await stage.tell(at.posting(a, "1"));
  world.pass(LEASE_MS + 1);
  await at.post(a, "2");
  const [stolen] = await at.store.claim("other", 100 * LEASE_MS, 10);
  assert.equal(stolen?.key, a);
  await stage.tell({ do: "signal", key: a, signal: "none" }); // Its worker meets the other's fence.
  assert.equal(stage.lanes.worker(a), null);
  await stage.pass(4 * LEASE_RENEWED_MS);
  assert.equal(stage.lanes.worker(a), null);
  assert.deepEqual(await at.waiting(a), ["2"]);
});

test("L2: whoever is poked while it works, works again, once", async (test) => {
  const stage = new Stage();
  const { at } = stage;
  const a = await at.open("a");
  const { works, letGo } = stubborn(test);
  stage.scripts.set(a, works);
  await stage.start(test);
  await stage.tell(at.posting(a, "1"));
  await stage.tell(at.posting(a, "2"));
  await stage.tell(at.posting(a, "3"), { do: "signal", key: a, signal: "none" });
  assert.equal(stage.times(a), 1);
  assert.deepEqual(
    stage.made[0]?.arrived,
    [2, 3].map((n) => `ext:${at.id(String(n))}`),
  );
  assert.equal(stage.made[0]?.changes, 1);
  stage.scripts.delete(a);
  letGo();
  await settle();
  assert.equal(stage.times(a), 2);
  assert.deepEqual(await at.mail(a), []);
});

test("a letter that was posted before is not told again", async (test) => {
  const stage = new Stage();
  const { at } = stage;
  const a = await at.open("a");
  await stage.start(test);
  const posting = at.posting(a, "1");
  await stage.tell(posting);
  await stage.tell(posting);
  assert.equal(stage.times(a), 1);
});

test("L3: work that throws is tried again after a pause by another worker, and others go on", async (test) => {
  const stage = new Stage();
  const { at, world } = stage;
  const [a, b] = [await at.open("a"), await at.open("b")];
  const begunAtMs: number[] = [];
  stage.scripts.set(a, async (worker) => {
    begunAtMs.push(world.nowMs());
    if (begunAtMs.length <= 3) throw new Error("broken");
    await takeAll(worker);
  });
  await stage.start(test);
  await stage.tell(at.posting(a, "1"));
  await stage.tell(at.posting(b, "2"));
  assert.deepEqual(await at.mail(b), [], "the other lane is not held up");
  assert.equal(begunAtMs.length, 1, "not at once");
  await stage.pass(LEASE_RENEWED_MS);
  const pauses = begunAtMs.slice(1).map((ms, at) => ms - (begunAtMs[at] ?? 0));
  assert.deepEqual(pauses, [1_000, 2_000, 4_000]);
  assert.deepEqual(await at.mail(a), []);
  const ofA = stage.made.filter(({ claim }) => claim.key === a);
  assert.deepEqual(
    ofA.map(({ hasLeft }) => hasLeft),
    [true, true, true, false],
    "each that failed was told to stop what it still does",
  );
  assert.ok(stage.logged.some((line) => line.includes("broken")));
});

test("L3: a worker that cannot be made is tried again too", async (test) => {
  const stage = new Stage();
  const { at } = stage;
  const a = await at.open("a");
  const { session } = at.store;
  let failures = 2;
  test.mock.method(at.store, "session", async (key: SessionKey) => {
    if (failures-- > 0) throw new Error("not now");
    return await session.call(at.store, key);
  });
  await stage.start(test);
  await stage.tell(at.posting(a, "1"));
  await stage.pass(LEASE_RENEWED_MS);
  assert.deepEqual(await at.mail(a), []);
});

test("L3: a session that was lost is claimed anew, without a pause", async (test) => {
  const stage = new Stage();
  const { at, world } = stage;
  const a = await at.open("a");
  let tries = 0;
  stage.scripts.set(a, async (worker) => {
    if ((tries += 1) === 1) throw new Fault("stale_writer", "somebody else was here");
    await takeAll(worker);
  });
  await stage.start(test);
  const beforeMs = world.nowMs();
  await stage.tell(at.posting(a, "1"));
  assert.equal(world.nowMs(), beforeMs);
  assert.deepEqual(await at.mail(a), []);
  const [lost, again] = stage.made;
  assert.ok(lost?.hasLeft && again && again.claim.fence > lost.claim.fence);
});

test("a session that was deleted is forgotten", async (test) => {
  const stage = new Stage();
  const { at } = stage;
  const a = await at.open("a");
  stage.scripts.set(a, async ({ claim }) => {
    await at.store.commit([{ do: "delete", key: claim.key, expect: null }]);
    throw new Fault("not_found", "it is gone");
  });
  await stage.start(test);
  await stage.tell(at.posting(a, "1"));
  await stage.pass(2 * LEASE_RENEWED_MS);
  assert.equal(stage.lanes.worker(a), null);
  assert.equal(stage.times(a), 1);
});

test("a session that gave way to an archive is forgotten, and what its key is owed is claimed anew", async (test) => {
  const stage = new Stage();
  const { at } = stage;
  const a = await at.talk("a", ["old"]);
  const archive = await at.archive(a);
  await at.open("a");
  await stage.start(test);
  await stage.tell(at.posting(a, "1"));
  const [before] = stage.made;
  assert.equal(stage.lanes.worker(a), before);
  const swap = async (id: string): Promise<void> => {
    const { id: transcript, lastSeq } = (await at.row(a)).transcript;
    await stage.tell({ do: "restore", archive: id, over: { key: a, transcript, lastSeq } });
    await settle();
  };
  const present = await at.transcript(a);
  await swap(archive);
  assert.ok(before?.hasLeft);
  assert.equal(stage.lanes.worker(a), null);
  await stage.tell(at.posting(a, "2"));
  await at.store.commit([at.sending("answer", a)]); // Nobody was told of it.
  await swap(present);
  const [, , after] = stage.made;
  assert.ok(after && after.claim.fence > before.claim.fence);
  assert.equal(stage.lanes.worker(a), after);
});

test("L4: of the sessions without work, so many stay at hand, and the one longest idle goes", async (test) => {
  const stage = new Stage();
  const { at } = stage;
  const keys: SessionKey[] = [];
  await stage.start(test);
  for (let n = 0; n <= HOT_SESSIONS_MAX; n += 1) {
    const key = await at.open(`s${n}`);
    keys.push(key);
    await stage.tell(at.posting(key, `to ${n}`));
    const [first] = stage.made;
    if (n === 0 && first) first.isBusy = true;
  }
  const [busy, gone, ...others] = keys;
  assert.ok(busy !== undefined && gone !== undefined);
  assert.notEqual(stage.lanes.worker(busy), null, "something is under way in it");
  assert.equal(stage.lanes.worker(gone), null);
  for (const key of others) assert.notEqual(stage.lanes.worker(key), null, key);
  await at.post(gone, "again");
  assert.deepEqual([...(await at.claim("other")).keys()], [gone], "its claim was given back");
});

test("L4: a session that was idle for a while is let go, and a busy one when it is not busy any more", async (test) => {
  const stage = new Stage();
  const { at } = stage;
  const [a, b] = [await at.open("a"), await at.open("b")];
  await stage.start(test);
  await stage.tell(at.posting(a, "1"));
  await stage.tell(at.posting(b, "2"));
  const busy = stage.lanes.worker(b);
  assert.ok(busy);
  busy.isBusy = true;
  await stage.pass(2 * LEASE_RENEWED_MS);
  assert.equal(stage.lanes.worker(a), null);
  assert.equal(stage.lanes.worker(b), busy);
  busy.isBusy = false;
  await stage.pass(2 * LEASE_RENEWED_MS);
  assert.equal(stage.lanes.worker(b), null);
});

test("a session that has work longer than a lease stays ours", async (test) => {
  const stage = new Stage();
  const { at } = stage;
  const a = await at.open("a");
  const { works, letGo } = stubborn(test);
  stage.scripts.set(a, works);
  await stage.start(test);
  await stage.tell(at.posting(a, "1"));
  await stage.pass(5 * LEASE_MS);
  assert.deepEqual(await at.store.claim("other", 1_000, 10), []);
  assert.ok(stage.made.every(({ hasLeft }) => !hasLeft));
  letGo();
});

test("L5: work that no hint told of is found by asking the store again", async (test) => {
  const stage = new Stage();
  const { at } = stage;
  const a = await at.open("a");
  await stage.start(test);
  await at.post(a, "1");
  await settle();
  assert.deepEqual(await at.waiting(a), ["1"], "nobody was told");
  await stage.pass(LEASE_RENEWED_MS);
  assert.deepEqual(await at.mail(a), []);
});

test("L5: a store that fails to claim or to renew is asked again", async (test) => {
  const stage = new Stage();
  const { at } = stage;
  const a = await at.open("a");
  await stage.start(test);
  const broken = ["claim", "renew"] as const;
  const mocks = broken.map((verb) =>
    test.mock.method(at.store, verb, () => Promise.reject(new Error("not now"))),
  );
  await stage.tell(at.posting(a, "1"));
  await stage.pass(2 * LEASE_RENEWED_MS);
  assert.deepEqual(await at.waiting(a), ["1"]);
  for (const mock of mocks) mock.mock.restore();
  await stage.pass(2 * LEASE_RENEWED_MS);
  assert.deepEqual(await at.mail(a), []);
});

test("after close nothing runs, and another owner can claim everything at once", async (test) => {
  const stage = new Stage();
  const { at } = stage;
  const [a, b, c] = [await at.open("a"), await at.open("b"), await at.open("c")];
  stage.scripts.set(b, async () => {
    throw new Error("broken"); // It is in its pause when the gateway closes.
  });
  const { works, letGo } = stubborn(test);
  stage.scripts.set(c, works);
  stage.lanes.start();
  await settle();
  for (const key of [a, b, c]) await stage.tell(at.posting(key, `to ${key}`));
  await at.post(a, "later");
  const closed = stage.lanes.close();
  await settle();
  assert.equal(stage.made.find(({ claim }) => claim.key === c)?.hasLeft, true);
  let isClosed = false;
  void closed.then(() => (isClosed = true));
  await settle();
  assert.equal(isClosed, false, "it waits for what runs");
  letGo();
  await closed;
  assert.deepEqual([...stage.working.values()], [0, 0, 0]);
  assert.deepEqual([...(await at.claim("other")).keys()].toSorted(), [a, b, c].toSorted());
  const begun = stage.begun.length;
  await stage.tell(at.posting(a, "too late"));
  assert.equal(stage.begun.length, begun);
});
