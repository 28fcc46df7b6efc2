// What the entries of a transcript say about the session: the part of its row that can be made again from
// the file alone. The store keeps title and context up with every append; rebuild folds whole files; fsck compares the two.
//
// Invariants
//   F1. Of a and then b: the title is that of a, or that of b where a has none; the tokens are those of a and of b
//       together; how large the context is says b, or a where b does not speak of it and continues it. So what is known
//       of a need not be read again when b is added.
//   F2. Where the context starts is no such fold: a compaction may have kept any entry before it, so contextStart
//       needs the whole path. Who appends a compaction has that at hand, and says where.

import { TITLE_CHARS_MAX } from "../limits.ts";
import { textOf, type Body, type Entry, type MessageUsage } from "./entry.ts";

/** Tokens by kind, and what they cost in US dollars. */
export interface TokenUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cost: number;
}

/** Blanks in a row count as one, so a title may begin in more characters than it has. */
const OPENING_CHARS = 4 * TITLE_CHARS_MAX;

export const NO_TOKENS: TokenUsage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0 };

/** The first words a person wrote, on one line. Null: this is not a message of a person. */
export function titleOf(body: Body): string | null {
  const opening = openingOf(body);
  return opening === null ? null : titleFrom(opening);
}

/**
 * As much of a person's message as a title can be made of. Every message is looked at, and only a session's first
 * gives it a title: so what is cheap is done here, and the rest in titleFrom.
 */
export function openingOf(body: Body): string | null {
  if (body.type !== "message" || body.message.role !== "user") return null;
  const text = textOf(body).trimStart();
  if (text === "") return null;
  const opening = text.slice(0, OPENING_CHARS);
  // The cut may have split a character; its first half alone is not shown.
  return opening.length < text.length ? opening.replace(/[\ud800-\udbff]$/, "") : opening;
}

/** Whether a person wrote it, or a program that speaks for one: not another session, a timer, or sessiond itself. */
export function isPersonal(body: Body): boolean {
  return body.type === "message" && body.message.role === "user" && body.provenance?.kind === "external_user";
}

/** Never empty, as an opening never is: so who has a title keeps it (F1). */
export function titleFrom(opening: string): string {
  const chars = [...opening.replaceAll(/\s+/g, " ").trim()];
  if (chars.length <= TITLE_CHARS_MAX) return chars.join("").trimEnd();
  return `${chars.slice(0, TITLE_CHARS_MAX - 1).join("")}…`;
}

/** What one entry says was paid. Numbers that are missing or no numbers count as nothing: others write files too. */
export function tokensOf(body: Body): TokenUsage {
  const told = usageIn(body);
  if (told === null) return NO_TOKENS;
  const usage: Partial<Record<string, unknown>> = { ...told };
  const cost = told.cost?.total;
  return {
    input: amount(usage["input"]),
    output: amount(usage["output"]),
    cacheRead: amount(usage["cacheRead"]),
    cacheWrite: amount(usage["cacheWrite"]),
    cost: amount(cost),
  };
}

/** The note of a model that was asked for a summary: it was paid for, whatever came of it. */
export const PAID = "sessiond/paid";

export interface Paid {
  readonly usage: MessageUsage;
}

/** Of an answer, or of what a summary cost; null: nothing was paid, or nobody says how much. */
function usageIn(body: Body): Partial<MessageUsage> | null {
  if (body.type === "custom" && body.customType === PAID)
    return (body.data as Partial<Paid> | null | undefined)?.usage ?? null;
  if (body.type !== "message" || body.message.role !== "assistant") return null;
  return body.message.usage ?? null;
}

export function addTokens(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    cost: a.cost + b.cost,
  };
}

/** The note with which a conversation goes on from an earlier entry. */
export const REWOUND = "sessiond/rewound";

export interface Rewound {
  readonly to: number; //            the seq of that entry
  readonly from: number; //          and where it was
  readonly contextTokens: number; // as that path has it; 0: nobody on it says
  readonly left: number; //          messages that a model was shown before, and is not any more; absent in older notes
  readonly isReturn: boolean; //     the entry is of a branch that had been left; absent there, too
}

/**
 * How many tokens the context had with this entry: an answer counts what its model was shown and itself, a compaction what is left.
 * 0: it is another context now, and nobody says how large. Null: this entry does not speak of it. Every entry that is appended is
 * looked at.
 */
export function contextTokensOf(body: Body): number | null {
  if (body.type === "compaction") return compactedTo(body.details);
  if (body.type === "custom" && body.customType === REWOUND)
    return size((body.data as Partial<Rewound> | null | undefined)?.contextTokens);
  if (body.type !== "message" || body.message.role !== "assistant") return null;
  const { input, output, cacheRead, cacheWrite } = tokensOf(body);
  const shown = size(input + output + cacheRead + cacheWrite);
  return shown === 0 ? null : shown; // It failed before anything was counted: the context is what it was.
}

/** What the newest of them says that speaks of it; null: none does. */
export function contextTokensIn(bodies: readonly Body[]): number | null {
  return bodies.map(contextTokensOf).findLast((tokens) => tokens !== null) ?? null;
}

/** What another program's compaction left is nowhere said. */
function compactedTo(details: unknown): number {
  const told = details as { readonly by?: unknown; readonly tokensAfter?: unknown } | null | undefined;
  return told?.by === "sessiond" ? size(told.tokensAfter) : 0;
}

/**
 * The seq at which the context of a path starts: the first entry that its newest compaction kept, or where the
 * path does; 1 for a path without entries.
 * A compaction that names an entry which is not on the path kept nothing, so the context starts with itself.
 */
export function contextStart(path: Iterable<Entry>): number {
  const seqs = new Map<string, number>();
  let start: number | null = null;
  let first = 1;
  for (const entry of path) {
    if (seqs.size === 0) first = entry.seq;
    seqs.set(entry.id, entry.seq);
    if (entry.type === "compaction") start = seqs.get(entry.firstKeptEntryId) ?? entry.seq;
  }
  return start ?? first;
}

/** Of a context: more than any number can count is none. */
function size(value: unknown): number {
  return typeof value === "number" && value > 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0;
}

function amount(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
