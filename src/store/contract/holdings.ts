// What upkeep asks: archives by age, sessions from the stalest on, how much there is, and blobs that nobody names.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BLOB_HELD_MS } from "../../limits.ts";
import type { BlobName } from "../../transcript/entry.ts";
import type { Collected, Holding } from "../store.ts";
import { pages, refused, type Corner } from "./corner.ts";
import { named, said } from "./samples.ts";

export function holdingContract(corner: () => Corner): void {
  describe("upkeep", () => {
    test("archives are listed oldest first, by page and by what they are", async () => {
      const at = corner();
      const names = ["a", "b", "c", "d"];
      const ids: string[] = [];
      for (const name of names) {
        at.world.pass(1);
        ids.push(await at.archive(await at.talk(name, ["1"])));
      }
      await at.store.pack(ids[1] ?? "");
      await at.talk("a", ["another"]);
      at.world.pass(1);
      ids.push(await at.archive(at.key("a")));
      for (const limit of [1, 2, 100]) {
        const list = async (query: object): Promise<string[]> =>
          (await pages((page) => at.store.archives({ agent: at.agent, ...query, ...page }), limit)).map(
            ({ id }) => id,
          );
        assert.deepEqual(await list({}), ids);
        assert.deepEqual(await list({ key: at.key("a") }), [ids[0], ids[4]]);
        assert.deepEqual(await list({ id: ids[2] }), [ids[2]]);
        assert.deepEqual(await list({ packed: true }), [ids[1]]);
        assert.deepEqual(await list({ packed: false, key: at.key("b") }), []);
        assert.deepEqual(
          await list({ packed: false }),
          ids.filter((id) => id !== ids[1]),
        );
        assert.deepEqual(await list({ agent: "nobody" }), []);
      }
      const ofAll = await pages((page) => at.store.archives({ packed: true, ...page }), 2);
      assert.ok(ofAll.some(({ id }) => id === ids[1]));
      await refused("bad_input", at.store.archives({ cursor: "x" }));
    });

    test("of sessions the least recently changed come first, with what they weigh and who needs them", async () => {
      const at = corner();
      const keys = [];
      for (const name of ["a", "b", "c", "d", "e"]) {
        keys.push(await at.talk(name, [name.repeat(100)]));
        at.world.pass(2_000);
      }
      const [a, b, c, d, e] = keys;
      assert(a && b && c && d && e);
      await at.open("child", { parent: a });
      await at.post(b, "letter");
      await at.store.commit([{ do: "setTimer", timer: at.timer("t", c), expectDueAtMs: null }]);
      await at.store.commit([
        at.sending("one", d),
        at.sending("two", e),
        { do: "settle", id: at.id("two"), refused: "no" },
      ]);
      await at.append(a, [said("fresh")], { contextSeq: 2 });
      const { id, lastSeq: after, bytes: old } = (await at.row(a)).transcript;
      const rotate = { do: "rotate", key: a, fence: 0, after, transcript: at.world.newId() } as const;
      await at.store.commit([{ ...rotate, cwd: "/tmp", keep: "context" }]);
      assert.notEqual(await at.transcript(a), id);
      for (const limit of [1, 2, 500]) {
        const all = await pages((page) => at.store.holdings(page), limit);
        const ours = all.filter(({ session }) => session.agent === at.agent);
        const expected: [string, number, boolean, number][] = [];
        for (const [key, waits, children] of [
          [b, true, 0],
          [c, true, 0],
          [d, true, 0],
          [e, false, 0],
          [a, false, 1],
          [at.key("child"), false, 0],
        ] as const) {
          const { bytes } = (await at.row(key)).transcript;
          expected.push([key, key === a ? bytes + old : bytes, waits, children]);
        }
        assert.deepEqual(ours.map(brief), expected);
        assert.deepEqual(
          ours.map(({ session }) => session),
          await Promise.all(ours.map(({ session }) => at.row(session.key))),
        );
      }
    });

    test("how much there is follows what comes and goes", async () => {
      const at = corner();
      const before = await at.store.use();
      const key = await at.talk("a", ["x".repeat(10_000)]);
      const { bytes } = (await at.row(key)).transcript;
      const more = { ...before, sessions: before.sessions + 1, transcripts: before.transcripts + bytes };
      assert.deepEqual(await at.store.use(), more);
      const id = await at.archive(key);
      assert.deepEqual(await at.store.use(), { ...before, archives: before.archives + bytes });
      await at.store.pack(id);
      const { packedBytes } = (await at.archives())[0] ?? {};
      assert.deepEqual(await at.store.use(), { ...before, archives: before.archives + (packedBytes ?? 0) });
      await at.store.commit([{ do: "purge", archive: id }]);
      assert.deepEqual(await at.store.use(), before);
      await at.store.putBlob(Buffer.alloc(1_234, at.id("blob")));
      at.world.pass(60_000);
      assert.equal((await at.store.use()).blobs, before.blobs + 1_234);
    });

    test("a blob that nobody names goes after an hour, and none that anybody does", async () => {
      const at = corner();
      const names = ["entry", "archive", "packed", "letter", "answer", "nobody", "left"];
      const blobs = await Promise.all(names.map((name) => at.store.putBlob(Buffer.from(at.id(name)))));
      const [inEntry, inArchive, inPacked, inLetter, inAnswer] = blobs;
      assert(inEntry && inArchive && inPacked && inLetter && inAnswer);
      const key = await at.open("a");
      await at.append(key, [named(inEntry)]);
      for (const [name, blob] of Object.entries({ b: inArchive, c: inPacked })) {
        await at.open(name);
        await at.append(at.key(name), [named(blob)]);
        await at.archive(at.key(name));
      }
      await at.store.pack((await at.archives())[1]?.id ?? "");
      const content = (blob: BlobName): [{ type: "text"; text: string; blob: BlobName }] => [
        { type: "text", text: "see", blob },
      ];
      await at.post(key, "letter", { content: content(inLetter) });
      const answer = at.sending("answer", key);
      await at.store.commit([{ ...answer, outgoing: { ...answer.outgoing, content: content(inAnswer) } }]);
      const there = async (): Promise<string[]> => {
        const found = await Promise.all(
          blobs.map(({ sha256 }) => at.store.readBlob(sha256, { from: 0, bytes: 1 })),
        );
        return names.filter((_, n) => found[n] !== null);
      };
      at.world.pass(BLOB_HELD_MS - 1);
      await collectAll(at, false);
      assert.deepEqual(await there(), names);
      await at.reopen(); // whoever held one holds it no more, but an hour is an hour
      await collectAll(at, false);
      assert.deepEqual(await there(), names);
      at.world.pass(1);
      const fresh = await at.store.putBlob(Buffer.from(at.id("left"))); // again, so it is held again
      const planned = await collectAll(at, true);
      assert.deepEqual(await there(), names);
      assert.deepEqual(await collectAll(at, false), planned);
      assert.deepEqual(
        await there(),
        names.filter((name) => name !== "nobody"),
      );
      assert.ok(planned.blobs >= 1 && planned.bytes >= at.id("nobody").length);
      assert.deepEqual(await collectAll(at, false), { blobs: 0, bytes: 0 });
      await at.append(key, [named(fresh)]);
      await refused("bad_input", at.store.collect({ cursor: "x", isDry: true }));
    });
  });
}

function brief({ session, bytes, waits, children }: Holding): [string, number, boolean, number] {
  return [session.key, bytes, waits, children];
}

/** All parts, one after the other. */
async function collectAll(at: Corner, isDry: boolean): Promise<Omit<Collected, "next">> {
  let [blobs, bytes] = [0, 0];
  for (let cursor: string | null = null, parts = 0; parts === 0 || cursor !== null; parts += 1) {
    assert.ok(parts < 1_000, "it comes to an end");
    const part: Collected = await at.store.collect({ cursor, isDry });
    blobs += part.blobs;
    bytes += part.bytes;
    cursor = part.next;
  }
  return { blobs, bytes };
}
