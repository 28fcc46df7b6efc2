// What the local engine alone promises of archives: bytes, files, and what happens to those that are not as they should be.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { constants, zstdCompressSync } from "node:zlib";
import { appending, cannotMount, Home, mount, said, scratch } from "../../../test/fixtures/home.ts";
import { Fault } from "../../base/fault.ts";
import type { SessionKey } from "../../routing/key.ts";
import { fsck } from "../../upkeep/fsck.ts";
import { packedPath, transcriptPath, unfinished } from "./paths.ts";

interface Shelf {
  readonly home: Home;
  readonly key: SessionKey;
  readonly id: string;
  readonly plain: string;
  readonly packed: string;
  /** The transcript as it was when it was archived. */
  readonly bytes: Buffer;
}

/** A session that is archived, and everything of it in its file. */
async function shelve(t: TestContext, texts: readonly string[], path?: string): Promise<Shelf> {
  const home = await Home.open(t, path);
  const key = await home.talk("kept", ...texts);
  await home.store.checkpoint();
  const bytes = readFileSync(await home.file(key));
  const id = await archive(home, key);
  const { agent } = (await home.store.archives({ id })).rows[0] ?? { agent: "" };
  const [plain, packed] = [transcriptPath(home.paths, agent, id), packedPath(home.paths, agent, id)];
  return { home, key, id, plain, packed, bytes };
}

async function archive(home: Home, key: SessionKey): Promise<string> {
  const { id: transcript, lastSeq } = (await home.row(key)).transcript;
  await home.store.commit([{ do: "archive", key, expect: { transcript, lastSeq }, why: "asked" }]);
  return transcript;
}

async function restore({ home, id }: Shelf): Promise<void> {
  await home.store.unpack(id);
  await home.store.commit([{ do: "restore", archive: id, over: null }]);
}

async function isSound({ home }: Shelf, findings = 0): Promise<void> {
  await home.close();
  assert.deepEqual(home.deaths, []);
  assert.equal((await fsck(home.path, home.world.nowMs(), () => {})).findings.length, findings);
  await home.reopen();
}

/** Some mebibytes that can hardly be packed, in many lines: several frames. */
function noise(mebibytes: number): string[] {
  let state = 1;
  const line = (): string =>
    Buffer.from(Array.from({ length: 96 * 1024 }, () => (state = (state * 48_271) % 2_147_483_647) & 0xff))
      .toString("base64")
      .slice(0, 128 * 1024);
  return Array.from({ length: mebibytes * 8 }, line);
}

