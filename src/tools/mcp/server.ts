// One server of tools
//
// Begins its lives on demand, one after the other, and remembers its tools in between.
//
//   Owns:      the life of one configured server: whether it runs, when it is started again, which tools it has.
//   Does not:  know how it is talked with (life.ts), or what its tools are called here (tools.ts).
//
// Invariants
//   M1. At most one life of a server is there at any instant.
//   M2. Its death, at whatever instant, is the failure of the calls that were in it and of nothing else.
//   M3. After a failure it is left alone for a while, longer each time; within that while a call fails at once.
//   M4. A list of tools that was read once is kept until another one is read: what a model is shown does not flicker.

import { isDeepStrictEqual } from "node:util";
import type { Log } from "../../base/log.ts";
import { alarm, unlessAborted, unlessLate } from "../../base/waiting.ts";
import type { World } from "../../base/world.ts";
import type { McpServer } from "../../config/config.ts";
import type { Processes } from "../../sandbox/processes.ts";
import { Life, Unanswered, type Called } from "./life.ts";
import { listed, type Listed } from "./listed.ts";
import { shortly, wordsOf } from "./words.ts";

/** How long a turn waits for a server that it starts, or that reads its list again. A person waits for the turn. */
const TURN_WAITS_MS_MAX = 15_000;

/** How long a server may take to start, while turns go on without it. Some are downloaded first. */
const START_MS_MAX = 60_000;

/** The pause after a failure, doubled each time; and how long a life must last for its server to be trusted again. */
const AGAIN_MS = 1_000;
const AGAIN_MS_MAX = 5 * 60_000;
const HEALTHY_MS = 10 * 60_000;

/** The pause after a list could not be read again, while its server goes on. */
const LIST_AGAIN_MS = 60_000;

export interface ServerParts {
  readonly world: World;
  readonly log: Log;
  readonly processes: Pick<Processes, "start">;
  readonly server: McpServer;
}

type State =
  | { readonly is: "not started" }
  | { readonly is: "starting"; readonly sinceMs: number; readonly done: Promise<void> } // never rejects
  | { readonly is: "ready"; readonly sinceMs: number; readonly life: Life }
  | { readonly is: "down"; readonly why: string; readonly retryAtMs: number };

export interface Status {
  readonly name: string;
  readonly state: State["is"];
  readonly why: string | null; //       null: it is not down
  readonly tools: number; //            of the list that is known, also while it is down
  readonly retryAtMs: number | null; // null: it is not down
}

export class Server {
  readonly #parts: ServerParts;
  readonly #closing = new AbortController();
  #state: State = { is: "not started" };
  #tools: readonly Listed[] | null = null; // null: never known
  #failures = 0; //                           since it was trusted
  #staleSinceMs: number | null = null; //     null: the list is what the server has; else it is not read before then
  #reading: { readonly sinceMs: number; readonly done: Promise<void> } | null = null;
  #leaving: Promise<void> = Promise.resolve(); // of the last life

  constructor(parts: ServerParts) {
    this.#parts = parts;
  }

  get name(): string {
    return this.#parts.server.name;
  }

  /** M4. */
  get tools(): readonly Listed[] {
    return this.#tools ?? [];
  }

  status(): Status {
    const { name, tools } = this;
    const state = this.#state;
    const { why, retryAtMs } = state.is === "down" ? state : { why: null, retryAtMs: null };
    return { name, state: state.is, why, tools: tools.length, retryAtMs };
  }

