import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, test, type TestContext } from "node:test";
import { openLog } from "../base/log.ts";
import { SimulatedWorld } from "../base/world.ts";
import { DEFAULT_AGENT, namedKey, type SessionKey } from "../routing/key.ts";
import type { SessionQuery } from "../store/store.ts";
import type { Draft } from "../transcript/entry.ts";
import { PAID } from "../transcript/fold.ts";
import { appending, Home, opening } from "../../test/fixtures/home.ts";
import { dayOf, spentBefore, spentIn } from "./spent.ts";
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

  test("is of today alone, and of all sessions", async (t) => {
    const { at: made } = await home(t);
    const other = namedKey(DEFAULT_AGENT, "other");
    await made.store.commit([opening(other, made.world.newId()), appending(other, 0, [answer(NOON - 1)])]);
    assert.deepEqual(await spentBefore(made.store, DAY, NEVER), { spent: times(3), isWhole: true });
  });

  test("is not what a fork copied", async (t) => {
    const { at: made, key } = await home(t);
    const fork = namedKey(DEFAULT_AGENT, "fork");
    const copy = { of: key, fromSeq: 1, throughSeq: 4 };
    await made.store.commit([opening(fork, made.world.newId(), { copy })]);
    await made.append(fork, [answer(MIDNIGHT + 2)]);
    assert.deepEqual(await spentBefore(made.store, DAY, NEVER), { spent: times(3), isWhole: true });
  });

  test("has what a rewind left behind, once", async (t) => {
    const { at: made, key } = await home(t);
    const { id } = (await made.row(key)).transcript;
    const [first] = await Array.fromAsync(made.store.entries(id, { since: 1 }));
    assert.ok(first !== undefined && first.type !== "gap");
    await made.append(key, [answer(MIDNIGHT + 3)], { rewindTo: { id: first.id, seq: first.seq } });
    assert.deepEqual(await spentBefore(made.store, DAY, NEVER), { spent: times(3), isWhole: true });
  });

  test("is not whole past its bounds, with damage, or when something of today was archived", async (t) => {
    const { at: made, key } = await home(t);
    const bounded = (sessions: number, entries: number) =>
      spentBefore(made.store, DAY, NEVER, { sessions, entries });
    assert.deepEqual(await bounded(1, 3), { spent: times(2), isWhole: true });
    assert.deepEqual(await bounded(1, 1), { spent: times(1), isWhole: false });
    assert.deepEqual(await bounded(0, 3), { spent: times(0), isWhole: false });

    const file = await made.file(key);
    await made.close();
    const lines = readFileSync(file, "utf8").split("\n");
    const broken = (lines[4] ?? "").replace(/./g, "x");
    writeFileSync(file, [...lines.slice(0, 4), broken, ...lines.slice(5)].join("\n"));
    await made.reopen();
    assert.deepEqual(await spentBefore(made.store, DAY, NEVER), { spent: times(1), isWhole: false });

    const { transcript } = await made.row(key);
    const expect = { transcript: transcript.id, lastSeq: transcript.lastSeq };
    await made.store.commit([{ do: "archive", key, expect, why: "asked" }]);
    assert.deepEqual(await spentBefore(made.store, DAY, NEVER), { spent: times(0), isWhole: false });
    const tomorrow = { fromMs: NOON, toMs: NOON + HOUR_MS };
    assert.equal((await spentBefore(made.store, tomorrow, NEVER)).isWhole, true, "an older one is no loss");
  });

  test("has who changes while it is read, once", async (t) => {
    const { at: made, key } = await home(t);
    const other = namedKey(DEFAULT_AGENT, "other");
    made.world.pass(1_000);
    await made.store.commit([opening(other, made.world.newId()), appending(other, 0, [answer(NOON - 1)])]);
    made.world.pass(6 * HOUR_MS); // It is noon: what changes from now on is this process's.
    let pages = 0;
    const moving = {
      sessions: async (query: SessionQuery) => {
        const page = await made.store.sessions({ ...query, limit: 1 });
        pages += 1;
        // The first page has the other one; the one behind it comes to the front.
        if (pages === 1) await made.append(key, [answer(NOON + HOUR_MS)]);
        return page;
      },
      entries: made.store.entries.bind(made.store),
      archives: made.store.archives.bind(made.store),
    };
    assert.deepEqual(await spentBefore(moving, DAY, NEVER), { spent: times(3), isWhole: true });
    assert.ok(pages > 1);
  });

  test("ends when it is told to", async (t) => {
    const { at: made } = await home(t);
    const over = AbortSignal.abort(new Error("enough"));
    await assert.rejects(spentBefore(made.store, DAY, over), /enough/);
  });
});

describe("what is counted", () => {
  function counting(startMs: number): { readonly world: SimulatedWorld; readonly today: Today } {
    const world = new SimulatedWorld(1, startMs);
    return { world, today: new Today({ world, log: openLog("silent") }, "UTC") };
  }
  const told = (today: Today, ...entries: readonly Draft[]): void =>
    today.told([appending(namedKey(DEFAULT_AGENT, "a"), 0, entries)]);

  test("begins anew at midnight, and is whole from then on", () => {
    const { world, today } = counting(NOON);
    told(today, answer(NOON), ended(NOON));
    today.paid({ input: 1, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0.25 });
    const since = new Date(MIDNIGHT).toISOString();
    assert.deepEqual(today.now, { since, cost: 0.75, tokens: 11, turns: 1, isWhole: false });
    world.pass(12 * HOUR_MS);
    const next = new Date(MIDNIGHT + 24 * HOUR_MS).toISOString();
    assert.deepEqual(today.now, { since: next, cost: 0, tokens: 0, turns: 0, isWhole: true });
    told(today, answer(MIDNIGHT + 24 * HOUR_MS - 1), answer(MIDNIGHT + 24 * HOUR_MS));
    assert.deepEqual(
      today.now,
      { since: next, ...ONE, isWhole: true },
      "what is of yesterday is not of today",
    );
  });

  test("does not get what was read back of a day that is over meanwhile", async (t) => {
    const made = await Home.open(t);
    made.world.pass(6 * HOUR_MS);
    const key = namedKey(DEFAULT_AGENT, "talk");
    await made.store.commit([opening(key, made.world.newId()), appending(key, 0, [answer(MIDNIGHT)])]);
    const { world, today } = counting(NOON);
    const isRead = Promise.withResolvers<void>();
    const late = {
      sessions: async (query: object) => {
        const page = await made.store.sessions(query);
        world.pass(24 * HOUR_MS);
        return page;
      },
      async *entries(...asked: Parameters<Home["store"]["entries"]>) {
        yield* made.store.entries(...asked);
        isRead.resolve();
      },
      archives: made.store.archives.bind(made.store),
    };
    today.begin(late);
    await isRead.promise;
    await new Promise((wake) => setImmediate(wake)); // What follows from it has happened.
    assert.deepEqual([today.now.cost, today.now.isWhole], [0, true]);
    await today.close();
  });
});
