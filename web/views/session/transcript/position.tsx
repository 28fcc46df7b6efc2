// Where one is in all of it, and the way to anywhere else.

import { useSignal, type Signal } from "@preact/signals";
import { whole } from "../../../../src/base/figures.ts";
import { Button } from "../../../parts/button.tsx";
import type { Reading } from "./reading.ts";
import "./position.css";

/** Entries below which one scrolls. */
const SHORT = 120;
/** A key moves by such a part of the whole. */
const PARTS = 200;

export function Position({ reading, seen }: { readonly reading: Reading; readonly seen: Signal<number> }) {
  const dragged = useSignal<number | null>(null);
  const last = reading.window.value?.lastSeq ?? 0;
  if (last <= SHORT) return null;
  const at = Math.min(last, dragged.value ?? (reading.isFar.value ? seen.value : last));
  const go = (seq: number): void => void reading.show(seq >= last ? null : seq);
  return (
    <div class="position" role="group" aria-label="Position in the transcript">
      <Button look="quiet" onClick={() => go(1)}>
        First
      </Button>
      <input
        type="range"
        min={1}
        max={last}
        step={1}
        value={at}
        aria-label="Entry"
        aria-valuetext={`entry ${whole(at)} of ${whole(last)}`}
        onInput={(event: Event) => (dragged.value = Number((event.currentTarget as HTMLInputElement).value))}
        onChange={(event: Event) => {
          dragged.value = null;
          go(Number((event.currentTarget as HTMLInputElement).value));
        }}
        onKeyDown={(event: KeyboardEvent) => {
          const to = moved(event.key, at, last);
          if (to === null) return;
          event.preventDefault();
          event.stopPropagation();
          go(to);
        }}
      />
      <Button look="quiet" onClick={() => go(last)}>
        Newest
      </Button>
      <span class="figures" aria-hidden="true">
        entry {whole(at)} of {whole(last)}
      </span>
    </div>
  );
}

/** Null: the key is not for this. */
function moved(key: string, at: number, last: number): number | null {
  const step = Math.max(1, Math.round(last / PARTS));
  const by = {
    ArrowLeft: -step,
    ArrowDown: -step,
    ArrowRight: step,
    ArrowUp: step,
    PageUp: 10 * step,
    PageDown: -10 * step,
  };
  const found = (by as Readonly<Record<string, number>>)[key];
  if (key === "Home") return 1;
  if (key === "End") return last;
  return found === undefined ? null : Math.min(last, Math.max(1, at + found));
}
