// Finding what was said. An engine may be behind for a while; it says so.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Draft } from "../../transcript/entry.ts";
import type { Hits, SearchQuery } from "../store.ts";
import type { Corner } from "./corner.ts";
import { noted, said } from "./samples.ts";

export function searchContract(corner: () => Corner): void {
  describe("search", () => {
    test("words are found in any order and case, the last one by its beginning", async () => {
      const at = corner();
      const key = await at.talk("a", ["The quick brown fox", "jumps over", "the lazy dog, foxes too"]);
      const seqs = async (text: string): Promise<number[]> =>
        (await find(at, { text, agent: at.agent })).hits.map(({ seq }) => seq);
      assert.deepEqual(await seqs("quick"), [1]);
      assert.deepEqual(await seqs("fox"), [3, 1]); // newest first
      assert.deepEqual(await seqs("BROWN quick"), [1]);
      assert.deepEqual(await seqs("the"), [3, 1]);
      assert.deepEqual(await seqs("the fo"), [3, 1]);
      assert.deepEqual(await seqs("fo the"), []); // only the last may be a beginning
      assert.deepEqual(await seqs("ox"), []);
      assert.deepEqual(await seqs("quick dog"), []);
      assert.deepEqual(await seqs("lazy-dog"), [3]);
      const [hit] = (await find(at, { text: "jumps", key })).hits;
      assert.deepEqual([hit?.key, hit?.transcript, hit?.seq], [key, await at.transcript(key), 2]);
      assert.match(hit?.snippet ?? "", /jumps over/);
    });

    test("accents need not be typed, in whichever way they were written", async () => {
      const at = corner();
      await at.talk("a", ["Café crème", "la cre\u0300me du cafe\u0301"]);
      for (const text of ["cafe creme", "CAFÉ crè", "cre\u0300me cafe\u0301", "crème cafe"]) {
        assert.equal((await find(at, { text, agent: at.agent })).hits.length, 2, text);
      }
    });

    test("all that people and models say is searched, and nothing else", async () => {
      const at = corner();
      const key = await at.open("a");
      const timestamp = "2026-01-01T00:00:00.000Z";
      const content = [
        { type: "text", text: "wordone" },
        { type: "thinking", thinking: "wordtwo" },
      ] as const;
      const drafts: readonly Draft[] = [
        { type: "message", timestamp, message: { role: "user", content, timestamp: 0 } },
        {
          type: "compaction",
          timestamp,
          summary: "wordone again",
          firstKeptEntryId: "x",
          tokensBefore: 1,
        },
        noted("wordone"),
      ];
      await at.append(key, drafts, { contextSeq: 2 });
      assert.deepEqual(
        (await find(at, { text: "wordone", key })).hits.map(({ seq }) => seq),
        [2, 1],
      );
      assert.deepEqual((await find(at, { text: "wordtwo", key })).hits, []);
    });

    test("a search may be limited to an agent, to a session, and to a number of hits", async () => {
      const [at, other] = [corner(), corner()];
      const word = `word${at.agent.replace("-", "")}`;
      const a = await at.talk("a", [word, word, word]);
      const b = await at.talk("b", [word]);
      await other.talk("c", [word]);
      const count = async (query: Partial<SearchQuery>): Promise<number> =>
        (await find(at, { text: word, ...query })).hits.length;
      assert.equal(await count({}), 5);
      assert.equal(await count({ agent: at.agent }), 4);
      assert.equal(await count({ key: a }), 3);
      assert.equal(await count({ key: b, agent: at.agent }), 1);
      assert.equal(await count({ key: b, agent: other.agent }), 0);
      assert.equal(await count({ keys: [a, b] }), 4);
      assert.equal(await count({ keys: [b], agent: at.agent }), 1);
      assert.equal(await count({ keys: [b], key: a }), 0);
      assert.equal(await count({ keys: [] }), 0);
      assert.equal(await count({ limit: 2 }), 2);
      for (const limit of [0, -5]) assert.equal(await count({ limit }), 1);
      for (const limit of [1e9, Infinity]) assert.equal(await count({ limit }), 5);
      assert.deepEqual(
        (await find(at, { text: word, key: a, limit: 2 })).hits.map(({ seq }) => seq),
        [3, 2],
      );
    });

    test("nothing that people type is anything but words", async () => {
      const at = corner();
      const key = await at.talk("a", ['she said "AND" OR not', "col:umn NEAR(a b) x^2 a* -b"]);
      const hostile = [
        ...["", " ", '"', '""', "'", "\\", "*", "**", "^", "(", ")", "()", "-", "+", ":", "{a}", "a:b", "-a"],
        ...["AND", "OR", "NOT", "NEAR", "NEAR(a b, 2)", "a AND", "a OR OR b", '"a" "b', "text : a", "a* b*"],
        ...[
          "🎉",
          "🎉🎉 a",
          "\0",
          "a\0b",
          "\ud800",
          "\u0301",
          "日本",
          "हिन्दी",
          "𞤀",
          "%",
          "_",
          ";--",
          "'; DROP",
        ],
        "x ".repeat(20_000),
        "y".repeat(100_000),
      ];
      for (const text of hostile) {
        const { hits } = await at.store.search({ text, agent: at.agent });
        assert.ok(hits.length <= 2);
      }
      assert.deepEqual(
        (await find(at, { text: '"AND" or', key })).hits.map(({ seq }) => seq),
        [1],
      );
    });

    test("what a deleted session said is not found, nor under a key that was opened anew", async () => {
      const at = corner();
      const [a, b] = [await at.talk("a", ["secret"]), await at.talk("b", ["secret"])];
      assert.equal((await find(at, { text: "secret", agent: at.agent })).hits.length, 2);
      await at.store.commit([{ do: "delete", key: a, expect: null }]);
      assert.deepEqual(
        (await find(at, { text: "secret", agent: at.agent })).hits.map(({ key }) => key),
        [b],
      );
      await at.store.commit([{ do: "delete", key: b, expect: null }, at.opening(b), at.opening(a)]);
      await at.append(b, [said("harmless")]);
      assert.deepEqual((await find(at, { text: "secret", agent: at.agent })).hits, []);
      assert.equal((await find(at, { text: "harmless", agent: at.agent })).hits.length, 1);
    });

    test("what was said is found after a restart, once", async () => {
      const at = corner();
      const key = await at.talk("a", ["memorable"]);
      await at.reopen();
      assert.equal((await find(at, { text: "memorable", key })).hits.length, 1);
      await at.append(key, [said("memorable too")]);
      await at.reopen();
      assert.equal((await find(at, { text: "memorable", key })).hits.length, 2);
    });
  });
}

/** Waits until search has seen everything. */
export async function find(at: Corner, query: SearchQuery): Promise<Hits> {
  for (let turn = 0; turn < 500; turn += 1) {
    const found = await at.store.search(query);
    if (found.behind === 0) return found;
    await sleep(10);
  }
  return assert.fail("search has caught up within five seconds");
}
