// Something that is asked of the daemon and shown: it is loading, there, or there is trouble; and it can be asked for again.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Fault } from "../../src/base/fault.ts";
import { faultOf, isCalledOff } from "../wire/call.ts";
import { connections } from "../wire/socket.ts";

export interface Asked<Of> {
  readonly value: Of | null; //   null: nothing has come yet. What came before stays while it is asked for again.
  readonly fault: Fault | null;
  readonly isLoading: boolean;
  readonly again: () => void;
}

/** Asks when it is first shown, when one of `of` is another, and after the connection was lost. */
export function useAsked<Of>(ask: (signal: AbortSignal) => Promise<Of>, of: readonly unknown[]): Asked<Of> {
  const [state, setState] = useState<Omit<Asked<Of>, "again">>({ value: null, fault: null, isLoading: true });
  const [times, setTimes] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;
  const asOf = JSON.stringify(of);
  const shownOf = useRef(asOf);
  useEffect(() => {
    const over = new AbortController();
    const isOther = shownOf.current !== asOf;
    shownOf.current = asOf;
    setState((was) => ({ value: isOther ? null : was.value, fault: null, isLoading: true }));
    latest.current(over.signal).then(
      (value) => {
        if (!over.signal.aborted) setState({ value, fault: null, isLoading: false });
      },
      (error: unknown) => {
        if (!over.signal.aborted && !isCalledOff(error))
          setState((was) => ({ value: was.value, fault: faultOf(error), isLoading: false }));
      },
    );
    return () => over.abort();
  }, [asOf, times, connections.value]);
  const again = useCallback(() => setTimes((was) => was + 1), []);
  return { ...state, again };
}
