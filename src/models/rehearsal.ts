// Rehearsal
//
// The built-in model that is none: it does what the script in the newest user text says, and without a script
// it says what it was shown. No key, no network. It stands for a paid, remote model in first runs, tests,
// benchmarks and the simulator, and it says so.
//
//   Owns:      what is answered, how it is streamed, and what it pretends to cost.
//   Does not:  read the words of a script (script.ts), run tools, keep anything over a restart.
//
// Invariants
//   R1. What it answers is a function of the request alone, except for `!fail … times`, which counts.
//   R2. It waits only where the script says `!slow`, through the World; else a turn costs no time.
//   R3. The pieces that are shown, joined, are the texts of the answer; no character is cut in two.
//   R4. An answer is bounded, and work is linear in it and in what each line of the script looks at.
//   R5. An aborted signal rejects with its reason, before, while and after it waits and between two pieces.

import { createHash } from "node:crypto";
import { unreachable } from "../base/assert.ts";
import type { World } from "../base/world.ts";
import type { Prices } from "../config/config.ts";
import { textOf, type Block, type Message, type MessageUsage } from "../transcript/entry.ts";
import type { Answer, Delta, Model, Request, ToolForm } from "./model.ts";
import { sectionsSaid } from "./rehearsal-summary.ts";
import { askedAt, isReport, stepOf, type Deed, type Step } from "./script.ts";

/** Characters of one answer's texts. `!results` and `!list` repeat what came in, however often. */
const ANSWER_CHARS_MAX = 2_000_000;

/** Message lists whose failures are counted. The one that failed longest ago is forgotten and counts anew. */
const COUNTED_LISTS_MAX = 1_000;

const DELTA_CHARS = 40;
const CHARS_PER_TOKEN = 4;
const QUOTE_CHARS_MAX = 200;
const LISTED_CHARS_MAX = 60;
const SYSTEM_CHARS_MAX = 4_000;
const QUOTED_RESULTS_MAX = 5;

const INTRODUCTION = "Rehearsal (a scripted stand-in, no real model)";

const FREE: Prices = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** Nobody pays it. It is there so that budgets can be rehearsed. */
const PRETENDED: Prices = { input: 3, output: 15, cacheRead: 3, cacheWrite: 3 };

export function rehearsals(world: World): readonly Model[] {
  return [
    new Rehearsal(world, "default", 200_000, FREE),
    new Rehearsal(world, "small", 16_000, FREE),
    new Rehearsal(world, "large", 1_000_000, PRETENDED),
  ];
}

class Rehearsal implements Model {
  readonly id: string;
  readonly provider = "rehearsal";
  readonly name: string;
  readonly api = "rehearsal";
  readonly windowTokens: number;
  readonly prices: Prices;
  readonly #world: World;
  /** How often each message list has failed, by its hash; the latest to fail is last. */
  readonly #failures = new Map<string, number>();

  constructor(world: World, name: string, windowTokens: number, prices: Prices) {
    this.id = `rehearsal/${name}`;
    this.name = name;
    this.windowTokens = windowTokens;
    this.prices = prices;
    this.#world = world;
  }

  async ask(request: Request, show: (delta: Delta) => void): Promise<Answer> {
    const { messages, signal } = request;
    signal.throwIfAborted();
    const input = Math.ceil(charsShown(request) / CHARS_PER_TOKEN);
    if (input > this.windowTokens)
      return failed("overflow", `${input} tokens do not fit ${this.id}, which takes ${this.windowTokens}`);
    const newest = askedAt(messages);
    const last = messages.findLastIndex(({ role }) => role === "user");
    const said = (): string => sectionsSaid(request, INTRODUCTION) ?? unscripted(messages, last);
    const step = stepOf(messages, newest) ?? [{ do: "say", text: said() }];
    const waitMs = step.reduce((ms, deed) => (deed.do === "slow" ? ms + deed.ms : ms), 0);
    if (waitMs > 0) await this.#world.sleep(waitMs, signal); // R2
    signal.throwIfAborted();
    const failure = this.#failure(step, messages);
    if (failure !== null) return failure;
    const content = answerOf(step, request, newest);
    stream(content, show, signal);
    const usage = this.#usage(input, Math.ceil(charsIn(content) / CHARS_PER_TOKEN));
    const stopReason = content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop";
    return { kind: "reply", content, usage, stopReason };
  }

