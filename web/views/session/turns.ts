// Which turns a session had, and which one an entry belongs to. A turn begins with a note of its own in the transcript.

import { cut, oneLine } from "../../../src/base/harmless.ts";
import { isNote } from "../../../src/transcript/note.ts";
import { textOf } from "../../../src/transcript/entry.ts";
import { call } from "../../wire/call.ts";
import type { Line } from "../../wire/events.ts";

export interface Turn {
  readonly turn: string;
  readonly at: string;
  readonly text: string; // how what it was about begins; empty: nobody said anything
}

const PAGE_ENTRIES = 200;
const PAGES_MAX = 10;
const TEXT_CELLS = 40;

/** Those among the last entries, the newest first. */
export async function turnsIn(sessionKey: string, signal: AbortSignal): Promise<readonly Turn[]> {
  const page = await call("entries", { sessionKey, last: PAGE_ENTRIES, limit: PAGE_ENTRIES }, signal);
  const lines = page.entries as unknown as readonly Line[];
  return lines
    .flatMap((line, at) => {
      const turn = turnIn(line);
      return turn === null || line.type === "gap"
        ? []
        : [{ turn, at: line.timestamp, text: firstWords(lines.slice(at + 1, at + 4)) }];
    })
    .toReversed();
}

/** The turn that an entry belongs to; null: it is too long, or the entry is older than any. */
export async function turnAt(sessionKey: string, seq: number): Promise<string | null> {
  let before = seq;
  for (let pages = 0; before >= 1 && pages < PAGES_MAX; pages += 1) {
    const from = Math.max(1, before - PAGE_ENTRIES + 1);
    const page = await call("entries", { sessionKey, from, limit: PAGE_ENTRIES });
    const found = (page.entries as unknown as readonly Line[])
      .filter((line) => line.type === "gap" || line.seq <= before)
      .findLast((line) => turnIn(line) !== null);
    if (found !== undefined) return turnIn(found);
    before = from - 1;
  }
  return null;
}

function turnIn(line: Line): string | null {
  if (line.type !== "custom" || !isNote(line, "turn-started")) return null;
  const { turn } = (line.data ?? {}) as { readonly turn?: unknown };
  return typeof turn === "string" ? turn : null;
}

function firstWords(lines: readonly Line[]): string {
  const said = lines.find((line) => line.type === "message");
  return said === undefined ? "" : cut(oneLine(textOf(said)), TEXT_CELLS);
}
