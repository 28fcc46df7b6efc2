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

import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import { redacted } from "../base/redact.ts";
import { alarm, unlessAborted } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import { DELIVERY_MS_MAX, DELIVERY_RETRY_MS, DELIVERY_TRIES_MAX, LEAVE_GRACE_MS } from "../limits.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Change, Receipt } from "../store/change.ts";
import type { Store } from "../store/store.ts";
import type { Outgoing } from "./letter.ts";

/**
 * Takes an answer for good, or rejects: then it is tried again, unless it was Refused. The same id may come again after a
 * crash: the door tells the receiver, or drops it.
 */
export type Deliver = (outgoing: Outgoing, signal: AbortSignal) => Promise<void>;

/** What a door rejects with that will never take this answer: it is not tried again, and stays visible with the reason. */
export class Refused extends Error {
  override readonly name = "Refused";
}

export interface OutboxParts {
  readonly store: Pick<Store, "outbox">;
  readonly commit: (changes: readonly Change[]) => Promise<Receipt>;
  readonly world: World;
  readonly log: Log;
  readonly channels: ReadonlyMap<string, Deliver>;
  /** Told of an answer that was given up, once that is durable. */
  readonly refused?: (outgoing: Outgoing, why: string) => void;
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
    await this.#settle(outgoing, await this.#outcome(outgoing));
  }

  /** Null: its door took it. Else why it will not be delivered. */
  async #outcome(outgoing: Outgoing): Promise<string | null> {
    const { world, channels, log } = this.#parts;
    const deliver = channels.get(outgoing.route.channel);
    if (!deliver) return `there is no channel ${JSON.stringify(outgoing.route.channel)}`;
    const { signal } = this.#closing;
    for (let tries = 1; ; tries += 1) {
      signal.throwIfAborted();
      try {
        await this.#tryOnce(deliver, outgoing);
        return null;
      } catch (error) {
        signal.throwIfAborted();
        // What a door says may hold its address, with a token in it.
        const why = redacted(String(error instanceof Error ? error.message : error).slice(0, 500));
        log.warn({ key: this.#key, id: outgoing.id, tries }, `an answer was not delivered: ${why}`);
        if (error instanceof Refused) return `the channel refused it: ${why}`;
        if (tries >= DELIVERY_TRIES_MAX) return `given up after ${tries} tries: ${why}`;
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

  /** Until it is written down: what a door has taken must not come to it again because the disk is full. */
  async #settle(outgoing: Outgoing, refused: string | null): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      try {
        await this.#parts.commit([{ do: "settle", id: outgoing.id, refused }]);
        if (refused !== null) this.#parts.refused?.(outgoing, refused);
        return;
      } catch (error) {
        if (!(error instanceof Fault) || !error.retry) throw error;
        const pauseMs = DELIVERY_RETRY_MS * 2 ** Math.min(tries, DELIVERY_TRIES_MAX);
        await this.#parts.world.sleep(pauseMs, this.#closing.signal);
      }
    }
  }
}
