import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chat, DAY, facts, HOUR, item, kept, MIB, NOTHING, NOW, told } from "../../test/fixtures/upkeep.ts";
import { parseKey } from "../routing/key.ts";
import { planning, planOf, type Item } from "./plan.ts";

describe("a plan", () => {
  test("is empty when the policy asks for nothing", () => {
    const some = facts([chat(1), chat(2)], { archives: [kept("a")] });
    assert.deepEqual(told(planOf(some, NOTHING, NOW)), []);
  });

  test("archives what nobody has changed for so long, and nothing younger", () => {
    const items = [
      chat(1),
      chat(2, { updatedAtMs: NOW - 30 * DAY }),
      chat(3, { updatedAtMs: NOW - 30 * DAY + 1 }),
    ];
    const plan = planOf(facts(items), { ...NOTHING, staleDays: 30 }, NOW);
    assert.deepEqual(told(plan), ["archive p1 stale", "archive p2 stale"]);
  });

  test("keeps what somebody named, and not what nobody did", () => {
    const items = [
      "fork-0a1b2c3d",
      "handoff-99999999",
      "fork-of-mine",
      "handoff-2026",
      "fork-0a1b2c3d4",
      `fork-${"0a1b2c3d".repeat(4)}`,
      "openai-Migration2026-part-one",
      "x",
    ].map((name) => item(`agent:main:thread:${name}`, { kind: "thread" }));
    const plan = planOf(facts(items), { ...NOTHING, staleDays: 30 }, NOW);
    assert.deepEqual(told(plan), [
      "archive fork-0a1b2c3d stale",
      "archive handoff-99999999 stale",
      `archive fork-${"0a1b2c3d".repeat(4)} stale`,
    ]);
  });

  test("archives sub-agents and runs of jobs a while after their end", () => {
    const ended = { state: "ended", kind: "subagent" } as const;
    const run = { state: "ended", kind: "cron" } as const;
    const items = [
      item("agent:main:subagent:old", { ...ended, endedAtMs: NOW - 3 * HOUR }),
      item("agent:main:subagent:new", { ...ended, endedAtMs: NOW - HOUR }),
      item("agent:main:subagent:idle", { kind: "subagent" }),
      item("agent:main:cron:short:run:1", { ...run, job: "short", endedAtMs: NOW - 1_000 }),
      item("agent:main:cron:long:run:2", { ...run, job: "long", endedAtMs: NOW - 50 * HOUR }),
      item("agent:main:cron:gone:run:3", { ...run, job: "gone", endedAtMs: NOW - 3 * HOUR }),
      chat(1, { state: "ended", endedAtMs: NOW - 900 * DAY }),
    ];
    const keepMs = new Map([
      ["short", 1_000],
      ["long", 51 * HOUR],
    ]);
    const plan = planOf(facts(items, { keepMs }), { ...NOTHING, subagentHours: 2 }, NOW);
    assert.deepEqual(told(plan), ["archive old ended", "archive 1 ended", "archive 3 ended"]);
  });

  test("keeps what was brought back after its end as long as if it had just ended", () => {
    const ended = { state: "ended", kind: "subagent", endedAtMs: NOW - 90 * DAY } as const;
    const items = [
      item("agent:main:subagent:old", { ...ended, updatedAtMs: NOW - 90 * DAY }),
      item("agent:main:subagent:back", { ...ended, updatedAtMs: NOW - HOUR }),
    ];
    const plan = planOf(facts(items), { ...NOTHING, subagentHours: 2 }, NOW);
    assert.deepEqual(told(plan), ["archive old ended"]);
  });

  test("takes the least recently changed above the cap", () => {
    const items = [chat(1), item("agent:main:main", { kind: "main" }), chat(2), chat(3), chat(4)];
    const plan = planOf(facts(items), { ...NOTHING, sessionsMax: 3 }, NOW);
    assert.deepEqual(told(plan), ["archive p1 cap", "archive p2 cap"]);
  });

  test("has children go before their parent, and keeps a parent whose child stays", () => {
    const parent = (n: number) => parseKey(`agent:main:direct:p${n}`);
    const child = (id: string, of: number, more: Partial<Item> = {}) =>
      item(`agent:main:subagent:${id}`, { kind: "subagent", parent: parent(of), ...more });
    const items = [
      chat(1, { children: 2 }),
      chat(2, { children: 1 }),
      child("a", 1),
      child("b", 2, { isPinned: true }),
      child("c", 1),
      chat(3, { children: 1 }), // The store counted one that was not seen.
    ];
    const plan = planOf(facts(items), { ...NOTHING, staleDays: 1 }, NOW);
    assert.deepEqual(told(plan), ["archive a stale", "archive c stale", "archive p1 stale"]);
  });

  test("has a parent go that was due for another reason, once its last child has gone", () => {
    const above = item("agent:main:subagent:above", {
      kind: "subagent",
      state: "ended",
      endedAtMs: NOW - 3 * HOUR,
      updatedAtMs: NOW - 3 * HOUR,
      children: 1,
    });
    const below = item("agent:main:subagent:below", { kind: "subagent", parent: above.key });
    const policy = { ...NOTHING, subagentHours: 2, staleDays: 30 };
    const wanted = ["archive below stale", "archive above ended"];
    for (const items of [
      [below, above],
      [above, below],
    ])
      assert.deepEqual(told(planOf(facts(items), policy, NOW)), wanted);
    const young = { ...above, endedAtMs: NOW - HOUR };
    assert.deepEqual(told(planOf(facts([below, young]), policy, NOW)), wanted.slice(0, 1));
  });

  test("rotates what is large and was summarised since its file began, also main", () => {
    const large = { fileBytes: 5 * MIB + 1, contextSeq: 3 };
    const items = [
      item("agent:main:main", { kind: "main", ...large }),
      chat(1, { ...large, fileBytes: 5 * MIB }),
      chat(2, { ...large, contextSeq: 1 }),
      chat(3, { ...large, state: "running" }),
      chat(4, { ...large, state: "paused" }),
      chat(5, { ...large, state: "ended", endedAtMs: NOW }),
      chat(6, { ...large, signal: "pause" }),
    ];
    const plan = planOf(facts(items), { ...NOTHING, rotateMiB: 5 }, NOW);
    assert.deepEqual(told(plan), ["rotate main", "rotate p3"]);
  });

  test("purges by retention first, packs what is not packed, and collects", () => {
    const archives = [kept("old"), kept("young", { archivedAtMs: NOW - 20 * DAY, packedBytes: null })];
    const some = facts([chat(1)], { archives, blobs: { blobs: 7, bytes: 900 } });
    const plan = planOf(some, { ...NOTHING, archiveDays: 30, staleDays: 30 }, NOW);
    assert.deepEqual(told(plan), ["purge old retention", "archive p1 stale", "pack young", "collect 7"]);
    assert.deepEqual(plan.totals, { purge: 1, archive: 1, rotate: 0, pack: 1, collect: 7 });
  });
});

