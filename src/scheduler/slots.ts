import { assert } from "../base/assert.ts";
import { alarm } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import type { Class } from "../mail/letter.ts";
import type { SessionKey } from "../routing/key.ts";
import type { Ask, Asking } from "./asking.ts";
import { Fair, type Grant, type SlotSettings } from "./fair.ts";
import { whyItWaits } from "./why.ts";

export type { Asking } from "./asking.ts";
export type { SlotSettings } from "./fair.ts";

/** The right to one call. It is given back as soon as the call is over, whatever came of it. */
export interface Slot {
  /** The provider answers, or has begun to: after a pause, that is the sign that others may ask it again. */
  works(): void;
  /** `spent` is what it cost; null: nobody knows, and the estimate stands. A second time nothing happens. */
  giveBack(spent: number | null): void;
}

/** What there is and who waits, for a status and for metrics. */
export interface Load {
  readonly slots: number;
  readonly reserved: number; //                             of them, for people
  readonly inUse: Readonly<Record<Class, number>>;
  readonly waiting: Readonly<Record<Class, number>>;
  readonly providers: readonly ProviderLoad[]; //           those that were asked for since the start
}

export interface ProviderLoad {
  readonly provider: string;
  readonly inUse: number;
  readonly limit: number | null; //                         null: as many as there are slots
  readonly coolsForMs: number; //                           0: it can be asked
}

/** Who waits for a slot, and what is done when it comes, or when its provider has too long a pause. */
interface Waiting {
  readonly pauseMsMax: number;
  readonly take: (grant: Grant) => void;
  readonly pass: () => void;
}

/**
 * Calls in flight, at most so many; who is next is decided in fair.ts, and here are the promises and the clock. Slots are
 * taken for one step and given back after it, and nobody asks for a second one while holding one: so whoever waits gets
 * one when some step ends. Nothing of this is written down: after a crash, who goes on asks again.
 */
export class Slots {
  readonly #world: World;
  readonly #fair: Fair;
  readonly #waiting = new Map<Ask, Waiting>();
  #alarm: { readonly atMs: number; readonly off: () => void } | null = null; // null: nobody waits for a pause to end

  constructor(world: World, settings: SlotSettings) {
    this.#world = world;
    this.#fair = new Fair(settings);
  }

  /**
   * Rejects with the signal's reason when it is aborted before there is a slot. One that was granted in that moment is the
   * asker's, who gives it back.
   */
  async take(asking: Asking, signal: AbortSignal): Promise<Slot> {
    const slot = await this.takeSoon(asking, signal, Infinity);
    assert(slot !== null, "nobody's pause is longer than for ever");
    return slot;
  }

  /** The same; but null when the provider has a pause of which more than so much is left, now or while it waits. */
  async takeSoon(asking: Asking, signal: AbortSignal, pauseMsMax: number): Promise<Slot | null> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Slot | null>();
    const ask = this.#fair.ask(asking);
    const stop = (): void => {
      signal.removeEventListener("abort", giveUp);
      this.#waiting.delete(ask);
    };
    const leave = (): void => {
      stop();
      this.#fair.withdraw(ask);
    };
    const giveUp = (): void => {
      leave();
      reject(signal.reason);
      this.#grant();
    };
    signal.addEventListener("abort", giveUp, { once: true });
    this.#waiting.set(ask, {
      pauseMsMax,
      take: (grant) => {
        stop();
        resolve(this.#slot(grant));
      },
      pass: () => {
        leave();
        resolve(null);
      },
    });
    this.#passOver(asking.provider);
    this.#grant();
    return promise;
  }

  /**
   * Somebody more urgent waits for this session: what it waits for now moves up to that class, never down. What it asks
   * for later is of the class that it is asked in.
   */
  raise(key: SessionKey, to: Class): void {
    this.#fair.raise(key, to);
    this.#grant();
  }

  /**
   * The provider said that it has too much to do; null: not for how long. Said before the slot of that call is given back:
   * a call that comes back without it counts as one that the provider was fine with.
   */
  throttled(provider: string, retryAfterMs: number | null): void {
    this.#fair.provider(provider).refused(retryAfterMs, this.#world.nowMs(), this.#world.random());
    this.#passOver(provider);
    this.#grant();
  }

  /** 0: it can be asked. */
  coolsForMs(provider: string): number {
    return this.#fair.provider(provider).coolsForMs(this.#world.nowMs());
  }

  /** In words; null: it does not wait. */
  why(key: SessionKey): string | null {
    const standing = this.#fair.standing(key);
    return standing && whyItWaits(standing, this.#fair.settings.slots, this.#world.nowMs());
  }

  load(): Load {
    const nowMs = this.#world.nowMs();
    const { reserved, settings } = this.#fair;
    const providers = this.#fair.providers().map((each) => ({
      provider: each.name,
      inUse: each.inFlight,
      limit: each.limit,
      coolsForMs: each.coolsForMs(nowMs),
    }));
    return {
      slots: settings.slots,
      reserved,
      inUse: this.#fair.held(),
      waiting: this.#fair.waiting(),
      providers,
    };
  }

  #slot(grant: Grant): Slot {
    let isHeld = true;
    const giveBack = (spent: number | null): void => {
      if (!isHeld) return;
      isHeld = false;
      this.#fair.settle(grant, spent);
      this.#grant();
    };
    const works = (): void => {
      if (!isHeld) return;
      this.#fair.works(grant);
      this.#grant();
    };
    return { works, giveBack };
  }

  /** Those who do not wait so long for a pause to end hear of it. */
  #passOver(provider: string): void {
    const leftMs = this.coolsForMs(provider);
    if (leftMs === 0) return;
    for (const [{ asking }, { pauseMsMax, pass }] of this.#waiting)
      if (asking.provider === provider && pauseMsMax < leftMs) pass();
  }

  /** After everything that happens: whoever can go, goes. */
  #grant(): void {
    const nowMs = this.#world.nowMs();
    for (let grant = this.#fair.next(nowMs); grant !== null; grant = this.#fair.next(nowMs)) {
      this.#waiting.get(grant.ask)?.take(grant);
    }
    this.#watch(nowMs);
  }

  /** A pause ends without anybody telling; so there is an alarm as long as somebody waits for that, and else none. */
  #watch(nowMs: number): void {
    const atMs = this.#fair.opensAtMs(nowMs);
    if (this.#alarm?.atMs === atMs) return;
    this.#alarm?.off();
    this.#alarm = null;
    if (atMs === null) return;
    const ring = (): void => {
      if (this.#alarm?.off !== off) return; // called off in the moment it rang
      this.#alarm = null;
      this.#grant();
    };
    const off = alarm(this.#world, atMs - nowMs, ring);
    this.#alarm = { atMs, off };
  }
}
