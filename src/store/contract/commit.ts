// All or none (S1, S3).

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { FaultCode } from "../../base/fault.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { Change } from "../change.ts";
import { refused, withoutTrace, type Corner } from "./corner.ts";
import { ended, noted, said } from "./samples.ts";

export function commitContract(corner: () => Corner): void {
  describe("commit", () => {
    test("changes of every kind, to several sessions, happen together and in any order", async () => {
      for (let turn = 0; turn < KINDS; turn += 1) {
        const { at, changes, a, b, c, fresh } = await busyCorner(corner());
        const receipt = await at.store.commit([...changes.slice(turn), ...changes.slice(0, turn)]);

        assert.deepEqual(receipt.seqs, { [fresh]: 0, [a]: 2 });
        assert.deepEqual(receipt.posts, [{ id: `ext:${at.id("hello")}`, to: b, repeated: false }]);
        const [rowA, rowB] = [await at.row(a), await at.row(b)];
        assert.deepEqual(await at.seqs(a, { from: 1 }), [1, 2]);
        assert.equal(rowA.state.kind, "queued");
        assert.deepEqual(rowA.route, { channel: "test", to: "x", thread: null });
        assert.deepEqual(await at.waiting(a), []);
        assert.deepEqual(await at.waiting(b), ["hello"]);
        assert.equal(rowB.signal, "pause");
        assert.equal(rowB.settings.model, "m");
        assert.equal(rowB.usage.input, 5);
        assert.deepEqual(
          (await at.timers()).map((timer) => timer.id),
          [at.id("new")],
        );
        assert.deepEqual(
          (await at.outbox(false)).map((outgoing) => outgoing.id),
          [at.id("answer")],
        );
        assert.equal(await at.store.session(c), null);
        assert.notEqual(await at.store.session(fresh), null);
      }
    });

    test("a refused change takes back all before it, wherever it stands", async () => {
      const { at, changes, a } = await busyCorner(corner());
      const wrong: Change = { do: "run", key: a, fence: 99, state: { kind: "idle" } };
      for (let place = 0; place <= changes.length; place += 1) {
        await withoutTrace(at, "stale_writer", changes.toSpliced(place, 0, wrong));
      }
      await at.store.commit(changes); // and nothing stands in the way of doing it right
    });

    test("what a refused commit would have written is not in the way of what is written next", async () => {
      const at = corner();
      const key = await at.talk("a", ["1"]);
      const nobody = at.key("nobody");
      const long = await at.appending(key, [said("refused ".repeat(100)), said("x")]);
      await Promise.allSettled([
        at.store.commit([long, { do: "delete", key: nobody, expect: null }]),
        at.store.commit([{ ...long, entries: [said("2")] }]),
        at.store.commit([
          { ...long, after: 2 },
          { do: "delete", key: nobody, expect: null },
        ]),
        at.store.commit([{ ...long, after: 2, entries: [said("3")] }]),
      ]);
      await refused(
        "not_found",
        at.store.commit([
          { ...long, after: 3 },
          { do: "delete", key: nobody, expect: null },
        ]),
      );
      await at.append(key, [said("4")]);
      await at.reopen();
      const entries = await at.entries(key, { from: 1 });
      const texts = entries.map((entry) => (entry.type === "message" ? entry.message.content : null));
      assert.deepEqual(texts, ["1", "2", "3", "4"]);
    });

    test("a commit is refused for the first of its changes that does not fit, whatever its kind", async () => {
      const { at, changes, a, b } = await busyCorner(corner());
      const nobody = at.key("nobody");
      const opening = at.opening(at.key("child"));
      const wrong: readonly (readonly [FaultCode, Change])[] = [
        ["exists", at.opening(b)],
        ["exists", { ...opening, transcript: await at.transcript(b) }],
        ["not_found", { ...opening, parent: nobody }],
        ["not_found", { ...opening, copy: { of: nobody, fromSeq: 1, throughSeq: 1 } }],
        ["not_found", { ...opening, copy: { of: b, fromSeq: 1, throughSeq: 1 } }],
        ["not_found", await at.appending(b, [said("x")], { key: nobody })],
        ["stale_writer", await at.appending(b, [said("x")], { after: 1 })],
        ["stale_writer", await at.appending(b, [said("x")], { fence: 1 })],
        ["not_found", await at.appending(b, [said("x")], { rewindTo: { id: "x", seq: 1 } })],
        ["not_found", { do: "take", key: nobody, fence: 0, ids: [] }],
        ["stale_writer", { do: "take", key: b, fence: 1, ids: [] }],
        ["stale_writer", { do: "take", key: b, fence: 0, ids: ["ext:none"] }],
        ["not_found", { do: "run", key: nobody, fence: 0, state: { kind: "idle" } }],
        ["stale_writer", { do: "reroute", key: b, fence: 1, route: null, origin: null }],
        ["not_found", at.posting(nobody, "lost")],
        ["conflict", at.posting(a, "old", { mode: "collect" })],
        ["not_found", { do: "signal", key: nobody, signal: "kill" }],
        ["not_found", { do: "set", key: nobody, version: null, settings: {} }],
        ["stale_writer", { do: "set", key: a, version: 7, settings: {} }],
        ["not_found", { do: "charge", key: nobody, usage: { input: 1 } }],
        ["stale_writer", { do: "setTimer", timer: at.timer("t", a), expectDueAtMs: 7 }],
        ["not_found", { do: "setTimer", timer: at.timer("t", nobody), expectDueAtMs: null }],
        ["stale_writer", { do: "clearTimer", id: at.id("t"), expectDueAtMs: 7 }],
        ["not_found", at.sending("lost", nobody)],
        ["conflict", at.sending("answer", a)],
        ["not_found", { do: "settle", id: at.id("none"), refused: null }],
        ["not_found", { do: "delete", key: nobody, expect: null }],
      ];
      for (const [code, change] of wrong) {
        await withoutTrace(at, code, [...changes, change, { do: "delete", key: nobody, expect: null }]);
      }
    });

    test("a change sees what the changes before it in its commit did", async () => {
      const at = corner();
      const key = at.key("a");
      const timer = at.timer("t", key);
      const receipt = await at.store.commit([
        at.opening(key),
        { do: "append", key, fence: 0, after: 0, entries: [said("1")], rewindTo: null, contextSeq: null },
        { do: "append", key, fence: 0, after: 1, entries: [said("2")], rewindTo: null, contextSeq: 2 },
        at.posting(key, "hello"),
        { do: "take", key, fence: 0, ids: [`ext:${at.id("hello")}`] },
        { do: "setTimer", timer, expectDueAtMs: null },
        { do: "clearTimer", id: timer.id, expectDueAtMs: timer.dueAtMs },
        at.sending("answer", key),
        { do: "settle", id: at.id("answer"), refused: null },
        { do: "set", key, version: 1, settings: { label: "first" } },
        { do: "set", key, version: 2, settings: { label: "second" } },
        { do: "run", key, fence: 0, state: ended(1) },
      ]);
      assert.deepEqual(receipt.seqs, { [key]: 2 });
      const row = await at.row(key);
      assert.equal(row.settings.label, "second");
      assert.equal(row.state.kind, "ended");
      assert.deepEqual(await at.seqs(key, { from: "context" }), [2]);
      assert.deepEqual([await at.mail(key), await at.timers(), await at.outbox(false)], [[], [], []]);
    });

    test("a session that is deleted and opened anew in one commit is a new one", async () => {
      const at = corner();
      const key = await at.talk("a", ["old words"]);
      const old = await at.row(key);
      const opening = at.opening(key);
      await at.store.commit([
        { do: "delete", key, expect: null },
        opening,
        { do: "append", key, fence: 0, after: 0, entries: [noted(1)], rewindTo: null, contextSeq: null },
      ]);
      const row = await at.row(key);
      assert.equal(row.transcript.id, opening.transcript);
      assert.deepEqual([row.title, row.transcript.lastSeq], ["", 1]);
      await refused("not_found", Array.fromAsync(at.store.entries(old.transcript.id, { since: 0 })));
    });

    test("what a fork copies and a rewind goes back to was there before the commit", async () => {
      const at = corner();
      const key = await at.open("a");
      const made = { id: `${(await at.transcript(key)).slice(-8)}-1`, seq: 1 };
      const append = await at.appending(key, [said("1"), said("2")]);
      await withoutTrace(at, "not_found", [append, { ...append, after: 2, rewindTo: made }]);
      const copy = { of: key, fromSeq: 1, throughSeq: 1 };
      await withoutTrace(at, "not_found", [append, at.opening(at.key("fork"), { copy })]);
    });

    test("commits made at the same time happen in their order, and one that is refused stops no other", async () => {
      const at = corner();
      const keys = await Promise.all(["a", "b", "c"].map((name) => at.open(name)));
      const made = keys.flatMap((key) =>
        Array.from({ length: 20 }, (_, after): Change[] => [
          { do: "charge", key, usage: { steps: 1 } },
          // Every fifth has lost its fence; whoever comes after it knows nothing of that.
          { do: "append", key, fence: after % 5 === 4 ? 1 : 0, after: after - Math.floor(after / 5), ...ONE },
        ]),
      );
      const done = await Promise.allSettled(made.map((changes) => at.store.commit(changes)));
      const expected = made.map((_, n) => (n % 5 === 4 ? "rejected" : "fulfilled"));
      assert.deepEqual(
        done.map(({ status }) => status),
        expected,
      );
      for (const key of keys) {
        const row = await at.row(key);
        assert.deepEqual([row.transcript.lastSeq, row.usage.steps], [16, 16]);
        assert.deepEqual(
          await at.seqs(key, { since: 1 }),
          Array.from({ length: 16 }, (_, seq) => seq + 1),
        );
      }
    });

    test("of many who open the same key or append after the same entry, exactly one succeeds", async () => {
      const at = corner();
      const key = at.key("a");
      const opened = await Promise.allSettled(
        Array.from({ length: 10 }, () => at.store.commit([at.opening(key)])),
      );
      assert.equal(opened.filter(({ status }) => status === "fulfilled").length, 1);
      const change = await at.appending(key, [said("x")]);
      const appended = await Promise.allSettled(Array.from({ length: 10 }, () => at.store.commit([change])));
      assert.equal(appended.filter(({ status }) => status === "fulfilled").length, 1);
      assert.equal((await at.row(key)).transcript.lastSeq, 1);
    });

    test("a letter that expects its reader to be as it was seen is refused when anything came since", async () => {
      const at = corner();
      const key = await at.open("a");
      await at.append(key, [said("1")]);
      const { transcript } = await at.row(key);
      const expect = { transcript: transcript.id, lastSeq: transcript.lastSeq };
      for (const wrong of [
        { ...expect, lastSeq: 0 },
        { ...expect, transcript: "another" },
      ])
        await withoutTrace(at, "stale_writer", [{ ...at.posting(key, "x"), expect: wrong }]);
      const first = { ...at.posting(key, "first"), expect };
      await at.store.commit([first]);
      await withoutTrace(at, "stale_writer", [{ ...at.posting(key, "second"), expect }]); // a letter waits
      await at.store.commit([{ do: "take", key, fence: 0, ids: [first.letter.id] }]);
      await at.append(key, [said("2")]);
      await withoutTrace(at, "stale_writer", [{ ...at.posting(key, "third"), expect }]);
      const again = await at.store.commit([first]); // What was posted before is a repeat, whatever came since.
      assert.equal(again.posts[0]?.repeated, true);
    });

    test("a commit without changes changes nothing", async () => {
      const at = corner();
      const receipt = await at.store.commit([]);
      assert.deepEqual([receipt.seqs, receipt.posts], [{}, []]);
    });

    test("what happened is still there after the store was closed and opened", async () => {
      const { at, changes } = await busyCorner(corner());
      await at.store.commit(changes);
      const before = await at.everything();
      await at.reopen();
      assert.deepEqual(await at.everything(), before);
    });
  });
}

