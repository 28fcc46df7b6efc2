// What changes a session's row and nothing else.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SessionKey } from "../../routing/key.ts";
import type { Origin } from "../../routing/route.ts";
import type { RunState } from "../../sessions/session.ts";
import { NO_USAGE } from "../opened.ts";
import { refused, withoutTrace, type Corner } from "./corner.ts";
import { ended } from "./samples.ts";

export function rowContract(corner: () => Corner): void {
  describe("row", () => {
    test("a run state is kept with all it holds", async () => {
      const at = corner();
      const key = await at.open("a");
      const states: readonly RunState[] = [
        { kind: "queued", sinceMs: 1 },
        { kind: "running", sinceMs: 2, turn: "t", step: 3 },
        { kind: "waiting", sinceMs: 3, for: "children" },
        { kind: "paused", sinceMs: 4 },
        { kind: "idle" },
        { kind: "ended", atMs: 5, outcome: "limit", reason: "enough" },
      ];
      for (const state of states) {
        at.world.pass(1);
        await at.run(key, state);
        const row = await at.row(key);
        assert.deepEqual([row.state, row.updatedAtMs], [state, at.world.nowMs()]);
      }
    });

    test("an end is final for whoever runs the session", async () => {
      const at = corner();
      const key = await at.open("a");
      await at.end(key);
      for (const state of [{ kind: "idle" }, ended(9)] as const) {
        await withoutTrace(at, "ended", [{ do: "run", key, fence: 0, state }]);
      }
      await at.reopen();
      await refused("ended", at.run(key, { kind: "idle" }));
    });

    test("a route is set and taken away by the owner", async () => {
      const at = corner();
      const key = await at.open("a");
      const route = { channel: "c", to: "t", thread: null };
      await at.store.commit([{ do: "reroute", key, fence: 0, route, origin: null }]);
      assert.deepEqual((await at.row(key)).route, route);
      await at.store.commit([{ do: "reroute", key, fence: 0, route: null, origin: null }]);
      assert.equal((await at.row(key)).route, null);
      await withoutTrace(at, "stale_writer", [{ do: "reroute", key, fence: 1, route, origin: null }]);
    });

    test("a pause can be taken back, a kill cannot, and what has ended hears nothing", async () => {
      const at = corner();
      const key = await at.open("a");
      const signal = async (to: "none" | "pause" | "kill"): Promise<string> => {
        await at.store.commit([{ do: "signal", key, signal: to }]);
        return (await at.row(key)).signal;
      };
      assert.equal(await signal("pause"), "pause");
      assert.equal(await signal("none"), "none");
      assert.equal(await signal("kill"), "kill");
      assert.equal(await signal("none"), "kill");
      assert.equal(await signal("pause"), "kill");
      const over = await at.open("b");
      await at.end(over);
      await at.store.commit([{ do: "signal", key: over, signal: "kill" }]);
      assert.equal((await at.row(over)).signal, "none");
    });

    test("settings have a version, by which a setter that saw an older one is refused", async () => {
      const at = corner();
      const key = await at.open("a");
      const set = (version: number | null, settings: object): Promise<unknown> =>
        at.store.commit([{ do: "set", key, version, settings }]);
      await set(1, { label: "one", model: "m" });
      await set(2, { label: "two" });
      await set(null, { pinned: true });
      const row = await at.row(key);
      assert.equal(row.settingsVersion, 4);
      const { label, model, pinned } = row.settings;
      assert.deepEqual([label, model, pinned], ["two", "m", true]);
      for (const version of [1, 3, 5]) {
        await withoutTrace(at, "stale_writer", [{ do: "set", key, version, settings: { label: "x" } }]);
      }
      const both = await Promise.allSettled([set(4, { label: null }), set(4, { label: "late" })]);
      assert.deepEqual(
        both.map(({ status }) => status),
        ["fulfilled", "rejected"],
      );
      assert.equal((await at.row(key)).settings.label, null);
    });

    test("what is charged adds up; of peaks the largest counts", async () => {
      const at = corner();
      const key = await at.open("a");
      const charges = [
        { input: 1, output: 2, cost: 0.25, toolPeakBytes: 10 },
        { input: 10, cacheRead: 3, cacheWrite: 4, toolPeakBytes: 30 },
        { steps: 1, toolCalls: 2, modelMs: 3, wallMs: 4, toolCpuMs: 5, cost: 0.5, toolPeakBytes: 20 },
        {},
      ];
      await Promise.all(charges.map((usage) => at.store.commit([{ do: "charge", key, usage }])));
      const expected = {
        ...NO_USAGE,
        ...{ input: 11, output: 2, cacheRead: 3, cacheWrite: 4, cost: 0.75 },
        ...{ steps: 1, toolCalls: 2, modelMs: 3, wallMs: 4, toolCpuMs: 5, toolPeakBytes: 30 },
      };
      assert.deepEqual((await at.row(key)).usage, expected);
      await at.reopen();
      assert.deepEqual((await at.row(key)).usage, expected);
    });

    test("what is charged to a session counts in the trees above it, also when its parent is gone", async () => {
      const at = corner();
      const root = await at.open("root");
      const child = at.key("child");
      const grandchild = at.key("grandchild");
      const alone = await at.open("alone");
      await at.store.commit([
        { ...at.opening(child), parent: root },
        { ...at.opening(grandchild), parent: child },
        { do: "charge", key: root, usage: { steps: 1, toolPeakBytes: 5 } },
      ]);
      assert.equal((await at.row(root)).tree, null); // nobody below it has used anything
      const before = await at.row(root);
      at.world.pass(60_000);
      await at.store.commit([
        { do: "charge", key: grandchild, usage: { steps: 2, cost: 0.5, toolPeakBytes: 9 } },
      ]);
      await at.store.commit([{ do: "charge", key: child, usage: { steps: 4 } }]);
      const stepsOf = async (key: SessionKey): Promise<(number | undefined)[]> => {
        const { usage, tree } = await at.row(key);
        return [usage.steps, tree?.steps, tree?.cost, tree?.toolPeakBytes];
      };
      await at.reopen();
      assert.deepEqual(await stepsOf(root), [1, 7, 0.5, 9]);
      assert.deepEqual(await stepsOf(child), [4, 6, 0.5, 9]);
      assert.deepEqual(await stepsOf(grandchild), [2, undefined, undefined, undefined]);
      assert.equal((await at.row(alone)).tree, null);
      assert.equal((await at.row(root)).updatedAtMs, before.updatedAtMs); // it did nothing itself
      await at.store.commit([{ do: "delete", key: child, expect: null }]);
      await at.store.commit([{ do: "charge", key: grandchild, usage: { steps: 8 } }]);
      assert.deepEqual(await stepsOf(root), [1, 15, 0.5, 9]);
    });

    test("where a message came from is kept beside where answers go", async () => {
      const at = corner();
      const key = await at.open("a");
      const route = { channel: "c", to: "t", thread: "1" };
      const origin: Origin = {
        ...{ channel: "c", account: "work", chatType: "group", peer: "g" },
        ...{ sender: "ada", thread: "1", subject: "Roses" },
      };
      await at.store.commit([{ do: "reroute", key, fence: 0, route, origin }]);
      await at.reopen();
      assert.deepEqual([(await at.row(key)).route, (await at.row(key)).origin], [route, origin]);
    });

    test("signals, revivals, settings and charges need no fence, also when the session has an owner or has ended", async () => {
      const at = corner();
      const key = await at.open("a");
      await at.post(key, "work");
      await at.claim("somebody");
      const free = [
        { do: "signal", key, signal: "pause" },
        { do: "revive", key },
        { do: "set", key, version: null, settings: { label: "x" } },
        { do: "charge", key, usage: { steps: 1 } },
      ] as const;
      await at.store.commit([...free, at.posting(key, "more")]);
      const row = await at.row(key);
      assert.deepEqual([row.signal, row.settings.label, row.usage.steps], ["pause", "x", 1]);
      const over = await at.open("b");
      await at.end(over);
      await at.store.commit(free.map((change) => ({ ...change, key: over })));
      assert.equal((await at.row(over)).usage.steps, 1);
    });

    test("what a caller does to its objects afterwards does not reach the store", async () => {
      const at = corner();
      const key = await at.open("a");
      const state = { kind: "queued" as const, sinceMs: 1 };
      const body = { list: [1] };
      const timer = at.timer("t", key, { body });
      await at.store.commit([
        { do: "run", key, fence: 0, state },
        { do: "setTimer", timer, expectDueAtMs: null },
      ]);
      state.sinceMs = 2;
      body.list.push(2);
      assert.deepEqual((await at.row(key)).state, { kind: "queued", sinceMs: 1 });
      assert.deepEqual((await at.timers())[0]?.body, { list: [1] });
    });
  });
}
