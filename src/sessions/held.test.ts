import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settle } from "node:timers/promises";
import * as fc from "fast-check";
import { SimulatedWorld } from "../base/world.ts";
import { Bus, type Event } from "../events/bus.ts";
import type { SessionKey } from "../routing/key.ts";
import { Corner } from "../store/contract/corner.ts";
import { noted } from "../store/contract/samples.ts";
import { MemoryStore } from "../store/memory.ts";
import type { Change } from "../store/change.ts";
import type { Body, Entry, Gap } from "../transcript/entry.ts";
import { Held, type HeldParts } from "./held.ts";
import type { RunState } from "./session.ts";
import { moved } from "./state.ts";

const ROUTE = { channel: "test", to: "somebody", thread: null };

function note(data: unknown): Body {
  return { type: "custom", customType: "sessiond/test", data };
}

/** A session that is held, and what was told of it. */
class Owned {
  readonly world = new SimulatedWorld(1);
  readonly store = new MemoryStore(this.world);
  readonly bus = new Bus();
  readonly at: Corner;
  /** How many commits of the owner come through, and what happens before each. */
  beforeCommit: () => Promise<void> = async () => {};

  constructor() {
    const nothing = async (): Promise<void> => {};
    const { store, world } = this;
    this.at = new Corner({ store, world, reopen: nothing, sweep: nothing, close: nothing });
  }

  async open(): Promise<{ readonly key: SessionKey; readonly held: Held }> {
    const key = await this.at.open("a");
    return { key, held: await this.hold(key) };
  }

  async hold(key: SessionKey, store: HeldParts["store"] = this.store): Promise<Held> {
    const { bus, world } = this;
    const commit = async (changes: readonly Change[]) => {
      await this.beforeCommit();
      return await this.store.commit(changes);
    };
    return new Held({ store, commit, bus, world }, { key, fence: 0 }, await this.at.row(key));
  }

  /** H1: what the owner knows of its own part is what the store has. */
  async agree(held: Held): Promise<void> {
    const { state, route, origin, transcript } = await this.at.row(held.key);
    const { lastSeq, leafId, id } = transcript;
    const known = held.row;
    assert.deepEqual([known.state, known.route, known.origin], [state, route, origin]);
    assert.deepEqual([known.transcript.lastSeq, known.transcript.leafId], [lastSeq, leafId]);
    const entries = await Array.fromAsync(this.store.entries(id, { from: "context" }));
    assert.deepEqual(await held.entries(), entries);
  }
}

test("H1: whatever is committed side by side, refused or not, the owner knows what the store has", async () => {
  const writing = fc.record({
    entries: fc.nat(3),
    isRefused: fc.boolean(),
    reroutes: fc.boolean(),
    isRead: fc.boolean(),
    waits: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(writing, { maxLength: 12 }), async (writings) => {
      const owned = new Owned();
      owned.beforeCommit = async () => void (await settle());
      const { held } = await owned.open();
      const done: Promise<string>[] = [];
      for (const [n, { entries, isRefused, reroutes, isRead, waits }] of writings.entries()) {
        if (isRead && n === 0) await held.entries();
        const committed = held.commit({
          entries: Array.from({ length: entries }, (_, at) => note([n, at])),
          ...(reroutes ? { reroute: { route: { ...ROUTE, to: String(n) }, origin: null } } : {}),
          ...(isRefused ? { others: [{ do: "settle", id: "nothing", refused: null }] as const } : {}),
        });
        done.push(
          committed.then(
            () => "done",
            () => "refused",
          ),
        );
        if (waits) await settle();
      }
      assert.deepEqual(
        await Promise.all(done),
        writings.map(({ isRefused }) => (isRefused ? "refused" : "done")),
      );
      await owned.agree(held);
      const written = (await held.entries()).map((entry) => (entry.type === "custom" ? entry.data : null));
      const expected = writings.flatMap(({ entries, isRefused }, n) =>
        isRefused ? [] : Array.from({ length: entries }, (_, at) => [n, at]),
      );
      assert.deepEqual(written, expected, "in the order in which they were asked for");
    }),
    { numRuns: 60 },
  );
});

