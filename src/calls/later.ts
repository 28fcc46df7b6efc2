// Later
//
// Chat commands of channels that take longer than whoever brought them waits. What comes of them is told when it is there.
//
//   Owns:      how many of each session are at work, and that their answers are put into the outbox.
//   Does not:  run a command, or say what is answered (received.ts). It keeps nothing: what a crash cuts off is not told.

import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import type { World } from "../base/world.ts";
import { DELIVERY_RETRY_MS, DELIVERY_TRIES_MAX } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";

const STOPPING = new Fault("closed", "sessiond stops before this is done", {
  todo: "it is done after the next start; nobody tells then how it ended",
});

export class Later {
  readonly #world: World;
  readonly #log: Log;
  readonly #closing = new AbortController();
  readonly #working = new Map<SessionKey, Set<Promise<void>>>();
  readonly #begun = new Set<Promise<unknown>>(); // of which it is not known yet whether they take long

  constructor(world: World, log: Log) {
    this.#world = world;
    this.#log = log;
  }

  /** Aborted when nobody can be told any more. Until then whoever wrote a command is, whether or not its bringer has gone. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Answers of a session that are still to come. */
  of(key: SessionKey): number {
    return this.#working.get(key)?.size ?? 0;
  }

  /** A command that has just come: until its first word is durable, it is waited for too. */
  async begun<Value>(work: Promise<Value>): Promise<Value> {
    this.#begun.add(work);
    try {
      return await work;
    } finally {
      this.#begun.delete(work);
    }
  }

  /** `tell` makes durable what the work came to. */
  add<Value>(key: SessionKey, work: Promise<Value>, tell: (value: Value) => Promise<unknown>): void {
    const working = this.#working.get(key) ?? new Set();
    const told = this.#told(key, work, tell).finally(() => {
      working.delete(told);
      if (working.size === 0) this.#working.delete(key);
    });
    working.add(told);
    this.#working.set(key, working);
  }

  /** Whoever waits is told that it ends here: that is durable when this resolves. */
  async close(): Promise<void> {
    this.#closing.abort(STOPPING);
    await Promise.allSettled(this.#begun);
    await Promise.all([...this.#working.values()].flatMap((working) => [...working]));
  }

  async #told<Value>(
    key: SessionKey,
    work: Promise<Value>,
    tell: (value: Value) => Promise<unknown>,
  ): Promise<void> {
    try {
      await this.#durable(await work, tell);
    } catch (error) {
      this.#log.error({ key, err: error }, "what a command that took long came to could not be told");
    }
  }

  /** Also on a disk that is full for a while. */
  async #durable<Value>(value: Value, tell: (value: Value) => Promise<unknown>): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      try {
        await tell(value);
        return;
      } catch (error) {
        if (!(error instanceof Fault && error.retry)) throw error;
        await this.#world.sleep(DELIVERY_RETRY_MS * 2 ** Math.min(tries, DELIVERY_TRIES_MAX), this.closing);
      }
    }
  }
}
