/**
 * States what we believe. A failure is our bug, never the caller's: whoever ran into it ends with this
 * error, the stack is reported, and what is on the disk is left as it was.
 */
export function assert(condition: boolean, belief: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${belief}`);
}

/** For the end of a switch over a closed union: the compiler proves that nobody comes here. */
export function unreachable(value: never): never {
  throw new Error(`assertion failed: nothing else is possible, yet here is ${JSON.stringify(value)}`);
}
