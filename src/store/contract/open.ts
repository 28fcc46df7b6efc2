// Birth.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseKey, subagentKey, type KeyKind } from "../../routing/key.ts";
import { DEFAULT_SETTINGS, NO_USAGE } from "../opened.ts";
import { refused, withoutTrace, type Corner } from "./corner.ts";
import { headerOf, said } from "./samples.ts";

export function openContract(corner: () => Corner): void {
  describe("open", () => {
    test("a new session is idle, empty, and its own root", async () => {
      const at = corner();
      const opening = at.opening(at.key("a"));
      const receipt = await at.store.commit([opening]);
      assert.deepEqual(receipt.seqs, { [opening.key]: 0 });
      const row = await at.row(opening.key);
      const { bytes } = row.transcript;
      assert.equal(bytes, Buffer.byteLength(headerOf(opening, at.world.nowMs())));
      assert.deepEqual(row, {
        key: opening.key,
        agent: at.agent,
        kind: "thread",
        parent: null,
        root: opening.key,
        depth: 0,
        bornAtMs: at.world.nowMs(),
        state: { kind: "idle" },
        route: null,
        origin: null,
        transcript: {
          id: opening.transcript,
          lastSeq: 0,
          leafId: null,
          bytes,
          contextSeq: 1,
          contextTokens: 0,
          firstSeq: 1,
          jumpSeq: 0,
          copied: 0,
        },
        signal: "none",
        settings: DEFAULT_SETTINGS,
        settingsVersion: 1,
        usage: NO_USAGE,
        tree: null,
        title: "",
        updatedAtMs: at.world.nowMs(),
        interactedAtMs: 0,
      });
      for (const range of [{ from: "context" }, { from: 1 }, { since: 0 }, { before: null }] as const) {
        assert.deepEqual(await at.entries(opening.key, range), []);
      }
    });

    test("a key that is taken is refused, or kept as it is", async () => {
      const at = corner();
      const key = await at.talk("a", ["words"]);
      await withoutTrace(at, "exists", [at.opening(key)]);
      const before = await at.everything();
      const cursor = await at.now();
      at.world.pass(5_000);
      // Kept means that nothing of the change is looked at: it may be a repeat whose world has moved on.
      const nobody = at.key("nobody");
      const stale = { parent: nobody, copy: { of: nobody, fromSeq: 1, throughSeq: 9 }, transcript: "" };
      for (const more of [{}, { settings: { label: "other" } }, stale]) {
        const receipt = await at.store.commit([at.opening(key, { ...more, ifExists: "keep" })]);
        assert.deepEqual(receipt.seqs, {});
      }
      assert.deepEqual(await at.everything(), before);
      assert.deepEqual((await at.feed(cursor)).changes, []);
    });

    test("a child knows its parent, its root, and how deep it is", async () => {
      const at = corner();
      const root = await at.open("root");
      const child = await at.open("", { key: subagentKey(root, "1"), parent: root });
      const grandchild = await at.open("", { key: subagentKey(child, "2"), parent: child });
      // A named child has no such segment in its key: the record knows.
      const named = await at.open("named", { parent: grandchild });
      const told = [];
      for (const key of [root, child, grandchild, named]) {
        const row = await at.row(key);
        told.push([row.kind, row.parent, row.root, row.depth]);
      }
      assert.deepEqual(told, [
        ["thread", null, root, 0],
        ["subagent", root, root, 1],
        ["subagent", child, root, 2],
        ["thread", grandchild, root, 3],
      ]);
      await refused("not_found", at.open("orphan", { parent: at.key("nobody") }));
      await refused("not_found", at.open("self", { parent: at.key("self") }));
    });

    test("the key says of which kind a session is", async () => {
      const at = corner();
      const kinds: readonly (readonly [string, KeyKind])[] = [
        ["main", "main"],
        ["heartbeat", "heartbeat"],
        ["direct:peer", "direct"],
        ["telegram:direct:peer", "direct"],
        ["telegram:group:g", "group"],
        ["telegram:group:g:topic:5", "group"],
        ["slack:channel:c", "channel"],
        ["thread:name", "thread"],
        ["subagent:x", "subagent"],
        ["cron:job", "cron"],
        ["cron:job:run:1", "cron"],
        ["hook:h", "hook"],
        ["acp:a", "acp"],
      ];
      for (const [rest, kind] of kinds) {
        const key = await at.open("", { key: parseKey(`agent:${at.agent}:${rest}`) });
        assert.equal((await at.row(key)).kind, kind);
      }
    });

    test("settings given at birth are kept beside the usual ones", async () => {
      const at = corner();
      const settings = { label: "a label", nice: -20, pinned: true } as const;
      const key = await at.open("a", { settings });
      const row = await at.row(key);
      assert.deepEqual([row.settings, row.settingsVersion], [{ ...DEFAULT_SETTINGS, ...settings }, 1]);
    });

    test("a label has at most 64 characters, however many bytes they take", async () => {
      const at = corner();
      const longest = "🎉".repeat(64);
      const key = await at.open("a", { settings: { label: longest } });
      assert.equal((await at.row(key)).settings.label, longest);
      for (const label of ["x".repeat(65), `${longest}x`]) {
        await refused("bad_input", at.open("b", { settings: { label } }));
        await refused("bad_input", at.store.commit([{ do: "set", key, version: null, settings: { label } }]));
      }
    });

    test("the longest key there is can be opened, as a fork and as a child", async () => {
      const at = corner();
      const agent = "a".repeat(64);
      const names = ["1", "2", "3"].map((end) => parseKey(`agent:${agent}:thread:${"x".repeat(177)}${end}`));
      const [source, parent, key] = names;
      assert(source && parent && key && key.length === 256);
      const long = { cwd: `/${"y".repeat(4_000)}` };
      await at.open("", { key: source, ...long });
      await at.append(source, [said("words")]);
      await at.open("", { key: parent, ...long });
      const copy = { of: source, fromSeq: 1, throughSeq: 1 };
      await at.open("", { key, parent, copy, ...long });
      const row = await at.row(key);
      assert.deepEqual([row.agent, row.parent, row.transcript.copied], [agent, parent, 1]);
      assert.deepEqual(await at.seqs(key, { from: 1 }), [1]);
    });

    test("a transcript's id is used once, and never again after its session is deleted", async () => {
      const at = corner();
      const opening = at.opening(at.key("a"));
      const { transcript } = opening;
      const other = at.opening(at.key("b"), { transcript });
      await withoutTrace(at, "exists", [opening, other]);
      await at.store.commit([opening]);
      await withoutTrace(at, "exists", [other]);
      await withoutTrace(at, "exists", [{ do: "delete", key: opening.key, expect: null }, other]);
      await at.store.commit([{ do: "delete", key: opening.key, expect: null }]);
      await withoutTrace(at, "exists", [other]);
      await withoutTrace(at, "exists", [opening]);
      await at.reopen();
      await withoutTrace(at, "exists", [other]);
    });

    test("a transcript's id is a plain file name", async () => {
      const at = corner();
      for (const transcript of ["", ".", "..", "../up", "a/b", "a\0b", "a\nb", "-x", "é", "x".repeat(65)]) {
        await withoutTrace(at, "bad_input", [at.opening(at.key("a"), { transcript })]);
      }
    });
  });
}
