import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Reset, ResetPolicy, ResetType } from "../config/config.ts";
import { parseKey } from "../routing/key.ts";
import { isStale, resetFor } from "./fresh.ts";

const DAILY: Reset = { mode: "daily", hour: 4, zone: "UTC" };
const HOUR_MS = 3_600_000;

function idle(minutes: number): Reset {
  return { mode: "idle", minutes };
}

function policy(given: {
  readonly usual?: Reset;
  readonly byType?: Partial<Record<ResetType, Reset>>;
  readonly byChannel?: Readonly<Record<string, Reset>>;
}): ResetPolicy {
  return {
    usual: given.usual ?? { mode: "none" },
    byType: new Map(Object.entries(given.byType ?? {}) as [ResetType, Reset][]),
    byChannel: new Map(Object.entries(given.byChannel ?? {})),
  };
}

function of(key: string, channel: string | null = null, route: string | null = null) {
  const origin =
    channel === null
      ? null
      : ({
          channel,
          account: null,
          chatType: "direct",
          peer: "p",
          sender: null,
          thread: null,
          subject: null,
        } as const);
  return {
    key: parseKey(key),
    origin,
    route: route === null ? null : { channel: route, to: "p", thread: null },
  };
}

test("every type of chat has its own reset, and else the usual one", () => {
  const each: Readonly<Record<string, ResetType>> = {
    "agent:main:main": "main",
    "agent:main:thread:plans": "named",
    "agent:main:direct:ann": "direct",
    "agent:main:telegram:direct:ann": "direct",
    "agent:main:telegram:bot:direct:ann": "direct",
    "agent:main:telegram:group:g": "group",
    "agent:main:slack:channel:c": "channel",
    "agent:main:matrix:room:r": "channel",
    "agent:main:telegram:direct:ann:thread:7": "thread",
    "agent:main:telegram:group:g:topic:7": "thread",
    "agent:main:main:thread:7": "thread",
  };
  for (const [key, type] of Object.entries(each)) {
    assert.deepEqual(resetFor(of(key), policy({ usual: DAILY, byType: { [type]: idle(5) } })), idle(5), key);
    const others = policy({ usual: DAILY, byType: {} });
    const lasts = type === "main" || type === "named";
    assert.deepEqual(resetFor(of(key), others), lasts ? { mode: "none" } : DAILY, key);
  }
});

test("what is no conversation of people never begins anew", () => {
  const everything = policy({
    usual: DAILY,
    byType: { main: DAILY, named: DAILY, direct: DAILY, group: DAILY, channel: DAILY, thread: DAILY },
    byChannel: { telegram: DAILY },
  });
  for (const key of [
    "agent:main:heartbeat",
    "agent:main:subagent:1",
    "agent:main:subagent:1:subagent:2",
    "agent:main:cron:daily",
    "agent:main:cron:daily:run:1",
    "agent:main:hook:h",
    "agent:main:acp:a",
  ])
    assert.deepEqual(resetFor(of(key, "telegram"), everything), { mode: "none" }, key);
});

test("a channel's reset goes before that of the type; main and named sessions have no channel's", () => {
  const both = policy({ usual: DAILY, byType: { direct: idle(5) }, byChannel: { telegram: idle(9) } });
  assert.deepEqual(resetFor(of("agent:main:telegram:direct:ann"), both), idle(9));
  assert.deepEqual(resetFor(of("agent:main:slack:direct:ann"), both), idle(5));
  assert.deepEqual(resetFor(of("agent:main:direct:ann"), both), idle(5));
  assert.deepEqual(resetFor(of("agent:main:direct:ann", "telegram"), both), idle(9));
  assert.deepEqual(resetFor(of("agent:main:direct:ann", "", "telegram"), both), idle(9));
  assert.deepEqual(resetFor(of("agent:main:slack:direct:ann", "telegram"), both), idle(5));
  assert.deepEqual(resetFor(of("agent:main:main", "telegram", "telegram"), both), { mode: "none" });
  assert.deepEqual(resetFor(of("agent:main:thread:plans", "telegram"), both), { mode: "none" });
});

test("idle: so many minutes after the last message, and not before", () => {
  const at = Date.UTC(2026, 0, 1);
  assert.equal(isStale(idle(30), at, at + 30 * 60_000 - 1), false);
  assert.equal(isStale(idle(30), at, at + 30 * 60_000), true);
  assert.equal(isStale(idle(30), at, at - HOUR_MS), false, "a clock that was set back makes nothing old");
});

