import type { Entry } from "../../../src/transcript/entry.ts";
import type { Deed } from "../../parts/menu.tsx";

interface TranscriptParts {
  readonly sessionKey: string;
  /** The entry that is to be seen, by its number; null: the newest. */
  readonly at: number | null;
  /** What can be done with an entry: what stands in its menu. */
  readonly deeds: (entry: Entry) => readonly Deed[];
}

export function Transcript(_: TranscriptParts) {
  return null;
}
