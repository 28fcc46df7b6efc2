import type { Class } from "../mail/letter.ts";
import type { SessionKey } from "../routing/key.ts";

/** Who asks for a slot, and what the choice between those who wait may go by. */
export interface Asking {
  readonly key: SessionKey;
  readonly root: SessionKey;
  readonly class: Class;
  readonly nice: number;
}

/** The right to one model call. It is given back as soon as the call is over, whatever came of it. */
export interface Slot {
  giveBack(): void;
}

/**
 * Model calls in flight, at most so many. Slots are taken for one step and given back after it, and nobody asks for a
 * second one while holding one: so whoever waits gets one when some step ends.
 */
export class Slots {
  readonly #waiting: { readonly asking: Asking; readonly grant: () => void }[] = [];
  #free: number;

  constructor(slots: number) {
    this.#free = slots;
  }

  /** In the order of asking. Rejects with the signal's reason when it is aborted. */
  async take(asking: Asking, signal: AbortSignal): Promise<Slot> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(asking, signal);
    let held = true;
    const giveBack = (): void => {
      if (!held) return;
      held = false;
      this.#pass();
    };
    return { giveBack };
  }

  /** How many wait in front of a session; null: it does not wait. */
  inFrontOf(key: SessionKey): number | null {
    const at = this.#waiting.findIndex(({ asking }) => asking.key === key);
    return at < 0 ? null : at;
  }

  #wait(asking: Asking, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = (): void => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      reject(signal.reason);
    };
    const grant = (): void => {
      signal.removeEventListener("abort", giveUp);
      resolve();
    };
    const waiting = { asking, grant };
    this.#waiting.push(waiting);
    signal.addEventListener("abort", giveUp, { once: true });
    return promise;
  }

  #pass(): void {
    const next = this.#waiting.shift();
    if (next) next.grant();
    else this.#free += 1;
  }
}
