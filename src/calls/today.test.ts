import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, test, type TestContext } from "node:test";
import { openLog } from "../base/log.ts";
import { SimulatedWorld } from "../base/world.ts";
import { DEFAULT_AGENT, namedKey, type SessionKey } from "../routing/key.ts";
import type { Draft } from "../transcript/entry.ts";
import { PAID } from "../transcript/fold.ts";
import { appending, Home, opening } from "../../test/fixtures/home.ts";
import { BOUND, changedSince, dayOf, spentBefore, spentIn, type Readable, type Span } from "./spent.ts";
import { Today } from "./today.ts";

const HOUR_MS = 60 * 60 * 1_000;
const MIDNIGHT = Date.UTC(2026, 0, 1);
const NOON = MIDNIGHT + 12 * HOUR_MS;
const DAY = { fromMs: MIDNIGHT, toMs: NOON };
const ONE = { cost: 0.5, tokens: 10, turns: 0 };
const NEVER = new AbortController().signal;

function at(ms: number): { readonly timestamp: string } {
  return { timestamp: new Date(ms).toISOString() };
}

const USAGE = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, cost: { total: 0.5 } };

function answer(ms: number): Draft {
  const by = { api: "x", provider: "x", model: "x", stopReason: "stop", timestamp: ms };
  return {
    ...at(ms),
    type: "message",
    message: { role: "assistant", content: [], usage: USAGE, ...by },
  };
}

function ended(ms: number): Draft {
  return { ...at(ms), type: "custom", customType: "sessiond/turn-ended", data: { outcome: "done" } };
}

function times(n: number): object {
  return { cost: 0.5 * n, tokens: 10 * n, turns: 0 };
}

describe("a day", () => {
  for (const [zone, nowMs, from, hours] of [
    ["UTC", NOON, "2026-01-01T00:00:00.000Z", 24],
    ["Asia/Tokyo", NOON + 4 * HOUR_MS, "2026-01-01T15:00:00.000Z", 24],
    ["Europe/Zurich", Date.UTC(2026, 2, 29, 12), "2026-03-28T23:00:00.000Z", 23],
    ["Europe/Zurich", Date.UTC(2026, 9, 25, 12), "2026-10-24T22:00:00.000Z", 25],
    // Clocks are set forward at midnight: the day begins at one.
    ["America/Santiago", Date.UTC(2026, 8, 6, 12), "2026-09-06T04:00:00.000Z", 23],
  ] as const)
    test(`of ${zone} that begins at ${from} has ${hours} hours`, () => {
      const { fromMs, toMs } = dayOf(zone, nowMs);
      assert.deepEqual([new Date(fromMs).toISOString(), (toMs - fromMs) / HOUR_MS], [from, hours]);
      assert.deepEqual(dayOf(zone, fromMs), { fromMs, toMs }, "from its first moment");
      assert.deepEqual(dayOf(zone, toMs - 1), { fromMs, toMs }, "to its last");
    });
});

test("answers, summaries and ends of turns count, from midnight on and before the start", () => {
  assert.deepEqual(spentIn(answer(MIDNIGHT), DAY), ONE);
  assert.deepEqual(spentIn(answer(NOON - 1), DAY), ONE);
  assert.deepEqual(spentIn(ended(NOON - 1), DAY), { cost: 0, tokens: 0, turns: 1 });
  const paid: Draft = { ...at(MIDNIGHT), type: "custom", customType: PAID, data: { usage: USAGE } };
  assert.deepEqual(spentIn(paid, DAY), ONE);
  const none = { cost: 0, tokens: 0, turns: 0 };
  for (const entry of [answer(MIDNIGHT - 1), answer(NOON), { ...answer(MIDNIGHT), timestamp: "soon" }])
    assert.deepEqual(spentIn(entry, DAY), none, entry.timestamp);
});

interface ReadBack {
  readonly span?: Span;
  readonly signal?: AbortSignal;
  readonly bound?: Partial<typeof BOUND>;
  readonly meanwhile?: () => Promise<unknown>; // after it is listed
}

async function readBack(store: Readable, asked: ReadBack = {}): Promise<{ spent: object; isWhole: boolean }> {
  const { span = DAY, signal = NEVER, meanwhile = async () => {} } = asked;
  const bound = { ...BOUND, ...asked.bound };
  const before = await changedSince(store, span.fromMs, bound);
  await meanwhile();
  return await spentBefore(store, { before, span, signal }, bound);
}

async function archive(made: Home, key: SessionKey): Promise<void> {
  const { transcript } = await made.row(key);
  const expect = { transcript: transcript.id, lastSeq: transcript.lastSeq };
  await made.store.commit([{ do: "archive", key, expect, why: "asked" }]);
}

