// A directory between the disk and memory.

import { lstat, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { assert } from "../../src/base/assert.ts";
import { isSharedMemory, type Tree } from "./operation.ts";

/** Files and directories below `directory`; `-shm` files are left out. */
export async function readTree(directory: string): Promise<Tree> {
  const tree = new Map<string, Uint8Array | null>();
  await readInto(tree, directory, "");
  return tree;
}

async function readInto(tree: Map<string, Uint8Array | null>, root: string, below: string): Promise<void> {
  const found = await readdir(join(root, below), { withFileTypes: true });
  for (const { name } of found.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(below, name);
    const about = await lstat(join(root, path));
    if (about.isDirectory()) {
      tree.set(path, null);
      await readInto(tree, root, path);
    } else if (!isSharedMemory(path)) {
      // A second name would make two files of one, and the model would let them part.
      assert(about.isFile() && about.nlink === 1, `${path} is a plain file with one name`);
      tree.set(path, await readFile(join(root, path)));
    }
  }
}

/** Writes the tree into `directory`, which is made if it is missing and must be empty otherwise. */
export async function materialise(tree: Tree, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const there = await readdir(directory);
  assert(there.length === 0, `${directory} is empty, so that nothing of another cut shines through`);
  for (const [path, bytes] of tree) {
    if (bytes === null) await mkdir(join(directory, path));
    else await writeFile(join(directory, path), bytes);
  }
}
