// A whole system on a simulated clock whose model has a small window and moods: what it says, and what it does when it is asked
// for a summary, is rolled from a seed.

import assert from "node:assert/strict";
import { Fault } from "../../src/base/fault.ts";
import type { Log } from "../../src/base/log.ts";
import { SimulatedWorld } from "../../src/base/world.ts";
import { Sessions } from "../../src/calls/library.ts";
import { readConfig } from "../../src/config/load.ts";
import { bytesOf } from "../../src/context/weight.ts";
import type { Memory } from "../../src/memory/memory.ts";
import { Catalog } from "../../src/models/catalog.ts";
import type { Answer, Request } from "../../src/models/model.ts";
import { sectionsSaid } from "../../src/models/rehearsal-summary.ts";
import { MemoryStore } from "../../src/store/memory.ts";
import type { Block, Entry } from "../../src/transcript/entry.ts";
import { begin, wire } from "../../src/wire.ts";
import { tool } from "../fixtures/step.ts";
import { isSummary, Windowed } from "../fixtures/windowed.ts";

/** More than any turn takes: past it something goes round in circles. */
const WAKINGS_MAX = 20_000;

export const KEY = "agent:main:main";

export interface Mood {
  readonly seed: number;
  readonly windowTokens: number;
  /** As it counts; what it says of its window is true of that, unless it takes less than it says. */
  readonly tokensPerByte: number;
  readonly takes: number; // the part of its window that it really takes
  readonly sizeTokens: number | null;
  readonly flush: boolean;
  readonly sums: readonly Summing[]; // what it does when it is asked for a summary, one of these each time
}

export const SUMMINGS = [
  ...["good", "empty", "too long", "missing sections", "chatter"],
  ...["busy", "refuses its size", "no key", "cannot", "slow"],
] as const;
export type Summing = string;

function failed(why: Extract<Answer, { kind: "failed" }>["why"]): Answer {
  return { kind: "failed", why, message: `it failed: ${why}`, retryAfterMs: null, throttled: false };
}

export class Moody extends Windowed {
  /** Of requests to go on: how many it refused for their size. */
  refusals = 0;
  readonly #mood: Mood;
  readonly #world: SimulatedWorld;
  readonly #dice: SimulatedWorld;

  constructor(mood: Mood, world: SimulatedWorld) {
    super("moody", mood.windowTokens);
    this.#mood = mood;
    this.#world = world;
    this.#dice = new SimulatedWorld(mood.seed);
  }

  /** Below `most`, small numbers more often than large ones. */
  roll(most: number): number {
    return Math.floor(this.#dice.random() ** 3 * most);
  }

  tokensOf({ system, messages, tools }: Request): number {
    const around = Buffer.byteLength(system) + (tools.length === 0 ? 0 : JSON.stringify(tools).length);
    return Math.ceil(
      (around + messages.reduce((sum, each) => sum + bytesOf(each), 0)) * this.#mood.tokensPerByte,
    );
  }

  async ask(request: Request): Promise<Answer> {
    request.signal.throwIfAborted();
    const isToSum = isSummary(request);
    (isToSum ? this.summaries : this.requests).push(request);
    const input = this.tokensOf(request);
    const isTooLarge = input > this.windowTokens * this.#mood.takes;
    if (isTooLarge && !isToSum) this.refusals += 1;
    if (isTooLarge) return failed("overflow");
    const said = isToSum ? await this.#sum(request) : this.#goOn();
    return said.kind === "failed" ? said : { ...said, usage: { ...said.usage, input } };
  }

  #goOn(): Answer {
    const calls = Array.from(
      { length: this.#dice.random() < 0.6 ? 1 + this.roll(4) : 0 },
      (_, at): Block => ({
        type: "toolCall",
        id: `call_${at}`,
        name: "look",
        arguments: { bytes: this.roll(20_000), why: "w".repeat(this.roll(3_000)) },
      }),
    );
    return this.#saying(`So it is. ${"Words. ".repeat(this.roll(600))}`, calls);
  }

  #saying(text: string, calls: readonly Block[] = []): Answer {
    const usage = { input: 0, output: 1, cacheRead: 0, cacheWrite: 0 };
    const content: Block[] = [{ type: "text", text }, ...calls];
    return { kind: "reply", content, usage, stopReason: calls.length > 0 ? "toolUse" : "stop" };
  }

