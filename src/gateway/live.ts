import type { Fault } from "../base/fault.ts";

/** Requests that are being answered, so that they can be ended: all of them, or those of one token. */
export class Live {
  readonly #requests = new Map<AbortController, string>();

  begin(principal: string): AbortController {
    const over = new AbortController();
    this.#requests.set(over, principal);
    return over;
  }

  done(over: AbortController): void {
    this.#requests.delete(over);
  }

  /** `principal` null: everybody's. */
  end(why: Fault, principal: string | null): void {
    for (const [over, whose] of this.#requests)
      if (principal === null || principal === whose) over.abort(why);
  }
}
