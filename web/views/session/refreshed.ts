import { useEffect, useRef } from "preact/hooks";
import { onRows } from "../../state/rows.ts";

/** Who looks at figures does not read faster. */
const PAUSE_MS = 1_000;

/** Asks again when a session has changed, at once and then at most every second. */
export function useRefreshed(sessionKey: string, again: () => void): void {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOwed = false;
    const ask = (): void => {
      if (timer !== undefined) return void (isOwed = true);
      isOwed = false;
      latest.current();
      timer = setTimeout(() => {
        timer = undefined;
        if (isOwed) ask();
      }, PAUSE_MS);
    };
    const stop = onRows(({ changed, gone }) => {
      if (changed.has(sessionKey) || gone.has(sessionKey)) ask();
    }, ask);
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [sessionKey]);
}