describe("the budget", () => {
  const archives = [
    kept("a", { bytes: 100 * MIB, packedBytes: 10 * MIB }),
    kept("b", { bytes: 100 * MIB, packedBytes: 10 * MIB }),
    kept("today", { bytes: 100 * MIB, packedBytes: 10 * MIB, archivedAtMs: NOW - HOUR }),
  ];
  const items = [1, 2, 3, 4, 5].map((n) => chat(n, { bytes: 100 * MIB }));
  const some = facts(items, { archives }); // 530 MiB

  test("is not looked at below its limit, and goes down to the mark above it", () => {
    assert.deepEqual(told(planOf(some, { ...NOTHING, diskMiB: 530 }, NOW)), []);
    const plan = planOf(some, { ...NOTHING, diskMiB: 529, highWater: 0.985 }, NOW);
    assert.deepEqual(told(plan), ["purge a budget"]);
    assert.equal(plan.leftBytes, 520 * MIB);
  });

  test("erases archives that are a day old, then archives sessions, by what packing has saved so far", () => {
    const plan = planOf(some, { ...NOTHING, diskMiB: 400, highWater: 1 }, NOW);
    assert.deepEqual(told(plan), [
      "purge a budget",
      "purge b budget",
      "archive p1 budget",
      "archive p2 budget",
    ]);
    assert.equal(plan.leftBytes, 330 * MIB); // A tenth is left of each.
    assert.equal(plan.over, 0);
  });

  test("does not erase what it is about to pack: that is for the next round", () => {
    const unpacked = [kept("new", { bytes: 100 * MIB, packedBytes: null }), ...archives];
    const plan = planOf(facts([], { archives: unpacked }), { ...NOTHING, diskMiB: 60, highWater: 0.5 }, NOW);
    assert.deepEqual(told(plan), ["pack new", "purge a budget"]);
    assert.equal(plan.leftBytes, 30 * MIB);
  });

  test("says how much of it only protected sessions hold", () => {
    const pinned = items.map((each) => ({ ...each, isPinned: true }));
    const plan = planOf(facts(pinned, { archives }), { ...NOTHING, diskMiB: 400 }, NOW);
    assert.deepEqual(told(plan), ["purge a budget", "purge b budget"]);
    assert.equal(plan.over, 110 * MIB);
  });

  test("counts what the steps before it free", () => {
    const plan = planOf(some, { ...NOTHING, diskMiB: 400, highWater: 1, staleDays: 1 }, NOW);
    assert.ok(told(plan).every((each) => !each.endsWith("budget")));
  });
});

test("a hundred thousand sessions are planned in slices", () => {
  const items = Array.from({ length: 100_000 }, (_, n) => chat(n, { updatedAtMs: NOW - 100 * DAY + n }));
  let slices = 0;
  const steps = planning(facts(items), { ...NOTHING, sessionsMax: 10_000, rotateMiB: 1 }, NOW);
  let slice = steps.next();
  for (; slice.done !== true; slice = steps.next()) slices += 1;
  assert.equal(slice.value.totals.archive, 90_000);
  assert.ok(slices > 150, `${slices} slices`);
});
