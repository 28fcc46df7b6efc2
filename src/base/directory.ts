import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * With those above it; returns what was missing. Another may make one of them in the same moment, as the main thread does
 * with an agent's folder: then it is there, and its name is synced as if it were ours. Node's own `recursive` never returns
 * where nothing can be made, as in /proc.
 */
export function makeDirectory(directory: string): readonly string[] {
  const missing: string[] = [];
  for (let at = directory; dirname(at) !== at && !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const each of missing) {
    try {
      mkdirSync(each, { mode: 0o700 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || !statSync(each).isDirectory()) throw error;
    }
  }
  return missing;
}
