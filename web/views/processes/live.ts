// A listing that is kept up to date while it is shown.

import { useEffect, useRef, useState } from "preact/hooks";
import { begun, learn, onRows } from "../../state/rows.ts";
import { call, faultOf } from "../../wire/call.ts";
import { connections } from "../../wire/socket.ts";
import { Listing } from "./listing.ts";
import type { Wanted } from "./wanted.ts";

/** Who waits for a slot, and who has got one, is not written down, so no change is told: it is asked for. */
const REFRESH_MS = 2_000;

interface Live {
  readonly listing: Listing;
  readonly version: number;
  readonly agents: readonly string[]; // of all sessions that were ever listed here
}

const seen = new Set<string>();

export function useListing(wanted: Wanted): Live {
  const [version, setVersion] = useState(0);
  const [times, setTimes] = useState(0);
  const frame = useRef(0);
  const current = useRef<Listing | null>(null);
  const asked = useRef("");
  const asOf = JSON.stringify([wanted, times]);
  if (current.current === null || asked.current !== asOf) {
    current.current?.stop();
    asked.current = asOf;
    current.current = new Listing(wanted, {
      list: async (input, signal) => {
        const page = await call("list", input, signal);
        learn(page.sessions);
        for (const { agent } of page.sessions) seen.add(agent);
        return page;
      },
      faultOf,
      changed: () => {
        // Whatever happens within a frame is drawn once.
        if (frame.current === 0)
          frame.current = requestAnimationFrame(() => {
            frame.current = 0;
            setVersion((was) => was + 1);
          });
      },
    });
  }
  const listing = current.current;
  useEffect(() => {
    const stop = onRows(
      (told) => listing.told(told),
      () => setTimes((was) => was + 1),
    );
    const timer = setInterval(() => {
      const isAtWork = listing.forest.count("running") + listing.forest.count("queued") > 0;
      if (isAtWork && document.visibilityState === "visible") void listing.refresh();
    }, REFRESH_MS);
    return () => {
      stop();
      clearInterval(timer);
    };
  }, [listing]);
  useEffect(() => () => current.current?.stop(), []);
  // Listed only after the stream has begun, so that nothing falls in between; and again after trouble, when the daemon is back.
  useEffect(() => {
    if (begun.value) void listing.read();
  }, [listing, begun.value, connections.value]);
  const agents = [...new Set([...seen, ...(wanted.agent === null ? [] : [wanted.agent])])].sort();
  return { listing, version, agents };
}
