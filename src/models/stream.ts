// What a provider streams, as an Answer. Only a stream that ended as its protocol says is a reply: what was cut anywhere
// is a failure, however good it looks, because half of an answer would be taken for what the model meant.

import type {
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import type { Prices } from "../config/config.ts";
import type { Block, MessageUsage } from "../transcript/entry.ts";
import type { Answer, Delta } from "./model.ts";

/** Characters of one answer, its calls included: more than any model writes, and little enough to be held. */
const ANSWER_CHARS_MAX = 16 * 1024 * 1024;

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;
type Why = Extract<Answer, { kind: "failed" }>["why"];

/** What came was no answer: the provider said so in the middle of it, or the connection ended. */
export class Broken extends Error {
  constructor(cause: unknown) {
    super("the answer was cut off", { cause });
  }
}

export interface Listening {
  readonly show: (delta: Delta) => void;
  /** Something came: the provider is not silent. */
  readonly heard: () => void;
  readonly prices: Prices | null;
}

/** `next`: null when the stream has ended. Rejects with a Broken, or with what `next` rejects with. */
export async function listen(
  next: () => Promise<LanguageModelV4StreamPart | null>,
  { show, heard, prices }: Listening,
): Promise<Answer> {
  const said = new Said();
  let finish: Finish | null = null;
  for (let part = await next(); part !== null; part = await next()) {
    heard();
    if (part.type === "error") throw new Broken(part.error);
    if (part.type === "finish") finish = part;
    const delta = said.take(part);
    if (delta !== null && delta.text !== "") show(delta);
    if (said.chars > ANSWER_CHARS_MAX)
      return failed("local", `the answer is longer than ${ANSWER_CHARS_MAX} characters`);
  }
  return finish === null ? cutOff() : ended(said, finish, prices);
}

function ended(said: Said, { finishReason, usage }: Finish, prices: Prices | null): Answer {
  const { unified, raw = "" } = finishReason;
  const content = said.content();
  switch (unified) {
    case "stop":
    case "tool-calls":
      break;
    case "other": // A reason of the provider's own is an end; none, or one without an answer, is not.
      if (raw === "" || (content.length === 0 && said.isWhole())) return cutOff();
      break;
    case "length":
      if (raw === "model_context_window_exceeded")
        return failed("overflow", "the context and the answer together are larger than the model's window");
      if (!said.isWhole() || content.at(-1)?.type === "toolCall")
        return failed(
          "local",
          "the limit of output tokens cut off a tool call; raise outputTokensMax of this model",
        );
      return { kind: "reply", content, usage: usageOf(usage, prices), stopReason: "length" };
    case "content-filter":
      return failed("local", `the model refused to answer${raw === "" ? "" : ` (${raw})`}`);
    default:
      return cutOff(raw);
  }
  if (!said.isWhole()) return failed("retry", "the arguments of a tool call are no JSON object");
  const calls = content.some(({ type }) => type === "toolCall");
  return { kind: "reply", content, usage: usageOf(usage, prices), stopReason: calls ? "toolUse" : "stop" };
}

function cutOff(raw = ""): Answer {
  return failed("retry", `the answer was cut off${raw === "" ? "" : ` (${raw})`}`);
}

function failed(why: Why, message: string): Answer {
  return { kind: "failed", why, message, retryAfterMs: null, throttled: false };
}

/** A text or a thought while it comes. */
interface Growing {
  readonly type: "text" | "thinking";
  readonly pieces: string[];
  /** What the provider wants back with it, under the names of its package. */
  marks: Marks;
}

interface Marks {
  readonly signature?: unknown;
  readonly redactedData?: unknown;
  readonly thoughtSignature?: unknown;
  readonly itemId?: unknown;
  readonly reasoningEncryptedContent?: unknown;
  readonly phase?: unknown;
}

/** The blocks of an answer, in the order in which they began. */
class Said {
  readonly #blocks: (Growing | Block)[] = [];
  readonly #growing = new Map<string, Growing>();
  readonly #callIds = new Set<string>();
  /** Calls whose arguments have begun, and not ended. */
  readonly #openCalls = new Set<string>();
  #badCalls = 0;
  chars = 0;

  take(part: LanguageModelV4StreamPart): Delta | null {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.#begin(part.type === "text-start" ? "text" : "thinking", part);
        return null;
      case "text-delta":
        return this.#grow("text", part);
      case "reasoning-delta":
        return this.#grow("thinking", part);
      case "text-end":
      case "reasoning-end":
        this.#mark(this.#growing.get(keyOf(part.type === "text-end" ? "text" : "thinking", part.id)), part);
        return null;
      case "tool-input-start":
        this.#openCalls.add(part.id);
        return null;
      case "tool-input-delta":
        this.chars += part.delta.length;
        return null;
      case "tool-call":
        this.#call(part);
        return null;
      default:
        return null; // Sources, files and what else there is were not asked for.
    }
  }

  /** False: a call is not all there, or its arguments are none. */
  isWhole(): boolean {
    return this.#badCalls === 0 && this.#openCalls.size === 0;
  }

  content(): Block[] {
    return this.#blocks.flatMap((block) => ("pieces" in block ? blockOf(block) : [block]));
  }

  /** OpenAI tells one thought in several parts: they are one block, because they have one signature. */
  #begin(type: Growing["type"], part: { id: string; providerMetadata?: SharedV4ProviderMetadata }): Growing {
    const marks = marksOf(part.providerMetadata);
    const last = this.#blocks.at(-1);
    const goesOn =
      type === "thinking" && last?.type === type && "pieces" in last && marks.itemId !== undefined;
    if (goesOn && last.marks.itemId === marks.itemId) {
      if (last.pieces.length > 0) last.pieces.push("\n\n");
      this.#growing.set(keyOf(type, part.id), last);
      return last;
    }
    const block: Growing = { type, pieces: [], marks };
    this.#blocks.push(block);
    this.#growing.set(keyOf(type, part.id), block);
    return block;
  }

  #grow(
    type: Growing["type"],
    part: { id: string; delta: string; providerMetadata?: SharedV4ProviderMetadata },
  ): Delta {
    const block = this.#growing.get(keyOf(type, part.id)) ?? this.#begin(type, part);
    this.#mark(block, part);
    block.pieces.push(part.delta);
    this.chars += part.delta.length;
    return { kind: type, text: part.delta };
  }

  #mark(
    block: Growing | undefined,
    { providerMetadata }: { providerMetadata?: SharedV4ProviderMetadata },
  ): void {
    if (block !== undefined) block.marks = { ...block.marks, ...marksOf(providerMetadata) };
  }

  #call(part: Extract<LanguageModelV4StreamPart, { type: "tool-call" }>): void {
    this.#openCalls.delete(part.toolCallId);
    if (part.providerExecuted === true) return;
    const given = objectIn(part.input);
    if (given === null || part.toolName === "") {
      this.#badCalls += 1;
      return;
    }
    const { thoughtSignature } = marksOf(part.providerMetadata);
    this.#blocks.push({
      type: "toolCall",
      id: this.#newId(part.toolCallId),
      name: part.toolName,
      arguments: given,
      ...(typeof thoughtSignature === "string" && { thoughtSignature }),
    });
  }

  /** Some servers number their calls from 0 in every piece. */
  #newId(id: string): string {
    let free = id === "" ? "call" : id;
    for (let again = 2; this.#callIds.has(free); again += 1) free = `${id}_${again}`;
    this.#callIds.add(free);
    return free;
  }
}