const ONE = { entries: [noted("x")], rewindTo: null, contextSeq: null };

/** One of each kind of change, none of which minds what the others do. */
const KINDS = 14;

async function busyCorner(at: Corner): Promise<{
  readonly at: Corner;
  readonly changes: readonly Change[];
  readonly a: SessionKey;
  readonly b: SessionKey;
  readonly c: SessionKey;
  readonly fresh: SessionKey;
}> {
  const a = await at.talk("a", ["first"]);
  const b = await at.open("b");
  const c = await at.talk("c", ["words"]);
  const timer = at.timer("old", a);
  await at.store.commit([
    at.posting(a, "old"),
    { do: "setTimer", timer, expectDueAtMs: null },
    at.sending("old", b),
  ]);
  const fresh = at.key("fresh");
  const changes: readonly Change[] = [
    at.opening(fresh),
    await at.appending(a, [said("second")]),
    { do: "take", key: a, fence: 0, ids: [`ext:${at.id("old")}`] },
    { do: "run", key: a, fence: 0, state: { kind: "queued", sinceMs: 1 } },
    { do: "reroute", key: a, fence: 0, route: { channel: "test", to: "x", thread: null }, origin: null },
    at.posting(b, "hello"),
    { do: "signal", key: b, signal: "pause" },
    { do: "set", key: b, version: 1, settings: { model: "m" } },
    { do: "charge", key: b, usage: { input: 5 } },
    { do: "setTimer", timer: at.timer("new", a), expectDueAtMs: null },
    { do: "clearTimer", id: timer.id, expectDueAtMs: timer.dueAtMs },
    at.sending("answer", b),
    { do: "settle", id: at.id("old"), refused: null },
    { do: "delete", key: c, expect: null },
  ];
  assert.equal(changes.length, KINDS);
  return { at, changes, a, b, c, fresh };
}