test("H1: letters, entries, the route, the state and what happens to others are one commit", async () => {
  const owned = new Owned();
  const { at } = owned;
  const { key, held } = await owned.open();
  const { id } = await at.post(key, "letter");
  const state: RunState = { kind: "running", sinceMs: 0, turn: "t", step: 1 };
  const all = { take: [id], entries: [note(1)], reroute: { route: ROUTE, origin: null }, state };
  const before = await at.everything();
  const lost: Change = { do: "settle", id: "nothing", refused: null };
  await assert.rejects(held.commit({ ...all, others: [lost] }), { code: "not_found" });
  assert.deepEqual(await at.everything(), before);
  await owned.agree(held);
  await held.commit({ ...all, charge: { steps: 1 }, others: [at.sending("answer", key)] });
  await owned.agree(held);
  assert.deepEqual(held.row.state, state);
  assert.deepEqual(await at.mail(key), []);
  assert.equal((await at.outbox(false)).length, 1);
  assert.equal((await at.row(key)).usage.steps, 1);
});

test("H2: nothing is told before it is durable, and nothing of what was refused", async () => {
  const owned = new Owned();
  const { held, key } = await owned.open();
  const follower = owned.bus.join(key);
  const told: Event[] = [];
  void (async () => {
    for (let events = await follower.next(); typeof events !== "string"; events = await follower.next())
      told.push(...events);
  })();
  const gate = Promise.withResolvers<void>();
  owned.beforeCommit = () => gate.promise;
  const state: RunState = { kind: "running", sinceMs: 0, turn: "t", step: 1 };
  const committed = held.commit({ entries: [note(1), note(2)], state });
  await settle();
  assert.deepEqual(told, []);
  gate.resolve();
  await committed;
  await settle();
  const [one, two] = await held.entries();
  assert.deepEqual(told.splice(0), [
    { type: "entry", key, seq: 1, entry: one },
    { type: "entry", key, seq: 2, entry: two },
    { type: "state", key, state },
  ]);
  owned.beforeCommit = () => Promise.reject(new Error("disk is full"));
  await assert.rejects(held.commit({ entries: [note(3)], state: { kind: "idle" } }), /disk is full/);
  await settle();
  assert.deepEqual(told, []);
  follower.end();
});

test("H3: what anyone may change is as fresh as the last look after a change was told", async () => {
  const owned = new Owned();
  const { at } = owned;
  const { held, key } = await owned.open();
  await held.commit({ entries: [note(1)] });
  await at.store.commit([
    { do: "set", key, version: null, settings: { label: "new" } },
    { do: "signal", key, signal: "pause" },
  ]);
  assert.equal((await held.look()).signal, "none", "nobody said that something changed");
  held.changed();
  const { signal, settings, settingsVersion, transcript } = await held.look();
  assert.deepEqual([signal, settings.label, settingsVersion], ["pause", "new", 2]);
  assert.equal(transcript.lastSeq, 1);
  await at.store.commit([{ do: "delete", key, expect: null }]);
  held.changed();
  assert.equal((await held.look()).settings.label, "new");
  await assert.rejects(held.commit({ entries: [note(2)] }), { code: "not_found" });
});

test("H4: who is not the owner any more stays so, and changes nothing", async () => {
  const owned = new Owned();
  const { at } = owned;
  const { held, key } = await owned.open();
  await at.post(key, "work");
  const fence = (await at.claim("other")).get(key);
  assert.ok(fence !== undefined);
  const before = await at.everything();
  for (let n = 0; n < 3; n += 1)
    await assert.rejects(held.commit({ entries: [note(n)] }), { code: "stale_writer" });
  assert.deepEqual(await at.everything(), before);
  assert.equal(held.row.transcript.lastSeq, 0);
});

test("damage is written into the transcript, once for each place, and the rest is read", async () => {
  const owned = new Owned();
  const { at, store } = owned;
  const { key } = await owned.open();
  await at.append(key, [noted(1), noted(2)]);
  const gaps: Gap[] = [10, 20].map((offset) => ({ type: "gap", reason: "not_json", offset, bytes: 5 }));
  const damaged: HeldParts["store"] = {
    session: (key) => store.session(key),
    entries: async function* (transcript, range): AsyncIterable<Entry | Gap> {
      yield* gaps;
      yield* store.entries(transcript, range);
    },
  };
  const damageIn = (entries: readonly Entry[]): unknown[] =>
    entries.flatMap((entry) =>
      entry.type === "custom" && entry.customType === "sessiond/damage" ? [entry.data] : [],
    );
  const expected = [10, 20].map((offset) => ({ reason: "not_json", offset, bytes: 5 }));
  for (let reads = 0; reads < 2; reads += 1) {
    const held = await owned.hold(key, damaged);
    const entries = await held.entries();
    await held.entries();
    assert.equal(entries.length, 4);
    assert.deepEqual(damageIn(entries), expected);
  }
  assert.deepEqual(damageIn(await at.entries(key, { since: 0 })), expected);
  gaps.push({ type: "gap", reason: "missing", offset: 30, bytes: 1 });
  assert.equal(damageIn(await (await owned.hold(key, damaged)).entries()).length, 3);
});

