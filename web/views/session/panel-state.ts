// Whether the panel is there, and what it shows: it is in the address, so Back closes it, and a link opens it. Without a word there
// it is as somebody left it, where it stands beside the transcript; over the transcript, where there is no room beside it, it is closed.

import { computed, signal } from "@preact/signals";
import { close, hrefOf, open, place, replace } from "../../state/place.ts";

export const TABS = ["status", "context", "children", "trace"] as const;
export type Tab = (typeof TABS)[number];

const KEPT_AS = "sessiond.panel";
const narrow = matchMedia("(max-width: 1000px)");

const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", () => (isNarrow.value = narrow.matches));
const isOpenBeside = signal(kept() !== "closed");
const left = signal<Tab>("status"); // as somebody left it

/** Null: the address says nothing about it. A turn is looked at in its trace. */
const asked = computed<Tab | null>(() => {
  const { panel, turn = "" } = place.value.query;
  return TABS.find((each) => each === panel) ?? (turn === "" ? null : "trace");
});

export const tab = computed<Tab>(() => asked.value ?? left.value);
export const isPanelOpen = computed(() => asked.value !== null || (!isNarrow.value && isOpenBeside.value));
export const isOver = computed(() => isNarrow.value && isPanelOpen.value);

export function setPanel(isOpen: boolean): void {
  if (isOpen === isPanelOpen.value) return;
  if (!isNarrow.value) remember(isOpen);
  if (asked.value !== null) close(elsewhere());
  else if (isOpen && isNarrow.value) open({ ...elsewhere(), panel: left.value });
}

/** One that was asked for by a key or a menu: Back leads to what was there before. */
export function showTab(which: Tab, query: Readonly<Record<string, string>> = {}): void {
  const wished = { ...place.value.query, panel: which, ...query };
  if (asked.value === null) open(wished);
  else replace(wished);
}

/** One of those that stand beside each other: no step by itself. */
export function turnTo(which: Tab): void {
  left.value = which;
  replace({ ...place.value.query, panel: which });
}

/** Where an entry is, for links in the panel: it stays beside the transcript, and goes where it stands before it. */
export function hrefBeside(sessionKey: string, seq: number): string {
  const query = isOver.value ? elsewhere() : place.value.query;
  return hrefOf("session", sessionKey, { ...query, seq: String(seq) });
}

/** The place without the panel. */
function elsewhere(): Readonly<Record<string, string>> {
  const { panel: _panel, turn: _turn, ...query } = place.value.query;
  return query;
}

function remember(isOpen: boolean): void {
  isOpenBeside.value = isOpen;
  try {
    localStorage.setItem(KEPT_AS, isOpen ? "open" : "closed");
  } catch {
    return; // It is so until the page is closed.
  }
}

function kept(): string | null {
  try {
    return localStorage.getItem(KEPT_AS);
  } catch {
    return null;
  }
}
