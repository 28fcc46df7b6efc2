import { monitorEventLoopDelay } from "node:perf_hooks";

/** How often it is looked at; what is measured is how much later than this it came. Rarely: each look wakes an idle process. */
const RESOLUTION_MS = 100;

/** Begins to watch how late this process comes to things. What is returned says it: 99 of 100 times at most, since last asked. */
export function loopDelay(): () => number | null {
  const watched = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  watched.enable();
  return () => {
    if (watched.count === 0) return null;
    const ms = Math.max(0, watched.percentile(99) / 1e6 - RESOLUTION_MS);
    watched.reset();
    return ms;
  };
}
