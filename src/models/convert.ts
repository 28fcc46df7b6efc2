// Convert
//
// Our messages as a provider's prompt: the only file that knows both. A history may come from anybody and hold anything;
// what comes out is a request that the provider takes.
//
//   Owns:      what of a history a provider is shown, in which order, and under which names.
//   Does not:  decide what belongs to the context (context/), reach a provider (provider.ts), know models (known.ts).
//
// Invariants
//   V1. The same request gives the same prompt, and a longer history one that begins alike: providers cache beginnings.
//   V2. Every call has exactly one result, right after the message that calls, under an id that is used once.
//   V3. Signed thoughts go back unchanged to the model that had them, and to nobody else.
//   V4. No text is empty, no message is empty, the first and the last are not the assistant's.

import { createHash } from "node:crypto";
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import type { Api } from "../config/config.ts";
import type { Block, Message } from "../transcript/entry.ts";
import { levelOf, thinksOnABudget, type Facts } from "./known.ts";
import type { Request } from "./model.ts";

/** Characters of a call's id, and of a tool's name and a cache key: the least that a provider takes. */
const ID_CHARS_MAX = 40;
const NAME_CHARS_MAX = 64;

/** Characters of a picture in base64 that Anthropic takes, and the kinds that every provider reads. */
const PICTURE_CHARS_MAX = 5 * 1024 * 1024;
const PICTURES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);

/** Beginnings of a conversation that are kept for the next request: at its end now, and where it ended before. */
const CACHED_RUNS = 2;
const CACHED = { anthropic: { cacheControl: { type: "ephemeral" } } };

const BEGINNING = "(The conversation begins here.)";
const GO_ON = "(Go on.)";
const NO_RESULT = "There is no result: the call was given up.";
const NOTHING = "(It returned nothing.)";

export interface Target {
  readonly api: Api;
  readonly apiName: string; // as transcripts name it
  readonly provider: string;
  readonly model: string;
  readonly facts: Facts;
}

type User = Extract<Message, { role: "user" }>;
type Assistant = Extract<Message, { role: "assistant" }>;
type Result = Extract<Message, { role: "toolResult" }>;
type Call = Extract<Block, { type: "toolCall" }>;
type Thought = Extract<Block, { type: "thinking" }>;
type Picture = Extract<Block, { type: "image" }>;
type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;
type AssistantPart = LanguageModelV4TextPart | LanguageModelV4ReasoningPart | LanguageModelV4ToolCallPart;
type Options = LanguageModelV4CallOptions;

export function convert(request: Request, target: Target): Options {
  const spoken = framed(joined(new Conversation(target).of(request.messages)));
  const system = request.system.trim() === "" ? [] : [systemOf(request.system, target.api)];
  const level = levelOf(target.api, target.model, mayThink(spoken, target) ? request.thinking : "off");
  const { outputTokens } = target.facts;
  return {
    prompt: [...system, ...(target.api === "anthropic" ? cached(spoken) : spoken)],
    ...(request.tools.length > 0 && { tools: request.tools.map(toolOf) }),
    ...(level !== undefined && { reasoning: level }),
    ...(outputTokens !== null && { maxOutputTokens: outputTokens }),
    providerOptions: optionsOf(request, target),
  };
}

function systemOf(system: string, api: Api): LanguageModelV4Message {
  const message = { role: "system", content: system.toWellFormed() } as const;
  return api === "anthropic" ? { ...message, providerOptions: CACHED } : message;
}

function toolOf({ name, description, input }: Request["tools"][number]): LanguageModelV4FunctionTool {
  return { type: "function", name, description, inputSchema: input };
}

function optionsOf(
  { cacheKey, thinking }: Request,
  { api }: Target,
): NonNullable<Options["providerOptions"]> {
  switch (api) {
    case "anthropic":
      return { anthropic: { includePings: true } }; // A model that thinks for long is not silent.
    case "openai": // Nothing is kept there: what it thought comes back encrypted, and goes back with the next request.
      return { openai: { store: false, promptCacheKey: shortened(cacheKey) } };
    case "google":
      return thinking === "off" ? {} : { google: { thinkingConfig: { includeThoughts: true } } };
    case "openai-compatible":
      return {};
  }
}

/**
 * Anthropic's older models refuse to think on when the answer that called the tools did not begin with a thought of
 * theirs: another model gave it, or thinking was off.
 */
function mayThink(spoken: readonly LanguageModelV4Message[], { api, model }: Target): boolean {
  if (api !== "anthropic" || !thinksOnABudget(model)) return true;
  const last = spoken.findLast((message) => message.role === "assistant");
  const called = last?.content.some(({ type }) => type === "tool-call") ?? false;
  return !called || last?.content[0]?.type === "reasoning";
}

/** What was said, and which ids were given while it is converted. */
class Conversation {
  readonly #target: Target;
  readonly #ids = new Set<string>();

  constructor(target: Target) {
    this.#target = target;
  }

  of(messages: readonly Message[]): LanguageModelV4Message[] {
    return paired(messages).flatMap((piece) =>
      piece.role === "user" ? this.#user(piece) : this.#answer(piece),
    );
  }