test("a step from one state to another that is not allowed writes nothing", async () => {
  const owned = new Owned();
  const { held } = await owned.open();
  const waiting: RunState = { kind: "waiting", sinceMs: 0, for: "children" };
  await assert.rejects(held.commit({ entries: [note(1)], state: waiting }), /goes from idle to waiting/);
  await owned.agree(held);
  const ended: RunState = { kind: "ended", atMs: 0, outcome: "done", reason: null };
  const states: readonly RunState[] = [
    { kind: "idle" },
    { kind: "queued", sinceMs: 0 },
    { kind: "running", sinceMs: 0, turn: "t", step: 1 },
    waiting,
    { kind: "paused", sinceMs: 0 },
  ];
  for (const state of states) {
    assert.equal(moved(held.key, state, ended), ended, "a kill ends any");
    assert.throws(() => moved(held.key, ended, state), /goes from ended/);
  }
});

test("H1: in a new file, and when it begins anew, the owner knows what the store has, and the note says what was", async () => {
  const owned = new Owned();
  const { at, world } = owned;
  const { key, held } = await owned.open();
  await held.commit({ entries: [note(1), note(2), note(3)] });
  await at.store.commit([
    { do: "charge", key, usage: { input: 5, steps: 2 } },
    { do: "set", key, version: null, settings: { label: "kept" } },
  ]);
  const [, second] = await held.entries();
  const compaction: Body = {
    type: "compaction",
    summary: "one",
    firstKeptEntryId: second?.id ?? "",
    tokensBefore: 1,
  };
  await held.commit({ entries: [compaction] });
  for (const keep of ["context", "nothing"] as const) {
    const transcript = world.newId();
    const row = await at.row(key);
    const shown = [...(await held.entries())];
    await held.commit({ rotate: { keep, transcript, cwd: "/" }, entries: [note(keep)] });
    const now = await at.row(key);
    const { bytes: _bytes, ...known } = held.row.transcript;
    const { bytes: _length, ...stored } = now.transcript;
    assert.deepEqual(known, stored);
    assert.equal(known.id, transcript);
    await owned.agree(held);
    const entries = await held.entries();
    const [told, last] = entries.slice(-2);
    assert.deepEqual(entries.slice(0, -2), keep === "context" ? shown : []);
    assert.ok(told?.type === "custom" && told.customType === "sessiond/generation");
    const { usage, settings, bornAtMs, interactedAtMs } = row;
    assert.deepEqual(told.data, { usage, settings, title: now.title, bornAtMs, interactedAtMs });
    assert.equal(usage.steps, 2);
    assert.deepEqual([told.seq, last?.seq], [row.transcript.lastSeq + 1, row.transcript.lastSeq + 2]);
  }
  await assert.rejects(held.commit({ rotate: { keep: "context", transcript: world.newId(), cwd: "/" } }), {
    code: "bad_input",
  });
  await held.commit({ entries: [note("after")] });
  await owned.agree(held);
});

test("the owner knows when a person last wrote, also what it has taken itself", async () => {
  const owned = new Owned();
  const { held, key } = await owned.open();
  owned.world.pass(5_000);
  const message = { role: "user", content: "hello", timestamp: 0 } as const;
  const provenance = { kind: "external_user", channel: null, peer: null } as const;
  await held.commit({ entries: [{ type: "message", message, provenance }] });
  const { interactedAtMs } = await owned.at.row(key);
  assert.equal(interactedAtMs, owned.world.nowMs());
  owned.world.pass(5_000);
  await held.commit({ entries: [{ type: "message", message }] });
  assert.equal(held.row.interactedAtMs, interactedAtMs);
});