describe("the files of an archive", () => {
  test("are the same bytes after they were packed and unpacked, also those of several frames", async (t) => {
    const shelf = await shelve(t, noise(9));
    const { home, key, id, plain, packed, bytes } = shelf;
    assert.ok(bytes.length > 9 * 1024 * 1024);
    await home.store.pack(id);
    assert.equal(existsSync(plain), false);
    assert.equal((await home.store.archives({ id })).rows[0]?.packedBytes, statSync(packed).size);
    assert.ok(statSync(packed).size < bytes.length * 0.8);
    await isSound(shelf);
    await home.store.unpack(id);
    assert.equal(existsSync(packed), false);
    assert.ok(readFileSync(plain).equals(bytes));
    await restore(shelf);
    await home.say(key, "and it goes on");
    await home.store.checkpoint();
    assert.ok(readFileSync(plain).subarray(0, bytes.length).equals(bytes));
    await isSound(shelf);
  });

  test("are read by zstd, and made by it they are unpacked", { skip: !hasZstd() }, async (t) => {
    const shelf = await shelve(t, noise(5));
    const { home, id, plain, packed, bytes } = shelf;
    await home.store.pack(id);
    const read = execFileSync("zstd", ["-dcq", packed], { maxBuffer: 2 * bytes.length });
    assert.ok(read.equals(bytes));
    const mine = join(scratch(t), "mine.jsonl");
    writeFileSync(mine, bytes);
    execFileSync("zstd", ["-q", "-19", "-f", mine, "-o", packed]);
    await home.store.unpack(id);
    assert.ok(readFileSync(plain).equals(bytes));
  });

  test("are packed when lines of them were only in the journal, and whatever is committed meanwhile", async (t) => {
    const home = await Home.open(t);
    const [key, other] = [await home.talk("kept", "one"), await home.talk("other", "0")];
    await home.say(key, "two");
    const id = await archive(home, key);
    const packing = home.store.pack(id);
    for (let n = 1; n <= 50; n += 1) await home.say(other, String(n));
    await packing;
    await home.reopen();
    assert.deepEqual(home.heardOf("recovered"), []);
    await home.store.unpack(id);
    await home.store.commit([{ do: "restore", archive: id, over: null }]);
    assert.deepEqual(await home.read(key), ["one", "two"]);
    assert.equal((await home.read(other)).length, 51);
  });

  test("are those of whoever came first, when an archive is restored or purged while it is packed", async (t) => {
    for (const change of ["restore", "purge"] as const) {
      const shelf = await shelve(t, noise(4), join(scratch(t), "home"));
      const { home, key, id, plain, packed, bytes } = shelf;
      const packing = home.store.pack(id).then(
        () => "packed",
        (error: unknown) => (error instanceof Fault ? error.code : String(error)),
      );
      for (let tries = 0; !existsSync(unfinished(packed)) && tries < 1_000; tries += 1) await sleep(1);
      await home.store.commit([
        change === "restore" ? { do: change, archive: id, over: null } : { do: change, archive: id },
      ]);
      assert.equal(await packing, "not_found");
      assert.equal(existsSync(packed), false);
      assert.equal(existsSync(plain), change === "restore");
      if (change === "restore") assert.equal((await home.row(key)).transcript.bytes, bytes.length);
      await isSound(shelf);
      assert.deepEqual(home.heardOf("recovered"), []);
      await home.close();
    }
  });

  test("are all there when an archive comes back, is written to and goes again while it is packed", async (t) => {
    const shelf = await shelve(t, noise(4));
    const { home, key, id, packed, plain } = shelf;
    const packing = home.store.pack(id).catch((error: unknown) => error);
    for (let tries = 0; !existsSync(unfinished(packed)) && tries < 1_000; tries += 1) await sleep(1);
    await home.store.commit([{ do: "restore", archive: id, over: null }]);
    await home.say(key, "last words");
    assert.equal(await archive(home, key), id);
    assert.equal(((await packing) as Fault).code, "not_found");
    assert.deepEqual([existsSync(plain), existsSync(packed)], [true, false]);
    await home.store.pack(id);
    await restore(shelf);
    assert.equal((await home.read(key)).at(-1), "last words");
    await isSound(shelf);
  });

  test("are whole when the store is closed while they are packed, which nobody waits for", async (t) => {
    const shelf = await shelve(t, noise(9));
    const { home, id, plain, packed, bytes } = shelf;
    const closed = async (): Promise<unknown[]> => {
      const moves = [home.store.pack(id), home.store.unpack(id)].map((move) => move.catch(String));
      await home.close();
      return await Promise.all(moves);
    };
    for (const each of await closed()) assert.match(String(each), /closed/);
    await home.reopen();
    const packing = home.store.pack(id).catch(String);
    for (let tries = 0; !existsSync(unfinished(packed)) && tries < 1_000; tries += 1) await sleep(1);
    await home.close();
    const isPacked = (await packing) === undefined; // should it have been faster than we were
    assert.deepEqual([existsSync(plain), existsSync(packed)], [!isPacked, isPacked]);
    assert.deepEqual([existsSync(unfinished(plain)), existsSync(unfinished(packed))], [false, false]);
    await home.reopen();
    assert.deepEqual(home.heardOf("recovered"), []);
    await restore(shelf);
    assert.ok(readFileSync(plain).equals(bytes));
    await isSound(shelf);
  });

  test("are moved together with those of others, each for itself", async (t) => {
    const home = await Home.open(t);
    const keys = await Promise.all(Array.from({ length: 30 }, (_, n) => home.talk(`${n}`, `words of ${n}`)));
    const ids = await Promise.all(keys.map((key) => archive(home, key)));
    const [missing = "", purged = ""] = ids;
    await home.store.checkpoint();
    rmSync(transcriptPath(home.paths, "main", missing));
    await home.store.commit([{ do: "purge", archive: purged }]);
    const packed = await Promise.allSettled(ids.map((id) => home.store.pack(id)));
    const codes = packed.map((one) => (one.status === "rejected" ? (one.reason as Fault).code : "packed"));
    assert.deepEqual(codes, ["damaged", "not_found", ...ids.slice(2).map(() => "packed")]);
    await Promise.all(ids.slice(2).map((id) => home.store.unpack(id)));
    for (const id of ids.slice(2)) await home.store.commit([{ do: "restore", archive: id, over: null }]);
    for (const [n, key] of [...keys.entries()].slice(2))
      assert.deepEqual(await home.read(key), [`words of ${n}`]);
    await home.close();
    assert.deepEqual(home.deaths, []);
  });

  test("are never said to be damaged because an archive comes back and goes again before they are packed", async (t) => {
    const home = await Home.open(t);
    const key = await home.talk("kept", "0");
    let last = 1;
    for (let round = 1; round <= 20; round += 1) {
      const id = await archive(home, key);
      let came = "";
      const packing = home.store.pack(id).then(
        () => (came = "packed"),
        (error: unknown) => (came = error instanceof Fault ? error.code : String(error)),
      );
      // Again and again, while the journal is emptied for it; until it is packed, and has to be unpacked first.
      const changes = (): Parameters<typeof home.store.commit>[0] => [
        { do: "restore", archive: id, over: null },
        appending(key, last, [said("more")]),
        { do: "archive", key, expect: { transcript: id, lastSeq: last + 1 }, why: "asked" },
      ];
      while (came === "")
        await home.store.commit(changes()).then(
          () => (last += 1),
          (error: unknown) => assert.equal((error as Fault).code, "busy"),
        );
      await packing;
      assert.match(came, /^(?:packed|busy|not_found)$/);
      await home.store.unpack(id);
      await home.store.commit([{ do: "restore", archive: id, over: null }]);
    }
    assert.equal((await home.read(key)).length, last);
  });
});

