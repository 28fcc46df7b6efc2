// Keys for the message that is chosen: what its menu has, without opening it.

import { useKeys, type Key } from "../../../state/keys.ts";
import type { Entry } from "../../../../src/transcript/entry.ts";
import type { Deed } from "../../../parts/menu.tsx";
import { unless, warn } from "../../../parts/toast.tsx";
import type { Reading } from "./reading.ts";

/**
 * A capital where the session has the small letter: F and T do to the message what f and t do to the session. With Caps Lock one may
 * come for the other, so none of them makes or leaves anything before it has asked.
 */
export const KEYS = {
  copy: "y",
  link: "l",
  fork: "F",
  rewind: "r",
  edit: "E",
  pin: "P",
  trace: "T",
} as const;

const ABOUT: Readonly<Record<keyof typeof KEYS, string>> = {
  copy: "copy its text",
  link: "copy a link to it",
  fork: "fork from it …",
  rewind: "rewind to it …",
  edit: "edit and resend it …",
  pin: "pin or unpin it",
  trace: "trace of its turn",
};

export function useEntryKeys(reading: Reading, deeds: (entry: Entry) => readonly Deed[]): void {
  const keys = (Object.keys(KEYS) as (keyof typeof KEYS)[]).map((name): Key => {
    const key = KEYS[name];
    return { key, about: ABOUT[name], run: () => done(key, chosen(reading), deeds) };
  });
  useKeys("The chosen message", [
    ...keys,
    { key: "m", about: "all that can be done with it", run: () => openMenu() },
  ]);
}

const NONE = "Choose a message first: j and k go from one to the next.";

function done(key: string, entry: Entry | null, deeds: (entry: Entry) => readonly Deed[]): void {
  if (entry === null) return warn(NONE);
  const deed = deeds(entry).find((each) => each.key === key);
  if (deed === undefined) warn("That cannot be done with this one.");
  else unless(deed.unless, deed.run);
}

/** Also who is at something within it has chosen it. */
function row(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>(".transcript [data-seq]") ?? null;
}

function chosen(reading: Reading): Entry | null {
  const seq = Number(row()?.dataset["seq"] ?? 0);
  const lines = reading.window.peek()?.lines ?? [];
  return lines.find((line): line is Entry => line.type !== "gap" && line.seq === seq) ?? null;
}

function openMenu(): void {
  const button = row()?.querySelector<HTMLElement>(":scope > .side [aria-haspopup=menu]");
  if (button == null) warn(NONE);
  else button.click();
}
