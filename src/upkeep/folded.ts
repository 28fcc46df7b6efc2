// A transcript file, read whole once, and what it says: everything of a session's row that is not only in the row.
// rebuild makes rows of it; fsck compares rows with it.

import type { Outcome, Settings, Usage } from "../sessions/session.ts";
import { blobsOf, type Entry, type Gap, type Header } from "../transcript/entry.ts";
import {
  addTokens,
  contextStart,
  contextTokensOf,
  isPersonal,
  NO_TOKENS,
  titleOf,
  tokensOf,
  type TokenUsage,
} from "../transcript/fold.ts";
import { GENERATION, type Generation } from "../transcript/generation.ts";
import type { Source } from "../transcript/lines.ts";
import { pathSpans, readForward } from "../transcript/read.ts";

export interface Folded {
  /** Null: the first line is not a header, so nobody knows whose transcript it is. */
  readonly header: Header | null;
  /** Of its first entry; of the one that comes next, where it has none. */
  readonly firstSeq: number;
  /** Its first entry goes on from one of an earlier file. A conversation that begins anew does not, whatever that file has since. */
  readonly continues: boolean;
  readonly lastSeq: number;
  readonly leafId: string | null;
  readonly contextSeq: number;
  readonly contextTokens: number;
  readonly jumpSeq: number;
  /** Up to and with the last newline. */
  readonly bytes: number;
  readonly title: string;
  readonly tokens: TokenUsage;
  /** What else was used, as far as a file that begins in the middle says it. */
  readonly usage: Partial<Usage>;
  readonly settings: Partial<Settings>;
  /** Null: only the first line says when it was begun. */
  readonly bornAtMs: number | null;
  readonly interactedAtMs: number;
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

/** A later file of a history begins in the middle: that the first entry continues one of an earlier file is no damage. */
export function isBeginning(folded: Folded, gap: Folded["gaps"][number]): boolean {
  const [first] = folded.gaps;
  return folded.header?.previous !== undefined && gap === first && gap.bytes === 0 && gap.line === 2;
}

/** `lastSeq` is the number of its last entry, where somebody knows it: a larger one is wrong. */
export function foldTranscript(source: Source, lastSeq = Infinity): Folded {
  const blobs = new Set<string>();
  const letters = new Map<string, number>();
  const gaps: Folded["gaps"][number][] = [];
  const folded: Mutable<Folded> = {
    header: null,
    firstSeq: 1,
    continues: false,
    lastSeq: 0,
    leafId: null,
    contextSeq: 1,
    contextTokens: 0,
    jumpSeq: 0,
    bytes: 0,
    title: "",
    tokens: NO_TOKENS,
    usage: {},
    settings: {},
    bornAtMs: null,
    interactedAtMs: 0,
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
    if (item.type === "session") begin(folded, item);
    else if (item.type === "gap") {
      gaps.push({ ...item, line: isLine ? line : line + 1 });
      if (isLine) folded.lastSeq += 1; // It was an entry, and the next one is numbered after it.
      afterGap = true;
    } else {
      if (item.parentId !== folded.leafId && !afterGap) jump(folded, item);
      const { header } = folded;
      if (folded.leafId === null) folded.continues = item.parentId !== null;
      if (folded.leafId === null && header?.previous !== undefined && header.firstSeq === undefined)
        folded.firstSeq = folded.contextSeq = item.seq; // It did not fit the first line.
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

/** Its numbers may begin where those of an earlier file stopped. */
function begin(folded: Mutable<Folded>, header: Header): void {
  const firstSeq = Number.isSafeInteger(header.firstSeq) ? (header.firstSeq ?? 1) : 1;
  folded.header = header;
  folded.firstSeq = firstSeq;
  folded.contextSeq = firstSeq;
  folded.lastSeq = firstSeq - 1;
}

/** What is shown from here on is another context: how large it is says an entry after this, or itself. */
function jump(folded: Mutable<Folded>, { seq }: Entry): void {
  folded.jumpSeq = seq;
  folded.contextTokens = 0;
}

function add(folded: Mutable<Folded>, entry: Entry): void {
  folded.lastSeq = entry.seq;
  folded.leafId = entry.id;
  folded.lastTimestamp = entry.timestamp;
  if (folded.title === "") folded.title = titleOf(entry) ?? "";
  folded.contextTokens = contextTokensOf(entry) ?? folded.contextTokens;
  // What a fork copied was paid for elsewhere, and written to another.
  if (entry.seq > (folded.header?.copied ?? 0)) {
    folded.tokens = addTokens(folded.tokens, tokensOf(entry));
    if (isPersonal(entry)) folded.interactedAtMs = Date.parse(entry.timestamp) || folded.interactedAtMs;
    if (entry.type === "custom" && entry.customType === GENERATION && isObject(entry.data))
      goOn(folded, entry.data as Partial<Generation>);
  }
  if (entry.type !== "custom" || !isObject(entry.data)) return;
  if (entry.customType === "sessiond/setting") folded.settings = { ...folded.settings, ...entry.data };
  if (entry.customType === "sessiond/turn-ended")
    folded.outcome = (entry.data["outcome"] as Outcome | undefined) ?? null;
}

/** A new file says what was known until then: so it does not matter whether the earlier ones are there. */
function goOn(folded: Mutable<Folded>, told: Partial<Generation>): void {
  const { usage, settings, title, bornAtMs, interactedAtMs } = told;
  if (isObject(usage)) {
    const { input, output, cacheRead, cacheWrite, cost, ...others } = { ...NO_TOKENS, ...usage };
    folded.tokens = { input, output, cacheRead, cacheWrite, cost };
    folded.usage = others;
  }
  if (isObject(settings)) folded.settings = settings;
  if (typeof title === "string") folded.title = title;
  if (typeof bornAtMs === "number") folded.bornAtMs = bornAtMs;
  if (typeof interactedAtMs === "number") folded.interactedAtMs = interactedAtMs;
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
