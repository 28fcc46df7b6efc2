// What holds of every plan, for any facts and any policy.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { DAY, facts, MIB, NOW, told } from "../../test/fixtures/upkeep.ts";
import type { UpkeepPolicy } from "../config/config.ts";
import { parseKey, type SessionKey } from "../routing/key.ts";
import { protection } from "./going.ts";
import { planning, planOf, type Facts, type Item, type Kept, type Plan } from "./plan.ts";

const KINDS = ["main", "heartbeat", "direct", "group", "thread", "subagent", "cron", "hook", "acp"] as const;
const STATES = ["idle", "queued", "running", "waiting", "paused", "ended"] as const;
const someMs = fc.integer({ min: NOW - 90 * DAY, max: NOW });
const someBytes = fc.integer({ min: 0, max: 8 * MIB });

const anyItem = fc.record({
  kind: fc.constantFrom(...KINDS),
  isNamed: fc.boolean(), // if it is a thread
  state: fc.constantFrom(...STATES),
  above: fc.option(fc.nat({ max: 30 })), // whose child it is
  endedAtMs: someMs,
  job: fc.constantFrom(null, "kept", "gone"),
  signal: fc.constantFrom("none", "none", "none", "pause", "kill"),
  isPinned: fc.boolean().map((is) => is),
  updatedAtMs: someMs,
  contextSeq: fc.integer({ min: 1, max: 3 }),
  fileBytes: someBytes,
  bytes: someBytes,
  waits: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
  unseen: fc.integer({ min: 0, max: 9 }).map((n) => (n === 0 ? 1 : 0)),
  held: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});

const anyKept = fc.record({
  archivedAtMs: someMs,
  bytes: someBytes,
  packedShare: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
});

const anyFacts: fc.Arbitrary<Facts> = fc
  .record({
    rows: fc.array(anyItem, { maxLength: 30 }),
    kepts: fc.array(anyKept, { maxLength: 10 }),
    blobs: fc.nat({ max: 3 }),
    keepMs: fc.integer({ min: 0, max: 30 * DAY }),
  })
  .map(({ rows, kepts, blobs, keepMs }) => {
    const keyAt = (at: number): SessionKey => {
      const { kind, isNamed } = rows[at] ?? { kind: "hook", isNamed: true };
      const madeUp = `fork-${at.toString(16).padStart(32, "0")}`;
      return parseKey(`agent:main:${kind === "thread" ? kind : "hook"}:${isNamed ? `s${at}` : madeUp}`);
    };
    const items = rows.map(({ above, unseen, isNamed: _isNamed, ...row }, at): Item => ({
      ...row,
      key: keyAt(at),
      parent: above === null || above === at || above >= rows.length ? null : keyAt(above),
      endedAtMs: row.state === "ended" ? row.endedAtMs : null,
      isPinned: row.isPinned && at % 3 === 0,
      transcript: `t${at}`,
      lastSeq: 3,
      firstSeq: 1,
      children: unseen,
    }));
    const archives = kepts.map(({ archivedAtMs, bytes, packedShare }, at): Kept => ({
      id: `a${at}`,
      key: keyAt(100 + at),
      archivedAtMs,
      bytes,
      packedBytes: packedShare === null ? null : Math.floor(bytes * packedShare),
    }));
    archives.sort((a, b) => a.archivedAtMs - b.archivedAtMs);
    const held = new Set(rows.flatMap((row, at) => (row.held ? [keyAt(at)] : [])));
    return facts(items, {
      archives,
      held,
      keepMs: new Map([["kept", keepMs]]),
      blobs: { blobs, bytes: blobs * 10 },
    });
  });

const anyPolicy: fc.Arbitrary<UpkeepPolicy> = fc.record({
  mode: fc.constantFrom("warn", "enforce"),
  everyMinutes: fc.constant(60),
  staleDays: fc.nat({ max: 60 }),
  sessionsMax: fc.nat({ max: 30 }),
  subagentHours: fc.nat({ max: 1_000 }),
  rotateMiB: fc.nat({ max: 8 }),
  archiveDays: fc.nat({ max: 60 }),
  diskMiB: fc.nat({ max: 200 }),
  highWater: fc.double({ min: 0.5, max: 1, noNaN: true }),
});

/** The facts when a plan has been applied, packing as the share says. */
function applied(before: Facts, { steps }: Plan, share: number): Facts {
  const of = <Do extends (typeof steps)[number]["do"]>(word: Do) =>
    steps.filter((step): step is Extract<(typeof steps)[number], { do: Do }> => step.do === word);
  const gone = new Map(of("archive").map((step) => [step.key, step]));
  const rotated = new Set(of("rotate").map(({ key }) => key));
  const purged = new Set(of("purge").map(({ archive }) => archive));
  const packed = new Set(of("pack").map(({ archive }) => archive));
  const children = (key: SessionKey): number =>
    before.items.filter((each) => gone.has(each.key) && each.parent === key).length;
  const items = before.items
    .filter(({ key }) => !gone.has(key))
    .map((each) => ({ ...each, children: Math.max(0, each.children - children(each.key)) }))
    .map((each) => (rotated.has(each.key) ? { ...each, firstSeq: each.contextSeq } : each));
  const archives = before.archives
    .filter(({ id }) => !purged.has(id))
    .map((each) => (packed.has(each.id) ? { ...each, packedBytes: Math.floor(each.bytes * share) } : each));
  const made = [...gone.values()].map(({ key, bytes, transcript }): Kept => ({
    id: transcript,
    key,
    archivedAtMs: NOW,
    bytes,
    packedBytes: Math.floor(bytes * share),
  }));
  const { keepMs, held } = before;
  return facts(items, { archives: [...archives, ...made], keepMs, held });
}

