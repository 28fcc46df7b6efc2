import type { Body } from "./entry.ts";

/** A note of ours, of this kind: what stands behind `sessiond/` in its name. */
export function isNote(entry: Body | undefined, what: string): boolean {
  return entry?.type === "custom" && entry.customType === `sessiond/${what}`;
}

/** A turn begins here, or ends. */
export function isTurnNote(entry: Body | undefined): boolean {
  return isNote(entry, "turn-started") || isNote(entry, "turn-ended");
}
