// Things that wait for a time, and answers that wait for a door.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Timer } from "../../timers/timer.ts";
import { pages, refused, withoutTrace, type Corner } from "./corner.ts";

export function timerContract(corner: () => Corner): void {
  describe("timers", () => {
    test("a timer is set, moved and cleared by whoever knows when it is due", async () => {
      const at = corner();
      const key = await at.open("a");
      const timer = at.timer("t", key);
      const set = (to: Timer, expectDueAtMs: number | null): Promise<unknown> =>
        at.store.commit([{ do: "setTimer", timer: to, expectDueAtMs }]);
      await set(timer, null);
      assert.deepEqual(await at.timers(), [timer]);
      await withoutTrace(at, "stale_writer", [{ do: "setTimer", timer, expectDueAtMs: null }]);
      await withoutTrace(at, "stale_writer", [{ do: "setTimer", timer, expectDueAtMs: timer.dueAtMs + 1 }]);
      const moved = { ...timer, key: await at.open("b"), dueAtMs: timer.dueAtMs + 5, body: [null, "x"] };
      await set(moved, timer.dueAtMs);
      await at.reopen();
      assert.deepEqual(await at.timers(), [moved]);
      await withoutTrace(at, "stale_writer", [
        { do: "clearTimer", id: timer.id, expectDueAtMs: timer.dueAtMs },
      ]);
      await at.store.commit([{ do: "clearTimer", id: timer.id, expectDueAtMs: moved.dueAtMs }]);
      assert.deepEqual(await at.timers(), []);
      await withoutTrace(at, "stale_writer", [
        { do: "clearTimer", id: timer.id, expectDueAtMs: moved.dueAtMs },
      ]);
    });

    test("of two who fire a timer, one does; its letter is posted once", async () => {
      const at = corner();
      const key = await at.open("a");
      const timer = at.timer("t", key);
      await at.store.commit([{ do: "setTimer", timer, expectDueAtMs: null }]);
      const fire = (name: string): Promise<unknown> =>
        at.store.commit([
          at.posting(key, name),
          { do: "clearTimer", id: timer.id, expectDueAtMs: timer.dueAtMs },
        ]);
      const fired = await Promise.allSettled([fire("first"), fire("second")]);
      assert.deepEqual(
        fired.map(({ status }) => status),
        ["fulfilled", "rejected"],
      );
      assert.deepEqual(await at.waiting(key), ["first"]);
    });

    test("timers come soonest first, up to and with the time that was asked for, in pages", async () => {
      const at = corner();
      const key = await at.open("a");
      const startMs = at.world.nowMs();
      const dues = [5, 1, 3, 3, 3, 9, 2, -4];
      for (const [n, due] of dues.entries()) {
        const timer = at.timer(`${dues.length - n}`, key, { dueAtMs: startMs + due, body: n });
        await at.store.commit([{ do: "setTimer", timer, expectDueAtMs: null }]);
      }
      const due = async (byMs: number, limit?: number): Promise<number[]> => {
        const all = await pages((page) => at.store.timers({ ...page, dueByMs: startMs + byMs }), limit);
        return all.filter((timer) => timer.key === key).map(({ dueAtMs }) => dueAtMs - startMs);
      };
      assert.deepEqual(await due(100), [-4, 1, 2, 3, 3, 3, 5, 9]);
      assert.deepEqual(await due(3), [-4, 1, 2, 3, 3, 3]);
      assert.deepEqual(await due(-5), []);
      for (const limit of [1, 2, 3]) assert.deepEqual(await due(100, limit), [-4, 1, 2, 3, 3, 3, 5, 9]);
      assert.equal(new Set((await at.timers()).map(({ id }) => id)).size, dues.length);
      // Of those due together the order is always the same.
      const together = (await at.timers()).filter(({ dueAtMs }) => dueAtMs === startMs + 3);
      const ids = together.map(({ id }) => id);
      assert.deepEqual(ids, ids.toSorted());
    });

    test("a timer is found by its name, if it is due by the time that was asked for", async () => {
      const at = corner();
      const key = await at.open("a");
      const timers = ["a", "b", "c"].map((name, n) => at.timer(name, key, { dueAtMs: n * 1_000 }));
      await at.store.commit(timers.map((timer) => ({ do: "setTimer", timer, expectDueAtMs: null })));
      const found = async (id: string, dueByMs: number): Promise<readonly string[]> =>
        (await at.store.timers({ id, dueByMs })).rows.map((timer) => timer.id);
      assert.deepEqual(await found(at.id("b"), Infinity), [at.id("b")]);
      assert.deepEqual(await found(at.id("b"), 1_000), [at.id("b")]);
      assert.deepEqual(await found(at.id("b"), 999), []);
      assert.deepEqual(await found(at.id("d"), Infinity), []);
    });

    test("a timer is for a session that exists, and goes with it", async () => {
      const at = corner();
      const key = await at.open("a");
      const other = await at.open("b");
      const lost = at.timer("t", at.key("nobody"));
      await refused("not_found", at.store.commit([{ do: "setTimer", timer: lost, expectDueAtMs: null }]));
      for (const timer of [at.timer("1", key), at.timer("2", key), at.timer("3", other)]) {
        await at.store.commit([{ do: "setTimer", timer, expectDueAtMs: null }]);
      }
      await at.store.commit([{ do: "delete", key, expect: null }]);
      assert.deepEqual(
        (await at.timers()).map(({ id }) => id),
        [at.id("3")],
      );
    });

    test("what a timer is about comes back as it was", async () => {
      const at = corner();
      const key = await at.open("a");
      const bodies = [null, 0, "", "é\0", [], { deep: [{ "": null }] }];
      for (const [n, body] of bodies.entries()) {
        const timer = at.timer(`${n}`, key, { body, dueAtMs: n });
        await at.store.commit([{ do: "setTimer", timer, expectDueAtMs: null }]);
      }
      assert.deepEqual(
        (await at.timers(100)).map(({ body }) => body),
        bodies,
      );
    });
  });
}

