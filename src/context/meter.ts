// Meter
//
// How many tokens a request would have now: what the provider counted the last time, and an estimate of what came since. Read
// from the entries alone, so that a restart changes nothing.
//
//   Owns:      which reported numbers are believed, and how many bytes a token is.
//   Does not:  weigh a message (weight.ts), decide what is too much (room.ts).
//
// Invariants
//   M1. Only the window counts, as it is shown.
//   M2. Only what the model in force has reported is believed, and only where it can be true of these bytes: files may say anything.
//   M3. After a compaction no older report says how large the prompt is: the compaction does. How many bytes a token is, they
//       still say.
//   M4. What a model was shown cut to fit says how many bytes a token is, and not how large the whole is.

import type { Body, Entry } from "../transcript/entry.ts";
import { detailsOf } from "./compaction.ts";
import { isPrunable, isPruningNote, markerOf, pruningOf } from "./prune.ts";
import { bytesByPlace, MISSING_BYTES, tallyOf, type Tally } from "./tally.ts";
import { bytesOf, TOKENS_PER_BYTE } from "./weight.ts";
import { windowOf } from "./window.ts";

export { bytesOf } from "./weight.ts";

/**
 * Outside of these a number is no count of tokens: at least so many of the conversation alone, at most so many of all. Some
 * count a quarter of the texts' characters, and no tools.
 */
const TOKENS_PER_BYTE_MIN = 1 / 50;
const TOKENS_PER_BYTE_MAX = 1;

/** What a whole prompt can teach: below it something was not counted, above it we do not see what was. */
const ASSUMED_MIN = 1 / 10;
const ASSUMED_MAX = 1 / 2;

/** So many bytes of what we assume weigh as much as the same of what we have seen: a few short steps say little. */
const ASSUMED_BYTES = 4_000;

/** UTF-8 bytes of the system prompt, and of the JSON of the tools. */
export interface Frame {
  readonly system: number;
  readonly tools: number;
}

/** Tokens; together they are exactly the `tokens` of the reading. */
export interface Parts {
  readonly system: number;
  readonly tools: number;
  readonly summary: number; // of what was compacted
  readonly messages: number;
  readonly toolResults: number;
}

export interface Reading {
  readonly tokens: number;
  readonly parts: Parts;
  readonly tokensPerByte: number;
}

/** The model in force, as answers name it: `provider` and `model` of the message. */
export interface Speaker {
  readonly provider: string;
  readonly name: string;
}

/** `shared`: as for `assemble`. */
export function meter(entries: readonly Entry[], frame: Frame, speaker: Speaker, shared: boolean): Reading {
  const window = windowOf(entries);
  const tally = tallyOf(window, shared);
  const walk = new Walk(window, frame, tally.whole).through(speaker);
  const weights = weighed(window, frame, tally);
  const bytes = Object.values(weights).reduce((sum, each) => sum + each, 0);
  const { tokensPerByte, report } = walk;
  const estimate =
    report === null ? bytes * tokensPerByte : report.tokens + (walk.bytes - report.bytes) * tokensPerByte;
  const least = (bytes - frame.system - frame.tools) * TOKENS_PER_BYTE_MIN;
  const tokens = Math.ceil(Math.max(estimate, least));
  return { tokens, parts: divided(tokens, weights), tokensPerByte };
}

const CUT = "sessiond/cut";

/** Stands before an answer to messages that were cut to this many bytes (M4). */
export function cutNote(bytes: number): Body {
  return { type: "custom", customType: CUT, data: { bytes } };
}

/** Null: it is no such note. */
function cutIn(entry: Entry): number | null {
  if (entry.type !== "custom" || entry.customType !== CUT) return null;
  const { bytes } = (entry.data ?? {}) as { readonly bytes?: unknown };
  return typeof bytes === "number" && bytes > 0 ? bytes : null;
}

/** A number of tokens that the model reported of a prompt, and the bytes of that prompt as we weigh them. */
interface Report {
  readonly tokens: number;
  readonly bytes: number;
}

