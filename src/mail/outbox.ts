// Outbox
//
// Answers on their way to a channel. An answer is committed with the turn that gave it; here it is handed to its door,
// again and again until the door has taken it, and only then taken off the list.
//
//   Owns:      handing over, the order of it, and giving up.
//   Does not:  decide whether an answer may leave (routing/policy.ts): what may not is in the list as refused from the start.
//
// Invariants
//   O1. An answer that was committed is handed over at least once, under the same id each time, or refused and visible.
//   O2. Answers of one session are handed over one after the other, in their order; only its owner does it.
//   O3. A door that fails holds up its session's answers, and nobody else's.

import type { Log } from "../base/log.ts";
import { alarm, unlessAborted } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import { DELIVERY_MS_MAX, DELIVERY_RETRY_MS, DELIVERY_TRIES_MAX, LEAVE_GRACE_MS } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Change, Receipt, Store } from "../store/store.ts";
import type { Outgoing } from "./letter.ts";

/**
 * Takes an answer for good, or rejects. The same id may come again after a crash: the door tells the receiver, or drops it.
 */
export type Deliver = (outgoing: Outgoing, signal: AbortSignal) => Promise<void>;

export interface OutboxParts {
  readonly store: Pick<Store, "outbox">;
  readonly commit: (changes: readonly Change[]) => Promise<Receipt>;
  readonly world: World;
  readonly log: Log;
  readonly channels: ReadonlyMap<string, Deliver>;
}

/** The answers of one session. */
export class Outbox {
  readonly #parts: OutboxParts;
  readonly #key: SessionKey;
  readonly #closing = new AbortController(); //  the door hears of it, and is waited for a while
  readonly #givingUp = new AbortController(); // and no longer
  #delivering: Promise<void> | null = null;
  #again = false;

  constructor(parts: OutboxParts, key: SessionKey) {
    this.#parts = parts;
    this.#key = key;
  }

  /** There may be something to deliver. Nobody waits for it: the next turn need not. */
  kick(): void {
    this.#again = true;
    this.#delivering ??= this.#deliver();
  }

  /** Null: nothing is being delivered. */
  get delivering(): Promise<void> | null {
    return this.#delivering;
  }

  /** What is not delivered yet stays in the list, for whoever owns the session next. */
  async leave(): Promise<void> {
    this.#closing.abort();
    const callOff = alarm(this.#parts.world, LEAVE_GRACE_MS, () => this.#givingUp.abort());
    await this.#delivering;
    callOff();
  }

  async #deliver(): Promise<void> {
    try {
      while (this.#again && !this.#closing.signal.aborted) {
        this.#again = false;
        await this.#deliverAll();
      }
    } catch (error) {
      if (!this.#closing.signal.aborted)
        this.#parts.log.error(
          { key: this.#key, err: error },
          "answers were not delivered; they wait in the outbox",
        );
    } finally {
      this.#delivering = null;
    }
  }

  async #deliverAll(): Promise<void> {
    for (;;) {
      const page = await this.#parts.store.outbox({ refused: false, key: this.#key });
      if (page.rows.length === 0) return;
      for (const outgoing of page.rows) await this.#handOver(outgoing);
    }
  }

  /** O1. */
  async #handOver(outgoing: Outgoing): Promise<void> {
    const { world, channels } = this.#parts;
    const deliver = channels.get(outgoing.route.channel);
    if (!deliver)
      return await this.#settle(outgoing, `there is no channel ${JSON.stringify(outgoing.route.channel)}`);
    const { signal } = this.#closing;
    for (let tries = 1; ; tries += 1) {
      signal.throwIfAborted();
      try {
        await this.#tryOnce(deliver, outgoing);
        return await this.#settle(outgoing, null);
      } catch (error) {
        signal.throwIfAborted();
        const why = error instanceof Error ? error.message : String(error);
        this.#parts.log.warn(
          { key: this.#key, id: outgoing.id, tries },
          `an answer was not delivered: ${why}`,
        );
        if (tries >= DELIVERY_TRIES_MAX)
          return await this.#settle(outgoing, `given up after ${tries} tries: ${why.slice(0, 500)}`);
      }
      await world.sleep(DELIVERY_RETRY_MS * 2 ** (tries - 1), signal);
    }
  }

  /** A door that neither takes it nor refuses is given up: it may have taken it, and gets it again under the same id. */
  async #tryOnce(deliver: Deliver, outgoing: Outgoing): Promise<void> {
    const late = new AbortController();
    const callOff = alarm(this.#parts.world, DELIVERY_MS_MAX, () =>
      late.abort(new Error(`the channel did not take it within ${DELIVERY_MS_MAX} ms`)),
    );
    const heard = AbortSignal.any([this.#closing.signal, late.signal]);
    const over = AbortSignal.any([this.#givingUp.signal, late.signal]);
    const taking = Promise.try(() => deliver(outgoing, heard));
    try {
      await unlessAborted(taking, over);
    } finally {
      callOff();
    }
  }

  async #settle({ id }: Outgoing, refused: string | null): Promise<void> {
    await this.#parts.commit([{ do: "settle", id, refused }]);
  }
}
