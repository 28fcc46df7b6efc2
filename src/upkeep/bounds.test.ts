// How much upkeep does at once, and what a rebuild does with files that hold more than anybody should.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { zstdCompressSync } from "node:zlib";
import { Home, scratch } from "../../test/fixtures/home.ts";
import { Fault } from "../base/fault.ts";
import { openLog } from "../base/log.ts";
import { RealWorld } from "../base/world.ts";
import { PACK_AT_ONCE, PACK_BYTES_AT_ONCE } from "../limits.ts";
import { DEFAULT_AGENT, namedKey } from "../routing/key.ts";
import { unpackUpTo } from "../store/local/frames.ts";
import { packedPath, transcriptPath } from "../store/local/paths.ts";
import { applied, type Applying, type Report } from "./apply.ts";
import type { Plan, Step } from "./plan.ts";
import { rebuild } from "./rebuild.ts";

const KEY = namedKey(DEFAULT_AGENT, "kept");

async function packedBy(
  pack: (archive: string) => Promise<void>,
  sizes: readonly number[],
  signal = new AbortController().signal,
): Promise<Report> {
  const steps = sizes.map((bytes, at): Step => ({ do: "pack", archive: `${at}`, key: KEY, bytes }));
  const parts: Applying = {
    world: new RealWorld(),
    log: openLog("silent"),
    store: { pack, collect: () => Promise.reject(new Error("nobody asked")) },
    commit: () => Promise.reject(new Error("nobody asked")),
    programs: () => new Set(),
  };
  return await applied(parts, { steps } as unknown as Plan, { signal, tell: () => {} });
}

describe("archives are packed several at once", () => {
  test("up to a number and so many bytes", async () => {
    const pieces: number[] = [];
    let asked = 0;
    const pack = async (): Promise<void> => {
      asked += 1;
      await Promise.resolve();
      if (asked > 0) pieces.push(asked); // the first one sees how many were asked for
      asked = 0;
    };
    const sizes = [...Array.from({ length: PACK_AT_ONCE + 1 }, () => 1), PACK_BYTES_AT_ONCE, 1];
    const { packed, packedBytes } = await packedBy(pack, sizes);
    assert.deepEqual(pieces, [PACK_AT_ONCE, 1, 1, 1]);
    assert.deepEqual([packed, packedBytes], [sizes.length, sizes.reduce((sum, each) => sum + each, 0)]);
  });

  test("one that fails does not keep the others from being counted", async () => {
    const pack = (archive: string): Promise<void> =>
      archive === "1" ? Promise.reject(new Fault("damaged", "it is")) : Promise.resolve();
    const { packed, failed } = await packedBy(pack, [1, 1, 1]);
    assert.deepEqual([packed, failed], [2, 1]);
  });

  test("and whoever stops does not wait for them", async () => {
    const stop = new AbortController();
    const forever = (): Promise<void> => {
      stop.abort(new Error("enough"));
      return new Promise(() => {});
    };
    assert.equal((await packedBy(forever, [1], stop.signal)).stopped, "closed");
  });
});

describe("rebuild", () => {
  test("does not unpack more than it should: the file is told of and left", (t) => {
    const folder = scratch(t);
    const [packed, plain] = [join(folder, "a.zst"), join(folder, "a")];
    const frame = zstdCompressSync(Buffer.alloc(1_000, 0x20));
    writeFileSync(packed, Buffer.concat([frame, frame, frame]));
    assert.throws(() => unpackUpTo(packed, plain, 2_999), { name: "Fault", code: "damaged" });
    assert.equal(existsSync(plain), false);
    unpackUpTo(packed, plain, 3_000);
    assert.equal(readFileSync(plain).length, 3_000);
  });

  test("removes what one before it left behind, and leaves nothing itself", async (t) => {
    const home = await Home.open(t);
    const key = await home.talk("kept", "one");
    const { id: transcript, lastSeq } = (await home.row(key)).transcript;
    await home.store.commit([{ do: "archive", key, expect: { transcript, lastSeq }, why: "asked" }]);
    await home.store.pack(transcript);
    await home.close();
    const left = join(home.path, "rebuild.unfinished");
    const stale = transcriptPath({ ...home.paths, agents: join(left, "agents") }, DEFAULT_AGENT, "stale");
    mkdirSync(join(stale, ".."), { recursive: true });
    writeFileSync(stale, "half a line");
    home.loseDatabases();
    rebuild(home.path, home.world.nowMs(), () => {});
    assert.equal(existsSync(left), false);
    assert.ok(existsSync(packedPath(home.paths, DEFAULT_AGENT, transcript)));
    await home.reopen();
    assert.deepEqual(
      (await home.store.archives({})).rows.map(({ id }) => id),
      [transcript],
    );
  });

  test("takes a conversation whose end cannot be read for one that ended now", async (t) => {
    const home = await Home.open(t);
    const key = await home.talk("kept", "before");
    const next = home.world.newId();
    await home.store.commit([
      { do: "rotate", key, fence: 0, after: 1, transcript: next, cwd: "/", keep: "nothing" },
    ]);
    await home.say(key, "after");
    await home.close();
    const path = transcriptPath(home.paths, DEFAULT_AGENT, next);
    const [header = "", ...lines] = readFileSync(path, "utf8").split("\n");
    writeFileSync(
      path,
      [JSON.stringify({ ...JSON.parse(header), timestamp: "yesterday" }), ...lines].join("\n"),
    );
    home.loseDatabases();
    const nowMs = home.world.nowMs();
    rebuild(home.path, nowMs, () => {});
    await home.reopen();
    assert.deepEqual(
      (await home.store.archives({})).rows.map(({ archivedAtMs }) => archivedAtMs),
      [nowMs],
    );
    assert.deepEqual(readdirSync(join(home.paths.agents, DEFAULT_AGENT)), ["sessions"]);
  });
});