test("where nobody wrote yet, nothing is old; nor where nothing is set", () => {
  for (const reset of [idle(1), DAILY]) assert.equal(isStale(reset, 0, Date.UTC(2026, 0, 1)), false);
  assert.equal(isStale({ mode: "none" }, 1, Date.UTC(2026, 0, 1)), false);
});

function daily(hour: number, zone: string): Reset {
  return { mode: "daily", hour, zone };
}

/** [hour, zone, when it begins anew]: a millisecond before it and at it. */
const BOUNDARIES: readonly (readonly [number, string, string])[] = [
  [4, "UTC", "2026-03-01T04:00:00Z"],
  [4, "Europe/Zurich", "2026-01-15T03:00:00Z"],
  [4, "Europe/Zurich", "2026-07-15T02:00:00Z"],
  [0, "Asia/Kolkata", "2026-05-04T18:30:00Z"],
  [23, "Pacific/Kiritimati", "2026-05-04T09:00:00Z"],
  [0, "Pacific/Pago_Pago", "2026-05-05T11:00:00Z"],
  // 29 March 2026: from 01:59 to 03:00, so there is no 02:00. It is 01:00 UTC when it would have been.
  [2, "Europe/Zurich", "2026-03-29T01:00:00Z"],
  [3, "Europe/Zurich", "2026-03-29T01:00:00Z"],
  [4, "Europe/Zurich", "2026-03-29T02:00:00Z"],
  // 25 October 2026: from 02:59 to 02:00, so there are two. The first counts.
  [2, "Europe/Zurich", "2026-10-25T00:00:00Z"],
  [3, "Europe/Zurich", "2026-10-25T02:00:00Z"],
  [2, "America/New_York", "2026-03-08T07:00:00Z"],
  [1, "America/New_York", "2026-11-01T05:00:00Z"],
  [2, "America/New_York", "2026-11-01T07:00:00Z"],
  // Half an hour, in the southern summer.
  [2, "Australia/Lord_Howe", "2026-10-03T15:30:00Z"],
  // At midnight.
  [0, "Africa/Cairo", "2026-04-23T22:00:00Z"],
];

test("daily: at that hour of the zone, also when its clocks are changed", () => {
  for (const [hour, zone, iso] of BOUNDARIES) {
    const at = Date.parse(iso);
    const reset = daily(hour, zone);
    const name = `${hour}:00 in ${zone}, ${iso}`;
    assert.equal(isStale(reset, at - 1, at), true, `${name}: what was said before it is old`);
    assert.equal(isStale(reset, at, at + 1), false, `${name}: what was said at it is not`);
    assert.equal(isStale(reset, at - 1, at - 1), false, `${name}: not before it`);
    assert.equal(isStale(reset, at - 12 * HOUR_MS, at - 1), false, `${name}: nor for a while before it`);
    assert.equal(isStale(reset, at + 1, at + 22 * HOUR_MS), false, `${name}: nor for a day after it`);
    assert.equal(isStale(reset, at + 1, at + 26 * HOUR_MS), true, `${name}: but on the next`);
  }
});

test("daily: in every zone a year has a boundary for each of its days, about a day apart", () => {
  const zones = [
    "Europe/Zurich",
    "America/New_York",
    "Australia/Lord_Howe",
    "Africa/Cairo",
    "Asia/Kolkata",
    "UTC",
  ];
  const from = Date.UTC(2026, 0, 1);
  fc.assert(
    fc.property(fc.constantFrom(...zones), fc.integer({ min: 0, max: 23 }), (zone, hour) => {
      const reset = daily(hour, zone);
      let [last, found] = [from - 1, 0];
      for (let at = from; at < from + 365 * 24 * HOUR_MS; at += HOUR_MS) {
        if (!isStale(reset, last, at)) continue;
        found += 1;
        if (found > 1) {
          const hours = (at - last) / HOUR_MS;
          assert.ok(hours >= 22 && hours <= 26, `${hours} hours in ${zone} at ${new Date(at).toISOString()}`);
        }
        last = at;
      }
      assert.ok(found === 365 || found === 366, `${found} in ${zone} at ${hour}`);
    }),
    { numRuns: 12 },
  );
});