describe("what is read back", () => {
  async function home(t: TestContext): Promise<{ readonly at: Home; readonly key: SessionKey }> {
    const made = await Home.open(t);
    made.world.pass(6 * HOUR_MS);
    const key = namedKey(DEFAULT_AGENT, "talk");
    await made.store.commit([
      opening(key, made.world.newId()),
      appending(key, 0, [answer(MIDNIGHT - 2), answer(MIDNIGHT - 1), answer(MIDNIGHT), answer(MIDNIGHT + 1)]),
    ]);
    return { at: made, key };
  }

  async function back(made: Home, key: SessionKey): Promise<void> {
    const { id } = (await made.row(key)).transcript;
    const [first] = await Array.fromAsync(made.store.entries(id, { since: 1 }));
    assert.ok(first !== undefined && first.type !== "gap");
    await made.append(key, [answer(MIDNIGHT + 3)], { rewindTo: { id: first.id, seq: first.seq } });
  }

  test("is of today alone, and of all sessions", async (t) => {
    const { at: made } = await home(t);
    const other = namedKey(DEFAULT_AGENT, "other");
    await made.store.commit([opening(other, made.world.newId()), appending(other, 0, [answer(NOON - 1)])]);
    assert.deepEqual(await readBack(made.store), { spent: times(3), isWhole: true });
  });

  test("is not what a fork copied", async (t) => {
    const { at: made, key } = await home(t);
    const fork = namedKey(DEFAULT_AGENT, "fork");
    const copy = { of: key, fromSeq: 1, throughSeq: 4 };
    await made.store.commit([opening(fork, made.world.newId(), { copy })]);
    await made.append(fork, [answer(MIDNIGHT + 2)]);
    assert.deepEqual(await readBack(made.store), { spent: times(3), isWhole: true });
  });

  test("has what a rewind left behind, once", async (t) => {
    const { at: made, key } = await home(t);
    await back(made, key);
    assert.deepEqual(await readBack(made.store), { spent: times(3), isWhole: true });
  });

  test("is not whole past its bounds, with damage, or when something of today was archived", async (t) => {
    const { at: made, key } = await home(t);
    const bounded = (bound: Partial<typeof BOUND>) => readBack(made.store, { bound });
    assert.deepEqual(await bounded({ sessions: 1, entries: 3 }), { spent: times(2), isWhole: true });
    assert.deepEqual(await bounded({ entries: 1 }), { spent: times(1), isWhole: false });
    assert.deepEqual(await bounded({ bytes: 1 }), { spent: times(1), isWhole: false });
    assert.deepEqual(await bounded({ sessions: 0 }), { spent: times(0), isWhole: false });

    const file = await made.file(key);
    await made.close();
    const lines = readFileSync(file, "utf8").split("\n");
    const broken = (lines[4] ?? "").replace(/./g, "x");
    writeFileSync(file, [...lines.slice(0, 4), broken, ...lines.slice(5)].join("\n"));
    await made.reopen();
    assert.deepEqual(await readBack(made.store), { spent: times(1), isWhole: false });

    await archive(made, key);
    assert.deepEqual(await readBack(made.store), { spent: times(0), isWhole: false });
    const span = { fromMs: NOON, toMs: NOON + HOUR_MS };
    assert.equal((await readBack(made.store, { span })).isWhole, true, "an older one is no loss");
  });

  test("is what there was when it was listed, whatever the clock said", async (t) => {
    const { at: made, key } = await home(t);
    const late = namedKey(DEFAULT_AGENT, "late");
    const ahead = { fromMs: MIDNIGHT, toMs: MIDNIGHT + 24 * HOUR_MS };
    await made.store.commit([
      opening(late, made.world.newId()),
      appending(late, 0, [answer(NOON + HOUR_MS)]), // whoever wrote it had another clock
    ]);
    const meanwhile = async (): Promise<void> => {
      await made.append(key, [answer(MIDNIGHT + 2)]);
      await made.append(late, [answer(MIDNIGHT + 2)]);
    };
    assert.deepEqual(await readBack(made.store, { span: ahead, meanwhile }), {
      spent: times(3),
      isWhole: true,
    });
  });

  test("has what is left behind while it is read", async (t) => {
    const { at: made, key } = await home(t);
    const meanwhile = (): Promise<void> => back(made, key);
    assert.deepEqual(await readBack(made.store, { meanwhile }), { spent: times(2), isWhole: true });
  });

  test("is not whole when something is archived while it is listed, or while it is read", async (t) => {
    const { at: made, key } = await home(t);
    const meanwhile = (): Promise<void> => archive(made, key);
    const none = { spent: times(0), isWhole: false };
    const { store } = made;
    let isFirst = true;
    const moving: Readable = {
      session: store.session.bind(store),
      entries: store.entries.bind(store),
      // Between two questions of the listing, whichever comes first.
      sessions: async (query) => {
        const page = await store.sessions(query);
        if (isFirst) await meanwhile();
        isFirst = false;
        return page;
      },
      archives: async (query) => {
        const page = await store.archives(query);
        if (isFirst) await meanwhile();
        isFirst = false;
        return page;
      },
    };
    assert.deepEqual(await readBack(moving), none);
    const { at: other, key: another } = await home(t);
    assert.deepEqual(await readBack(other.store, { meanwhile: () => archive(other, another) }), none);
  });

  test("ends when it is told to", async (t) => {
    const { at: made } = await home(t);
    const signal = AbortSignal.abort(new Error("enough"));
    await assert.rejects(readBack(made.store, { signal }), /enough/);
  });
});

