// How an entry is spoken of: by its first words and its time. Its number is for commands, and stands in the title of its time. Pure.

import { cut, oneLine } from "../../../../src/base/harmless.ts";
import { itemOf } from "../../../../src/calls/told.ts";
import type { Entry } from "../../../../src/transcript/entry.ts";
import { clock } from "../../../parts/clock.ts";

const WORDS_CELLS = 48;
/** Characters of which the first words are made: a text may have millions. */
const LOOKED_AT_CHARS = 1_000;

export function nameOfEntry(entry: Entry, nowMs: number): string {
  const item = itemOf(entry);
  const at = timeOf(item.atMs, nowMs);
  const text = "text" in item ? oneLine(item.text.slice(0, LOOKED_AT_CHARS)) : "";
  const words = text === "" ? KINDS[item.what] : `“${cut(text, WORDS_CELLS)}”`;
  return at === "" ? words : `${words} (${at})`;
}

const KINDS: Readonly<Record<ReturnType<typeof itemOf>["what"], string>> = {
  letter: "the message",
  report: "the report",
  answer: "the step",
  result: "the result",
  began: "the beginning of the turn",
  resumed: "the restart",
  ended: "the end of the turn",
  note: "the note",
  setting: "the setting",
  silent: "the note to its memory",
  nothing: "the entry",
};

/** With its day, unless that is today; nothing, where nobody knows when. */
function timeOf(atMs: number, nowMs: number): string {
  if (atMs === 0) return "";
  const isToday = new Date(atMs).toDateString() === new Date(nowMs).toDateString();
  return clock(atMs, isToday ? "minutes" : "day");
}
