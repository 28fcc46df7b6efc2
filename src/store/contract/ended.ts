// Sessions that end, and sessions that begin again.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SessionKey } from "../../routing/key.ts";
import type { RunState, Session } from "../../sessions/session.ts";
import type { Change } from "../change.ts";
import { withoutTrace, type Corner } from "./corner.ts";
import { ended, noted, said } from "./samples.ts";

const RUNNING: RunState = { kind: "running", sinceMs: 1, turn: "t", step: 1 };

export function endedContract(corner: () => Corner): void {
  describe("an end", () => {
    endContract(corner);
  });
  describe("revive", () => {
    reviveContract(corner);
  });
}

function taking(key: SessionKey, ...ids: readonly string[]): Change {
  return { do: "take", key, fence: 0, ids };
}

function ending(key: SessionKey, fence = 0): Change {
  return { do: "run", key, fence, state: ended(1) };
}

function endContract(corner: () => Corner): void {
  test("a session that ends forwards what it has not taken to the next address that lives", async () => {
    const at = corner();
    const [a, b, c, d] = [await at.open("a"), await at.open("b"), await at.open("c"), await at.open("d")];
    await at.post(d, "0");
    await at.post([a, b, c, d], "1");
    await at.post([a, d], "2");
    const taken = await at.post([a, d], "3");
    await at.post(d, "4");
    await at.end(b);
    await at.store.commit([taking(a, taken.id), ending(a)]);
    assert.deepEqual(await at.waiting(a), []);
    assert.deepEqual(await at.waiting(c), ["1"]);
    assert.deepEqual(await at.waiting(d), ["0", "2", "4"]); // in the order of their posting
    await at.end(c);
    assert.deepEqual(await at.waiting(d), ["0", "1", "2", "4"]);
    assert.deepEqual(
      (await at.mail(d)).map(({ to }) => to),
      [d, d, d, d],
    );
    assert.equal((await at.post([a, b, c, d], "1")).repeated, true);
  });

  test("a session does not end over letters that nobody else could read, and forwards none of the others then", async () => {
    const at = corner();
    const [a, over, parent] = [await at.open("a"), await at.open("over"), await at.open("parent")];
    await at.end(over);
    await at.post([a, parent], "for either");
    const alone = await at.post(a, "for it alone");
    const late = await at.post([a, over, at.key("nobody"), a], "for those who cannot");
    const words = await at.store.commit([ending(a)]).catch((error: Error) => error.message);
    assert.equal(words, `letters wait for ${a} that nobody else could read: 2`);
    await withoutTrace(at, "unread", [{ do: "charge", key: parent, usage: { steps: 1 } }, ending(a)]);
    await withoutTrace(at, "unread", [taking(a, late.id), ending(a)]);
    await withoutTrace(at, "unread", [ending(a), taking(a, alone.id, late.id)]); // it is too late to read them
    assert.equal((await at.row(a)).state.kind, "idle");
    await at.reopen();
    await withoutTrace(at, "unread", [ending(a)]);
    await at.store.commit([taking(a, alone.id, late.id), ending(a)]);
    assert.equal((await at.row(a)).state.kind, "ended");
    assert.deepEqual([await at.waiting(a), await at.waiting(parent)], [[], ["for either"]]);
  });

  test("what the commit did before counts: a letter that it posted, an address that it opened or ended", async () => {
    const at = corner();
    const [a, b] = [await at.open("a"), await at.open("b")];
    await withoutTrace(at, "unread", [at.posting(a, "1"), ending(a)]);
    await at.post([a, b], "2");
    await withoutTrace(at, "unread", [ending(b), ending(a)]);
    await withoutTrace(at, "unread", [ending(a), ending(b)]); // It went to b.
    await withoutTrace(at, "unread", [{ do: "delete", key: b, expect: null }, ending(a)]);
    const late = at.key("late");
    await at.post([a, late], "3");
    await withoutTrace(at, "unread", [ending(a), at.opening(late)]);
    await at.store.commit([at.opening(late), ending(a)]);
    assert.deepEqual([await at.waiting(b), await at.waiting(late)], [["2"], ["3"]]);
  });

  test("whoever may not end a session is told that first, and one that is deleted need not have read anything", async () => {
    const at = corner();
    const key = await at.open("a");
    await at.post(key, "1");
    await withoutTrace(at, "stale_writer", [ending(key, 7)]);
    await at.store.commit([{ do: "delete", key, expect: null }]);
    assert.deepEqual(await at.waiting(key), []);
  });
}