  /** Of several `!fail` lines with a number of times, each begins where the one before it has had its own. */
  #failure(step: Step, messages: readonly Message[]): Answer | null {
    const fails = step.filter((deed) => deed.do === "fail");
    if (fails.length === 0) return null;
    const list = hashOf(messages);
    const count = this.#failures.get(list) ?? 0;
    let left = count;
    for (const { why, times } of fails) {
      const message = `rehearsed: the script says !fail ${why}`;
      if (times === null) return failed(why, message);
      if (left < times) {
        this.#count(list, count + 1);
        return failed(why, `${message}, and this was ${left + 1} of ${times} times`);
      }
      left -= times;
    }
    return null;
  }

  #count(list: string, count: number): void {
    this.#failures.delete(list);
    this.#failures.set(list, count);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > COUNTED_LISTS_MAX && oldest !== undefined) this.#failures.delete(oldest);
  }

  #usage(input: number, output: number): MessageUsage {
    const total = (input * this.prices.input + output * this.prices.output) / 1_000_000;
    return { input, output, cacheRead: 0, cacheWrite: 0, cost: { total } };
  }
}

function failed(why: Extract<Answer, { kind: "failed" }>["why"], message: string): Answer {
  return { kind: "failed", why, message, retryAfterMs: null, throttled: false };
}

/** Texts that follow each other are lines of one block, as a model would write them. */
function answerOf(step: Step, request: Request, newest: number): Block[] {
  const content: Block[] = [];
  const ids = freeIds(request.messages);
  let chars = 0;
  for (const deed of step) {
    if (deed.do === "slow" || deed.do === "fail") continue;
    if (deed.do === "call") {
      content.push({ type: "toolCall", id: ids.next().value, name: deed.tool, arguments: deed.arguments });
      continue;
    }
    const text = spoken(deed, request, newest);
    chars += text.length + 1;
    if (chars > ANSWER_CHARS_MAX)
      return [{ type: "text", text: `The step says more than ${ANSWER_CHARS_MAX} characters: too much.` }];
    const kind = deed.do === "think" ? "thinking" : "text";
    const last = content.at(-1);
    const lines = last?.type === kind ? `${wordsOf(last)}\n${text}` : text;
    if (last?.type === kind) content.pop();
    content.push(kind === "text" ? { type: "text", text: lines } : { type: "thinking", thinking: lines });
  }
  return content.length === 0 ? [{ type: "text", text: "done." }] : content;
}

function wordsOf(block: Block): string {
  if (block.type === "text") return block.text;
  return block.type === "thinking" ? block.thinking : "";
}

function spoken(
  deed: Exclude<Deed, { do: "slow" | "fail" | "call" }>,
  request: Request,
  newest: number,
): string {
  switch (deed.do) {
    case "say":
    case "think":
      return deed.text;
    case "verbose":
      return Array.from({ length: deed.words }, (_, at) => `word${at + 1}`).join(" ");
    case "list":
      return listed(request.messages);
    case "system":
      return head(request.system.trim(), 0, SYSTEM_CHARS_MAX) || "(the system prompt is empty)";
    case "results": {
      const since = request.messages.slice(newest + 1);
      const results = since.filter((message) => message.role === "toolResult" || isReport(message));
      return results.map(plain).join("\n") || "(no text of tool results)";
    }
    default:
      return unreachable(deed);
  }
}

function listed(messages: readonly Message[]): string {
  const count = (role: Message["role"]): string =>
    `${messages.filter((message) => message.role === role).length} ${role}`;
  const heads = messages
    .filter(({ role }) => role === "user")
    .map((message, at) => `${at + 1}. ${quoted(plain(message), LISTED_CHARS_MAX)}`);
  const counts = [count("user"), count("assistant"), count("toolResult")].join(", ");
  return [`${messages.length} messages: ${counts}.`, ...heads].join("\n");
}