/** From the beginning of the window to now: what was shown at each report. */
class Walk {
  bytes: number; //               of the prompt as it was shown where the walk is, and at last: as it is now
  report: Report | null = null; // the newest one; null: none since the last compaction
  tokensPerByte = TOKENS_PER_BYTE;

  readonly #window: readonly Entry[];
  readonly #frameBytes: number;
  readonly #whole: readonly number[]; // by index: bytes of what is shown of it while it is not pruned
  readonly #savings: Savings | null; //  null: nothing was ever pruned
  #saved = 0; //                         bytes that the newest note takes out
  #seen: Report = { tokens: 0, bytes: 0 }; // what came between reports with nothing taken out between them

  constructor(window: readonly Entry[], frame: Frame, whole: readonly number[]) {
    this.#window = window;
    this.#frameBytes = frame.system + frame.tools;
    this.#whole = whole;
    this.#savings = window.some(isPruningNote) ? new Savings() : null;
    this.bytes = this.#frameBytes;
  }

  through(speaker: Speaker): this {
    const [first] = this.#window;
    const compactedAt = first?.type === "compaction" ? first.seq : 0;
    let older: Report | null = null; // the report before, if nothing was taken out since
    let cutTo: number | null = null; // of the prompt that comes next
    let isAfter = compactedAt === 0; // what the compaction kept stood in another prompt
    for (let at = 0; at < this.#window.length; at += 1) {
      const entry = this.#window[at] as Entry;
      if (!isAfter && entry.seq > compactedAt) {
        [isAfter, older] = [true, null];
        this.report = this.#compacted(speaker);
      }
      if (isPruningNote(entry)) {
        older = null;
        this.#prune(entry);
      }
      cutTo = cutIn(entry) ?? cutTo;
      const shown = cutTo === null ? this.bytes : Math.min(this.bytes, this.#frameBytes + cutTo);
      const report = this.#reportIn(entry, { speaker, shown, isWhole: isAfter });
      if (report !== null) {
        if (older !== null && cutTo === null) this.#compare(older, report);
        older = cutTo === null ? report : null;
        if (isAfter) this.report = report;
      }
      if (isAnswer(entry)) cutTo = null;
      this.bytes += this.#whole[at] ?? 0;
      this.#savings?.add(entry, this.#whole[at] ?? 0);
    }
    if (!isAfter) this.report = this.#compacted(speaker);
    this.#calibrate();
    return this;
  }

  /** M3. Who compacted knew how many tokens there were, and how many bytes went. Null: another program did, or another model's. */
  #compacted({ provider, name }: Speaker): Report | null {
    const details = detailsOf(this.#window[0]);
    if (details?.model !== `${provider}/${name}`) return null;
    const { tokensAfter: tokens } = details;
    return isLikely(tokens, this.bytes, this.#frameBytes) ? { tokens, bytes: this.bytes } : null;
  }

  /** P1: what the note before it took out is there again, but for what this one takes out. */
  #prune(note: Note): void {
    const saved = this.#savings?.of(note) ?? 0;
    this.bytes += this.#saved - saved;
    this.#saved = saved;
  }

  /** M2. `isWhole`: the walk knows all of the prompt that the answer was given to. */
  #reportIn(
    entry: Entry,
    { speaker, shown, isWhole }: { speaker: Speaker; shown: number; isWhole: boolean },
  ): Report | null {
    const message = isAnswer(entry) ? entry.message : null;
    if (message?.role !== "assistant") return null;
    if (message.provider !== speaker.provider || message.model !== speaker.name) return null;
    const tokens = reported(message.usage);
    if (tokens === null || (isWhole && !isLikely(tokens, shown, this.#frameBytes))) return null;
    return { tokens, bytes: shown };
  }

  #compare(older: Report, newer: Report): void {
    const [tokens, bytes] = [newer.tokens - older.tokens, newer.bytes - older.bytes];
    if (!isLikely(tokens, bytes)) return; // The frame was another, or thinking was turned on: nothing to learn from.
    this.#seen = { tokens: this.#seen.tokens + tokens, bytes: this.#seen.bytes + bytes };
  }

  #calibrate(): void {
    const whole = this.report === null ? TOKENS_PER_BYTE : this.report.tokens / this.report.bytes;
    const assumed = Math.min(Math.max(whole, ASSUMED_MIN), ASSUMED_MAX);
    const { tokens, bytes } = this.#seen;
    this.tokensPerByte = (tokens + assumed * ASSUMED_BYTES) / (bytes + ASSUMED_BYTES);
  }
}

type Note = Extract<Entry, { type: "custom" }>;

/** What pruning takes out of the entries so far. A file may hold any number of notes: each is looked up, not walked for. */
class Savings {
  readonly #places = new Map<string, number>(); // by id: index
  readonly #sums: number[] = []; //                by index: bytes less if all is pruned up to there