function reviveContract(corner: () => Corner): void {
  test("what has ended begins again with the same transcript, settings and usage, and hears no old signal", async () => {
    const at = corner();
    const key = await at.talk("a", ["1"]);
    await at.store.commit([
      { do: "set", key, version: 1, settings: { label: "x" } },
      { do: "charge", key, usage: { steps: 1 } },
      { do: "signal", key, signal: "kill" },
    ]);
    await at.end(key);
    const before = await at.row(key);
    assert.equal(before.signal, "kill");
    const cursor = await at.now();
    at.world.pass(5_000);
    await at.store.commit([{ do: "revive", key }]);
    const alive: Session = {
      ...before,
      state: { kind: "idle" },
      signal: "none",
      updatedAtMs: at.world.nowMs(),
    };
    assert.deepEqual(await at.row(key), alive);
    assert.deepEqual((await at.feed(cursor)).changes, [{ key, lastSeq: 1, deleted: false }]);
    await at.reopen();
    assert.deepEqual(await at.row(key), alive);
    const listed = await at.store.sessions({ agent: at.agent, state: "ended" });
    assert.deepEqual(listed.rows, []);
  });

  test("what was revived is written to, has work, runs and ends like any other, also after a restart", async () => {
    const at = corner();
    for (const restarts of [false, true]) {
      const key = await at.talk(`restarts: ${restarts}`, ["1"]);
      await at.end(key);
      await withoutTrace(at, "ended", [at.posting(key, `early ${restarts}`)]);
      await at.store.commit([{ do: "revive", key }]);
      if (restarts) await at.reopen();
      assert.equal((await at.claim("somebody")).has(key), false);
      const letter = await at.post(key, `letter ${restarts}`);
      assert.equal(letter.to, key);
      const fence = (await at.claim("somebody")).get(key);
      assert(fence !== undefined, "a letter is work");
      await at.append(key, [said("2")], { fence });
      await at.run(key, RUNNING, fence);
      if (restarts) await at.reopen();
      assert.deepEqual((await at.row(key)).state, RUNNING);
      assert.deepEqual(await at.seqs(key, { from: 1 }), [1, 2]);
      at.world.pass(20_000); // longer than the lease
      const owner = (await at.claim("another")).get(key);
      assert(owner !== undefined, "a turn that stopped in the middle is work");
      await withoutTrace(at, "unread", [ending(key, owner)]);
      await at.store.commit([
        { do: "take", key, fence: owner, ids: [letter.id] },
        { do: "run", key, fence: owner, state: ended(2) },
      ]);
      assert.equal((await at.row(key)).state.kind, "ended");
    }
  });

  test("a revival and a letter are one commit, in this order", async () => {
    const at = corner();
    const [key, parent] = [await at.open("a"), await at.open("b")];
    await at.end(key);
    await withoutTrace(at, "ended", [at.posting(key, "1"), { do: "revive", key }]);
    const receipt = await at.store.commit([
      { do: "revive", key },
      at.posting([key, parent], "2"),
      { do: "run", key, fence: 0, state: RUNNING },
    ]);
    assert.deepEqual(
      receipt.posts.map(({ to }) => to),
      [key],
    );
    await at.reopen();
    assert.deepEqual([await at.waiting(key), await at.waiting(parent)], [["2"], []]);
    assert.deepEqual((await at.row(key)).state, RUNNING);
    // One that ends and is revived at once has forwarded its mail all the same.
    const ended = await at.store.commit([ending(key), { do: "revive", key }]);
    assert.deepEqual([receipt.forwarded, ended.forwarded], [[], [parent]]);
    assert.deepEqual([await at.waiting(key), await at.waiting(parent)], [[], ["2"]]);
  });

  test("nobody is born below one that has ended, or is to die", async () => {
    const at = corner();
    const [dead, dying] = [await at.open("a"), await at.open("b")];
    await at.end(dead);
    await at.store.commit([{ do: "signal", key: dying, signal: "kill" }]);
    for (const parent of [dead, dying])
      await withoutTrace(at, "ended", [at.opening(at.key("c"), { parent })]);
    await at.store.commit([{ do: "revive", key: dead }, at.opening(at.key("c"), { parent: dead })]);
    assert.equal((await at.row(at.key("c"))).parent, dead);
  });

  test("to a session that lives a revival does nothing, not even to its signal", async () => {
    const at = corner();
    const states: readonly RunState[] = [{ kind: "idle" }, RUNNING, { kind: "paused", sinceMs: 1 }];
    for (const [n, state] of states.entries()) {
      for (const signal of ["none", "pause", "kill"] as const) {
        const key = await at.open(`${n} ${signal}`);
        await at.append(key, [noted(n)]);
        await at.store.commit([{ do: "signal", key, signal }]);
        await at.run(key, state);
        const before = await at.row(key);
        at.world.pass(5_000);
        await at.store.commit([{ do: "revive", key }]);
        assert.deepEqual(await at.row(key), before);
      }
    }
  });

  test("a session that is not there cannot be revived, and one that was deleted neither", async () => {
    const at = corner();
    await withoutTrace(at, "not_found", [{ do: "revive", key: at.key("nobody") }]);
    const key = await at.talk("a", ["1"]);
    await at.store.commit([ending(key), { do: "delete", key, expect: null }]);
    await withoutTrace(at, "not_found", [{ do: "revive", key }]);
  });
}