describe("a packed file that is not as it should be", () => {
  const frame = (bytes: Buffer, checksum = 1): Buffer =>
    zstdCompressSync(bytes, { params: { [constants.ZSTD_c_checksumFlag]: checksum } });
  const wrong: Readonly<Record<string, (packed: Buffer, bytes: Buffer) => Buffer>> = {
    "is empty": () => Buffer.alloc(0),
    "is cut off in the middle": (packed) => packed.subarray(0, packed.length >> 1),
    "lacks its last byte": (packed) => packed.subarray(0, -1),
    "lacks its last frame": (_, bytes) => frame(bytes.subarray(0, 100)),
    "has a wrong bit": (packed) => {
      const other = Buffer.from(packed);
      other[packed.length >> 1] = (other[packed.length >> 1] ?? 0) ^ 1;
      return other;
    },
    "is something else": () => Buffer.from("this is not zstd, but it is long enough to be looked at"),
    "has something behind it": (packed) => Buffer.concat([packed, Buffer.from("junk")]),
    "holds more than it should": (_, bytes) => Buffer.concat([frame(bytes), frame(Buffer.from("\n"))]),
    "is a bomb": () => frame(Buffer.alloc(200 * 1024 * 1024)),
    "is a bomb that does not say how large it is": (_, bytes) =>
      Buffer.concat([
        frame(bytes, 0),
        ...Array.from({ length: 50 }, () => frame(Buffer.alloc(1024 * 1024), 0)),
      ]),
    "has a frame that claims to go on for ever": (packed) => {
      const other = Buffer.concat([packed, Buffer.alloc(64, 0xff)]);
      other[6] = 0xff;
      return other;
    },
  };
  for (const [what, make] of Object.entries(wrong))
    test(`that ${what} is damage: it stays, and nothing is made of it`, async (t) => {
      const shelf = await shelve(t, ["some words", "x".repeat(10_000), ...noise(1)]);
      const { home, id, plain, packed, bytes } = shelf;
      await home.store.pack(id);
      const right = readFileSync(packed);
      const bad = make(right, bytes);
      writeFileSync(packed, bad);
      await assert.rejects(home.store.unpack(id), { name: "Fault", code: "damaged" });
      assert.ok(readFileSync(packed).equals(bad));
      assert.deepEqual([existsSync(plain), existsSync(unfinished(plain))], [false, false]);
      await isSound(shelf, 1);
      // With the right one in its place all is well.
      writeFileSync(packed, right);
      await restore(shelf);
      assert.ok(readFileSync(plain).equals(bytes));
      await isSound(shelf);
    });

  test("that is missing is damage, and its archive can be purged", async (t) => {
    const shelf = await shelve(t, ["1"]);
    const { home, id, packed } = shelf;
    await home.store.pack(id);
    rmSync(packed);
    await assert.rejects(home.store.unpack(id), { name: "Fault", code: "damaged", message: /missing/ });
    await home.store.commit([{ do: "purge", archive: id }]);
    await isSound(shelf);
  });
});

