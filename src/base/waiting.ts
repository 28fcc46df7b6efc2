import type { World } from "./world.ts";

/** The same for all: an abort that names no reason makes an exception with a stack, and this happens many times a turn. */
export const CALLED_OFF = new Error("nobody waits for it any more");

/** Runs out after a while, unless it is called off before. */
export function alarm(world: World, ms: number, ring: () => void): () => void {
  const off = new AbortController();
  world.sleep(ms, off.signal).then(ring, () => {}); // Rejects only when it is called off.
  return () => off.abort(CALLED_OFF);
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

/** What a promise comes to, or null: it takes longer. Then it may go on, and nobody hears of it. */
export async function unlessLate<Value>(
  world: World,
  ms: number,
  promise: Promise<Value>,
): Promise<Value | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const callOff = alarm(world, ms, () => resolve(null));
  try {
    return await Promise.race([promise, late]);
  } finally {
    callOff();
  }
}
