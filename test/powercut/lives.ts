// Lives: a process that is killed, and another one that starts on what it left.
//
// A kill is not a cut: the next process finds everything the last one wrote, synced or not, because the page cache
// survives. But it survives only until the power goes, so what the first life did not sync is as much at stake in the
// second one. Nobody has to be killed for it: the recording of a life that ended well, up to some operation, is the
// recording of one that was killed there.
//
// Invariants
//   L1. Both lives are one recording: what is unsynced at the end of the first stays so until somebody syncs it.
//   L2. A file has the same inode in both.

import { rm } from "node:fs/promises";
import { assert } from "../../src/base/assert.ts";
import { Disk } from "./disk.ts";
import type { Effect, Operation, Recording, Slot, Tree } from "./operation.ts";
import { record, type Program } from "./trace.ts";
import { materialise } from "./tree.ts";

export interface Lives extends Recording {
  /** Where the second life begins: the operations before it are of the first. */
  readonly second: number;
  /** What stood in the root then. */
  readonly left: Tree;
}

/** Kills the first life when so many of its operations have begun, and runs the program in its root, on what it left. */
export async function liveOn(first: Recording, killedAt: number, program: Program): Promise<Lives> {
  const disk = new Disk(first);
  const left = disk.running(killedAt);
  await rm(program.root, { recursive: true, force: true });
  await materialise(left, program.root);
  const second = await record(program);
  const inodeOf = renumbering(first, disk.inodes(killedAt), second.initial);
  const operations = first.operations.slice(0, killedAt);
  const over = Math.max(0, ...operations.map(({ done }) => done));
  const later = second.operations.map((operation): Operation => {
    const { path, begun, done } = operation;
    return { ...renumbered(operation, inodeOf), path, begun: begun + over, done: done + over };
  });
  return { initial: first.initial, operations: [...operations, ...later], second: killedAt, left };
}

/** L2. What the second life found has a number already; what it made gets one that nobody had. */
function renumbering(
  first: Recording,
  known: ReadonlyMap<string, number>,
  found: Tree,
): (inode: number) => number {
  const highest = first.operations.reduce(
    (most, operation) => ("inode" in operation ? Math.max(most, operation.inode) : most),
    first.initial.size,
  );
  const inodes = [...found.keys()].map((path) => known.get(path));
  return (inode) => {
    if (inode === 0) return 0;
    if (inode > found.size) return highest + inode - found.size;
    const same = inodes[inode - 1];
    assert(same !== undefined, "the second life found what the first left (L2)");
    return same;
  };
}

function renumbered(effect: Effect, inodeOf: (inode: number) => number): Effect {
  const moved = ({ directory, name }: Slot): Slot => ({ directory: inodeOf(directory), name });
  if (effect.op === "said") return effect;
  const inode = inodeOf(effect.inode);
  if (effect.op === "rename") {
    const replaced = effect.replaced === null ? null : inodeOf(effect.replaced);
    return { ...effect, inode, from: moved(effect.from), to: moved(effect.to), replaced };
  }
  return "at" in effect ? { ...effect, inode, at: moved(effect.at) } : { ...effect, inode };
}
