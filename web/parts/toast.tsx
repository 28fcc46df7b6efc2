// Short words about what was done, or was not: they stand for a while, and screen readers say them.

import { signal } from "@preact/signals";
import { faultOf, isCalledOff } from "../wire/call.ts";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isBad: boolean;
}

const toasts = signal<readonly Toast[]>([]);
const SHOWN_MS = 6_000;
const TOASTS_MAX = 4;
let made = 0;

export function tell(text: string, isBad = false): void {
  made += 1;
  const toast: Toast = { id: made, text, isBad };
  toasts.value = [...toasts.value, toast].slice(-TOASTS_MAX);
  setTimeout(() => (toasts.value = toasts.value.filter((each) => each !== toast)), SHOWN_MS);
}

/** Does something; what is refused is told. Resolves with null then. */
export async function tried<Of>(doing: Promise<Of>, done?: string): Promise<Of | null> {
  try {
    const value = await doing;
    if (done !== undefined) tell(done);
    return value;
  } catch (error) {
    if (isCalledOff(error)) return null;
    const { message, todo } = faultOf(error);
    tell(`${message}. ${todo}`, true);
    return null;
  }
}

/** Stands once in the page. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, isBad }) => (
        <div key={id} class={`toast${isBad ? " bad" : ""}`}>
          {text}
        </div>
      ))}
    </div>
  );
}
