// The time, for whatever says how long ago something was. It moves once a second, while somebody looks.

import { signal } from "@preact/signals";

export const nowMs = signal(Date.now());

setInterval(() => {
  if (document.visibilityState === "visible") nowMs.value = Date.now();
}, 1_000);

/** Milliseconds since an ISO time, by this machine's clock; never negative. */
export function since(iso: string): number {
  return Math.max(0, nowMs.value - Date.parse(iso));
}
