// The end of a session, and of a store.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionKey } from "../../routing/key.ts";
import type { Change, Untouched } from "../change.ts";
import { pages, refused, withoutTrace, Corner, type Open } from "./corner.ts";
import { ended, noted, said } from "./samples.ts";

export function deleteContract(corner: () => Corner): void {
  describe("delete", () => {
    test("everything of a session goes with it, and nothing of another", async () => {
      const at = corner();
      const [key, other] = [await at.talk("a", ["words"]), await at.talk("b", ["words"])];
      for (const each of [key, other]) {
        await at.store.commit([
          at.posting(each, `letter ${each}`),
          { do: "setTimer", timer: at.timer(`timer ${each}`, each), expectDueAtMs: null },
          at.sending(`answer ${each}`, each),
        ]);
      }
      const row = await at.row(key);
      await at.store.commit([{ do: "delete", key, expect: null }]);
      const check = async (): Promise<void> => {
        assert.equal(await at.store.session(key), null);
        await refused("not_found", Array.fromAsync(at.store.entries(row.transcript.id, { since: 0 })));
        assert.deepEqual(await at.mail(key), []);
        assert.deepEqual(
          (await at.timers()).map((timer) => timer.key),
          [other],
        );
        assert.deepEqual(
          (await at.outbox(false)).map((outgoing) => outgoing.key),
          [other],
        );
        const rows = await pages((page) => at.store.sessions({ ...page, agent: at.agent }));
        assert.deepEqual(
          rows.map((each) => each.key),
          [other],
        );
        assert.equal((await at.mail(other)).length, 1);
        assert.deepEqual(await at.seqs(other, { from: 1 }), [1]);
      };
      await check();
      await at.reopen();
      await check();
      await withoutTrace(at, "not_found", [{ do: "delete", key, expect: null }]);
    });

    test("a deleted key can be opened anew, with a new transcript and no memory", async () => {
      const at = corner();
      const key = await at.talk("a", ["old"]);
      const { transcript } = await at.row(key);
      await at.store.commit([
        { do: "set", key, version: null, settings: { label: "old" } },
        { do: "charge", key, usage: { input: 1 } },
      ]);
      await at.store.commit([{ do: "delete", key, expect: null }]);
      await withoutTrace(at, "exists", [at.opening(key, { transcript: transcript.id })]);
      await at.open("a");
      await at.append(key, [said("new")]);
      const row = await at.row(key);
      assert.deepEqual([row.title, row.settings.label, row.usage.input], ["new", null, 0]);
      assert.deepEqual(await at.seqs(key, { since: 0 }), [1]);
      await at.store.commit([{ do: "delete", key, expect: null }]);
      await at.open("a");
      assert.deepEqual(await at.seqs(key, { since: 0 }), []);
    });

    test("whoever found that a session may go is refused when something has happened to it since", async () => {
      const at = corner();
      const key = await at.talk("a", ["1"]);
      const seen = async (): Promise<Untouched> => {
        const { id, lastSeq } = (await at.row(key)).transcript;
        return { transcript: id, lastSeq };
      };
      const first = await seen();
      await at.append(key, [said("2")]);
      await withoutTrace(at, "stale_writer", [{ do: "delete", key, expect: first }]);
      const second = await seen();
      const letter = await at.post(key, "x");
      await withoutTrace(at, "stale_writer", [{ do: "delete", key, expect: second }]);
      await at.store.commit([{ do: "take", key, fence: 0, ids: [letter.id] }]);
      await at.store.commit([{ do: "delete", key, expect: second }]);
      await at.talk("a", ["1", "2"]);
      await withoutTrace(at, "stale_writer", [{ do: "delete", key, expect: second }]); // another one of its key
    });

    test("last words, a letter to another, the end and the deletion of a session are one commit", async () => {
      const at = corner();
      const [key, parent] = [await at.talk("a", ["1"]), await at.open("parent")];
      const { transcript } = await at.row(key);
      const asked = await at.post(key, "asked");
      await at.post([key, parent], "forwarded");
      const cursor = await at.now();
      const receipt = await at.store.commit([
        { do: "take", key, fence: 0, ids: [asked.id] },
        await at.appending(key, [said("last words"), noted("the end")]),
        at.posting([parent], "report"),
        { do: "run", key, fence: 0, state: ended(1) },
        { do: "delete", key, expect: { transcript: transcript.id, lastSeq: 3 } },
      ]);
      assert.deepEqual(receipt.seqs, { [key]: 3 });
      assert.deepEqual((await at.feed(cursor)).changes, [{ key, lastSeq: 0, deleted: true }]);
      const check = async (): Promise<void> => {
        assert.equal(await at.store.session(key), null);
        await refused("not_found", Array.fromAsync(at.store.entries(transcript.id, { since: 0 })));
        assert.deepEqual([await at.waiting(key), await at.waiting(parent)], [[], ["forwarded", "report"]]);
        await withoutTrace(at, "exists", [at.opening(key, { transcript: transcript.id })]); // its tombstone
      };
      await check();
      await at.reopen();
      await check();
      await at.open("a");
      assert.deepEqual(await at.seqs(key, { since: 0 }), []);
    });

    test("whoever found that a session may go is refused when it has a child since, unless that one goes first", async () => {
      const at = corner();
      const [parent, child, grandchild] = [await at.open("parent"), at.key("child"), at.key("grandchild")];
      const going = async (key: SessionKey): Promise<Change> => {
        const { id, lastSeq } = (await at.row(key)).transcript;
        return { do: "delete", key, expect: { transcript: id, lastSeq } };
      };
      const parentGoes = await going(parent);
      await at.store.commit([at.opening(child, { parent }), at.opening(grandchild, { parent: child })]);
      await withoutTrace(at, "stale_writer", [parentGoes]);
      await at.end(grandchild); // also one that has ended is somebody's child
      const [childGoes, grandchildGoes] = [await going(child), await going(grandchild)];
      await withoutTrace(at, "stale_writer", [childGoes, parentGoes]);
      await withoutTrace(at, "stale_writer", [parentGoes, childGoes, grandchildGoes]); // not in this order
      await withoutTrace(at, "stale_writer", [
        grandchildGoes,
        childGoes,
        at.opening(at.key("late"), { parent }),
        parentGoes,
      ]);
      await at.store.commit([grandchildGoes, childGoes, parentGoes]);
      for (const key of [parent, child, grandchild]) assert.equal(await at.store.session(key), null);
      await withoutTrace(at, "not_found", [at.opening(child, { parent })]); // nobody is born below who is gone
    });

    test("children stay when their parent is deleted whatever has happened to it", async () => {
      const at = corner();
      const parent = await at.open("parent");
      const child = await at.open("child", { parent });
      await at.store.commit([{ do: "delete", key: parent, expect: null }]);
      const row = await at.row(child);
      assert.deepEqual([row.parent, row.root, row.depth], [parent, parent, 1]);
    });
  });
}

