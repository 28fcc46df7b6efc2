// A model with a small window, for tests of what happens around it: it keeps what it was shown by what it was asked for, and
// counts as providers do.

import { unlessAborted } from "../../src/base/waiting.ts";
import type { Answer, ConfigInput, Entry, Request } from "../../src/index.ts";
import { sectionsSaid } from "../../src/models/rehearsal-summary.ts";
import { textOf } from "../../src/transcript/entry.ts";
import { isSummary, Windowed } from "../fixtures/windowed.ts";
import { saying } from "./stage.ts";

type Answering = (request: Request, times: number) => Promise<Answer> | Answer;

const CHARS_PER_TOKEN = 4;

export class Mind extends Windowed {
  /** To write down what is to last. */
  readonly flushes: Request[] = [];
  /** What it says to each. May be changed at any time. */
  answers: Answering = () => saying("Noted.");
  sums: Answering = (request) => saying(sectionsSaid(request, "Mind") ?? "");
  flushed: Answering = () => saying("NO_REPLY");

  constructor(windowTokens = 24_000) {
    super("mind", windowTokens);
  }

  async ask(request: Request): Promise<Answer> {
    request.signal.throwIfAborted();
    const [asked, answer] = this.#kindOf(request);
    asked.push(request);
    const input = tokensOf(request);
    if (input > this.windowTokens)
      return { kind: "failed", why: "overflow", message: "too long", retryAfterMs: null, throttled: false };
    const said = await unlessAborted(Promise.resolve(answer(request, asked.length)), request.signal);
    return said.kind === "failed" ? said : { ...said, usage: { ...said.usage, input } };
  }

  /** The last request to go on, as text. */
  get shown(): string {
    return shownOf(this.requests.at(-1));
  }

  #kindOf(request: Request): readonly [Request[], Answering] {
    if (isSummary(request)) return [this.summaries, this.sums];
    if (isFlush(request)) return [this.flushes, this.flushed];
    return [this.requests, this.answers];
  }
}

/** It was asked to write down what is to last, and has not said since that it is through. */
function isFlush({ messages }: Request): boolean {
  return JSON.stringify(messages).includes(FLUSH_WORDS);
}

export const FLUSH_WORDS = "is about to be replaced by a summary";

function tokensOf({ system, messages, tools }: Request): number {
  return Math.ceil(JSON.stringify([system, messages, tools]).length / CHARS_PER_TOKEN);
}

export function shownOf(request: Request | undefined): string {
  return JSON.stringify(request?.messages ?? []);
}

/** An answer that calls tools, each `[name, arguments]`. */
export function calling(...calls: readonly (readonly [name: string, input?: object])[]): Answer {
  return {
    kind: "reply",
    content: calls.map(([name, input = {}], at) => ({
      type: "toolCall",
      id: `call_${at + 1}`,
      name,
      arguments: { ...input },
    })),
    usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 },
    stopReason: "toolUse",
  };
}

/** So many tokens of words that nobody needs. */
export function prose(tokens: number, about = "leaves"): string {
  const sentence = `The ${about} fall and lie on the ground. `;
  return sentence.repeat(Math.ceil((tokens * CHARS_PER_TOKEN) / sentence.length)).trim();
}

/** Agents that have this model and no tools but these. Memory is flushed only if somebody says so. */
export function minded(tools: readonly string[] = [], context: object = {}): ConfigInput {
  const agent = { model: "mind/one", tools: { allow: [...tools] }, context: { flush: false, ...context } };
  return { agents: { defaults: agent } };
}

export function compactionsIn(entries: readonly Entry[]): Extract<Entry, { type: "compaction" }>[] {
  return entries.flatMap((entry) => (entry.type === "compaction" ? [entry] : []));
}

/** What was said by anybody, in its order. */
export function wordsIn(entries: readonly Entry[]): string[] {
  return entries.filter(({ type }) => type === "message").map(textOf);
}
