// Models that count what they are shown and refuse what is too much, for tests of how a context is kept small. Every request
// that any of them gets is looked at: whatever happens, a provider would have taken it.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Answer, Block, ConfigInput, Entry, Message, Model, Request, Tool } from "../../src/index.ts";
import { SECTIONS } from "../../src/context/sections.ts";
import { afterwards } from "../fixtures/home.ts";
import { isSummary } from "../fixtures/windowed.ts";
import { Stage, tool } from "./stage.ts";

type Reply = (request: Request, times: number) => Answer | Promise<Answer>;
type Failed = Extract<Answer, { kind: "failed" }>;
export type Agent = NonNullable<ConfigInput["agents"]>[string];

interface Writing {
  readonly windowTokens: number;
  /** Tokens that it takes in truth. Without it: as many as its window has, and then it must never be shown more. */
  readonly takes?: number;
  readonly bytesPerToken?: number;
  readonly step?: Reply; //    `times`: how often it was asked so, this time with
  readonly summary?: Reply;
}

/** A model as the catalog has it. */
export class Writer implements Model {
  readonly id: string;
  readonly provider: string;
  readonly name = "one";
  readonly api = "writer";
  readonly windowTokens: number;
  readonly steps: Request[] = [];
  readonly summaries: Request[] = [];
  /** Tokens of what it refused. */
  readonly refused: number[] = [];
  readonly #writing: Writing;
  readonly #wrong: string[] = [];

  constructor(provider: string, writing: Writing) {
    this.provider = provider;
    this.id = `${provider}/one`;
    this.windowTokens = writing.windowTokens;
    this.#writing = writing;
  }

  async ask(request: Request): Promise<Answer> {
    const {
      windowTokens,
      takes = windowTokens,
      step = () => saying("Noted."),
      summary = summing,
    } = this.#writing;
    const [asked, reply] = isSummary(request) ? [this.summaries, summary] : [this.steps, step];
    asked.push(request);
    const tokens = this.count(request);
    this.#wrong.push(...wrongIn(request.messages));
    if (tokens > takes) {
      this.refused.push(tokens);
      return failing("overflow", `${tokens} tokens are more than ${takes}`);
    }
    const answer = await reply(request, asked.length);
    if (answer.kind === "failed") return answer;
    const output = Math.ceil(contentBytes(answer.content) / 4);
    return { ...answer, usage: { input: tokens, output, cacheRead: 0, cacheWrite: 0 } };
  }

