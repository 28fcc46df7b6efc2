// What callers hand in that is wrong in itself: it is refused before it reaches an engine, and the store goes on.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ID_CHARS_MAX } from "../../limits.ts";
import type { Change } from "../change.ts";
import { withoutTrace, type Corner } from "./corner.ts";
import { said } from "./samples.ts";

export function shapeContract(corner: () => Corner): void {
  describe("shapes", () => {
    test("what can be seen to be wrong is bad_input before anything is looked at", async () => {
      const at = corner();
      const key = await at.open("a");
      const large = { content: [{ type: "text", text: "x".repeat(1024 * 1024) }] } as const;
      const wrong: readonly Change[] = [
        { do: "append", key, fence: 0, after: 0, entries: [], rewindTo: null, contextSeq: null },
        { ...at.posting(key, "x"), to: [] },
        at.posting(key, "x", { id: "" }),
        at.posting(key, "x", { id: "other:x" }),
        at.posting(key, "x", { id: "ext:\ud800" }),
        at.posting(key, "x", large),
        { do: "set", key, version: null, settings: { label: "x".repeat(65) } },
        { do: "set", key, version: null, settings: { nice: 20 } },
        { do: "set", key, version: null, settings: { nice: 0.5 } },
        { do: "charge", key, usage: { input: Number.NaN } },
        { do: "setTimer", timer: at.timer("t", key, { dueAtMs: 2 ** 60 }), expectDueAtMs: null },
        { do: "setTimer", timer: at.timer("t", key, { id: "" }), expectDueAtMs: null },
        {
          do: "setTimer",
          timer: at.timer("t", key, { id: "x".repeat(ID_CHARS_MAX + 1) }),
          expectDueAtMs: null,
        },
        { do: "setTimer", timer: at.timer("t", key, { body: large }), expectDueAtMs: null },
        { do: "send", outgoing: { ...at.sending("x", key).outgoing, ...large } },
        { do: "send", outgoing: { ...at.sending("x", key).outgoing, id: "x".repeat(ID_CHARS_MAX + 1) } },
        { do: "setTimer", timer: at.timer("t", key, { body: nested(20_000) }), expectDueAtMs: null },
        at.posting(key, "x", { content: [{ type: "nested", in: nested(20_000) }] as never }),
      ];
      const stale: Change = { do: "clearTimer", id: at.id("none"), expectDueAtMs: 1 };
      for (const change of wrong) await withoutTrace(at, "bad_input", [stale, change]);
    });

    test("a change of another shape than its type says is bad_input, whoever made it", async () => {
      const at = corner();
      const key = await at.open("a");
      const append = { do: "append", key, fence: 0, after: 0, rewindTo: null, contextSeq: null };
      const { cwd: _cwd, ...opening } = at.opening(at.key("b")) as Extract<Change, { do: "open" }>;
      const message = { type: "message", timestamp: "2026-01-01T00:00:00.000Z" };
      const malformed: readonly unknown[] = [
        null,
        "append",
        {},
        Object.create(null),
        { do: Object.create(null) },
        { ...append, entries: [said("1")], fence: Object.create(null) },
        { do: "nope", key },
        { do: "toString", key },
        opening,
        { ...append, entries: [said("1")], extra: 1 },
        { ...append, entries: [said("1")], fence: "0" },
        { ...append, entries: [said("1")], after: undefined },
        { ...append, entries: [said("1")], contextSeq: "1" },
        { ...append, entries: [said("1")], contextSeq: -4 },
        { ...append, entries: "hi" },
        { ...append, entries: ["hi"] },
        { ...append, entries: [{ timestamp: "x" }] },
        { ...append, entries: [{ type: "custom", customType: "x" }] },
        { ...append, entries: [{ type: "session", timestamp: "x" }] },
        { ...append, entries: [{ ...message, message: "str" }] },
        { ...append, entries: [{ ...message, message: { role: "user", content: 5 } }] },
        { ...append, entries: [{ ...said("1"), large: 1n }] },
        { do: "take", key, fence: 0 },
        { do: "run", key, fence: 0, state: "idle" },
        { do: "run", key, fence: 0, state: { kind: "idle", extra: () => 1 } },
        { do: "reroute", key, fence: 0 },
        { do: "post", to: [key], letter: { id: "ext:x" } },
        { do: "signal", key, signal: "boo" },
        { do: "revive" },
        { do: "revive", key, signal: "none" },
        { do: "set", key, version: null, settings: { nosuch: 1 } },
        { do: "set", key, version: null, settings: { label: 7 } },
        { do: "set", key, version: null },
        { do: "charge", key, usage: { input: "many" } },
        { do: "clearTimer", id: at.id("none") },
        { do: "send", outgoing: { id: "x" } },
        { do: "settle" },
        { do: "delete", key },
      ];
      const fine: Change = { do: "signal", key, signal: "pause" };
      for (const change of malformed) await withoutTrace(at, "bad_input", [fine, change as Change]);
      for (const changes of [undefined, null, "changes", {}])
        await assert.rejects(at.store.commit(changes as never), { code: "bad_input" });
      await at.append(key, [said("1")]); // and the store goes on
    });

    test("a question of another shape than its type says is bad_input, and the store goes on", async () => {
      const at = corner();
      const key = await at.talk("a", ["1"]);
      const { transcript } = await at.row(key);
      const ask = at.store as unknown as Record<string, (...asked: unknown[]) => Promise<unknown>>;
      const read = async (...asked: unknown[]): Promise<unknown> =>
        await Array.fromAsync(at.store.entries(...(asked as Parameters<typeof at.store.entries>)));
      const malformed: readonly (readonly [string, ...unknown[]])[] = [
        ["session"],
        ["session", {}],
        ["sessions", { titlePrefix: 5 }],
        ["sessions", { text: ["words"] }],
        ["sessions", { agnet: "main" }],
        ["sessions", { limit: "10" }],
        ["sessions"],
        ["mail", key, { cursor: 5 }],
        ["mail", 5, {}],
        ["outbox", {}],
        ["timers", { dueByMs: Number.NaN }],
        ["search", { text: 5 }],
        ["search"],
        ["putBlob", "bytes"],
        ["readBlob", 5, { from: 0, bytes: 1 }],
        ["readBlob", "x", {}],
        ["claim", "me", "1000", 1],
        ["renew", [key], 1_000],
        ["release", key],
        ["changesSince", 5],
        ["changesSince"],
      ];
      for (const [verb, ...asked] of malformed)
        await assert.rejects(
          async () => await ask[verb]?.call(at.store, ...asked),
          { code: "bad_input" },
          verb,
        );
      for (const range of [null, {}, { from: "start" }, { since: "1" }, { before: undefined }])
        await assert.rejects(read(transcript.id, range), { code: "bad_input" });
      await assert.rejects(read(5, { from: 1 }), { code: "bad_input" });
      assert.deepEqual(await at.seqs(key, { from: 1 }), [1]);
    });
  });
}

function nested(levels: number): unknown {
  let value: unknown = "x";
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}
