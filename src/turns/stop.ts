/** Why a turn stops before its end. It is the reason of the turn's abort signal, or found at a safe point. */
export type Stop =
  | { readonly kind: "aborted"; readonly why: string } //      a person wants it to stop; or a letter interrupts
  | { readonly kind: "killed"; readonly why: string } //       and its session ends
  | { readonly kind: "timeout"; readonly why: string }
  | { readonly kind: "limit"; readonly why: string }
  | { readonly kind: "paused"; readonly why: string } //       it goes on when that is taken back
  | { readonly kind: "leaving"; readonly why: string }; //     this process lets go of it: whoever has it next goes on

/** Thrown where a stop is noticed, so that straight-line code stays straight. */
export class Stopped extends Error {
  readonly stop: Stop;

  constructor(stop: Stop) {
    super(stop.why);
    this.stop = stop;
  }
}

/** A promise's own end, or the end of waiting for it. What was waited for may go on; nobody hears of it. */
export async function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  promise.catch(() => {}); // Its failure is told below, or nobody waits for it any more: then it must not end the process.
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(signal.reason);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
