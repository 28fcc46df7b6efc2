// A transcript file, read whole once, and what it says: everything of a session's row that is not only in the row.
// rebuild makes rows of it; fsck compares rows with it.

import type { Outcome, Settings } from "../sessions/session.ts";
import { blobsOf, type Entry, type Gap, type Header } from "../transcript/entry.ts";
import {
  addTokens,
  contextStart,
  NO_TOKENS,
  titleOf,
  tokensOf,
  type TokenUsage,
} from "../transcript/fold.ts";
import type { Source } from "../transcript/lines.ts";
import { pathSpans, readForward } from "../transcript/read.ts";

export interface Folded {
  /** Null: the first line is not a header, so nobody knows whose transcript it is. */
  readonly header: Header | null;
  readonly lastSeq: number;
  readonly leafId: string | null;
  readonly contextSeq: number;
  readonly jumpSeq: number;
  /** Up to and with the last newline. */
  readonly bytes: number;
  readonly title: string;
  readonly tokens: TokenUsage;
  readonly settings: Partial<Settings>;
  /** How the last turn ended; null: none did. */
  readonly outcome: Outcome | null;
  /** Of the last entry, in the words of the file; null: there is none. */
  readonly lastTimestamp: string | null;
  readonly blobs: ReadonlySet<string>;
  /** The letters that it took, and when; not those that were copied with another's history. */
  readonly letters: ReadonlyMap<string, number>;
  /** With the number of the line, so that a person finds it with an editor; of the line after it, where it has none. */
  readonly gaps: readonly (Gap & { readonly line: number })[];
}

/** What a gap is, in words that follow the name of its line. */
export const REASONS = {
  not_json: "is not JSON",
  wrong_shape: "is not an entry",
  wrong_seq: "has a number that does not fit",
  too_long: "is longer than a line may be",
  missing: "is missing",
} as const;

type Mutable<Of> = { -readonly [Name in keyof Of]: Of[Name] };

/** `lastSeq` is the number of its last entry, where somebody knows it: a larger one is wrong. */
export function foldTranscript(source: Source, lastSeq = Infinity): Folded {
  const blobs = new Set<string>();
  const letters = new Map<string, number>();
  const gaps: Folded["gaps"][number][] = [];
  const folded: Mutable<Folded> = {
    header: null,
    lastSeq: 0,
    leafId: null,
    contextSeq: 1,
    jumpSeq: 0,
    bytes: 0,
    title: "",
    tokens: NO_TOKENS,
    settings: {},
    outcome: null,
    lastTimestamp: null,
    blobs,
    letters,
    gaps,
  };
  let line = 0;
  let compacted = false;
  let afterGap = false; // then the parent may be the line that cannot be read, and nothing says that it is not
  for (const { item, offset, bytes } of readForward(source, 0, lastSeq)) {
    const isLine = !(item.type === "gap" && item.bytes === 0); // a gap between two good lines has none of its own
    if (isLine) {
      line += 1;
      if (source.read(offset + bytes - 1, 1)[0] !== 0x0a) break; // a torn last line: it was never acknowledged
      folded.bytes = offset + bytes;
    }
    if (item.type === "session") folded.header = item;
    else if (item.type === "gap") {
      gaps.push({ ...item, line: isLine ? line : line + 1 });
      if (isLine) folded.lastSeq += 1; // It was an entry, and the next one is numbered after it.
      afterGap = true;
    } else {
      if (item.parentId !== folded.leafId && !afterGap) folded.jumpSeq = item.seq;
      afterGap = false;
      compacted ||= item.type === "compaction";
      add(folded, item);
      for (const sha256 of blobsOf(item)) blobs.add(sha256);
      if (item.type === "message" && item.mailId !== undefined && item.seq > (folded.header?.copied ?? 0))
        letters.set(item.mailId, Date.parse(item.timestamp) || 0);
    }
  }
  if (compacted) folded.contextSeq = contextStart(pathOf(source, folded.jumpSeq));
  return folded;
}

function add(folded: Mutable<Folded>, entry: Entry): void {
  folded.lastSeq = entry.seq;
  folded.leafId = entry.id;
  folded.lastTimestamp = entry.timestamp;
  if (folded.title === "") folded.title = titleOf(entry) ?? "";
  // What a fork copied was paid for elsewhere.
  if (entry.seq > (folded.header?.copied ?? 0)) folded.tokens = addTokens(folded.tokens, tokensOf(entry));
  if (entry.type !== "custom" || !isObject(entry.data)) return;
  if (entry.customType === "sessiond/setting") folded.settings = { ...folded.settings, ...entry.data };
  if (entry.customType === "sessiond/turn-ended")
    folded.outcome = (entry.data["outcome"] as Outcome | undefined) ?? null;
}

function* pathOf(source: Source, jumpSeq: number): Generator<Entry> {
  const spans = jumpSeq === 0 ? null : pathSpans(source, 1);
  let at = 0;
  for (const { item } of readForward(source, 0)) {
    if (item.type === "session" || item.type === "gap") continue;
    while (spans && (spans[at]?.[1] ?? Infinity) < item.seq) at += 1;
    if (!spans || (spans[at]?.[0] ?? Infinity) <= item.seq) yield item;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
