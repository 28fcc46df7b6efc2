// Transcripts that nobody lived through, always the same: a coder who reads, edits and runs tests; a reader of long pages
// who writes little; a chat of many short turns. Seeds and proportions were fixed before anything was tuned on them, so
// that a figure on them says something.
//
// Every call has its result, as in a transcript that ended well. An answer that was stopped has no usage: providers tell
// nobody what it cost.

import { RESULT_BYTES_MAX } from "../../src/limits.ts";
import {
  entryId,
  type Block,
  type Body,
  type Entry,
  type Message,
  type MessageUsage,
} from "../../src/transcript/entry.ts";
import { Dice, Words } from "./words.ts";

/** What the system prompt and the tools of these sessions weigh, in bytes. */
export const GENERATED_FRAME = { system: 6_000, tools: 14_000 } as const;

/** Roughly what providers count for text and code in English. None of these sessions outgrows 200,000 tokens. */
export const GENERATED_BYTES_A_TOKEN = 3.5;

const FIRST_MS = Date.UTC(2026, 0, 5, 8);
const NO_USAGE: MessageUsage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

type Tool = "read" | "edit" | "write" | "bash" | "grep" | "fetch" | "search" | "calendar";

/** One call, and what came of it. */
interface Work {
  readonly tool: Tool;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly isError: boolean;
}

/** How a session goes. Pairs are least and most. */
interface Story {
  readonly seed: number;
  /** Messages at least: the turn in which they are reached is finished. */
  readonly messages: number;
  readonly bytes: { readonly question: Range; readonly answer: Range };
  /** Answers with calls in one turn. */
  readonly steps: Range;
  /** How often each tool is called: a name stands here as often as it is likelier than others. */
  readonly tools: readonly Tool[];
  /** In a hundred. */
  readonly chances: Readonly<Record<"thinking" | "parallel" | "failed" | "stopped", number>>;
}

type Range = readonly [least: number, most: number];

const STORIES = {
  coding: {
    seed: 0x5eed_0001,
    messages: 640,
    bytes: { question: [30, 400], answer: [80, 1_200] },
    steps: [2, 14],
    tools: ["read", "read", "read", "edit", "edit", "edit", "bash", "bash", "grep", "write"],
    chances: { thinking: 25, parallel: 15, failed: 8, stopped: 15 },
  },
  research: {
    seed: 0x5eed_0002,
    messages: 400,
    bytes: { question: [60, 600], answer: [600, 2_500] },
    steps: [2, 10],
    tools: ["fetch", "fetch", "fetch", "fetch", "search", "search", "search", "search", "read", "write"],
    chances: { thinking: 40, parallel: 25, failed: 6, stopped: 15 },
  },
  chat: {
    seed: 0x5eed_0003,
    messages: 800,
    bytes: { question: [10, 220], answer: [40, 900] },
    steps: [0, 1],
    tools: ["calendar", "calendar", "calendar", "search", "search", "fetch"],
    chances: { thinking: 10, parallel: 5, failed: 5, stopped: 4 },
  },
} as const satisfies Record<string, Story>;

export type StoryName = keyof typeof STORIES;
export const STORY_NAMES = Object.keys(STORIES) as readonly StoryName[];

export function generated(name: StoryName): Entry[] {
  return new Telling(name, STORIES[name]).told();
}

class Telling {
  readonly #transcript: string;
  readonly #story: Story;
  readonly #dice: Dice;
  readonly #words: Words;
  readonly #entries: Entry[] = [];
  #nowMs = FIRST_MS;
  #calls = 0;
  #messages = 0;
  /** Bytes that a call would be sent now, and those that the last call was sent. */
  #bytes = GENERATED_FRAME.system + GENERATED_FRAME.tools;
  #sentBytes = 0;

  constructor(name: StoryName, story: Story) {
    this.#transcript = `generated-${name.padStart(8, "0")}`;
    this.#story = story;
    this.#dice = new Dice(story.seed);
    this.#words = new Words(this.#dice);
  }