  async #sum(request: Request): Promise<Answer> {
    const { sums } = this.#mood;
    const good = sectionsSaid(request, "It") ?? "";
    switch (sums[Math.floor(this.#dice.random() * sums.length)]) {
      case "empty":
        return this.#saying("");
      case "too long":
        return this.#saying(good + "and so on ".repeat(20_000));
      case "missing sections":
        return this.#saying(good.slice(0, good.length / 3));
      case "chatter":
        return this.#saying("Sure! What would you like to know?");
      case "busy":
        return failed("retry");
      case "refuses its size":
        return failed("overflow");
      case "no key":
        return failed("auth");
      case "cannot":
        return failed("local");
      case "slow":
        await this.#world.sleep(100_000, request.signal);
        return this.#saying(good);
      default:
        return this.#saying(good);
    }
  }
}

/** Notes are files, and there are none here. */
const NO_MEMORY: Memory = {
  list: async () => ({ notes: [], more: false, unread: 0 }),
  read: () => Promise.reject(new Fault("not_found", "there is no note")),
  write: () => Promise.reject(new Fault("disk_full", "there is no room for notes")),
  search: async () => ({ hits: [], skipped: 0, more: false }),
  close: async () => {},
};

export class Scene {
  readonly world: SimulatedWorld;
  readonly model: Moody;
  readonly sessions: Sessions;
  /** Attempts at a summary that came to nothing: each is warned of once, however many requests it was. */
  failures = 0;
  readonly #store: MemoryStore;
  readonly #begun: Promise<unknown>;

  constructor(mood: Mood) {
    this.world = new SimulatedWorld(mood.seed);
    this.model = new Moody(mood, this.world);
    this.#store = new MemoryStore(this.world);
    const look = tool("look", ({ cause }) => `${cause} ${"line\n".repeat(this.model.roll(12_000))}`);
    const size = mood.sizeTokens === null ? {} : { sizeTokens: mood.sizeTokens };
    const context = { ...size, flush: mood.flush };
    const defaults = {
      workspace: "/simulated/workspace",
      model: "moody/one",
      context,
      limits: { stepsPerTurn: 12 },
    };
    const input = { home: "/simulated", agents: { defaults } };
    const wired = wire({
      config: readConfig(input as never, { homeDir: "/simulated", cwd: "/simulated", env: {} }),
      world: this.world,
      log: this.#log(),
      catalog: new Catalog([this.model], [], {}),
      prompts: { of: async () => "" },
      task: async () => null,
      writeFile: async () => {},
      channels: new Map(),
      store: this.#store,
      processes: { all: () => [], killAll: async () => {}, killEverything: async () => {} },
      mcp: { names: [], tools: async () => [], status: () => [], close: async () => {} },
      memory: NO_MEMORY,
      tools: { ours: [], exec: [], given: [look] },
    });
    this.sessions = new Sessions(wired);
    this.#begun = begin(wired.system);
  }

  #log(): Log {
    const silent = (): void => {};
    const warn = (_fields: unknown, text: string): void => {
      if (text === "a summary was not good enough") this.failures += 1;
    };
    const error = (fields: { readonly err?: unknown }, text: string): void =>
      assert.fail(`${text}: ${String(fields.err)}`);
    return { trace: silent, debug: silent, info: silent, warn, error, fatal: error } as unknown as Log;
  }

  /** Lets time pass until this has come about. */
  async until<Value>(what: Promise<Value>): Promise<Value> {
    let isOver = false;
    const over = what.finally(() => (isOver = true));
    over.catch(() => {}); // It is told below.
    for (let wakings = 0; ; wakings += 1) {
      await new Promise((wake) => setImmediate(wake));
      if (isOver) return await over;
      assert.ok(wakings < WAKINGS_MAX, "it comes to an end");
      assert.ok(this.world.step(), "somebody sleeps while it is not over");
    }
  }

  async ask(message: string): Promise<Awaited<ReturnType<Sessions["ask"]>>> {
    await this.until(this.#begun);
    return await this.until(this.sessions.ask(KEY, message));
  }

  async entries(): Promise<Entry[]> {
    const { transcript } = await this.sessions.status(KEY);
    const entries: Entry[] = [];
    for await (const entry of this.#store.entries(transcript, { since: 0 })) entries.push(entry);
    return entries;
  }

  close(): Promise<void> {
    return this.until(this.sessions.close());
  }
}