  #user({ content }: User): LanguageModelV4Message[] {
    const blocks = typeof content === "string" ? [{ type: "text", text: content } as const] : content;
    return userMessage(blocks.flatMap((block) => this.#shown(block)));
  }

  /** The answer, the results of its calls, and the pictures that these could not hold. */
  #answer({ message, results }: Answered): LanguageModelV4Message[] {
    const isOwn = this.#isOwn(message);
    const ids = new Map([...results.keys()].map((call) => [call, this.#newId(call.id)]));
    const parts = message.content.flatMap((block): AssistantPart[] => {
      if (block.type === "toolCall") return [this.#call(block, ids.get(block) ?? "", isOwn)];
      if (block.type === "thinking") return isOwn ? this.#thought(block, ids.size > 0) : [];
      return this.#said(block, isOwn);
    });
    while (parts.at(-1)?.type === "reasoning") parts.pop(); // Nobody takes a thought that led to nothing.
    if (parts.length === 0) return [];
    const said: LanguageModelV4Message = { role: "assistant", content: parts };
    if (ids.size === 0) return [said];
    const aside: UserPart[] = [];
    const content = [...results].map(([call, result]) =>
      this.#result(call, ids.get(call) ?? "", result, aside),
    );
    return [said, { role: "tool", content }, ...userMessage(aside)];
  }

  #isOwn({ api, provider, model }: Assistant): boolean {
    return api === this.#target.apiName && provider === this.#target.provider && model === this.#target.model;
  }

  #said(block: Exclude<Block, Call | Thought>, isOwn: boolean): LanguageModelV4TextPart[] {
    if (block.type !== "text") return [textPart("[a picture]")];
    const text = block.text.toWellFormed();
    const signature = isOwn && block.blob === undefined ? block.textSignature : undefined;
    if (signature !== undefined && this.#target.api === "google")
      return [{ type: "text", text, providerOptions: { google: { thoughtSignature: signature } } }];
    if (text.trim() === "") return [];
    const phase = this.#target.api === "openai" ? fieldOf(signature, "phase") : null;
    return [phase === null ? textPart(text) : { ...textPart(text), providerOptions: { openai: { phase } } }];
  }

  #call(block: Call, toolCallId: string, isOwn: boolean): LanguageModelV4ToolCallPart {
    const signature = isOwn && block.blob === undefined ? block.thoughtSignature : undefined;
    return {
      type: "tool-call",
      toolCallId,
      toolName: toolName(block.name),
      input: argumentsOf(block),
      ...(signature !== undefined && { providerOptions: { google: { thoughtSignature: signature } } }),
    };
  }

  /** V3. One that was cut for being long would not fit its signature any more. */
  #thought(block: Thought, hasCalls: boolean): LanguageModelV4ReasoningPart[] {
    const { thinking: text, thinkingSignature: signature, redacted } = block;
    if (block.blob !== undefined) return [];
    const { api } = this.#target;
    // Servers of this protocol sign nothing. Some want the thoughts that led to calls, and one refuses all others.
    if (api === "openai-compatible")
      return hasCalls && text.trim() !== "" ? [{ type: "reasoning", text }] : [];
    if (signature === undefined || signature === "") return [];
    if (api === "google")
      return [{ type: "reasoning", text, providerOptions: { google: { thoughtSignature: signature } } }];
    if (api === "anthropic") {
      const anthropic = redacted === true ? { redactedData: signature } : { signature };
      return [{ type: "reasoning", text: redacted === true ? "" : text, providerOptions: { anthropic } }];
    }
    const [itemId, reasoningEncryptedContent] = [
      fieldOf(signature, "id"),
      fieldOf(signature, "encrypted_content"),
    ];
    if (itemId === null || reasoningEncryptedContent === null) return [];
    return [{ type: "reasoning", text, providerOptions: { openai: { itemId, reasoningEncryptedContent } } }];
  }

  /** `aside` gets the pictures of a result that can hold none. */
  #result(
    call: Call,
    toolCallId: string,
    result: Result | null,
    aside: UserPart[],
  ): LanguageModelV4ToolResultPart {
    const part = { type: "tool-result", toolCallId, toolName: toolName(call.name) } as const;
    if (result === null) return { ...part, output: { type: "error-text", value: NO_RESULT } };
    const shown = result.content.flatMap((block) => this.#shown(block));
    const pictures = shown.filter(({ type }) => type === "file");
    const holdsPictures =
      !result.isError && (this.#target.api === "anthropic" || this.#target.api === "openai");
    if (pictures.length > 0 && holdsPictures) return { ...part, output: { type: "content", value: shown } };
    if (pictures.length > 0) aside.push(textPart(`Pictures that ${part.toolName} returned:`), ...pictures);
    const value = shown.flatMap((each) => (each.type === "text" ? [each.text] : [])).join("\n") || NOTHING;
    return { ...part, output: { type: result.isError ? "error-text" : "text", value } };
  }

  /** Of a user or a tool. */
  #shown(block: Block): UserPart[] {
    if (block.type === "text") return block.text.trim() === "" ? [] : [textPart(block.text.toWellFormed())];
    return block.type === "image" ? [this.#picture(block)] : [];
  }

  #picture({ data, mimeType }: Picture): UserPart {
    const mediaType = mimeType === "image/jpg" ? "image/jpeg" : mimeType;
    if (!this.#target.facts.images) return textPart("[a picture, which this model cannot see]");
    const fits = this.#target.api !== "anthropic" || data.length <= PICTURE_CHARS_MAX;
    if (!PICTURES.has(mediaType) || !fits || !/^[A-Za-z0-9+/]+={0,2}$/.test(data))
      return textPart("[a picture of a kind or size that this model cannot be shown]");
    return { type: "file", data: { type: "data", data }, mediaType };
  }

  /** V2. Its own when it will do; else one that is made of it. Given from the front, so later ids change none (V1). */
  #newId(id: string): string {
    const plain =
      /^[A-Za-z0-9_-]+$/.test(id) && id.length <= ID_CHARS_MAX ? id : `call_${hashOf(id).slice(0, 16)}`;
    const base = plain.slice(0, ID_CHARS_MAX - 8);
    let given = plain;
    for (let again = 2; this.#ids.has(given); again += 1) given = `${base}_${again}`;
    this.#ids.add(given);
    return given;
  }
}

interface Answered {
  readonly role: "assistant";
  readonly message: Assistant;
  readonly results: Map<Call, Result | null>; // of each call, in order; null: it has none
}

/** Results come before what was said meanwhile; one that nobody called for is left out (V2). */
function paired(messages: readonly Message[]): (User | Answered)[] {
  const pieces: (User | Answered)[] = [];
  let last: Answered | null = null;
  for (const message of messages) {
    if (message.role === "user") pieces.push(message);
    else if (message.role === "assistant") pieces.push((last = unanswered(message)));
    else if (last !== null) settle(last.results, message);
  }
  return pieces;
}

function unanswered(message: Assistant): Answered {
  const calls = message.content.filter((block) => block.type === "toolCall");
  return { role: "assistant", message, results: new Map(calls.map((call) => [call, null])) };
}

function settle(results: Answered["results"], result: Result): void {
  for (const [call, before] of results)
    if (before === null && call.id === result.toolCallId) return void results.set(call, result);
}

/** Messages of the same side are one: some servers take them only in turns. Calls are never followed by more of theirs. */
function joined(messages: readonly LanguageModelV4Message[]): LanguageModelV4Message[] {
  const out: LanguageModelV4Message[] = [];
  for (const message of messages) {
    const last = out.at(-1);
    if (message.role === "user" && last?.role === "user")
      out.splice(-1, 1, { role: "user", content: [...last.content, ...message.content] });
    else if (message.role === "assistant" && last?.role === "assistant")
      out.splice(-1, 1, { role: "assistant", content: [...last.content, ...message.content] });
    else out.push(message);
  }
  return out;
}

/** V4. */
function framed(messages: readonly LanguageModelV4Message[]): LanguageModelV4Message[] {
  const before = messages[0]?.role === "user" ? [] : userMessage([textPart(BEGINNING)]);
  const after = messages.at(-1)?.role === "assistant" ? userMessage([textPart(GO_ON)]) : [];
  return [...before, ...messages, ...after];
}

function cached(messages: readonly LanguageModelV4Message[]): LanguageModelV4Message[] {
  const ends = messages.flatMap(({ role }, at) => {
    const next = messages[at + 1]?.role;
    return role !== "assistant" && (next === undefined || next === "assistant") ? [at] : [];
  });
  const marked = new Set(ends.slice(-CACHED_RUNS));
  return messages.map((message, at) => (marked.has(at) ? { ...message, providerOptions: CACHED } : message));
}

function userMessage(content: UserPart[]): LanguageModelV4Message[] {
  return content.length === 0 ? [] : [{ role: "user", content }];
}

function textPart(text: string): LanguageModelV4TextPart {
  return { type: "text", text };
}

/** Histories of others have names that no provider takes. */
function toolName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, NAME_CHARS_MAX) || "tool";
}

/** A file may hold anything in their place. JSON has half characters as escapes, and providers refuse them. */
function argumentsOf({ arguments: given }: Call): unknown {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return {};
  const json = JSON.stringify(given);
  if (!/\\ud[89a-f]/.test(json)) return given;
  return JSON.parse(
    json.replaceAll(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, (each) => (each === "\\\\" ? each : "\ufffd")),
  );
}

/** A text in a signature that is JSON. Null: it is none, or has no such field. */
function fieldOf(signature: string | undefined, field: string): string | null {
  if (signature === undefined) return null;
  try {
    const value: unknown = JSON.parse(signature)?.[field];
    return typeof value === "string" && value !== "" ? value : null;
  } catch {
    return null; // Another program wrote it.
  }
}

function shortened(key: string): string {
  return key.length <= NAME_CHARS_MAX ? key : hashOf(key).slice(0, NAME_CHARS_MAX);
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
