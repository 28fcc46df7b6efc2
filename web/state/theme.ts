// Light, dark, or as the machine is set. The styles do the rest: they know both colours of everything.

import { signal } from "@preact/signals";

const KEPT_AS = "sessiond.theme";
export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export const theme = signal<Theme>(kept());

export function cycleTheme(): void {
  setTheme(THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system");
}

export function setTheme(to: Theme): void {
  theme.value = to;
  apply();
  try {
    localStorage.setItem(KEPT_AS, theme.value);
  } catch {
    return; // It is so until the page is closed.
  }
}

export function apply(): void {
  const { dataset } = document.documentElement;
  if (theme.value === "system") delete dataset["theme"];
  else dataset["theme"] = theme.value;
}

function kept(): Theme {
  try {
    return THEMES.find((each) => each === localStorage.getItem(KEPT_AS)) ?? "system";
  } catch {
    return "system"; // A browser may keep nothing.
  }
}
