// Sessions in a home of their own, as a program that embeds them would open them. Whatever is opened here is closed and gone
// after the test, also when it fails.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { z } from "zod";
import {
  Fault,
  open,
  openLog,
  type Answer,
  type ConfigInput,
  type Entry,
  type FaultCode,
  type Message,
  type Model,
  type Parts,
  type Request,
  type Sessions,
  type Tool,
} from "../../src/index.ts";
import { textOf } from "../../src/transcript/entry.ts";
import { afterwards, scratch, type Heard } from "../fixtures/home.ts";

export class Stage {
  readonly home: string;
  readonly heard: Heard[] = [];
  readonly #parts: Parts;
  #config: ConfigInput;
  #sessions: Sessions | null = null;

  /** `config` need not say where the home is. */
  static async open(test: TestContext, config: ConfigInput = {}, parts: Parts = {}): Promise<Stage> {
    const stage = new Stage(join(scratch(test), "home"), config, parts);
    afterwards(test, () => stage.close());
    await stage.reopen();
    return stage;
  }

  private constructor(home: string, config: ConfigInput, parts: Parts) {
    this.home = home;
    this.#config = config;
    this.#parts = parts;
  }

  get sessions(): Sessions {
    if (this.#sessions === null) throw new Error("the sessions of this home are closed");
    return this.#sessions;
  }

  /** What was logged so far, as text. */
  get log(): string {
    return JSON.stringify(this.heard);
  }

  /** As after a restart; with another configuration, if one is given. */
  async reopen(config: ConfigInput = this.#config): Promise<void> {
    await this.close();
    this.#config = config;
    const log = openLog("warn", { write: (line) => void this.heard.push(JSON.parse(line) as Heard) });
    this.#sessions = await open({ home: this.home, ...config }, { log, ...this.#parts });
  }

  async close(): Promise<void> {
    const sessions = this.#sessions;
    this.#sessions = null;
    await sessions?.close();
  }

  /** All that the transcript of a session says by now. */
  async entries(key: string): Promise<Entry[]> {
    const { entries: last } = await this.sessions.status(key);
    const entries: Entry[] = [];
    if (last === 0) return entries;
    for await (const event of this.sessions.follow(key, { from: 0 })) {
      if (event.type !== "entry") continue;
      entries.push(event.entry);
      if (event.seq >= last) break;
    }
    return entries;
  }

  async messages(key: string): Promise<Message[]> {
    return (await this.entries(key)).flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  }

  /** What was said in a session by people and other sessions, in its order. */
  async letters(key: string): Promise<string[]> {
    const said = (await this.entries(key)).filter(
      (entry) => entry.type === "message" && entry.message.role === "user",
    );
    return said.map(textOf);
  }

  /** The results of tools, in their order. */
  async results(
    key: string,
  ): Promise<{ readonly tool: string; readonly text: string; readonly isError: boolean }[]> {
    return (await this.entries(key)).flatMap((entry) =>
      entry.type === "message" && entry.message.role === "toolResult"
        ? [{ tool: entry.message.toolName, text: textOf(entry), isError: entry.message.isError }]
        : [],
    );
  }

  /** How the turns of a session ended. */
  async outcomes(key: string): Promise<unknown[]> {
    return notesIn(await this.entries(key), "turn-ended").map((data) => data["outcome"]);
  }

  /** Where the transcript file of a session is. */
  async file(key: string): Promise<string> {
    const { agent, transcript } = await this.sessions.status(key);
    return join(this.home, "agents", agent, "sessions", `${transcript}.jsonl`);
  }

  /** The transcript file as it is on the disk when everything is closed. */
  async bytes(key: string): Promise<string> {
    const file = await this.file(key);
    await this.reopen();
    return readFileSync(file, "utf8");
  }

  /** Until what is looked for is there: for what happens without anybody waiting for it. */
  async until<Value>(look: () => Promise<Value | null | false>): Promise<Value> {
    for (;;) {
      const found = await look();
      if (found !== null && found !== false) return found;
      await new Promise((wake) => setTimeout(wake, 5));
    }
  }

  /**
   * Nothing runs in the session and nothing waits for it. A status reads the row and then the mail, so a letter may be
   * taken in between: only when nothing was written until the next look was it so.
   */
  async rest(key: string): Promise<void> {
    let before = -1;
    await this.until(async () => {
      const { state, waitingLetters, entries } = await this.sessions.status(key);
      const isAtRest = state === "idle" && waitingLetters === 0;
      if (isAtRest && entries === before) return true;
      before = isAtRest ? entries : -1;
      return false;
    });
  }
}

/** What sessiond noted in a transcript, of one kind. */
export function notesIn(entries: readonly Entry[], what: string): Record<string, unknown>[] {
  return entries.flatMap((entry) =>
    entry.type === "custom" && entry.customType === `sessiond/${what}`
      ? [entry.data as Record<string, unknown>]
      : [],
  );
}

/** For assert.rejects: a fault with this code whose words say so, and what to do. */
export function fault(code: FaultCode, words: RegExp): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof Fault, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, words);
    assert.ok(error.todo.length > 0);
    return true;
  };
}

export function tool(name: string, run: Tool["run"], input: z.ZodType = z.object({})): Tool {
  return { name, description: `The tool ${name}.`, input, replay: "never", run };
}

/** A tool that does not return until the gate is opened, and says when somebody stands before it. */
export class Gate {
  readonly tool: Tool;
  readonly #isOpen = Promise.withResolvers<void>();
  #standing = 0;
  readonly #watching = new Set<() => void>();

  constructor(name = "gate") {
    this.tool = tool(name, async (_input, { signal }) => {
      const gaveUp = Promise.withResolvers<never>();
      signal.addEventListener("abort", () => gaveUp.reject(signal.reason), { once: true });
      await Promise.race([this.pass(), gaveUp.promise]);
      return "through";
    });
  }

  async pass(): Promise<void> {
    this.#standing += 1;
    for (const watch of [...this.#watching]) watch();
    await this.#isOpen.promise;
  }

  /** Resolves when so many calls have come to it, since it was made. */
  async reached(calls = 1): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const watch = (): void => {
      if (this.#standing >= calls) resolve();
    };
    this.#watching.add(watch);
    watch();
    await promise;
    this.#watching.delete(watch);
  }

  open(): void {
    this.#isOpen.resolve();
  }
}

/** A model that keeps what it was shown and answers as it is told. */
export class Glass implements Model {
  readonly id = "glass/one";
  readonly provider = "glass";
  readonly name = "one";
  readonly api = "glass";
  readonly windowTokens = 1_000_000;
  readonly requests: Request[] = [];
  readonly #answer: (request: Request, times: number) => Promise<Answer>;

  constructor(
    answer: (request: Request, times: number) => Promise<Answer> = () => Promise.resolve(saying("Noted.")),
  ) {
    this.#answer = answer;
  }

  async ask(request: Request): Promise<Answer> {
    this.requests.push(request);
    return await this.#answer(request, this.requests.length);
  }
}

export function saying(text: string): Answer {
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };
  return { kind: "reply", content: [{ type: "text", text }], usage, stopReason: "stop" };
}
