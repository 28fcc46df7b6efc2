// Archive, pack, unpack, restore, swap, purge: stopped at every system call, by a kill or by a power cut, each has happened or has
// not. A recording of a run up to some call is what a kill at that call leaves (test/powercut).

import assert from "node:assert/strict";
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
      const seen = new Set<string>();
      for (const { at, may } of momentsOf(run, how === "a kill")) {
        const tree = how === "a kill" ? disk.running(at) : disk.cut(at, () => dice.random()).tree;
        const found = await look(tree, join(folder, "after"));
        assert.ok(may.has(found), `operation ${at}: ${found}, and should be ${[...may].join(" or ")}`);
        seen.add(found);
      }
      assert.ok(seen.size >= 9, [...seen].join()); // it was everywhere
    });
});

/**
 * Every operation on a file of the store's own, and of those on the database the ones around its syncs: within a transaction
 * nothing else can be seen. With each, how it may stand if that is the last one that was begun.
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
    if (at <= first || op === "said" || /search|owner/.test(path)) return [];
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
      const where = isBoth
        ? "both"
        : archive
          ? archive.packedBytes === null
            ? "archived"
            : "packed"
          : "lives";
      assert.deepEqual(more, []);
      if (archive && !isBoth) await store.unpack(archive.id);
      if (archive && !isBoth) await store.commit([{ do: "restore", archive: archive.id, over: null }]);
      const row = await store.session(KEY);
      const form = where === "packed" ? ".zst" : ".jsonl";
      assert.deepEqual(forms, row === null ? [] : isBoth ? [form, form] : [form]);
      const blobs = readdirSync(join(home, "blobs"), { recursive: true, encoding: "utf8" });
      assert.equal(blobs.filter((name) => name.length > 2).length, row === null ? 0 : 1);
      if (row !== null) {
        const entries = await Array.fromAsync(store.entries(row.transcript.id, { since: 0 }));
        const texts = entries.map((entry) => (entry.type === "gap" ? "a gap" : textOf(entry)));
        assert.deepEqual(texts, TEXTS.slice(0, texts.length));
        found = `${where} ${texts.length}`;
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
