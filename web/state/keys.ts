// What keys do. A part of the page says which keys it takes while it is there; the newest part that takes a key gets it. Keys are
// not taken from who types a text, but for those with Ctrl or Meta, and Escape.

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

export interface Key {
  /** As in KeyboardEvent.key: "j", "Enter", "Escape"; "g p": one after the other; "mod+Enter": with Ctrl or Meta. */
  readonly key: string;
  readonly about: string;
  readonly run: (event: KeyboardEvent) => void;
}

interface Taking {
  readonly group: string;
  readonly keys: readonly Key[];
}

/** Who takes which, for the help. The last comes first. */
export const taken = signal<readonly Taking[]>([]);

const SEQUENCE_MS = 1_000;
let before: { readonly key: string; readonly atMs: number } | null = null;

/** Keys of a part, while it is shown. They may be other functions at each render. */
export function useKeys(group: string, keys: readonly Key[]): void {
  const latest = useRef(keys);
  latest.current = keys;
  const names = keys.map(({ key }) => key).join(" | ");
  // Before it is seen: who is quick finds the keys of what they see.
  useLayoutEffect(() => {
    const taking: Taking = {
      group,
      keys: latest.current.map(({ key, about }) => ({
        key,
        about,
        run: (event) => latest.current.find((each) => each.key === key)?.run(event),
      })),
    };
    taken.value = [...taken.value, taking];
    return () => {
      taken.value = taken.value.filter((each) => each !== taking);
    };
  }, [group, names]);
}

/** Does what a key does, for who has a button for it. */
export function press(name: string): void {
  const all = taken.value.toReversed().flatMap(({ keys }) => keys);
  all.find(({ key }) => key === name)?.run(new KeyboardEvent("keydown", { key: name }));
}

function isTyping({ target }: KeyboardEvent): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(?:TEXTAREA|SELECT)$/.test(target.tagName) || isTextInput(target))
  );
}

function isTextInput(target: HTMLElement): boolean {
  return target instanceof HTMLInputElement && !/^(?:checkbox|radio|button|submit|range)$/.test(target.type);
}

function nameOf(event: KeyboardEvent): string {
  return event.ctrlKey || event.metaKey ? `mod+${event.key}` : event.key;
}

addEventListener("keydown", (event) => {
  const isModal = document.querySelector("dialog[open]") !== null;
  if (isModal || event.defaultPrevented || event.altKey) return;
  const name = nameOf(event);
  if (isTyping(event) && event.key !== "Escape" && !name.startsWith("mod+")) return;
  const sequence =
    before !== null && event.timeStamp - before.atMs < SEQUENCE_MS ? `${before.key} ${name}` : null;
  const all = taken.value.toReversed().flatMap(({ keys }) => keys);
  const found = all.find(({ key }) => key === sequence) ?? all.find(({ key }) => key === name);
  before = found === undefined ? { key: name, atMs: event.timeStamp } : null;
  if (found === undefined) return;
  event.preventDefault();
  found.run(event);
});