describe("a plain file that is not as it should be", () => {
  test("is not packed when it is missing, or lacks bytes; what is there stays", async (t) => {
    const shelf = await shelve(t, ["one", "two"]);
    const { home, id, plain, packed, bytes } = shelf;
    const aside = `${plain}.aside`;
    renameSync(plain, aside);
    await assert.rejects(home.store.pack(id), { name: "Fault", code: "damaged", message: /missing/ });
    renameSync(aside, plain);
    truncateSync(plain, bytes.length - 1);
    await assert.rejects(home.store.pack(id), { name: "Fault", code: "damaged", message: /should have/ });
    assert.equal(statSync(plain).size, bytes.length - 1);
    assert.deepEqual([existsSync(packed), existsSync(unfinished(packed))], [false, false]);
    writeFileSync(plain, bytes);
    await home.store.pack(id);
    await isSound(shelf);
  });

  test("goes aside whole when another program has added to it", async (t) => {
    const shelf = await shelve(t, ["one"]);
    const { home, key, id, plain, bytes } = shelf;
    appendFileSync(plain, "somebody's words\n");
    await home.store.pack(id);
    const [name, ...more] = readdirSync(home.paths.foreign);
    assert.deepEqual(more, []);
    assert.equal(readFileSync(join(home.paths.foreign, name ?? ""), "utf8"), `${bytes}somebody's words\n`);
    assert.equal(home.heardOf("foreign_bytes").length, 1);
    await restore(shelf);
    assert.deepEqual(await home.read(key), ["one"]);
  });
});

describe("a disk that is full", { skip: cannotMount() }, () => {
  test("has no room for a packed file, or for an unpacked one: it is refused, and nothing is lost", async (t) => {
    const path = join(scratch(t), "home");
    mount(t, join(path, "agents"), ["-t", "tmpfs", "-o", "size=6m", "tmpfs"]);
    const shelf = await shelve(t, noise(3), path);
    const { home, key, id, plain, packed, bytes } = shelf;
    const filler = join(path, "agents", "filler");
    const fill = (mebibytes: number): void => writeFileSync(filler, Buffer.alloc(mebibytes * 1024 * 1024));
    fill(1);
    await assert.rejects(home.store.pack(id), { name: "Fault", code: "disk_full" });
    assert.deepEqual(
      [existsSync(plain), existsSync(packed), existsSync(unfinished(packed))],
      [true, false, false],
    );
    rmSync(filler);
    await home.store.pack(id);
    fill(2);
    await assert.rejects(home.store.unpack(id), { name: "Fault", code: "disk_full" });
    assert.deepEqual(
      [existsSync(plain), existsSync(packed), existsSync(unfinished(plain))],
      [false, true, false],
    );
    rmSync(filler);
    await restore(shelf);
    assert.ok(readFileSync(plain).equals(bytes));
    await home.append(key, [said("it goes on")]);
    await isSound(shelf);
  });
});

test("a file of nobody below blobs/ is left alone, and what a crash left of a blob goes", async (t) => {
  const home = await Home.open(t);
  const folder = join(home.paths.blobs, "ab");
  mkdirSync(folder, { recursive: true });
  const left = `${"ab".repeat(32)}.${"0".repeat(8)}-0000-4000-8000-${"0".repeat(12)}.unfinished`;
  for (const name of ["notes.txt", left]) writeFileSync(join(folder, name), "x");
  home.world.pass(100 * 365 * 24 * 3_600_000); // their times are the real clock's
  const cursor = Buffer.from(JSON.stringify([0xab])).toString("base64url");
  for (const isDry of [true, false]) {
    const { blobs, bytes } = await home.store.collect({ cursor, isDry });
    assert.deepEqual([blobs, bytes], [1, 1]);
  }
  assert.deepEqual(readdirSync(folder), ["notes.txt"]);
});

function hasZstd(): boolean {
  try {
    execFileSync("zstd", ["--version"], { stdio: "pipe" });
    return true;
  } catch {
    return false;
  }
}
