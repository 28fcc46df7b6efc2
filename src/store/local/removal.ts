import { unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { syncDirectory } from "./files.ts";
import { isMissing, isOfDisk } from "./trouble.ts";
import type { Notice } from "./wire.ts";

/** Those that are still there, and why. What was not there is fine: a crash may have come after its removal. */
export function removeFiles(paths: Iterable<string>): ReadonlyMap<string, Error> {
  const left = new Map<string, Error>();
  for (const path of paths) {
    try {
      unlinkSync(path);
    } catch (error) {
      if (isMissing(error)) continue;
      if (!isOfDisk(error)) throw error;
      left.set(path, error);
    }
  }
  return left;
}

/** Also after a power cut they do not come back; each directory is synced once. */
export function removeDurably(paths: Iterable<string>): ReadonlyMap<string, Error> {
  const all = new Set(paths);
  const left = removeFiles(all);
  for (const directory of new Set([...all].map((path) => dirname(path)))) {
    try {
      syncDirectory(directory);
    } catch (error) {
      if (!isMissing(error)) throw error; // The directory never came to be, and so neither did the file.
    }
  }
  return left;
}

/** One for all of them: there may be very many. Null: there are none. */
export function noticeOfLeft(left: ReadonlyMap<string, Error>): Notice | null {
  const [first] = left;
  if (first === undefined) return null;
  const others = left.size > 1 ? `, and ${left.size - 1} more` : "";
  const message = `${first[0]} could not be removed, and is left as it is (${first[1].message})${others}`;
  return { what: "not_removed", message, count: left.size };
}
