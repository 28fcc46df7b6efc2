// What archives can be asked by, and where their numbers begin.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SessionKey } from "../../routing/key.ts";
import type { ArchiveQuery } from "../store.ts";
import { pages, refused, type Corner } from "./corner.ts";
import { said } from "./samples.ts";

export function archivedContract(corner: () => Corner): void {
  describe("archives", () => {
    test("are found by whom they were born below, oldest first, whether or not that one is there", async () => {
      const at = corner();
      const [top, other] = [await at.open("top"), await at.open("other")];
      const ids: string[] = [];
      for (const name of ["a", "b", "c"]) {
        const child = await at.open(name, { parent: top });
        await at.append(child, [said(name)]);
        at.world.pass(1);
        ids.push(await at.archive(child));
      }
      const elsewhere = await at.archive(await at.open("d", { parent: other }));
      await at.archive(await at.open("alone"));
      await at.store.pack(ids[1] ?? "");
      for (const look of [async () => {}, at.reopen.bind(at), () => at.archive(top)]) {
        await look();
        for (const limit of [1, 2, 100]) {
          assert.deepEqual(await idsOf(at, { parent: top }, limit), ids);
          assert.deepEqual(await idsOf(at, { parent: top, newest: true }, limit), ids.toReversed());
          assert.deepEqual(await idsOf(at, { parent: top, key: at.key("b") }, limit), [ids[1]]);
          assert.deepEqual(await idsOf(at, { parent: top, packed: false }, limit), [ids[0], ids[2]]);
          assert.deepEqual(await idsOf(at, { parent: top, agent: "nobody" }, limit), []);
        }
        assert.deepEqual(await idsOf(at, { parent: other }), [elsewhere]);
        assert.deepEqual(await idsOf(at, { parent: at.key("nobody") }), []);
      }
      await at.restore(ids[0] ?? "");
      await at.store.commit([{ do: "purge", archive: ids[1] ?? "" }]);
      assert.deepEqual(await idsOf(at, { parent: top }), [ids[2]]);
    });

    test("are found by the beginning of their id, in the order of ids", async () => {
      const at = corner();
      const ids: string[] = [];
      for (const name of ["a", "b", "c", "d"]) ids.push(await at.archive(await at.talk(name, ["1"])));
      const sorted = ids.toSorted();
      const begin = alikeOf(ids);
      const ours = { agent: at.agent, idPrefix: begin };
      for (const limit of [1, 3, 100]) {
        assert.deepEqual(await idsOf(at, ours, limit), sorted);
        assert.deepEqual(await idsOf(at, { ...ours, newest: true }, limit), sorted.toReversed());
        assert.deepEqual(await idsOf(at, { ...ours, key: at.key("b") }, limit), [ids[1]]);
        for (const id of ids) assert.deepEqual(await idsOf(at, { idPrefix: id }, limit), [id]);
      }
      for (const idPrefix of [`${begin}x`, `${ids[0]}0`, `${begin.slice(0, -1)}%`])
        assert.deepEqual(await idsOf(at, { idPrefix }), []);
      const { next } = await at.store.archives({ ...ours, limit: 1 });
      await refused("bad_input", at.store.archives({ idPrefix: "other", cursor: next }));
      await refused("bad_input", at.store.archives({ agent: at.agent, cursor: next }));
    });

    test("say where their numbers begin, over all their files, and after a conversation began anew", async () => {
      const at = corner();
      const key = await at.talk("a", ["1", "2", "3"]);
      await rotate(at, key, "nothing");
      await at.append(key, [said("4"), said("5")]);
      await at.append(key, [said("6")], { contextSeq: 5 });
      await rotate(at, key, "context");
      await at.append(key, [said("7")]);
      await rotate(at, key, "nothing");
      const whole = await at.talk("b", ["1", "2"]);
      await at.append(whole, [said("3")], { contextSeq: 3 });
      await rotate(at, whole, "context");
      const empty = await at.archive(await at.open("c"));
      await at.archive(whole);
      await at.archive(key);
      for (const look of [async () => {}, at.reopen.bind(at)]) {
        await look();
        const found = await at.archives();
        const numbers = (of: SessionKey): [number, number][] =>
          found
            .filter((archive) => archive.key === of)
            .map(({ firstSeq, session }): [number, number] => [firstSeq, session.transcript.lastSeq])
            .toSorted(([a], [b]) => a - b);
        assert.deepEqual(numbers(key), [
          [1, 3],
          [4, 7],
          [8, 7],
        ]);
        assert.deepEqual(numbers(whole), [[1, 3]]);
        const none = found.find(({ id }) => id === empty);
        assert.deepEqual([none?.firstSeq, none?.session.transcript.lastSeq], [1, 0]);
      }
    });
  });
}

async function idsOf(at: Corner, query: ArchiveQuery, limit = 100): Promise<string[]> {
  const found = await pages((page) => at.store.archives({ ...query, ...page }), limit);
  return found.map(({ id }) => id);
}

/** What all of them begin with. */
function alikeOf([first = "", ...others]: readonly string[]): string {
  let chars = first.length;
  while (!others.every((id) => id.startsWith(first.slice(0, chars)))) chars -= 1;
  return first.slice(0, chars);
}

async function rotate(at: Corner, key: SessionKey, keep: "context" | "nothing"): Promise<void> {
  const { lastSeq: after } = (await at.row(key)).transcript;
  await at.store.commit([
    { do: "rotate", key, fence: 0, after, transcript: at.world.newId(), cwd: "/tmp", keep },
  ]);
}
