// Archive, pack, unpack, restore, begin anew, swap, purge, delete: stopped at every system call, by a kill or by a power cut, each
// has happened or has not. A recording of a run up to some call is what a kill at that call leaves (test/powercut).

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { extname, join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { scratch } from "../../../test/fixtures/home.ts";
import { Disk } from "../../../test/powercut/disk.ts";
import type { Recording, Tree } from "../../../test/powercut/operation.ts";
import { canTrace, record } from "../../../test/powercut/trace.ts";
import { materialise } from "../../../test/powercut/tree.ts";
import { openLog } from "../../base/log.ts";
import { RealWorld, SimulatedWorld } from "../../base/world.ts";
import { DEFAULT_AGENT, namedKey } from "../../routing/key.ts";
import { textOf } from "../../transcript/entry.ts";
import { fsck } from "../../upkeep/fsck.ts";
import { LocalStore } from "./local.ts";

const PROGRAM = fileURLToPath(new URL("../../../test/crash/shelf.ts", import.meta.url));
const KEY = namedKey(DEFAULT_AGENT, "kept");
const TEXTS = ["one", "two", "three", "four", "five"];

describe("stopped at every system call", { skip: (await canTrace()) ?? false }, () => {
  for (const how of ["a kill", "a power cut"] as const)
    test(`after ${how}, an archive, its packing, its return and its end have happened or have not`, async (t) => {
      const folder = scratch(t);
      const root = join(folder, "root");
      mkdirSync(root);
      const args = [PROGRAM, join(root, "home")];
      const run = await record({ command: process.execPath, args, env: {}, root });
      const disk = new Disk(run);
      const dice = new SimulatedWorld(1);
      const moments = momentsOf(run, how === "a kill").map(({ at, may }) => {
        const tree = how === "a kill" ? disk.running(at) : disk.cut(at, () => dice.random()).tree;
        return { at, may, tree };
      });
      // The same files come to the same, so each such tree is looked at once; and two at a time, as each waits for its disk.
      const trees = [...Map.groupBy(moments, ({ tree }) => printOf(tree)).values()];
      const seen = new Set<string>();
      const looking = async (name: string): Promise<void> => {
        for (let same = trees.pop(); same !== undefined; same = trees.pop()) {
          const found = await look(same[0]?.tree ?? new Map(), join(folder, name));
          for (const { at, may } of same)
            assert.ok(may.has(found), `operation ${at}: ${found}, and should be ${[...may].join(" or ")}`);
          seen.add(found);
        }
      };
      await Promise.all([looking("one"), looking("two")]);
      assert.ok(seen.size >= 10, [...seen].join()); // it was everywhere
    });
});

/** What search and the owner keep is not looked at. */
function printOf(tree: Tree): string {
  const print = createHash("sha256");
  for (const [path, bytes] of tree)
    if (!/search|owner/.test(path))
      print.update(`${path} ${bytes?.length ?? "folder"}\n`).update(bytes ?? "");
  return print.digest("hex");
}

/**
 * Every answer, every operation on a file of the store's own, and of those on the database the ones around its syncs: within a
 * transaction nothing else can be seen. With each, how it may stand if that is the last one that was begun.
 */
function momentsOf(
  { operations }: Recording,
  isKill: boolean,
): { readonly at: number; readonly may: ReadonlySet<string> }[] {
  const words = operations.flatMap((each, at) =>
    each.op === "said"
      ? Buffer.from(each.bytes)
          .toString()
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => ({ at, ...(JSON.parse(line) as { trying?: string; did?: string; now?: string }) }))
      : [],
  );
  const done = words.filter(({ did }) => did !== undefined);
  const first = done[0]?.at ?? 0;
  const isSync = (at: number): boolean => operations[at]?.op === "sync";
  return operations.flatMap(({ op, path }, at) => {
    // What was answered has happened, whatever is stopped then.
    if (op === "said")
      return done
        .filter((word) => word.at === at)
        .map(({ now = "" }) => ({ at: at + 1, may: new Set([now]) }));
    if (at <= first || /search|owner/.test(path)) return [];
    const nearSync = isKill ? isSync(at + 1) || isSync(at + 3) : isSync(at);
    if (path.includes("state.sqlite") ? !nearSync : isKill && op === "sync") return []; // a kill does not see a sync
    const before = done.findLast((word) => word.at < at)?.now ?? "";
    const trying = words.findLast((word) => word.at < at)?.trying !== undefined;
    const after = trying ? (done.find((word) => word.at > at)?.now ?? before) : before;
    return [{ at: at + 1, may: new Set([before, after]) }];
  });
}

/** Recovered, in a word, and how many entries it has. Whatever is there is whole, and nothing else is. */
async function look(tree: Tree, folder: string): Promise<string> {
  try {
    await materialise(tree, folder);
    const home = join(folder, "home");
    const deaths: Error[] = [];
    const open = (): Promise<LocalStore> =>
      LocalStore.open(home, {
        world: new RealWorld(),
        log: openLog("silent"),
        died: (fault) => deaths.push(fault),
      });
    const store = await open();
    let found = "gone 0";
    try {
      const files = readdirSync(join(home, "agents"), { recursive: true, encoding: "utf8" });
      const forms = files.filter((name) => /jsonl|unfinished/.test(name)).map((name) => extname(name));
      const [archive, ...more] = (await store.archives({})).rows;
      const isBoth = archive !== undefined && (await store.session(KEY)) !== null;
      const isPacked = archive !== undefined && archive.packedBytes !== null;
      const where = isBoth ? `both${isPacked ? ", packed" : ""}` : isPacked ? "packed" : "archived";
      assert.deepEqual(more, []);
      if (archive && !isBoth) await store.unpack(archive.id);
      if (archive && !isBoth) await store.commit([{ do: "restore", archive: archive.id, over: null }]);
      const row = await store.session(KEY);
      if (row === null) assert.deepEqual(forms, []);
      const blobs = readdirSync(join(home, "blobs"), { recursive: true, encoding: "utf8" });
      assert.equal(blobs.filter((name) => name.length > 2).length, row === null ? 0 : 1);
      if (row !== null) {
        const entries = await Array.fromAsync(store.entries(row.transcript.id, { since: 0 }));
        const texts = entries.map((entry) => (entry.type === "gap" ? "a gap" : textOf(entry)));
        assert.deepEqual(texts, TEXTS.slice(0, texts.length));
        found = `${archive === undefined ? "lives" : where} ${texts.length} ${forms.toSorted().join("")}`;
      }
    } finally {
      await store.close();
    }
    assert.deepEqual(deaths, []);
    assert.deepEqual((await fsck(home, 0, () => {})).findings, []);
    return found;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
