// What a model is shown of a session: the entries of its context as messages. Pure; the bytes of pictures come in after it
// (pictures.ts).
//
// Invariants
//   C1. Every tool call that is shown has exactly one result after it, and every result a call before it: providers refuse
//       anything else, and a file may hold anything.
//   C2. Who speaks is said by us alone: texts of others are wrapped or defused (routing/envelope.ts). Texts that stand
//       side by side are joined first: a model reads them as one.
//   C3. The same entries always give the same messages, also after a restart.
//   C4. When entries are added, what was shown before stays as it is and more comes after it: providers charge less for a
//       beginning that they have seen. It changes only with a compaction, a pruning note (prune.ts), or the result of a call that
//       was shown without one.

import { defused, wrapped } from "../routing/envelope.ts";
import { textOf, type Block, type Entry, type Message } from "../transcript/entry.ts";
import type { TurnEnded } from "../turns/where.ts";
import { isPruned, markerOf, pruningIn } from "./prune.ts";
import { isPicture } from "./weight.ts";
import { windowOf } from "./window.ts";

export { withPictures } from "./pictures.ts";

/** Characters of the reason why there is no answer: what a provider says can be long. */
const REASON_CHARS = 500;

/** How the message begins that a compaction is shown as. */
const SUMMARY_OPENING = "Summary of the conversation so far:\n";

/** In place of a result that is missing. */
export const GIVEN_UP = "There is no result: the call was given up.";

type User = Extract<Message, { role: "user" }>;
type Assistant = Extract<Message, { role: "assistant" }>;
type Result = Extract<Message, { role: "toolResult" }>;

/** `shared`: several people speak in this session, so each message says who. */
export function assemble(entries: readonly Entry[], shared: boolean): Message[] {
  const said: Message[] = [];
  const window = windowOf(entries);
  const pruning = pruningIn(window);
  for (const [at, entry] of window.entries()) {
    const message = isPruned(entry, at, pruning) ? markerOf(entry) : wholeOf(entry, shared);
    if (message !== null) said.push(message);
  }
  return paired(said);
}

/** An entry never changes, so what is made of it is made once, for as long as anybody has the entry (C3). */
const made = { shared: new WeakMap<Entry, Message | null>(), alone: new WeakMap<Entry, Message | null>() };

/** What is shown of one entry while it is not pruned; null: nothing. */
function wholeOf(entry: Entry, shared: boolean): Message | null {
  const before = made[shared ? "shared" : "alone"];
  let message = before.get(entry);
  if (message === undefined) {
    before.set(entry, (message = shown(entry, shared)));
    if (message !== null) sources.set(message, entry);
  }
  return message;
}

const sources = new WeakMap<Message, Entry>();

/** The entry that a message shows; null: it stands for one that was pruned, or for a result that is missing. */
export function sourceOf(message: Message): Entry | null {
  return sources.get(message) ?? null;
}

/** As `shown` does, of other words than the entry's. */
export function asSummary(words: string): string {
  return `${SUMMARY_OPENING}${defused(words)}`;
}

/** Of the first message that is shown: a compaction is what it is made of, or somebody wrote it so. */
export function isSummary({ role, content }: Message): boolean {
  return role === "user" && typeof content === "string" && content.startsWith(SUMMARY_OPENING);
}

/** As `wholeOf`, for whoever does not keep it. */
export function shown(entry: Entry, shared: boolean): Message | null {
  const timestamp = Date.parse(entry.timestamp);
  switch (entry.type) {
    case "message":
      return messageOf(entry, shared);
    case "custom_message":
      return { role: "user", content: ours(entry.content), timestamp };
    case "compaction":
      return {
        role: "user",
        content: asSummary(entry.summary),
        timestamp,
      };
    case "branch_summary":
      return {
        role: "user",
        content: `Summary of what was tried before:\n${defused(textOf(entry))}`,
        timestamp,
      };
    case "custom":
      return unanswered(entry, timestamp);
    default:
      return null; // A note for programs, or a kind that we do not know.
  }
}