export function outboxContract(corner: () => Corner): void {
  describe("outbox", () => {
    test("an answer waits until it is delivered", async () => {
      const at = corner();
      const key = await at.open("a");
      const send = at.sending("x", key);
      await at.store.commit([send]);
      const expected = { ...send.outgoing, postedAtMs: at.world.nowMs(), refused: null };
      assert.deepEqual(await at.outbox(false), [expected]);
      await at.reopen();
      assert.deepEqual(await at.outbox(false), [expected]);
      await withoutTrace(at, "conflict", [send]);
      await at.store.commit([{ do: "settle", id: send.outgoing.id, refused: null }]);
      assert.deepEqual(await at.outbox(false), []);
      await withoutTrace(at, "not_found", [{ do: "settle", id: send.outgoing.id, refused: null }]);
    });

    test("an answer that will not be delivered stays, with the reason, until someone sees to it", async () => {
      const at = corner();
      const key = await at.open("a");
      await at.store.commit([at.sending("x", key), at.sending("y", key)]);
      await at.store.commit([{ do: "settle", id: at.id("x"), refused: "no such chat" }]);
      const ids = async (refused_: boolean): Promise<unknown[]> =>
        (await at.outbox(refused_)).map(({ id, refused: why }) => [id, why]);
      assert.deepEqual(await ids(false), [[at.id("y"), null]]);
      assert.deepEqual(await ids(true), [[at.id("x"), "no such chat"]]);
      await withoutTrace(at, "conflict", [at.sending("x", key)]);
      await at.store.commit([{ do: "settle", id: at.id("x"), refused: null }]);
      assert.deepEqual(await ids(true), []);
    });

    test("answers come oldest first, in pages that go on after what was delivered meanwhile", async () => {
      const at = corner();
      const key = await at.open("a");
      const names = ["e", "d", "c", "b", "a"];
      await at.store.commit(names.map((name) => at.sending(name, key)));
      // A commit that is refused must not move what it touched.
      await refused(
        "not_found",
        at.store.commit([
          { do: "settle", id: at.id("e"), refused: null },
          { do: "delete", key: at.key("nobody"), expect: null },
        ]),
      );
      const expected = names.map((name) => at.id(name));
      for (const limit of [1, 2, 500]) {
        const all = await pages((page) => at.store.outbox({ ...page, refused: false }), limit);
        assert.deepEqual(
          all.filter((each) => each.key === key).map(({ id }) => id),
          expected,
        );
      }
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof at.store.outbox>> = await at.store.outbox({
          cursor,
          limit: 1,
          refused: false,
        });
        for (const { id } of page.rows.filter((each) => each.key === key)) {
          seen.push(id);
          await at.store.commit([{ do: "settle", id, refused: null }]);
        }
        cursor = page.next;
      } while (cursor !== null);
      assert.deepEqual(seen, expected);
    });

    test("an answer is of a session that exists, and goes with it", async () => {
      const at = corner();
      const key = await at.open("a");
      await refused("not_found", at.store.commit([at.sending("x", at.key("nobody"))]));
      await at.store.commit([at.sending("x", key), at.sending("y", key)]);
      await at.store.commit([{ do: "settle", id: at.id("y"), refused: "no" }]);
      await at.store.commit([{ do: "delete", key, expect: null }]);
      assert.deepEqual([await at.outbox(false), await at.outbox(true)], [[], []]);
    });
  });
}