  add(entry: Entry, whole: number): void {
    const less = isPrunable(entry) ? whole - bytesOf(markerOf(entry)) : 0;
    this.#places.set(entry.id, this.#sums.length);
    this.#sums.push((this.#sums.at(-1) ?? 0) + less);
  }

  of(note: Note): number {
    const { through, except } = pruningOf(note, (id) => this.#places.get(id) ?? -1);
    let bytes = this.#sums[through] ?? 0;
    for (const id of except) {
      const place = this.#places.get(id) ?? Infinity;
      if (place <= through) bytes -= (this.#sums[place] ?? 0) - (this.#sums[place - 1] ?? 0);
    }
    return bytes;
  }
}

function isAnswer(entry: Entry): entry is Extract<Entry, { type: "message" }> {
  return entry.type === "message" && entry.message?.role === "assistant";
}

/** `framed`: so many of the bytes may not have been counted. */
function isLikely(tokens: number, bytes: number, framed = 0): boolean {
  return (
    bytes > 0 && tokens >= (bytes - framed) * TOKENS_PER_BYTE_MIN && tokens <= bytes * TOKENS_PER_BYTE_MAX
  );
}

/** Tokens of the prompt that an answer was given to; null: it does not say, or says nonsense. */
function reported(usage: unknown): number | null {
  const { input, cacheRead = 0, cacheWrite = 0 } = (usage ?? {}) as Partial<Record<string, unknown>>;
  let tokens = 0;
  for (const each of [input, cacheRead, cacheWrite]) {
    if (typeof each !== "number" || !Number.isFinite(each) || each < 0) return null;
    tokens += each;
  }
  return tokens > 0 ? tokens : null;
}

/** Bytes of each part. A compaction is the first of a window. */
function weighed(window: readonly Entry[], frame: Frame, tally: Tally): Parts {
  const bytes = bytesByPlace(window, tally);
  const summary = window[0]?.type === "compaction" ? (bytes[0] ?? 0) : 0;
  let [all, results] = [0, 0];
  for (let at = 0; at < bytes.length; at += 1) {
    const entry = window[at];
    all += bytes[at] ?? 0;
    if (entry?.type === "message" && entry.message.role === "toolResult") results += bytes[at] ?? 0;
  }
  for (const calls of tally.missing.values()) results += calls * MISSING_BYTES;
  return { ...frame, summary, messages: all - summary - results, toolResults: results };
}

/** Shares of a whole number that are whole numbers and add up to it: what is left over goes to the largest remainders. */
function divided(tokens: number, weights: Parts): Parts {
  const names = Object.keys(weights) as (keyof Parts)[];
  const sum = names.reduce((bytes, name) => bytes + weights[name], 0);
  if (sum === 0) return { ...weights, messages: tokens };
  const shares = names.map((name) => {
    const exact = (tokens * weights[name]) / sum;
    return { name, whole: Math.floor(exact), rest: exact - Math.floor(exact) };
  });
  let left = tokens - shares.reduce((all, { whole }) => all + whole, 0);
  const parts = { system: 0, tools: 0, summary: 0, messages: 0, toolResults: 0 };
  for (const { name, whole } of shares.toSorted((a, b) => b.rest - a.rest)) {
    parts[name] = whole + (left > 0 ? 1 : 0);
    left -= 1;
  }
  return parts;
}