/**
 * A turn that ended without an answer says so in its place: what a person stopped, or what failed, must not look like
 * something that is still to be done.
 */
function unanswered(
  { customType, data }: Extract<Entry, { type: "custom" }>,
  timestamp: number,
): Message | null {
  const { outcome, reason, tidied } = (data ?? {}) as Partial<TurnEnded>;
  if (tidied === true) return null;
  if (customType !== "sessiond/turn-ended" || typeof outcome !== "string" || outcome === "done") return null;
  const why = typeof reason === "string" ? `: ${reason.slice(0, REASON_CHARS)}` : "";
  return {
    role: "assistant",
    content: [{ type: "text", text: defused(`[No answer was given here (${outcome}${why}).]`) }],
    ...{ api: "sessiond", provider: "sessiond", model: "none", stopReason: "stop", timestamp },
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  };
}

function messageOf(entry: Extract<Entry, { type: "message" }>, shared: boolean): Message | null {
  const { message } = entry;
  switch (message.role) {
    case "user": {
      const from = entry.provenance ?? { kind: "external_user", channel: null, peer: null };
      return { ...message, content: texts(message.content, (text) => wrapped(text, from, shared)) };
    }
    case "assistant": {
      const content = blocksOf(message.content);
      return content.length === 0 ? null : { ...message, content }; // It failed, or was stopped before it spoke.
    }
    case "toolResult":
      return { ...message, content: joined(blocksOf(message.content), defused) };
    default:
      return null;
  }
}

function ours(content: User["content"]): User["content"] {
  return texts(content, defused);
}

function texts(content: User["content"], change: (text: string) => string): User["content"] {
  return typeof content === "string" ? change(content) : joined(blocksOf(content), change);
}

/** A file may hold anything in place of a message's content: what is no block is not shown. */
function blocksOf(content: unknown): readonly Block[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.filter(
    (block: Partial<Block> | null) =>
      typeof block?.type === "string" && (block.type !== "text" || typeof block.text === "string"),
  );
}

/** C2. Words that stand for a picture are no text: whoever is asked is shown the picture. */
function joined(blocks: readonly Block[], change: (text: string) => string): Block[] {
  const out: Block[] = [];
  let texts: string[] = [];
  const flush = (): void => {
    if (texts.length > 0) out.push({ type: "text", text: change(texts.join("\n")) });
    texts = [];
  };
  for (const block of blocks) {
    if (block.type === "text" && !isPicture(block)) {
      texts.push(block.text);
      continue;
    }
    flush();
    out.push(block.type === "text" ? { ...block, text: defused(block.text) } : block);
  }
  flush();
  return out;
}

/** C1. A result belongs to the last answer before it that has a call of its id: models use the same ids again. */
function paired(said: readonly Message[]): Message[] {
  const called = new Map<string, { result: Result | null }[]>(); // places of the last answer that has such a call
  const out: (Message | { result: Result | null; readonly missing: Result })[] = [];
  for (const message of said) {
    if (message.role === "toolResult") {
      const place = called.get(message.toolCallId)?.shift();
      if (place) place.result = message; // Else nobody called, or it has one.
      continue;
    }
    out.push(message);
    const calls = message.role === "assistant" ? callsOf(message) : [];
    if (message.role !== "assistant" || calls.length === 0) continue;
    const places = calls.map((call) => ({ id: call.id, result: null, missing: missing(message, call) }));
    for (const [id, same] of Map.groupBy(places, ({ id }) => id)) called.set(id, same);
    out.push(...places);
  }
  return out.map((each) => ("missing" in each ? (each.result ?? each.missing) : each));
}

function callsOf(message: Assistant): Extract<Block, { type: "toolCall" }>[] {
  return message.content.filter((block) => block.type === "toolCall");
}

function missing(message: Assistant, call: { readonly id: string; readonly name: string }): Result {
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: [{ type: "text", text: GIVEN_UP }],
    isError: true,
    timestamp: message.timestamp,
  };
}
