// What followers are told.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SessionKey } from "../../routing/key.ts";
import type { Changed } from "../store.ts";
import { Corner, refused, type Open } from "./corner.ts";
import { noted, said } from "./samples.ts";

export function feedContract(corner: () => Corner, open: Open): void {
  describe("feed", () => {
    test("every commit that changes a session is told, in order", async () => {
      const at = corner();
      const start = await at.now();
      const a = await at.open("a");
      const b = await at.talk("b", ["1"]);
      await at.append(a, [said("1"), said("2")]);
      await at.store.commit([{ do: "charge", key: b, usage: { steps: 1 } }]);
      assert.deepEqual((await at.feed(start)).changes, [
        told(a, 0),
        told(b, 0),
        told(b, 1),
        told(a, 2),
        told(b, 1),
      ]);
    });

    test("whatever changes a row is told; mail, timers and answers are not", async () => {
      const at = corner();
      const key = await at.talk("a", ["1"]);
      let cursor = await at.now();
      const news = async (): Promise<Changed[]> => {
        const page = await at.feed(cursor);
        cursor = page.cursor;
        return page.changes;
      };
      await at.run(key, { kind: "queued", sinceMs: 1 });
      assert.deepEqual(await news(), [told(key, 1)]);
      await at.store.commit([{ do: "reroute", key, fence: 0, route: null, origin: null }]);
      assert.deepEqual(await news(), [told(key, 1)]);
      await at.store.commit([{ do: "signal", key, signal: "pause" }]);
      assert.deepEqual(await news(), [told(key, 1)]);
      await at.store.commit([{ do: "set", key, version: null, settings: { label: "x" } }]);
      assert.deepEqual(await news(), [told(key, 1)]);
      await at.append(key, [noted(1)]);
      assert.deepEqual(await news(), [told(key, 2)]);
      const { id } = await at.post(key, "x");
      await at.store.commit([{ do: "take", key, fence: 0, ids: [id] }]);
      await at.store.commit([{ do: "setTimer", timer: at.timer("t", key), expectDueAtMs: null }]);
      await at.store.commit([at.sending("x", key)]);
      assert.deepEqual(await news(), []);
    });

    test("a deletion is told, also when the key is opened anew in the same commit", async () => {
      const at = corner();
      const [a, b] = [await at.talk("a", ["1"]), await at.open("b")];
      const cursor = await at.now();
      await at.store.commit([{ do: "delete", key: a, expect: null }]);
      assert.deepEqual((await at.feed(cursor)).changes, [told(a, 0, true)]);
      const again = await at.now();
      await at.store.commit([
        { do: "charge", key: b, usage: { steps: 1 } },
        { do: "delete", key: b, expect: null },
        at.opening(b),
      ]);
      assert.deepEqual((await at.feed(again)).changes, [told(b, 0, true), told(b, 0)]);
      const last = await at.now();
      await at.store.commit([
        { do: "delete", key: b, expect: null },
        at.opening(b),
        { do: "delete", key: b, expect: null },
      ]);
      assert.deepEqual((await at.feed(last)).changes, [told(b, 0, true)]);
    });

    test("a deletion is told when others open the key anew at the same time", async () => {
      const at = corner();
      const key = await at.talk("a", ["1"]);
      const cursor = await at.now();
      await Promise.all([
        at.store.commit([{ do: "delete", key, expect: null }]),
        at.store.commit([at.opening(key)]),
        at.store.commit([{ do: "charge", key, usage: { steps: 1 } }]),
      ]);
      const { changes } = await at.feed(cursor);
      assert.deepEqual(changes[0], told(key, 0, true));
      assert.deepEqual(changes.at(-1), told(key, 0));
    });

    test("a receipt's cursor stands after its commit and before the next, whatever was committed", async () => {
      const at = corner();
      const key = await at.open("a");
      const receipts = [
        await at.append(key, [said("1")]),
        await at.store.commit([at.posting(key, "x")]), // tells nothing
        await at.store.commit([]),
      ];
      const before = await Promise.all(receipts.map(({ cursor }) => at.feed(cursor)));
      assert.deepEqual(
        before.map(({ changes }) => changes),
        [[], [], []],
      );
      await at.append(key, [said("2")]);
      const after = await Promise.all(receipts.map(({ cursor }) => at.feed(cursor)));
      assert.deepEqual(
        after.map(({ changes }) => changes),
        [[told(key, 2)], [told(key, 2)], [told(key, 2)]],
      );
    });

    test("a follower that asks again and again misses nothing, however commits are grouped", async () => {
      const at = corner();
      const keys = await Promise.all(["a", "b", "c", "d"].map((name) => at.open(name)));
      let { cursor } = await at.feed(await at.now());
      const last = new Map<string, number>();
      const follow = async (): Promise<void> => {
        const page = await at.store.changesSince(cursor);
        for (const { key, lastSeq } of page.changes) {
          assert.ok(lastSeq >= (last.get(key) ?? 0), "told in order");
          last.set(key, lastSeq);
        }
        cursor = page.cursor;
      };
      const writers = keys.map(async (key) => {
        for (let n = 0; n < 25; n += 1) await at.append(key, [noted(n)]);
      });
      let writing = true;
      const written = Promise.all(writers).finally(() => (writing = false));
      while (writing) await follow();
      await written;
      await follow();
      assert.deepEqual([...last.values()], [25, 25, 25, 25]);
    });

    test("a feed goes on after a restart where it was", async () => {
      const at = corner();
      const key = await at.open("a");
      const cursor = await at.now();
      await at.append(key, [said("1")]);
      await at.reopen();
      await at.append(key, [said("2")]);
      assert.deepEqual((await at.feed(cursor)).changes, [told(key, 1), told(key, 2)]);
    });

    test("a follower may begin before anything has happened", async (t) => {
      const opened = await open();
      t.after(() => opened.close());
      const at = new Corner(opened);
      const cursor = await at.now();
      assert.deepEqual(await at.feed(cursor), { changes: [], cursor });
      const key = await at.open("a");
      assert.deepEqual((await at.feed(cursor)).changes, [told(key, 0)]);
    });

    test("null is now, and what is no cursor of this feed has expired", async () => {
      const at = corner();
      await at.open("a");
      assert.deepEqual((await at.store.changesSince(null)).changes, []);
      const now = await at.now();
      const [epoch = "", group] = now.split(".");
      for (const cursor of [
        `${epoch}.${Number(group) + 1}`,
        `${epoch}x.${group}`, // another feed's, say that of a state before it was made anew
        String(group),
        `${now} `,
        "",
        " ",
        "x",
        "-1",
        "1.5",
        "1e0",
        "0x0",
        "NaN",
        "99999999999999999999",
        "٣",
      ]) {
        await refused("cursor_expired", at.store.changesSince(cursor));
      }
    });

    test(
      "a watcher is called after a commit, and not after it has stopped",
      { timeout: 10_000 },
      async () => {
        const at = corner();
        const key = await at.open("a");
        const seen: number[] = [];
        let called = (): void => {};
        const next = (): Promise<void> => new Promise((resolve) => (called = resolve));
        const stop = at.store.watch(() => {
          seen.push(seen.length);
          called();
        });
        const first = next();
        await at.append(key, [said("1")]);
        await first;
        assert.ok(seen.length > 0);
        stop();
        const before = seen.length;
        await at.append(key, [said("2")]);
        await at.append(key, [said("3")]);
        assert.equal(seen.length, before);
        stop(); // once more changes nothing
      },
    );
  });
}

function told(key: SessionKey, lastSeq: number, deleted = false): Changed {
  return { key, lastSeq, deleted };
}