  count({ system, tools, messages }: Request): number {
    const around = Buffer.byteLength(system) + Buffer.byteLength(JSON.stringify(tools));
    const bytes = messages.reduce((sum, message) => sum + messageBytes(message), around);
    return Math.ceil(bytes / (this.#writing.bytesPerToken ?? 3.7));
  }

  check(): void {
    assert.deepEqual(this.#wrong, [], this.id);
    if (this.#writing.takes === undefined)
      assert.deepEqual(this.refused, [], `${this.id} was shown too much`);
  }
}

/** Sessions with these models, the first of them in force. What the models were shown is checked when the test is over. */
export async function written(
  t: TestContext,
  models: readonly Writer[],
  { context = {}, ...agent }: Agent = {},
  tools: readonly Tool[] = [],
): Promise<Stage> {
  const main: Agent = {
    model: models[0]?.id ?? "",
    tools: { allow: [...tools.map(({ name }) => name), "read_result"] },
    context: { flush: false, ...context },
    ...agent,
  };
  const stage = await Stage.open(t, { agents: { main } }, { models, tools });
  afterwards(t, () => models.forEach((model) => model.check()));
  return stage;
}

export const SMALL: Agent = { context: { sizeTokens: 4_000 } };
export const look = tool("look", () => Promise.resolve("seen"));

/** A SMALL session whose next message, if it is the LAST, is too much. */
export async function full(stage: Stage, key: string): Promise<void> {
  for (let n = 0; n < 6; n += 1)
    assert.equal((await stage.sessions.ask(key, `${n}. ${prose(2_000)}`)).outcome, "done");
  assert.equal((await compactions(stage, key)).length, 0);
}

export const LAST = `Last. ${prose(2_000)}`;

// ── What is said ────────────────────────────────────────────────────────────────────────────────────────────

export function saying(text: string): Answer {
  return replying([{ type: "text", text }], "stop");
}

export function calling(name: string, given: Readonly<Record<string, unknown>> = {}, said = ""): Answer {
  const words: Block[] = said === "" ? [] : [{ type: "text", text: said }];
  return replying([...words, { type: "toolCall", id: "call", name, arguments: given }], "toolUse");
}

function replying(content: readonly Block[], stopReason: "stop" | "toolUse"): Answer {
  return { kind: "reply", content, stopReason, usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } };
}

export function failing(why: Failed["why"], message = `no (${why})`): Answer {
  return { kind: "failed", why, message, retryAfterMs: 0, throttled: false };
}

/** A good summary: all sections, and under them what has to be there. */
export function summing({ messages }: Request): Answer {
  const { content } = messages[0] ?? assert.fail();
  assert.ok(typeof content === "string");
  const listed = content.split("The summary must have these lines under these headings:\n\n")[1] ?? "";
  const lines = listed.split("\n\n")[0]?.split("\n") ?? [];
  const parts = SECTIONS.map((section) => {
    const from = lines.indexOf(section) + 1;
    const until = lines.findIndex((line, at) => at >= from && !line.startsWith("- "));
    const own = from === 0 ? [] : lines.slice(from, until < 0 ? undefined : until);
    return [section, ...own, "- as it was told"].join("\n");
  });
  return saying(parts.join("\n\n"));
}

/** So many bytes that say nothing: no sentence, no name, no question. */
export function prose(bytes: number, of = "words"): string {
  return `${of} `.repeat(Math.ceil(bytes / (of.length + 1))).slice(0, bytes);
}

/** Looks until its turn has so many steps, and says a page each time: so one turn needs several compactions. */
export function wordy(steps: number, bytes = 2_000) {
  return (_request: Request, times: number): Answer =>
    times % steps === 0 ? saying("That is all.") : calling("look", {}, prose(bytes));
}

// ── What is seen ────────────────────────────────────────────────────────────────────────────────────────────

type Compaction = Extract<Entry, { type: "compaction" }>;

export async function compactions(stage: Stage, key: string): Promise<readonly Compaction[]> {
  return (await stage.entries(key)).filter((entry) => entry.type === "compaction");
}

export function textIn({ content }: Pick<Message, "content">): string {
  if (typeof content === "string") return content;
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

const known = new WeakMap<Message, number>();

/** What a provider would be sent of it. */
function messageBytes(message: Message): number {
  let bytes = known.get(message);
  if (bytes === undefined) known.set(message, (bytes = 20 + contentBytes(message.content)));
  return bytes;
}

function contentBytes(content: Message["content"]): number {
  if (typeof content === "string") return Buffer.byteLength(content);
  return content.reduce((sum, block) => {
    if (block.type === "text") return sum + Buffer.byteLength(block.text);
    return sum + 20 + Buffer.byteLength(JSON.stringify(block));
  }, 0);
}

/** Why a provider would refuse these messages; empty: it would not. */
function wrongIn(messages: readonly Message[]): string[] {
  const wrong: string[] = [];
  let waiting: string[] = []; // calls of the answer before, whose results come now
  for (const [at, message] of messages.entries()) {
    if (message.role === "toolResult") {
      if (!waiting.includes(message.toolCallId)) wrong.push(`message ${at} is a result of nothing`);
      waiting = waiting.filter((id) => id !== message.toolCallId);
      continue;
    }
    if (waiting.length > 0) wrong.push(`before message ${at} a call has no result`);
    waiting = message.role === "assistant" ? callsIn(message) : [];
    if (new Set(waiting).size < waiting.length) wrong.push(`message ${at} has two calls of one id`);
    if (contentBytes(message.content) === 0) wrong.push(`message ${at} is empty`);
  }
  const last = messages.at(-1)?.role;
  if (waiting.length > 0) wrong.push("the last call has no result");
  if (last !== "user" && last !== "toolResult") wrong.push(`the last message is of ${last ?? "nobody"}`);
  return wrong;
}

function callsIn({ content }: Message): string[] {
  if (typeof content === "string") return [];
  return content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []));
}
