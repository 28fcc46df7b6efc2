// A conversation that begins anew, and when a person last wrote.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Session } from "../../sessions/session.ts";
import type { Draft } from "../../transcript/entry.ts";
import { entriesOf, pages, refused, withoutTrace, type Corner } from "./corner.ts";
import { everyRange, RANGES, rotate } from "./generations.ts";
import { headerOf, noted, said } from "./samples.ts";

export function anewContract(corner: () => Corner): void {
  describe("anew", () => {
    test("a session that begins anew shows nothing of before, under any range or name", async () => {
      const at = corner();
      const key = await at.talk("chat", ["1", "2", "3"]);
      await at.append(key, [said("4")], { contextSeq: 3 });
      await rotate(at, key);
      await at.rewind(key, 3, ["5"]);
      await at.store.commit([
        { do: "charge", key, usage: { input: 7 } },
        { do: "set", key, version: null, settings: { label: "kept" } },
        { do: "reroute", key, fence: 0, route: { channel: "c", to: "t", thread: null }, origin: null },
        { do: "setTimer", timer: at.timer("soon", key), expectDueAtMs: null },
      ]);
      await at.post(key, "letter");
      const before = await at.row(key);
      at.world.pass(1_000);
      const reset = await rotate(at, key, { keep: "nothing" });

      const more = { previous: `${before.transcript.id}.jsonl`, firstSeq: 6 };
      const header = headerOf(reset, at.world.nowMs(), more);
      const expected: Session = {
        ...before,
        title: "",
        updatedAtMs: at.world.nowMs(),
        transcript: {
          id: reset.transcript,
          lastSeq: 5,
          leafId: null,
          bytes: Buffer.byteLength(header),
          contextSeq: 6,
          contextTokens: 0,
          firstSeq: 6,
          jumpSeq: 0,
          copied: 0,
        },
      };
      assert.deepEqual(await at.row(key), expected);
      assert.deepEqual([(await at.waiting(key)).length, (await at.timers()).length], [1, 1]);
      for (const range of RANGES) assert.deepEqual(await at.entries(key, range), []);
      await refused("not_found", entriesOf(at.store, before.transcript.id, { since: 0 }));
      await at.append(key, [noted("6"), said("anew")]);
      assert.deepEqual(await at.seqs(key, { since: 0 }), [6, 7]);
      assert.deepEqual(await at.seqs(key, { since: 2 }), [6, 7]);
      assert.deepEqual(await at.seqs(key, { before: null }), [7, 6]);
      const [first] = await at.entries(key, { from: "context" });
      assert.deepEqual([first?.parentId, first?.id], [null, `${reset.transcript.slice(-8)}-6`]);
      assert.equal((await at.row(key)).title, "anew");
      const gone = { id: `${before.transcript.id.slice(-8)}-2`, seq: 2 };
      await withoutTrace(at, "not_found", [
        await at.appending(key, [said("back")], { rewindTo: gone, contextSeq: 1 }),
      ]);
      await at.reopen();
      assert.deepEqual(await at.seqs(key, { from: 1 }), [6, 7]);
    });

    test("what a session was before it began anew is an archive", async () => {
      const at = corner();
      const key = await at.talk("chat", ["1", "2", "3"]);
      await at.append(key, [said("4")], { contextSeq: 3 });
      const first = (await at.row(key)).transcript.bytes;
      await rotate(at, key);
      const session = await at.row(key);
      at.world.pass(1_000);
      await rotate(at, key, { keep: "nothing" });
      const archives = await pages((page) => at.store.archives({ ...page, agent: at.agent }));
      assert.deepEqual(archives, [
        {
          id: session.transcript.id,
          key,
          agent: at.agent,
          why: "reset",
          archivedAtMs: at.world.nowMs(),
          session,
          bytes: first + session.transcript.bytes,
          packedBytes: null,
          firstSeq: 1,
        },
      ]);
    });

    test("a session that began anew goes on in new files like any other", async () => {
      const at = corner();
      const key = await at.talk("chat", ["1", "2"]);
      await rotate(at, key, { keep: "nothing" });
      await at.append(key, ["3", "4", "5"].map(said));
      await at.append(key, [said("6")], { contextSeq: 5 });
      const before = await everyRange(at, key);
      await rotate(at, key);
      assert.deepEqual(await everyRange(at, key), before);
      assert.equal((await at.row(key)).transcript.firstSeq, 5);
      await rotate(at, key, { keep: "nothing" });
      assert.deepEqual(await at.seqs(key, { since: 0 }), []);
    });

    test("a row says when a person last wrote, and nobody else counts", async () => {
      const at = corner();
      const personal = (text: string): Draft => ({
        ...(said(text) as Extract<Draft, { type: "message" }>),
        provenance: { kind: "external_user", channel: "test", peer: "ada" },
      });
      const key = await at.talk("chat", ["of nobody"]);
      assert.equal((await at.row(key)).interactedAtMs, 0);
      at.world.pass(1_000);
      await at.append(key, [noted(1), personal("hello")]);
      const wroteAtMs = at.world.nowMs();
      at.world.pass(1_000);
      const timer: Draft = {
        ...(said("tick") as Extract<Draft, { type: "message" }>),
        provenance: { kind: "internal_system", cause: "timer" },
      };
      await at.append(key, [timer]);
      assert.equal((await at.row(key)).interactedAtMs, wroteAtMs);
      const fork = await at.open("fork", { copy: { of: key, fromSeq: 1, throughSeq: 3 } });
      assert.equal((await at.row(fork)).interactedAtMs, 0);
      await rotate(at, key, { keep: "nothing" });
      assert.equal((await at.row(key)).interactedAtMs, wroteAtMs);
    });
  });
}
