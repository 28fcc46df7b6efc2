// Something that is asked of the daemon again and again while somebody looks: of what no stream tells.

import { useEffect, useRef } from "preact/hooks";
import { useAsked, type Asked } from "./asking.ts";

/** As useAsked, and again every so often. What was refused for good is asked for again only by who wants it. */
export function usePolled<Of>(
  ask: (signal: AbortSignal) => Promise<Of>,
  of: readonly unknown[],
  everyMs: number,
): Asked<Of> {
  const asked = useAsked(ask, of);
  const latest = useRef(asked);
  latest.current = asked;
  useEffect(() => {
    const timer = setInterval(() => {
      const { isLoading, value, fault, again } = latest.current;
      const mayWork = fault === null || (fault.retry && value !== null);
      if (document.visibilityState === "visible" && !isLoading && mayWork) again();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return asked;
}