const RUNS = { numRuns: 2_000 };

describe("for any facts and any policy", () => {
  test("no protected session is archived, and no parent before its children (U1, U2)", () => {
    fc.assert(
      fc.property(anyFacts, anyPolicy, (some, policy) => {
        const gone = new Set<SessionKey>();
        const byKey = new Map(some.items.map((each) => [each.key, each]));
        for (const step of planOf(some, policy, NOW).steps) {
          if (step.do !== "archive") continue;
          const victim = byKey.get(step.key);
          assert.ok(victim !== undefined && !gone.has(step.key), "it is there, and goes once");
          // Said again, in other words than the plan's own.
          assert.ok(!["main", "heartbeat"].includes(victim.kind));
          assert.ok(victim.kind !== "thread" || victim.key.startsWith("agent:main:thread:fork-0000"));
          assert.ok(["idle", "ended"].includes(victim.state));
          assert.ok(victim.state === "ended" || victim.signal === "none");
          assert.ok(!victim.isPinned && !victim.waits && !some.held.has(victim.key));
          assert.equal(
            victim.children > some.items.filter(({ parent }) => parent === victim.key).length,
            false,
          );
          for (const each of some.items) assert.ok(each.parent !== victim.key || gone.has(each.key));
          gone.add(victim.key);
        }
      }),
      RUNS,
    );
  });

  test("the cap holds, but for what is protected and what stands above it", () => {
    fc.assert(
      fc.property(anyFacts, anyPolicy, (some, policy) => {
        const after = applied(some, planOf(some, policy, NOW), 0.2);
        if (policy.sessionsMax === 0 || after.items.length <= policy.sessionsMax) return;
        const stays = (each: Item, seen: readonly SessionKey[] = []): boolean =>
          protection(each, after.held) !== null ||
          each.children > after.items.filter(({ parent }) => parent === each.key).length ||
          seen.includes(each.key) ||
          after.items.some((child) => child.parent === each.key && stays(child, [...seen, each.key]));
        for (const each of after.items) assert.ok(stays(each), each.key);
      }),
      RUNS,
    );
  });

  test("the same facts make the same plan, whole or in slices", () => {
    fc.assert(
      fc.property(anyFacts, anyPolicy, (some, policy) => {
        const slices = planning(some, policy, NOW);
        let slice = slices.next();
        while (slice.done !== true) slice = slices.next();
        assert.deepEqual(slice.value, planOf(structuredClone(some), policy, NOW));
      }),
      { numRuns: 300 },
    );
  });

  test("after a plan there is nothing more to do, but for the budget", () => {
    fc.assert(
      fc.property(anyFacts, anyPolicy, fc.double({ min: 0, max: 1, noNaN: true }), (some, policy, share) => {
        const again = planOf(applied(some, planOf(some, policy, NOW), share), policy, NOW);
        assert.deepEqual(
          told(again).filter((each) => !each.endsWith("budget")),
          [],
        );
        const quiet = { ...policy, diskMiB: 0 };
        const second = planOf(applied(some, planOf(some, quiet, NOW), share), quiet, NOW);
        assert.deepEqual(second.steps, []);
      }),
      RUNS,
    );
  });

  test("what it says is left is within what is wanted, or nothing more could go", () => {
    fc.assert(
      fc.property(anyFacts, anyPolicy, (some, policy) => {
        const { steps, leftBytes, usedBytes, over } = planOf(some, policy, NOW);
        const most = policy.diskMiB * MIB;
        if (most === 0 || usedBytes <= most)
          return assert.ok(steps.every((step) => !("why" in step) || step.why !== "budget"));
        assert.equal(over, Math.max(0, leftBytes - most));
        if (leftBytes <= most * policy.highWater) return undefined;
        const purged = new Set(steps.flatMap((step) => (step.do === "purge" ? [step.archive] : [])));
        for (const { id, archivedAtMs, packedBytes } of some.archives)
          assert.ok(purged.has(id) || packedBytes === null || archivedAtMs > NOW - DAY, id);
        const after = applied(some, { steps } as Plan, 0.2);
        const parents = new Set(after.items.map(({ parent }) => parent));
        for (const each of after.items)
          assert.ok(
            protection(each, after.held) !== null || each.children > 0 || parents.has(each.key),
            each.key,
          );
        return undefined;
      }),
      RUNS,
    );
  });
});
