// Blobs: large results, each a file named by its SHA-256. Hashing and writing happen on the thread pool, so a
// large one does not hold up the main thread.
//
// Invariants
//   H1. A blob has its name only when all its bytes are synced: written under another name, synced, renamed,
//       and then the directories synced.
//   H2. Putting the same bytes twice keeps one.

import { randomUUID, webcrypto } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BlobName } from "../../transcript/entry.ts";
import { blobPath, isSha256, type Paths } from "./paths.ts";
import { isMissing } from "./trouble.ts";

export async function hashOf(bytes: Uint8Array): Promise<string> {
  const digest = await webcrypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  return Buffer.from(digest).toString("hex");
}

/** Its time is the store's, by which it is known later how long nobody has named it. */
export async function writeBlob(
  paths: Paths,
  sha256: string,
  bytes: Uint8Array,
  nowMs: number,
): Promise<BlobName> {
  const path = blobPath(paths, sha256);
  const directory = dirname(path);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // The name is thrown away with the rename; it only has to differ from every other writer's.
  const unfinished = join(directory, `${sha256}.${randomUUID()}.unfinished`);
  try {
    const handle = await open(unfinished, "wx", 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.utimes(nowMs / 1_000, nowMs / 1_000);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  for (const at of [directory, paths.blobs, paths.home]) await syncDirectory(at);
  return { sha256, bytes: bytes.length };
}

/** Null: there is no such blob. */
export async function readBlob(
  paths: Paths,
  sha256: string,
  range: { readonly from: number; readonly bytes: number },
): Promise<Uint8Array | null> {
  if (!isSha256(sha256)) return null;
  try {
    const handle = await open(blobPath(paths, sha256), "r");
    try {
      const { size } = await handle.stat();
      const bytes = Buffer.alloc(Math.max(0, Math.min(range.bytes, size - range.from)));
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, range.from);
      return bytes.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
