import { rmSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { isSha256, type Paths } from "./paths.ts";
import { namedInWaiting } from "./recover.ts";

/**
 * Of files below blobs/, those that nobody names; unless it is only asked for, they are gone when this returns. They were put
 * long ago: whoever put them and has not named them since does not hold them any more. It is the writer who looks and removes, so
 * no commit that names one comes in between. A power cut may bring them back, and then they are found again.
 */
export function collectBlobs(
  database: DatabaseSync,
  paths: Paths,
  { names, isDry }: { readonly names: readonly string[]; readonly isDry: boolean },
  isHeld: (sha256: string) => boolean,
): readonly string[] {
  const named = database.prepare("SELECT 1 FROM blobs WHERE sha256 = ? LIMIT 1");
  const unnamed = names.filter((name) =>
    isSha256(name) ? !isHeld(name) && named.get(name) === undefined : isUnfinished(name),
  );
  if (unnamed.length === 0) return [];
  const waiting = namedInWaiting(database);
  const gone = unnamed.filter((name) => !waiting.has(name));
  if (!isDry) for (const name of gone) rmSync(join(paths.blobs, name.slice(0, 2), name), { force: true });
  return gone;
}

/** What a crash left of a blob that was being written. Whatever else stands there is not ours. */
function isUnfinished(name: string): boolean {
  return /^[0-9a-f]{64}\.[0-9a-f-]{36}\.unfinished$/.test(name);
}
