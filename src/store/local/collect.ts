import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { isSha256, type Paths } from "./paths.ts";
import { noticeOfLeft, removeFiles } from "./removal.ts";
import type { Notice } from "./wire.ts";

/** Of files below blobs/, those that neither a transcript nor a letter or answer that waits names. */
export function unnamedOf(database: DatabaseSync, names: readonly string[]): readonly string[] {
  const named = database.prepare("SELECT 1 FROM blobs WHERE sha256 = ? LIMIT 1");
  return names.filter((name) => (isSha256(name) ? named.get(name) === undefined : isUnfinished(name)));
}

/**
 * Of files below blobs/, those that nobody names are gone when this returns; it says which. They were put long ago: whoever put them
 * and has not named them since does not hold them any more. It is the writer who looks and removes, so no commit that names one comes
 * in between. A power cut may bring them back, and then they are found again, like those that cannot be removed now.
 */
export function collectBlobs(
  database: DatabaseSync,
  paths: Paths,
  names: readonly string[],
  how: { readonly isHeld: (sha256: string) => boolean; readonly notify: (notice: Notice) => void },
): readonly string[] {
  const at = (name: string): string => join(paths.blobs, name.slice(0, 2), name);
  const gone = unnamedOf(database, names).filter((name) => !how.isHeld(name));
  const left = removeFiles(gone.map(at));
  const notice = noticeOfLeft(left);
  if (notice !== null) how.notify(notice);
  return gone.filter((name) => !left.has(at(name)));
}

/** What a crash left of a blob that was being written. Whatever else stands there is not ours. */
function isUnfinished(name: string): boolean {
  return /^[0-9a-f]{64}\.[0-9a-f-]{36}\.unfinished$/.test(name);
}
