// Short words about what was done, or was not: they stand for a while, and screen readers say them. What went wrong stays until
// somebody has read it.

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { clean } from "../../src/base/harmless.ts";
import { faultOf, isCalledOff } from "../wire/call.ts";
import { Button } from "./button.tsx";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isBad: boolean;
  readonly remedy: Remedy | null;
}

/** What can be done about what was told: Undo, mostly. */
interface Remedy {
  readonly name: string;
  readonly run: () => void;
}

const toasts = signal<readonly Toast[]>([]);
const SHOWN_MS = 6_000;
const REMEDY_MS = 15_000; // who was surprised needs a moment
const TOASTS_MAX = 4;
let made = 0;

export function tell(text: string, isBad = false, remedy: Remedy | null = null): void {
  made += 1;
  const toast: Toast = { id: made, text: clean(text), isBad, remedy };
  const others = toasts.value.filter((each) => each.text !== toast.text); // Said again, it is not there twice.
  const isCrowded = others.length >= TOASTS_MAX;
  const first = isCrowded ? (others.find((each) => !each.isBad) ?? others[0]) : undefined;
  toasts.value = [...others.filter((each) => each !== first), toast];
  if (!isBad) setTimeout(() => dismiss(toast), remedy === null ? SHOWN_MS : REMEDY_MS);
}

function dismiss(toast: Toast): void {
  toasts.value = toasts.value.filter((each) => each !== toast);
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

/** Of a key, which has no place where it could say why it cannot be done. */
export function unless(why: string | undefined, run: () => void): void {
  if (why === undefined) run();
  else tell(`${why}.`);
}

/**
 * Everywhere that they can be shown. While a dialog is there nothing beside it can be used, nor is it read out: so what is told then
 * is in it. What was told before stays where it was, and is not in the way.
 */
const places = signal<readonly { readonly since: number }[]>([]);

/** Stands once in the page, and once in every dialog. */
export function Toasts() {
  const here = useRef({ since: places.value.length === 0 ? 0 : made }).current;
  useLayoutEffect(() => {
    places.value = [...places.value, here];
    return () => {
      places.value = places.value.filter((each) => each !== here);
    };
  }, []);
  const next = places.value[places.value.indexOf(here) + 1];
  const shown = toasts.value.filter(({ id }) => id > here.since && (next === undefined || id <= next.since));
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map((toast) => (
        <div key={toast.id} class={`toast${toast.isBad ? " bad" : ""}`}>
          <span>{toast.text}</span>
          {toast.remedy !== null && <Remedied toast={toast} remedy={toast.remedy} />}
          {toast.isBad && <Button icon="close" label="Dismiss" look="quiet" onClick={() => dismiss(toast)} />}
        </div>
      ))}
    </div>
  );
}

function Remedied({ toast, remedy }: { readonly toast: Toast; readonly remedy: Remedy }) {
  const done = (): void => {
    dismiss(toast);
    remedy.run();
  };
  return (
    <Button look="quiet" onClick={done}>
      {remedy.name}
    </Button>
  );
}
