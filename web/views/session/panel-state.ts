// Whether the panel is there, and what it shows. Beside the transcript it is as somebody left it; over the transcript, where there
// is no room beside it, it begins closed.

import { computed, signal } from "@preact/signals";

export const TABS = ["status", "context", "children", "trace"] as const;
export type Tab = (typeof TABS)[number];

const KEPT_AS = "sessiond.panel";
const narrow = matchMedia("(max-width: 1000px)");

const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", () => (isNarrow.value = narrow.matches));
const isOpenBeside = signal(kept() !== "closed");
const isOpenOver = signal(false);

export const tab = signal<Tab>("status");
export const isPanelOpen = computed(() => (isNarrow.value ? isOpenOver.value : isOpenBeside.value));
export const isOver = computed(() => isNarrow.value && isOpenOver.value);

export function setPanel(isOpen: boolean): void {
  if (isNarrow.value) {
    isOpenOver.value = isOpen;
    return;
  }
  isOpenBeside.value = isOpen;
  try {
    localStorage.setItem(KEPT_AS, isOpen ? "open" : "closed");
  } catch {
    return; // It is so until the page is closed.
  }
}

export function showTab(which: Tab): void {
  tab.value = which;
  setPanel(true);
}

function kept(): string | null {
  try {
    return localStorage.getItem(KEPT_AS);
  } catch {
    return null;
  }
}
