// What the overview is made of: asked for every other second while somebody looks at it, and kept, so who comes back sees how it went.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Fault } from "../../../src/base/fault.ts";
import { call, faultOf } from "../../wire/call.ts";
import type { Overview } from "../../wire/events.ts";
import { added, pointOf, type Point } from "./ring.ts";

const EVERY_MS = 2_000;

const seen = signal<{
  readonly now: Overview | null; //    null: nothing has come yet
  readonly fault: Fault | null; //     why the last one did not come
  readonly ring: readonly Point[];
}>({ now: null, fault: null, ring: [] });

/** Asks for it while it is shown and the page is looked at. */
export function useFeed(): typeof seen.value {
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isAsking = false;
    const look = async (): Promise<void> => {
      if (isOver || isAsking || document.visibilityState !== "visible") return;
      clearTimeout(timer);
      isAsking = true;
      await ask();
      isAsking = false;
      if (!isOver) timer = setTimeout(() => void look(), EVERY_MS);
    };
    const again = (): void => void look();
    document.addEventListener("visibilitychange", again);
    again();
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", again);
    };
  }, []);
  return seen.value;
}

/** Once, whoever shows it. */
export async function ask(): Promise<void> {
  try {
    const now = await call("overview", {});
    seen.value = { now, fault: null, ring: added(seen.value.ring, pointOf(now, Date.now())) };
  } catch (error) {
    seen.value = { ...seen.value, fault: faultOf(error) };
  }
}
