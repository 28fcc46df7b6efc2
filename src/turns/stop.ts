import { alarm } from "../base/waiting.ts";
import type { World } from "../base/world.ts";
import { LEAVE_GRACE_MS } from "../limits.ts";
import type { Mail } from "../mail/letter.ts";
import { isAbort } from "../mail/task.ts";

/** Why a turn stops before its end. It is the reason of the turn's abort signal, or found at a safe point. */
export type Stop =
  | { readonly kind: "aborted"; readonly why: string } //      a person wants it to stop; or a letter interrupts
  | { readonly kind: "killed"; readonly why: string } //       and its session ends
  | { readonly kind: "timeout"; readonly why: string }
  | { readonly kind: "limit"; readonly why: string }
  | { readonly kind: "yielded"; readonly why: string } //      it goes on when its children have reported
  | { readonly kind: "paused"; readonly why: string } //       it goes on when that is taken back
  | { readonly kind: "leaving"; readonly why: string }; //     this process lets go of it: whoever has it next goes on

/** The turn stays open. */
export type Rest = Extract<Stop, { readonly kind: "paused" | "yielded" | "leaving" }>;

export function isRest(stop: Stop): stop is Rest {
  return stop.kind === "paused" || stop.kind === "yielded" || stop.kind === "leaving";
}

/** Thrown where a stop is noticed, so that straight-line code stays straight. */
export class Stopped extends Error {
  readonly stop: Stop;

  constructor(stop: Stop) {
    super(stop.why);
    this.stop = stop;
  }
}

/** How others stop a turn. Each signal's reason is a Stopped. */
export class Stops {
  readonly #world: World;
  readonly #now = new AbortController();
  readonly #soon = new AbortController();
  /** What runs is given up. */
  readonly now: AbortSignal = this.#now.signal;
  /** This process lets go of it: what runs is waited for, but for the model. */
  readonly leaving: AbortSignal = this.#soon.signal;
  readonly either: AbortSignal = AbortSignal.any([this.now, this.leaving]);
  #callOff = (): void => {};

  constructor(world: World) {
    this.#world = world;
  }

  abort(stop: Stop): void {
    this.#now.abort(new Stopped(stop));
  }

  /** At the next safe point; after a while at once. */
  leave(): void {
    const stop: Stop = { kind: "leaving", why: "the gateway stops" };
    this.#soon.abort(new Stopped(stop));
    this.#callOff = alarm(this.#world, LEAVE_GRACE_MS, () => this.abort(stop));
  }

  /** The turn is over. */
  over(): void {
    this.#callOff();
  }
}

/** What an order means for the turn that it is for. */
export function obeyed(order: Mail): Stop {
  const [said] = order.content;
  const why = said?.type === "text" ? said.text : "it was to stop";
  return { kind: isAbort(order) ? "aborted" : "timeout", why };
}
