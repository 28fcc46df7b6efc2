// What was told (telling.ts), to be seen; screen readers say it.

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "./button.tsx";
import { dismiss, newest, toasts, type Remedy, type Toast } from "./telling.ts";

export { tell, tried, unless, untell, warn } from "./telling.ts";

/**
 * Everywhere that they can be shown. While a dialog is there nothing beside it can be used, nor is it read out: so what is told then
 * is in it. What was told before stays where it was, and is not in the way.
 */
const places = signal<readonly { readonly since: number }[]>([]);

/** Stands once in the page, and once in every dialog. */
export function Toasts() {
  const here = useRef({ since: places.value.length === 0 ? 0 : newest() }).current;
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
        <Told key={toast.id} toast={toast} />
      ))}
    </div>
  );
}

function Told({ toast }: { readonly toast: Toast }) {
  const { text, tone, remedy } = toast;
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const own = element.current;
    return () => {
      if (own?.contains(document.activeElement) === true) toView(own);
    };
  }, []);
  return (
    <div ref={element} class={`toast ${tone}`}>
      <span>{text}</span>
      {remedy !== null && <Remedied toast={toast} remedy={remedy} />}
      <Button icon="close" label="Dismiss" look="quiet" onClick={() => dismiss(toast)} />
    </div>
  );
}

/** Who used something that goes away with it is in the view again, or in the dialog that it was told in. */
function toView(from: HTMLElement): void {
  const dialog = from.closest("dialog");
  const to = dialog?.querySelector<HTMLElement>(":scope > .body :is(input, textarea, select, button)");
  (to ?? document.querySelector("main"))?.focus({ preventScroll: true });
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