describe("what is counted", () => {
  function counting(startMs: number): { readonly world: SimulatedWorld; readonly today: Today } {
    const world = new SimulatedWorld(1, startMs);
    return { world, today: new Today({ world, log: openLog("silent") }, "UTC") };
  }
  const told = (today: Today, ...entries: readonly Draft[]): void =>
    today.told([appending(namedKey(DEFAULT_AGENT, "a"), 0, entries)]);

  const DAY_MS = 24 * HOUR_MS;

  test("begins anew at midnight, and is whole from then on", async (t) => {
    const made = await Home.open(t);
    const { world, today } = counting(NOON);
    await today.begin(made.store);
    await today.close();
    told(today, answer(NOON), ended(NOON));
    today.paid({ input: 1, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0.25 });
    const since = new Date(MIDNIGHT).toISOString();
    const { isWhole: _, ...found } = today.now;
    assert.deepEqual(found, { since, cost: 0.75, tokens: 11, turns: 1 });
    world.pass(12 * HOUR_MS);
    const next = new Date(MIDNIGHT + DAY_MS).toISOString();
    assert.deepEqual(today.now, { since: next, cost: 0, tokens: 0, turns: 0, isWhole: true });
    told(today, answer(MIDNIGHT + DAY_MS - 1), answer(MIDNIGHT + DAY_MS));
    assert.deepEqual(
      today.now,
      { since: next, ...ONE, isWhole: true },
      "what is of yesterday is not of today",
    );
  });

  test("is not whole on a day that the clock is set back to, nor on one that it has come from", async (t) => {
    const made = await Home.open(t);
    const { world, today } = counting(NOON);
    await (
      await today.begin(made.store)
    ).read;
    told(today, answer(NOON));
    assert.deepEqual([today.now.cost, today.now.isWhole], [0.5, true]);
    world.pass(-DAY_MS);
    const since = new Date(MIDNIGHT - DAY_MS).toISOString();
    assert.deepEqual(today.now, { since, cost: 0, tokens: 0, turns: 0, isWhole: false });
    told(today, answer(NOON - DAY_MS));
    assert.deepEqual(today.now, { since, ...ONE, isWhole: false });
    world.pass(DAY_MS);
    assert.deepEqual([today.now.cost, today.now.isWhole], [0, false], "its beginning is forgotten");
    world.pass(DAY_MS);
    assert.equal(today.now.isWhole, true);
  });

  test("is not whole on a day of which something was there before the start, by another clock", async (t) => {
    const made = await Home.open(t);
    made.world.pass(DAY_MS);
    const key = namedKey(DEFAULT_AGENT, "talk");
    const changes = [opening(key, made.world.newId()), appending(key, 0, [answer(NOON + DAY_MS)])];
    await made.store.commit(changes);
    const { world, today } = counting(NOON); // The clock was set back between the two.
    await (
      await today.begin(made.store)
    ).read;
    assert.deepEqual([today.now.cost, today.now.isWhole], [0, true]);
    world.pass(DAY_MS);
    assert.equal(today.now.isWhole, false);
    world.pass(DAY_MS);
    assert.equal(today.now.isWhole, true);
  });

  test("does not get what was read back of a day that is over meanwhile, also when that comes again", async (t) => {
    const made = await Home.open(t);
    made.world.pass(6 * HOUR_MS);
    const key = namedKey(DEFAULT_AGENT, "talk");
    await made.store.commit([opening(key, made.world.newId()), appending(key, 0, [answer(MIDNIGHT)])]);
    for (const [backMs, isWhole] of [
      [0, true],
      [DAY_MS, false],
    ] as const) {
      const { world, today } = counting(NOON);
      const { store } = made;
      const late: Readable = {
        sessions: store.sessions.bind(store),
        session: async (asked) => {
          world.pass(DAY_MS);
          assert.equal(today.now.cost, 0);
          world.pass(-backMs);
          return await store.session(asked);
        },
        entries: store.entries.bind(store),
        archives: store.archives.bind(store),
      };
      await (
        await today.begin(late)
      ).read;
      assert.deepEqual([today.now.cost, today.now.isWhole], [0, isWhole]);
      await today.close();
    }
  });
});