function keyOf(type: Growing["type"], id: string): string {
  return `${type} ${id}`;
}

/** Whatever name the provider goes by: there is one. A null says nothing new. */
function marksOf(metadata: SharedV4ProviderMetadata | undefined): Marks {
  const [marks = {}] = Object.values(metadata ?? {});
  return Object.fromEntries(
    Object.entries(marks).filter(([, value]) => value !== null && value !== undefined),
  );
}

/** The signatures are kept as pi keeps them, so that either can go on with the other's sessions. */
function blockOf({ type, pieces, marks }: Growing): Block[] {
  const text = pieces.join("");
  if (type === "text") {
    const { thoughtSignature, itemId, phase } = marks;
    const ofItem = itemId === undefined ? undefined : JSON.stringify({ v: 1, id: itemId, phase });
    const signature = typeof thoughtSignature === "string" ? thoughtSignature : ofItem;
    if (text === "" && typeof thoughtSignature !== "string") return [];
    return [{ type, text, ...(signature !== undefined && { textSignature: signature }) }];
  }
  if (typeof marks.redactedData === "string")
    return [{ type, thinking: "", thinkingSignature: marks.redactedData, redacted: true }];
  const signature = thoughtSigned(text, marks);
  if (text === "" && signature === null) return [];
  return [{ type, thinking: text, ...(signature !== null && { thinkingSignature: signature }) }];
}

function thoughtSigned(text: string, marks: Marks): string | null {
  if (typeof marks.signature === "string") return marks.signature;
  if (typeof marks.thoughtSignature === "string") return marks.thoughtSignature;
  if (typeof marks.reasoningEncryptedContent !== "string") return null;
  const summary = text === "" ? [] : [{ type: "summary_text", text }];
  return JSON.stringify({
    type: "reasoning",
    id: marks.itemId,
    summary,
    encrypted_content: marks.reasoningEncryptedContent,
  });
}

/** Null: it is no JSON object. A call without arguments may have none at all. */
function objectIn(json: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(json === "" ? "{}" : json);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null; // It was cut, or the model wrote no JSON.
  }
}

/** What the provider did not count is none; without a count of what was asked there is no cost either. */
function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage, prices: Prices | null): MessageUsage {
  const cacheRead = count(inputTokens.cacheRead);
  const cacheWrite = count(inputTokens.cacheWrite);
  const input = count(inputTokens.noCache ?? count(inputTokens.total) - cacheRead - cacheWrite);
  const output = count(outputTokens.total);
  const usage = { input, output, cacheRead, cacheWrite };
  if (prices === null || inputTokens.total === undefined) return usage;
  const millionths =
    input * prices.input +
    output * prices.output +
    cacheRead * prices.cacheRead +
    cacheWrite * prices.cacheWrite;
  return { ...usage, cost: { total: millionths / 1_000_000 } };
}

function count(tokens: number | undefined): number {
  return tokens !== undefined && Number.isFinite(tokens) ? Math.max(0, Math.round(tokens)) : 0;
}
