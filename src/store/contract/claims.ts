// Who may make fenced changes (S4).

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { RunState, Signal } from "../../sessions/session.ts";
import type { Change } from "../change.ts";
import { refused, withoutTrace, type Corner } from "./corner.ts";
import { ended, said } from "./samples.ts";

export function claimContract(corner: () => Corner): void {
  describe("claims", () => {
    test("mail, a signal, or a turn that stopped in the middle is work; a wish to pause is not", async () => {
      const at = corner();
      const idle: RunState = { kind: "idle" };
      const queued: RunState = { kind: "queued", sinceMs: 1 };
      const running: RunState = { kind: "running", sinceMs: 1, turn: "t", step: 1 };
      const waiting: RunState = { kind: "waiting", sinceMs: 1, for: "children" };
      const paused: RunState = { kind: "paused", sinceMs: 1 };
      const over = ended(1);
      const cases: readonly (readonly [RunState, Signal, mail: boolean, work: boolean])[] = [
        [idle, "none", false, false],
        [idle, "none", true, true],
        [idle, "pause", true, false],
        [idle, "kill", false, true],
        [queued, "none", false, true],
        [queued, "pause", false, true], // to be parked
        [running, "none", false, true],
        [running, "pause", true, true],
        [waiting, "none", false, false],
        [waiting, "none", true, true],
        [waiting, "pause", false, true],
        [waiting, "kill", false, true],
        [paused, "pause", false, false],
        [paused, "pause", true, false],
        [paused, "none", false, true], // to go on
        [paused, "kill", true, true],
        [over, "none", false, false],
        [over, "kill", false, false],
      ];
      const keys = [];
      for (const [n, [state, signal, mail]] of cases.entries()) {
        const key = await at.open(`${n}`);
        keys.push(key);
        if (mail) await at.post(key, `${n}`);
        if (signal !== "none") await at.store.commit([{ do: "signal", key, signal }]);
        await at.run(key, state);
      }
      await at.reopen();
      const claimed = await at.claim("somebody");
      assert.deepEqual(
        keys.map((key) => claimed.has(key)),
        cases.map(([, , , work]) => work),
      );
    });

    test("a signal is heard at once", async () => {
      const at = corner();
      const [killed, woken] = [await at.open("a"), await at.open("b")];
      await at.store.commit([{ do: "signal", key: woken, signal: "pause" }]);
      await at.run(woken, { kind: "paused", sinceMs: 1 });
      assert.equal((await at.claim("one")).size, 0);
      await at.store.commit([{ do: "signal", key: killed, signal: "kill" }]);
      assert.deepEqual([...(await at.claim("one")).keys()], [killed]);
      await at.store.commit([{ do: "signal", key: woken, signal: "none" }]);
      assert.deepEqual([...(await at.claim("one")).keys()], [woken]);
    });

    test("an answer to deliver is its session's owner's work, also after the session has ended", async () => {
      const at = corner();
      await at.claim("another"); // whatever other tests left
      const [key, other] = [await at.open("a"), await at.open("b")];
      await at.store.commit([
        { do: "run", key, fence: 0, state: { kind: "ended", atMs: 1, outcome: "done", reason: null } },
        at.sending("x", key),
        at.sending("y", other),
      ]);
      await at.store.commit([{ do: "settle", id: at.id("y"), refused: "nobody there" }]);
      const fence = (await at.claim("one")).get(key) ?? 0;
      assert.ok(fence > 0);
      assert.equal((await at.claim("two")).size, 0);
      const mine = await at.store.outbox({ refused: false, key });
      assert.deepEqual(
        mine.rows.map(({ id }) => id),
        [at.id("x")],
      );
      assert.deepEqual((await at.store.outbox({ refused: false, key: other })).rows, []);
      assert.equal((await at.store.outbox({ refused: true, key: other })).rows.length, 1);
      await at.store.commit([{ do: "settle", id: at.id("x"), refused: null }]);
      await at.store.release([{ key, fence }]);
      assert.equal((await at.claim("two")).size, 0);
    });

    test("work that is done is no work", async () => {
      const at = corner();
      const key = await at.open("a");
      const letter = await at.post(key, "x");
      const fence = (await at.claim("one")).get(key) ?? 0;
      await at.store.commit([
        { do: "take", key, fence, ids: [letter.id] },
        { do: "run", key, fence, state: { kind: "queued", sinceMs: 1 } },
      ]);
      await at.store.release([{ key, fence }]);
      const next = (await at.claim("two")).get(key) ?? 0;
      await at.run(key, { kind: "idle" }, next);
      await at.store.release([{ key, fence: next }]);
      assert.equal((await at.claim("three")).size, 0);
    });

    test("a session has one owner at a time, and every claim has a larger fence than the one before", async () => {
      const at = corner();
      const keys = [await at.open("a"), await at.open("b"), await at.open("c")];
      for (const key of keys) await at.post(key, key);
      const both = await Promise.all([at.claim("one"), at.claim("two")]);
      assert.deepEqual(
        both.map(({ size }) => size),
        [3, 0],
      );
      let fences = both[0];
      for (let turn = 0; turn < 3; turn += 1) {
        await at.store.release([...fences].map(([key, fence]) => ({ key, fence })));
        const next = await at.claim("two");
        for (const key of keys) assert.ok((next.get(key) ?? 0) > (fences.get(key) ?? 0));
        fences = next;
      }
    });

    test("no more are claimed than were asked for", async () => {
      const at = corner();
      await at.claim("another"); // whatever other tests left
      for (const name of ["a", "b", "c"]) await at.post(await at.open(name), name);
      await at.run(await at.open("d"), { kind: "queued", sinceMs: 1 });
      await at.post(at.key("d"), "both"); // counts once
      const sizes = [];
      for (const limit of [0, -1, 1, 2, 2, 2]) sizes.push((await at.claim("one", 10_000, limit)).size);
      assert.deepEqual(sizes, [0, 0, 1, 2, 1, 0]);
    });

    test("whoever asks for a few again and again gets everybody", async () => {
      const at = corner();
      await at.claim("another"); // whatever other tests left
      const keys = ["a", "b", "c", "d"].map((name) => at.key(name));
      for (const name of ["a", "b", "c", "d"]) await at.post(await at.open(name), name);
      const seen = new Set<string>();
      for (let turn = 0; turn < keys.length; turn += 1) {
        const claims = await at.claim("one", 10_000, 1);
        for (const [key, fence] of claims) {
          seen.add(key);
          await at.store.release([{ key, fence }]); // its letter still waits
        }
      }
      assert.deepEqual([...seen].toSorted(), keys);
    });

    test("a claim sees what was committed before it, also if nobody waited for that", async () => {
      const at = corner();
      await at.claim("another");
      const key = at.key("a");
      const opened = at.store.commit([at.opening(key)]);
      const posted = at.post(key, "x");
      assert.deepEqual([...(await at.claim("one")).keys()], [key]);
      await Promise.all([opened, posted]);
    });

    test("a lease runs out, unless it is renewed or was not taken over", async () => {
      const at = corner();
      const key = await at.open("a");
      await at.post(key, "x");
      const first = { key, fence: (await at.claim("one", 1_000)).get(key) ?? 0 };
      at.world.pass(999);
      assert.equal((await at.claim("two", 1_000)).size, 0);
      assert.deepEqual(await at.store.renew([first], 1_000), [first]);
      at.world.pass(999);
      assert.equal((await at.claim("two", 1_000)).size, 0);
      at.world.pass(1_000);
      // It slept past its lease, but nobody has claimed the session.
      assert.deepEqual(await at.store.renew([first], 1_000), [first]);
      at.world.pass(1_000);
      // By the same owner: what it held before is lost all the same, so that two turns of one owner never both hold.
      const second = { key, fence: (await at.claim("one", 1_000)).get(key) ?? 0 };
      assert.ok(second.fence > first.fence);
      assert.deepEqual(await at.store.renew([first], 1_000), []);
      const nobody = { key: at.key("nobody"), fence: second.fence };
      assert.deepEqual(await at.store.renew([second, nobody], 1_000), [second]);
    });

    test("a released session can be claimed at once, and is not the releaser's any more", async () => {
      const at = corner();
      const key = await at.open("a");
      await at.post(key, "x");
      const claim = { key, fence: (await at.claim("one")).get(key) ?? 0 };
      await at.store.release([{ key, fence: claim.fence + 1 }]); // not its to release
      assert.equal((await at.claim("two")).size, 0);
      await at.store.release([claim, { key: at.key("nobody"), fence: claim.fence }]);
      assert.deepEqual(await at.store.renew([claim], 1_000), []);
      assert.equal((await at.claim("two")).size, 1);
    });

    test("a lost lease is stale: its fence cannot append, take, run or reroute", async () => {
      const at = corner();
      const key = await at.open("a");
      const letter = await at.post(key, "x");
      const old = (await at.claim("one", 1_000)).get(key) ?? 0;
      at.world.pass(1_000);
      const fence = (await at.claim("two", 1_000)).get(key) ?? 0;
      const fenced = async (as: number): Promise<Change[]> => [
        await at.appending(key, [said("x")], { fence: as }),
        { do: "take", key, fence: as, ids: [letter.id] },
        { do: "run", key, fence: as, state: { kind: "queued", sinceMs: 1 } },
        { do: "reroute", key, fence: as, route: null, origin: null },
      ];
      for (const stale of [0, old, fence + 1]) {
        for (const change of await fenced(stale)) await withoutTrace(at, "stale_writer", [change]);
      }
      await at.store.commit(await fenced(fence));
      // The fence holds after the lease has run out or was let go, until somebody else claims.
      await at.store.release([{ key, fence }]);
      await at.run(key, { kind: "queued", sinceMs: 2 }, fence);
    });

    test("a session opened anew under a deleted key has no owner, and the old one's fence is stale", async () => {
      const at = corner();
      const key = await at.open("a");
      await at.post(key, "x");
      const old = (await at.claim("one")).get(key) ?? 0;
      await at.store.commit([{ do: "delete", key, expect: null }]);
      assert.deepEqual(await at.store.renew([{ key, fence: old }], 1_000), []);
      await at.open("a");
      await refused("stale_writer", at.append(key, [said("x")], { fence: old }));
      await at.append(key, [said("x")]); // as after any birth
      await at.post(key, "y");
      const fence = (await at.claim("two")).get(key) ?? 0;
      assert.ok(fence > old);
      await refused("stale_writer", at.append(key, [said("x")], { fence: old }));
    });

    test("a deletion that is refused leaves the owner its lease", async () => {
      const at = corner();
      const key = await at.open("a");
      await at.post(key, "x");
      const fence = (await at.claim("one")).get(key) ?? 0;
      const nobody = at.key("nobody");
      await refused(
        "not_found",
        at.store.commit([
          { do: "delete", key, expect: null },
          { do: "delete", key: nobody, expect: null },
        ]),
      );
      assert.equal((await at.claim("two")).size, 0);
      assert.deepEqual(await at.store.renew([{ key, fence }], 1_000), [{ key, fence }]);
      await at.append(key, [said("x")], { fence });
    });
  });
}
