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

/**
 * Asks when it is first shown, when one of `of` is another, and after the connection was lost. `again` calls nothing off: who is
 * told to ask again and again while the daemon is slow is still shown what it answers.
 */
export function useAsked<Of>(ask: (signal: AbortSignal) => Promise<Of>, of: readonly unknown[]): Asked<Of> {
  const [state, setState] = useState<Omit<Asked<Of>, "again">>({ value: null, fault: null, isLoading: true });
  const [times, setTimes] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;
  const asOf = JSON.stringify(of);
  const shownOf = useRef(asOf);
  const now = useRef({ isUnderWay: false, isOwed: false });
  const again = useCallback(() => {
    if (now.current.isUnderWay) now.current.isOwed = true;
    else setTimes((was) => was + 1);
  }, []);
  useEffect(() => {
    const over = new AbortController();
    const isOther = shownOf.current !== asOf;
    shownOf.current = asOf;
    now.current = { isUnderWay: true, isOwed: false };
    setState((was) => ({ value: isOther ? null : was.value, fault: null, isLoading: true }));
    const answered = (told: (was: Asked<Of>["value"]) => Pick<Asked<Of>, "value" | "fault">): void => {
      if (over.signal.aborted) return;
      const { isOwed } = now.current;
      now.current = { isUnderWay: false, isOwed: false };
      setState((was) => ({ ...told(was.value), isLoading: false }));
      if (isOwed) again();
    };
    latest.current(over.signal).then(
      (value) => answered(() => ({ value, fault: null })),
      (error: unknown) => {
        if (!isCalledOff(error)) answered((value) => ({ value, fault: faultOf(error) }));
      },
    );
    return () => over.abort();
  }, [asOf, times, connections.value]);
  return { ...state, again };
}
