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

import type { Body, Entry, Message } from "../transcript/entry.ts";
import { assemble, isSummary, wholeOf } from "./assemble.ts";
import { detailsOf } from "./compaction.ts";
import { isPruned, isPruningNote, markerOf, pruningIn, type Pruning } from "./prune.ts";
import { bytesOf, TOKENS_PER_BYTE } from "./weight.ts";
import { windowOf } from "./window.ts";

export { bytesOf } from "./weight.ts";

/**
 * Outside of these a number is no count of tokens: at least so many of the conversation alone, at most so many of all. Models that
 * only pretend count a quarter of the texts' characters, and no tools.
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
  const walk = new Walk(window, frame, shared).through(speaker);
  const weights = weighed(assemble(entries, shared), frame, window[0]?.type === "compaction");
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
  readonly #shared: boolean;
  #pruning: Pruning = pruningIn([]);
  #seen: Report = { tokens: 0, bytes: 0 }; // what came between reports with nothing taken out between them

  constructor(window: readonly Entry[], frame: Frame, shared: boolean) {
    this.#window = window;
    this.#frameBytes = frame.system + frame.tools;
    this.#shared = shared;
    this.bytes = this.#frameBytes;
  }

  through(speaker: Speaker): this {
    const [first] = this.#window;
    const compactedAt = first?.type === "compaction" ? first.seq : 0;
    let older: Report | null = null; // the report before, if nothing was taken out since
    let cutTo: number | null = null; // of the prompt that comes next
    let isAfter = compactedAt === 0; // what the compaction kept stood in another prompt
    for (const [at, entry] of this.#window.entries()) {
      if (!isAfter && entry.seq > compactedAt) {
        [isAfter, older] = [true, null];
        this.report = this.#compacted(speaker);
      }
      if (isPruningNote(entry)) {
        older = null;
        this.#prune(at + 1);
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
      this.bytes += this.#bytesIn(entry);
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

  #bytesIn(entry: Entry): number {
    const message = wholeOf(entry, this.#shared);
    return message === null ? 0 : bytesOf(message);
  }

  /** P1: what the note takes out that was whole before it, and the reverse for what was pinned since. */
  #prune(end: number): void {
    const [before, now] = [this.#pruning, pruningIn(this.#window, end)];
    const pinned = before.except.size + now.except.size > 0;
    const from = pinned ? 0 : Math.min(before.through, now.through) + 1;
    for (let at = from; at <= Math.max(before.through, now.through); at += 1) {
      const entry = this.#window[at];
      if (entry === undefined) continue;
      const [was, is] = [isPruned(entry, at, before), isPruned(entry, at, now)];
      if (was === is || !isPruned(entry, at, was ? before : now)) continue;
      const less = this.#bytesIn(entry) - bytesOf(markerOf(entry));
      this.bytes += was ? less : -less;
    }
    this.#pruning = now;
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

/** Bytes of each part. The summary of a compaction is the first message. */
function weighed(messages: readonly Message[], frame: Frame, isCompacted: boolean): Parts {
  let [summary, said, results] = [0, 0, 0];
  for (const [at, message] of messages.entries()) {
    if (message.role === "toolResult") results += bytesOf(message);
    else if (at === 0 && isCompacted && isSummary(message)) summary += bytesOf(message);
    else said += bytesOf(message);
  }
  return { ...frame, summary, messages: said, toolResults: results };
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
