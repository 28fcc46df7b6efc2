// Before its older part is summarised, an agent may write down what is to last: it is asked to, silently, inside the turn that
// is under way. The exchange is in the transcript like everything else; once it is over, no model is shown it.

import { callsIn, type Body, type Entry } from "../transcript/entry.ts";
import { isTurnNote } from "../transcript/note.ts";
import { FLUSH_ANSWERS_MAX } from "./limits.ts";

const FLUSH = "sessiond/flush";

const WORDS =
  "The older part of this conversation is about to be replaced by a summary. If it holds something that should be known " +
  "in later conversations too and is not written down yet, write it to your memory now: memory_write, mode append, a file " +
  "such as memory/<topic>.md. Do nothing else, and do not go on with your work: that comes after it. Then, or if there is " +
  "nothing to write, answer with NO_REPLY. Nobody is shown this.";

export function flushNote(): Body {
  return { type: "custom_message", customType: FLUSH, content: WORDS, display: false };
}

/** What else an agent did meanwhile, no model would be shown later: so only these tools are there for it. */
export function isForFlush(tool: string): boolean {
  return tool.startsWith("memory_");
}

/** The agent was asked, and has not said that it is through. */
export function isFlushing(entries: readonly Entry[]): boolean {
  const at = entries.findLastIndex(isFlush);
  return at >= 0 && endOf(entries, at) === null;
}

/** It was asked since the last compaction: once is enough. */
export function hasFlushed(entries: readonly Entry[]): boolean {
  const at = entries.findLastIndex((entry) => isFlush(entry) || entry.type === "compaction");
  const last = entries[at];
  return last !== undefined && isFlush(last);
}

/** Without such exchanges that are over. What others wrote meanwhile stays. */
export function withoutFlushes(entries: readonly Entry[]): readonly Entry[] {
  const hidden = new Set(
    flushesIn(entries).flatMap(([note, ...since]) => [
      note,
      ...since.filter((entry) => isOfFlush(entry) || isFlush(entry)),
    ]),
  );
  return hidden.size === 0 ? entries : entries.filter((entry) => !hidden.has(entry));
}

/** What stands in such exchanges after the note that begins them: without that note, all of it would be shown. */
export function insideFlushes(entries: readonly Entry[]): ReadonlySet<Entry> {
  return new Set(flushesIn(entries).flatMap(([, ...since]) => since));
}

/** Each that is over: the note that begins it, and all up to its end. */
function flushesIn(entries: readonly Entry[]): readonly (readonly [Entry, ...Entry[]])[] {
  const found: [Entry, ...Entry[]][] = [];
  for (let at = 0; at < entries.length; at += 1) {
    const entry = entries[at] as Entry;
    if (!isFlush(entry)) continue;
    const end = endOf(entries, at);
    if (end === null) break; // What does not end it would not end a later one.
    found.push([entry, ...entries.slice(at + 1, end + 1)]);
    at = end;
  }
  return found;
}

/** The index of the entry with which it is over; null: it goes on. */
function endOf(entries: readonly Entry[], from: number): number | null {
  let answers = 0;
  for (let at = from + 1; at < entries.length; at += 1) {
    const entry = entries[at];
    // The turn ended over it, it was cut off, or a rewind went back into it: then what follows is no part of it.
    if (entry?.type === "compaction" || isTurnNote(entry)) return at - 1;
    if (entry?.type !== "message" || entry.message.role !== "assistant") continue;
    if (callsIn(entry).length === 0) return at;
    answers += 1;
    if (answers === FLUSH_ANSWERS_MAX) return lastResult(entries, at);
  }
  return null;
}

/** Of the results that follow an answer; itself, if none does. */
function lastResult(entries: readonly Entry[], answer: number): number {
  let at = answer;
  while (isResult(entries[at + 1])) at += 1;
  return at;
}

function isResult(entry: Entry | undefined): boolean {
  return entry?.type === "message" && entry.message.role === "toolResult";
}

function isFlush(entry: Entry): boolean {
  return entry.type === "custom_message" && entry.customType === FLUSH;
}

function isOfFlush(entry: Entry): boolean {
  return entry.type === "message" && entry.message.role !== "user";
}