  /**
   * Sees to it that its tools are known, and resolves when they are, or are not going to be soon. Only the first start is
   * waited for: who has failed once may come back while turns go on without it.
   */
  async ready(): Promise<void> {
    const isFirst = this.#tools === null && this.#failures === 0;
    const nowMs = this.#nowMs;
    if (this.#state.is === "not started") this.#start();
    else if (this.#state.is === "down" && this.#state.retryAtMs <= nowMs) this.#start();
    else if (this.#state.is === "ready" && this.#staleSinceMs !== null && this.#staleSinceMs <= nowMs)
      this.#reading ??= { sinceMs: nowMs, done: this.#readAgain(this.#state.life) };
    if (this.#reading) await this.#waitFor(this.#reading);
    else if (this.#state.is === "starting" && isFirst) await this.#waitFor(this.#state);
  }

  /** Where nothing was done because the server lost the thread, it is called once more, in a new life. */
  async call(tool: string, given: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Called> {
    for (let tries = 1; ; tries += 1) {
      const life = await this.#living(signal);
      try {
        return await life.call(tool, given, signal);
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        this.#lost(life, error);
        if (error.fate !== "forgotten" || tries === 2) throw this.#wordsFor(error);
      }
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("sessiond is closing"));
    const state = this.#state;
    if (state.is === "starting") await state.done;
    if (this.#state.is === "ready") this.#endLife(this.#state.life);
    this.#state = { is: "not started" };
    await this.#leaving;
    await this.#reading?.done;
  }

  get #nowMs(): number {
    return this.#parts.world.nowMs();
  }

  /** M3. */
  async #living(signal: AbortSignal): Promise<Life> {
    this.#closing.signal.throwIfAborted();
    const before = this.#state;
    if (before.is === "not started" || (before.is === "down" && before.retryAtMs <= this.#nowMs))
      this.#start();
    if (this.#state.is === "starting") await unlessAborted(this.#state.done, signal);
    const state = this.#state;
    if (state.is === "ready") return state.life;
    if (state.is !== "down") throw new Error(`the server ${this.name} is not there`);
    const seconds = Math.max(1, Math.ceil((state.retryAtMs - this.#nowMs) / 1_000));
    throw new Error(`the server ${this.name} is down (${state.why}); it is started again in ${seconds} s`);
  }

  /** M1: the last life is over before the next begins. */
  #start(): void {
    if (this.#closing.signal.aborted) return;
    const done = this.#leaving.then(() => this.#begin());
    this.#state = { is: "starting", sinceMs: this.#nowMs, done };
  }

  async #begin(): Promise<void> {
    const late = new AbortController();
    const callOff = alarm(this.#parts.world, START_MS_MAX, () =>
      late.abort(new Error(`it did not answer within ${START_MS_MAX / 1_000} s`)),
    );
    const signal = AbortSignal.any([late.signal, this.#closing.signal]);
    let life: Life | null = null;
    try {
      life = await Life.begin({ ...this.#parts, listChanged: () => this.#listChanged() }, signal);
      this.#staleSinceMs = null;
      this.#learn(await life.list(signal));
      this.#live(life);
    } catch (error) {
      if (life) this.#endLife(life);
      this.#failed(shortly(wordsOf(signal.aborted ? signal.reason : error)));
    } finally {
      callOff();
    }
  }

  #live(life: Life): void {
    this.#state = { is: "ready", sinceMs: this.#nowMs, life };
    this.#parts.log.info({ server: this.name, tools: this.tools.length }, "a server of tools is ready");
    void life.ended.then((why) => this.#died(life, why)); // M2; it never rejects
  }

  #died(life: Life, why: string): void {
    const state = this.#state;
    if (state.is !== "ready" || state.life !== life) return; // It was sent away.
    if (this.#nowMs - state.sinceMs >= HEALTHY_MS) this.#failures = 0;
    this.#endLife(life);
    this.#failed(why);
  }

  #failed(why: string): void {
    this.#failures += 1;
    const pauseMs = Math.min(AGAIN_MS * 2 ** Math.min(this.#failures - 1, 30), AGAIN_MS_MAX);
    this.#state = { is: "down", why, retryAtMs: this.#nowMs + pauseMs };
    if (this.#closing.signal.aborted) return;
    this.#parts.log.warn({ server: this.name, why, pauseMs }, "a server of tools is down");
  }

  /** What it did not answer says whether there is still somebody. */
  #lost(life: Life, { fate, message }: Unanswered): void {
    const state = this.#state;
    if (fate === "refused" || fate === "unclear" || state.is !== "ready" || state.life !== life) return;
    if (fate !== "forgotten") return this.#died(life, message);
    this.#endLife(life);
    this.#state = { is: "not started" };
  }

  #wordsFor({ fate, message }: Unanswered): Error {
    if (fate === "broken")
      return new Error(`${this.name} died during the call (${message}); it may or may not have taken effect`);
    if (fate === "unclear")
      return new Error(`${this.name} did not answer (${message}); it may or may not have taken effect`);
    const what = fate === "unreached" ? "cannot be reached" : "refused the call";
    return new Error(`${this.name} ${what} (${message}); nothing was done`);
  }

  #endLife(life: Life): void {
    this.#leaving = Promise.all([this.#leaving, life.close()]).then(() => {});
  }

  #listChanged(): void {
    this.#staleSinceMs ??= this.#nowMs;
  }

  #learn(tools: readonly unknown[]): void {
    const { kept, leftOut } = listed(tools);
    const before = new Map(this.tools.map((each) => [each.name, each]));
    this.#tools = kept.map((each) => {
      const old = before.get(each.name);
      return old && isDeepStrictEqual(old, each) ? old : each; // What stays the same stays itself (M4).
    });
    if (leftOut.length > 0)
      this.#parts.log.warn(
        { server: this.name, leftOut: leftOut.slice(0, 10), count: leftOut.length },
        "some tools of a server are left out",
      );
  }

  /** Never rejects. What changes while it is read is read another time. */
  async #readAgain(life: Life): Promise<void> {
    const late = new AbortController();
    const callOff = alarm(this.#parts.world, START_MS_MAX, () => late.abort(new Error("it took too long")));
    this.#staleSinceMs = null;
    try {
      this.#learn(await life.list(AbortSignal.any([late.signal, this.#closing.signal])));
    } catch (error) {
      this.#staleSinceMs = this.#nowMs + LIST_AGAIN_MS;
      this.#parts.log.warn(
        { server: this.name, why: shortly(wordsOf(error)) },
        "a list of tools could not be read again",
      );
      if (error instanceof Unanswered) this.#lost(life, error);
      if (this.#state.is === "not started") this.#start(); // Forgotten: a new life reads the list as it begins.
      if (this.#state.is === "starting") await this.#state.done;
    } finally {
      callOff();
      this.#reading = null;
    }
  }

  /** Never rejects. What began some turns ago is not waited for anew by each. */
  async #waitFor({
    sinceMs,
    done,
  }: {
    readonly sinceMs: number;
    readonly done: Promise<void>;
  }): Promise<void> {
    const leftMs = sinceMs + TURN_WAITS_MS_MAX - this.#nowMs;
    if (leftMs <= 0) return;
    await unlessLate(this.#parts.world, leftMs, done);
  }
}