  told(): Entry[] {
    this.#add({ type: "model_change", provider: "rehearsal", modelId: "rehearsal" });
    this.#add({ type: "thinking_level_change", thinkingLevel: "medium" });
    while (this.#messages < this.#story.messages) this.#turn();
    return this.#entries;
  }

  #turn(): void {
    const content = this.#words.prose(this.#within(this.#story.bytes.question));
    this.#say({ role: "user", content, timestamp: this.#later(30_000, 900_000) });
    const steps = this.#within(this.#story.steps);
    for (let step = 0; step < steps; step += 1) this.#step();
    if (this.#dice.percent(this.#story.chances.stopped)) return this.#stop();
    this.#answer([this.#text(this.#within(this.#story.bytes.answer))], "stop");
  }

  /** One answer that calls tools, often one, sometimes some at once; then their results, in the order of the calls. */
  #step(): void {
    const count = this.#dice.percent(this.#story.chances.parallel) ? this.#dice.between(2, 4) : 1;
    const works = Array.from({ length: count }, () => this.#work(this.#dice.one(this.#story.tools)));
    const calls = works.map((work) => {
      this.#calls += 1;
      return { id: `call-${this.#calls}`, work };
    });
    const said = this.#dice.percent(55) ? [this.#text(this.#dice.between(20, 260))] : [];
    const blocks = calls.map(({ id, work }): Block => ({
      type: "toolCall",
      id,
      name: work.tool,
      arguments: work.arguments,
    }));
    this.#answer([...said, ...blocks], "toolUse");
    for (const { id, work } of calls) {
      this.#say({
        role: "toolResult",
        toolCallId: id,
        toolName: work.tool,
        content: [{ type: "text", text: work.text }],
        isError: work.isError,
        timestamp: this.#later(20, 4_000),
      });
    }
  }

  /** Half of what was stopped had not said a word. */
  #stop(): void {
    const content = this.#dice.percent(50) ? [this.#text(this.#dice.between(10, 200))] : [];
    this.#assistant(content, "aborted", NO_USAGE);
  }

  #answer(content: readonly Block[], stopReason: string): void {
    const thought = this.#dice.percent(this.#story.chances.thinking) ? [this.#thinking()] : [];
    const blocks = [...thought, ...content];
    const tokens = (bytes: number): number => Math.ceil(bytes / GENERATED_BYTES_A_TOKEN);
    const usage: MessageUsage = {
      input: 3,
      output: tokens(bytesOf(blocks)),
      cacheRead: tokens(this.#sentBytes),
      cacheWrite: tokens(this.#bytes - this.#sentBytes),
    };
    this.#sentBytes = this.#bytes;
    this.#assistant(blocks, stopReason, usage);
  }

  #assistant(content: readonly Block[], stopReason: string, usage: MessageUsage): void {
    const by = { api: "rehearsal", provider: "rehearsal", model: "rehearsal" } as const;
    const timestamp = this.#later(1_000, 20_000);
    this.#say({ role: "assistant", content, ...by, usage, stopReason, timestamp });
  }

  #work(tool: Tool): Work {
    if (this.#dice.percent(this.#story.chances.failed)) {
      const text = `${tool}: ${this.#words.path()}: ${this.#words.prose(this.#dice.between(40, 300))}`;
      return { tool, arguments: this.#argumentsOf(tool), text, isError: true };
    }
    return { tool, arguments: this.#argumentsOf(tool), text: this.#resultOf(tool), isError: false };
  }

  #argumentsOf(tool: Tool): Readonly<Record<string, unknown>> {
    const [words, dice] = [this.#words, this.#dice];
    switch (tool) {
      case "edit": {
        const oldText = words.code(dice.between(40, 400));
        return { path: words.path(), oldText, newText: words.code(dice.between(40, 700)) };
      }
      case "write":
        return { path: words.path(), content: words.code(dice.between(200, 3_000)) };
      case "bash":
        return { command: `cd ${words.path()} && npm test -- --only ${words.name()}` };
      case "fetch":
        return { url: words.address() };
      case "grep":
      case "search":
        return { query: `${words.word()} ${words.name()} ${words.word()}` };
      case "calendar":
        return { day: `2026-0${dice.between(1, 9)}-1${dice.between(0, 9)}` };
      default:
        return { path: words.path(), offset: dice.between(1, 500) };
    }
  }

  #resultOf(tool: Tool): string {
    const [words, dice] = [this.#words, this.#dice];
    switch (tool) {
      case "read":
        return words.code(this.#size(6_000));
      case "edit":
        return `Replaced 1 occurrence in ${words.path()}.`;
      case "write":
        return `Wrote ${dice.between(200, 3_000)} bytes to ${words.path()}.`;
      case "bash":
        return words.report(this.#size(3_000));
      case "grep":
        return words.hits(this.#size(2_500));
      case "fetch":
        return words.prose(dice.percent(12) ? RESULT_BYTES_MAX : dice.between(500, 3_000));
      case "search":
        return words.prose(dice.between(200, 2_000));
      default:
        return words.prose(dice.between(40, 500));
    }
  }

  /** Most results are small, some are large, and about one in thirty is as large as a result may be. */
  #size(large: number): number {
    if (this.#dice.percent(50)) return this.#dice.between(20, Math.floor(large / 8));
    if (this.#dice.percent(93)) return this.#dice.between(Math.floor(large / 8), large);
    return RESULT_BYTES_MAX;
  }

  #text(bytes: number): Block {
    return { type: "text", text: this.#words.prose(bytes) };
  }

  #thinking(): Block {
    const thinkingSignature = this.#words.noise(this.#dice.between(160, 320));
    return { type: "thinking", thinking: this.#words.prose(this.#dice.between(60, 700)), thinkingSignature };
  }

  #say(message: Message): void {
    this.#messages += 1;
    this.#bytes += bytesOf(message.content);
    this.#add({ type: "message", message });
  }

  #add(body: Body): void {
    const seq = this.#entries.length + 1;
    const parentId = this.#entries.at(-1)?.id ?? null;
    const id = entryId(this.#transcript, seq);
    this.#entries.push({ ...body, id, parentId, seq, timestamp: new Date(this.#nowMs).toISOString() });
  }

  #within([least, most]: Range): number {
    return this.#dice.between(least, most);
  }

  #later(least: number, most: number): number {
    this.#nowMs += this.#dice.between(least, most);
    return this.#nowMs;
  }
}

function bytesOf(content: Message["content"]): number {
  return Buffer.byteLength(JSON.stringify(content));
}
