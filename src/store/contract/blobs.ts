// Large results, kept by what they are.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { BLOB_HELD_MS } from "../../limits.ts";
import type { Letter } from "../../mail/letter.ts";
import type { SessionKey } from "../../routing/key.ts";
import type { BlobName } from "../../transcript/entry.ts";
import { refused, type Corner } from "./corner.ts";
import { named, said } from "./samples.ts";

export function blobContract(corner: () => Corner): void {
  describe("blobs", () => {
    test("a blob is named by its SHA-256 and read whole or in part", async () => {
      const at = corner();
      const bytes = Buffer.from(`0123456789 ${at.agent}`);
      const blob = await at.store.putBlob(bytes);
      assert.deepEqual(blob, {
        sha256: createHash("sha256").update(bytes).digest("hex"),
        bytes: bytes.length,
      });
      const part = async (from: number, count: number): Promise<string | null> => {
        const read = await at.store.readBlob(blob.sha256, { from, bytes: count });
        return read === null ? null : Buffer.from(read).toString();
      };
      assert.equal(await part(0, bytes.length), bytes.toString());
      assert.equal(await part(0, 1e9), bytes.toString());
      assert.equal(await part(3, 4), "3456");
      assert.equal(await part(bytes.length - 2, 10), bytes.toString().slice(-2));
      assert.equal(await part(bytes.length, 10), "");
      assert.equal(await part(1e9, 10), "");
      assert.equal(await part(3, 0), "");
      await at.reopen();
      assert.equal(await part(0, 1e9), bytes.toString());
    });

    test("bytes of every value, none at all, and very many come back as they were", async () => {
      const at = corner();
      const large = Buffer.alloc(3_000_001, `large of ${at.agent} \0\xff`, "latin1");
      for (const bytes of [new Uint8Array(0), Uint8Array.from({ length: 256 }, (_, n) => n), large]) {
        const { sha256 } = await at.store.putBlob(bytes);
        const read = await at.store.readBlob(sha256, { from: 0, bytes: bytes.length });
        assert(read !== null && Buffer.compare(read, bytes) === 0);
      }
    });

    test("what is not there is null, and so is what is no name", async () => {
      const at = corner();
      const range = { from: 0, bytes: 10 };
      for (const name of [
        "0".repeat(64),
        "",
        "..",
        "../state.sqlite",
        "A".repeat(64),
        "a".repeat(63),
        "\0",
      ]) {
        assert.equal(await at.store.readBlob(name, range), null);
      }
    });

    test("the same bytes, put twice and at once, are one blob", async () => {
      const at = corner();
      const bytes = Buffer.from(at.id("same"));
      const blobs = await Promise.all([1, 2, 3].map(() => at.store.putBlob(bytes)));
      assert.equal(new Set(blobs.map(({ sha256 }) => sha256)).size, 1);
      assert.ok(await there(at, blobs[0]));
    });

    test("deleting a session removes the blobs that it alone named", async () => {
      const at = corner();
      const [a, b] = [await at.open("a"), await at.open("b")];
      const [own, shared, held] = await put(at, ["own", "shared", "held"]);
      await at.append(a, [named(own), said("x"), named(shared)]);
      await put(at, ["shared"]); // b has the same result, and puts it as well
      await at.append(b, [named(shared)]);
      await remove(at, a);
      assert.deepEqual(
        [await there(at, own), await there(at, shared), await there(at, held)],
        [false, true, true],
      );
      await at.reopen();
      assert.ok(await there(at, shared));
      await remove(at, b);
      assert.equal(await there(at, shared), false);
    });

    test("a fork names the blobs of what it copied", async () => {
      const at = corner();
      const source = await at.open("source");
      const [copied, later] = await put(at, ["copied", "later"]);
      await at.append(source, [named(copied), named(later)]);
      const fork = await at.open("fork", { copy: { of: source, fromSeq: 1, throughSeq: 1 } });
      await remove(at, source);
      assert.deepEqual([await there(at, copied), await there(at, later)], [true, false]);
      await remove(at, fork);
      assert.equal(await there(at, copied), false);
    });

    test("a blob that was put and not yet named is held for an hour, whoever is deleted", async () => {
      const at = corner();
      const [first, second] = [await at.open("a"), await at.open("b")];
      const [blob] = await put(at, ["result"]);
      await at.append(first, [named(blob)]);
      await put(at, ["result"]); // somebody else has the same result, and is about to name it
      at.world.pass(BLOB_HELD_MS - 1);
      await remove(at, first);
      assert.ok(await there(at, blob));
      await at.append(second, [named(blob)]);
      await remove(at, second);
      assert.equal(await there(at, blob), false);

      const third = await at.open("c");
      await put(at, ["result"]);
      await at.append(third, [named(blob)]);
      await put(at, ["result"]); // and this time never does
      at.world.pass(BLOB_HELD_MS);
      await remove(at, third);
      assert.equal(await there(at, blob), false);
    });

    test("what a letter or an answer names stays while it waits, whoever is deleted", async () => {
      const at = corner();
      const [first, second] = [await at.open("a"), await at.open("b")];
      const [inLetter, inAnswer, inNothing] = await put(at, ["letter", "answer", "nothing"]);
      await at.append(first, [named(inLetter), named(inAnswer), named(inNothing)]);
      const content = (blob: BlobName): Letter["content"] => [{ type: "text", text: "see", blob }];
      const letter = await at.post(second, "x", { content: content(inLetter) });
      const answer = at.sending("y", second);
      await at.store.commit([{ ...answer, outgoing: { ...answer.outgoing, content: content(inAnswer) } }]);
      await remove(at, first);
      assert.deepEqual(await Promise.all([inLetter, inAnswer, inNothing].map((blob) => there(at, blob))), [
        true,
        true,
        false,
      ]);
      await at.store.commit([
        { do: "take", key: second, fence: 0, ids: [letter.id] },
        await at.appending(second, [named(inLetter)]),
      ]);
      assert.ok(await there(at, inLetter));
    });

    test("a commit that is refused names nothing and removes nothing", async () => {
      const at = corner();
      const [a, b] = [await at.open("a"), await at.open("b")];
      const [blob] = await put(at, ["result"]);
      const nobody = at.key("nobody");
      await at.append(a, [named(blob)]);
      await refused(
        "not_found",
        at.store.commit([
          { do: "delete", key: a, expect: null },
          { do: "delete", key: nobody, expect: null },
        ]),
      );
      assert.ok(await there(at, blob));
      // It is not held for the one who failed to name it and did not put it,
      const naming = await at.appending(b, [named(blob)]);
      await refused("not_found", at.store.commit([naming, { do: "delete", key: nobody, expect: null }]));
      await remove(at, a);
      assert.equal(await there(at, blob), false);
      // and is held for the one who put it, and will try again.
      await put(at, ["result"]);
      await at.open("a");
      await at.append(a, [named(blob)]);
      await put(at, ["result"]);
      await refused("not_found", at.store.commit([naming, { do: "delete", key: nobody, expect: null }]));
      await remove(at, a);
      assert.ok(await there(at, blob));
    });
  });
}

async function put<Names extends readonly string[]>(
  at: Corner,
  names: readonly [...Names],
): Promise<{ [At in keyof Names]: BlobName }> {
  const blobs = [];
  for (const name of names) blobs.push(await at.store.putBlob(Buffer.from(at.id(name))));
  return blobs as { [At in keyof Names]: BlobName };
}

async function there(at: Corner, blob: BlobName | undefined): Promise<boolean> {
  assert(blob);
  return (await at.store.readBlob(blob.sha256, { from: 0, bytes: 1 })) !== null;
}

/** Blobs go after the commit that decided it; they are gone when the store has come to rest. */
async function remove(at: Corner, key: SessionKey): Promise<void> {
  await at.store.commit([{ do: "delete", key, expect: null }]);
  await at.sweep();
}

/** What a blob says; null: it is not there. */
export async function textOf(at: Corner, blob: BlobName): Promise<string | null> {
  const bytes = await at.store.readBlob(blob.sha256, { from: 0, bytes: blob.bytes });
  return bytes === null ? null : Buffer.from(bytes).toString();
}