export function closeContract(open: Open): void {
  describe("close", () => {
    test(
      "whatever was handed in before is done, and there after a restart",
      { timeout: 30_000 },
      async (t) => {
        const { at, opened } = await own(t, open);
        const key = await at.talk("a", ["1"]);
        const handed = [
          ...Array.from({ length: 50 }, (_, n) => at.store.commit([at.posting(key, `${n}`)])),
          at.store.commit([{ do: "charge", key, usage: { steps: 1 } }]),
          at.store.commit([at.opening(at.key("fork"), { copy: { of: key, fromSeq: 1, throughSeq: 1 } })]),
        ];
        await Promise.all([opened.reopen(), ...handed]);
        assert.equal((await at.mail(key)).length, 50);
        assert.equal((await at.row(key)).usage.steps, 1);
        assert.deepEqual(await at.seqs(at.key("fork"), { from: 1 }), [1]);
      },
    );

    test(
      "more than the disk can take at once, handed in just before, is kept whole",
      { timeout: 30_000 },
      async (t) => {
        const { at, opened } = await own(t, open);
        const key = await at.open("a");
        const large = said("x".repeat(1_000_000));
        const made = [];
        for (let n = 0; n < 40; n += 1) {
          await sleep(n % 3);
          made.push(
            at.store.commit([
              { do: "append", key, fence: 0, after: n, entries: [large], rewindTo: null, contextSeq: null },
            ]),
          );
        }
        await opened.reopen();
        await Promise.all(made);
        await opened.reopen();
        assert.equal((await at.row(key)).transcript.lastSeq, 40);
        assert.deepEqual(await at.seqs(key, { since: 39 }), [39, 40]);
      },
    );

    test("whoever comes later is told that it is closed", { timeout: 30_000 }, async (t) => {
      const { at, opened } = await own(t, open);
      const key = await at.talk("a", ["1"]);
      const { sha256 } = await at.store.putBlob(Buffer.from("x"));
      const transcript = await at.transcript(key);
      const { store } = opened;
      const stop = store.watch(() => {});
      await store.close();
      const later: readonly (() => Promise<unknown>)[] = [
        () => store.commit([]),
        () => store.commit([at.opening(at.key("b"))]),
        () => store.commit([at.opening(at.key("b"), { copy: { of: key, fromSeq: 1, throughSeq: 1 } })]),
        () => store.session(key),
        () => store.sessions({}),
        () => Array.fromAsync(store.entries(transcript, { since: 0 })),
        () => store.mail(key, {}),
        () => store.outbox({ refused: false }),
        () => store.timers({ dueByMs: 0 }),
        () => store.search({ text: "x" }),
        () => store.putBlob(Buffer.from("y")),
        () => store.readBlob(sha256, { from: 0, bytes: 1 }),
        () => store.claim("one", 1_000, 1),
        () => store.renew([{ key, fence: 1 }], 1_000),
        () => store.release([{ key, fence: 1 }]),
        () => store.changesSince(null),
      ];
      for (const call of later) await refused("closed", call());
      stop();
    });

    test("closing twice, also at once, is closing", { timeout: 30_000 }, async (t) => {
      const { at, opened } = await own(t, open);
      const key = await at.talk("a", ["1"]);
      const { store } = opened;
      const last = at.append(key, [noted("last")]).catch(() => null);
      await Promise.all([store.close(), store.close(), last]);
      await store.close();
    });

    test(
      "every question is answered, or told that it is closed; none is left hanging",
      { timeout: 30_000 },
      async (t) => {
        const { at, opened } = await own(t, open);
        const key = await at.talk("a", ["1"]);
        const { store } = opened;
        const ask = (): Promise<unknown>[] => [
          store.session(key),
          store.search({ text: "1" }),
          store.claim("one", 1, 1),
          store.sessions({}),
        ];
        const asked = Array.from({ length: 20 }, ask).flat();
        const closing = store.close();
        asked.push(...Array.from({ length: 200 }, ask).flat()); // more than there is time for
        const settled = Promise.allSettled(asked);
        await closing;
        for (const result of await settled) {
          if (result.status === "rejected") assert.equal(result.reason.code, "closed");
        }
      },
    );
  });
}

/** A store of the test's own, which is closed however the test ends. */
async function own(t: TestContext, open: Open): Promise<{ at: Corner; opened: Awaited<ReturnType<Open>> }> {
  const opened = await open();
  t.after(() => opened.close());
  return { at: new Corner(opened), opened };
}