/** Enough that a person sees what it was shown: what came now, and whether it still has what came first. */
function unscripted(messages: readonly Message[], newest: number): string {
  const results = messages.slice(messages.findLastIndex(({ role }) => role !== "toolResult") + 1);
  if (results.length > 0) {
    const quotes = results
      .slice(0, QUOTED_RESULTS_MAX)
      .map((result) => quoted(plain(result), QUOTE_CHARS_MAX));
    const more = results.length > quotes.length ? `, and ${results.length - quotes.length} more` : "";
    return `${INTRODUCTION}: the tools gave back ${quotes.join(", ")}${more}.`;
  }
  const now = messages[newest];
  if (now === undefined) return `${INTRODUCTION}: nothing was said yet.`;
  const said = `${INTRODUCTION}: you said ${quoted(plain(now), QUOTE_CHARS_MAX)}.`;
  const earlier = messages.slice(0, newest).filter(({ role }) => role === "user");
  const [first] = earlier;
  if (first === undefined) return said;
  const many = `${earlier.length} earlier message${earlier.length === 1 ? "" : "s"}`;
  return `${said} Earlier here you said ${quoted(plain(first), QUOTE_CHARS_MAX)} (${many}).`;
}

function stream(content: readonly Block[], show: (delta: Delta) => void, signal: AbortSignal): void {
  for (const block of content) {
    const kind = block.type === "thinking" ? "thinking" : "text";
    const text = wordsOf(block);
    for (let from = 0; from < text.length;) {
      const piece = head(text, from, DELTA_CHARS);
      show({ kind, text: piece });
      signal.throwIfAborted(); // Who is shown a piece may have had enough.
      from += piece.length;
    }
  }
}

/**
 * The number of messages grows with a conversation, so it makes ids that are new. After a compaction it is
 * smaller and comes again; then the ids that the kept messages have are passed over.
 */
function* freeIds(messages: readonly Message[]): Generator<string, never> {
  const taken = new Set<string>();
  for (const { role, content } of messages) {
    if (role !== "assistant") continue;
    for (const block of content) if (block.type === "toolCall") taken.add(block.id);
  }
  for (let each = 1; ; each += 1) {
    const id = `call_${messages.length}_${each}`;
    if (!taken.has(id)) yield id;
  }
}

function plain(message: Message): string {
  return textOf({ type: "message", message });
}

/** In quotes and on one line, whatever is in it. */
function quoted(text: string, charsMax: number): string {
  return JSON.stringify(text.length > charsMax ? `${head(text, 0, charsMax - 1)}…` : text);
}

/** The next characters, one fewer where the last would be half of a pair. */
function head(text: string, from: number, charsMax: number): string {
  const end = from + charsMax;
  const splits = /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(end - 1, end + 1));
  return text.slice(from, splits ? end - 1 : end);
}

function charsShown({ system, messages, tools }: Request): number {
  let chars = system.length;
  for (const { name, description, input } of tools)
    chars += name.length + description.length + schemaChars(input);
  for (const { content } of messages)
    chars += typeof content === "string" ? content.length : charsIn(content);
  return chars;
}

const schemas = new WeakMap<ToolForm["input"], number>();

/** As JSON. The same forms come with every request, so each is written out once. */
function schemaChars(schema: ToolForm["input"]): number {
  let chars = schemas.get(schema);
  if (chars === undefined) schemas.set(schema, (chars = JSON.stringify(schema).length));
  return chars;
}

/** Pictures are no text, and a kind of block that we do not know has none that we know. */
function charsIn(content: readonly Block[]): number {
  let chars = 0;
  for (const block of content) {
    chars += wordsOf(block).length;
    if (block.type !== "toolCall") continue;
    chars += block.name.length;
    for (const leaf of leaves(block.arguments)) chars += leaf.length;
  }
  return chars;
}

function hashOf(messages: readonly Message[]): string {
  const hash = createHash("sha256");
  for (const leaf of leaves(messages)) hash.update(leaf).update("\0");
  return hash.digest("hex");
}

/** Names and values in it, and a mark for each list and object. Not recursive: it may be of any depth. */
function* leaves(value: unknown): Generator<string> {
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const each = waiting.pop();
    if (typeof each !== "object" || each === null) {
      yield String(each);
    } else if (Array.isArray(each)) {
      yield "[]";
      for (const part of each) waiting.push(part);
    } else {
      yield "{}";
      for (const [name, part] of Object.entries(each)) waiting.push(part, name);
    }
  }
}
