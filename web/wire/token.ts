// The token by which this page may call. It comes in the address once, behind the #, which no server and no log is ever told; it
// leaves the address bar, and the history, at once. It is kept by the browser for this address alone, until somebody signs out. The
// tabs of a browser have the same one: who signs in or out in one of them does so in all.

import { signal } from "@preact/signals";

const KEPT_AS = "sessiond.token";
const SIGNED_OUT = ""; // for a moment, for the other tabs

/** Null: nobody has signed in. */
export const token = signal(kept());

/** Why the last one was not taken; null: it was, or none was tried. */
export const refusal = signal<string | null>(null);

let isUntried = false; // True: the daemon has not said yet whether it knows this one.

signInByAddress();
addEventListener("storage", ({ key, newValue }) => {
  // Null: another tab's was refused. If ours is the same one, we are told so ourselves.
  if (key !== KEPT_AS || newValue === null || newValue === token.value) return;
  if (newValue === SIGNED_OUT) leave();
  else signIn(newValue);
});

/** Where another one is kept, this one takes its place only when the daemon knows it: an old link ends nobody's page. */
export function signIn(text: string): void {
  refusal.value = null;
  isUntried = true;
  token.value = text;
  if (kept() === null) keep(text);
}

/** The daemon knows it. */
export function taken(used: string): void {
  if (isUntried && token.value === used) keep(used);
  isUntried = false;
}

/** The daemon does not know it, or not any more. What another tab has signed in with meanwhile may be good. */
export function refused(used: string, why: string): void {
  if (token.value !== used) return;
  if (kept() === used) keep(null);
  token.value = kept();
  refusal.value = token.value === null ? why : null;
}

/** Wanted by somebody: all tabs forget whatever they know and whatever was typed into them, and begin anew. */
export function signOut(): void {
  keep(SIGNED_OUT);
  leave();
}

function leave(): void {
  token.value = null;
  try {
    for (const storage of [localStorage, sessionStorage])
      for (const name of Object.keys(storage))
        if (name.startsWith("sessiond.") && name !== "sessiond.theme") storage.removeItem(name);
  } catch {
    // A browser that keeps nothing has nothing to forget.
  }
  setTimeout(() => location.reload()); // When nothing is shown any more that would ask whether to leave.
}

/** `#t=…`, alone or before a place: `#t=…&/session/…`. */
export function signInByAddress(): void {
  const [, given, place = ""] = /^#t=([^&/]+)&?(.*)$/.exec(location.hash) ?? [];
  if (given === undefined) return;
  history.replaceState(null, "", `${location.pathname}${place === "" ? "" : `#${place}`}`);
  signIn(decoded(given));
}

/** What somebody typed or pasted where a token is asked for: it may be the whole link. */
export function tokenOf(typed: string): string {
  const [, given] = /#t=([^&/\s]+)/.exec(typed) ?? [];
  return given === undefined ? typed.trim() : decoded(given);
}

/** Tells tokens apart, and nobody what they are. */
export function markOf(text: string | null): string {
  let mark = 0;
  for (const each of text ?? "") mark = (Math.imul(mark, 31) + (each.codePointAt(0) ?? 0)) | 0;
  return mark.toString(36);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Whoever wrote it did not encode it.
  }
}

/** A browser may keep nothing for anybody (private windows): then it is asked for again after a reload. */
function keep(text: string | null): void {
  try {
    if (text === null) localStorage.removeItem(KEPT_AS);
    else localStorage.setItem(KEPT_AS, text);
  } catch {
    return; // It is there until the page is closed.
  }
}

function kept(): string | null {
  try {
    return localStorage.getItem(KEPT_AS) || null;
  } catch {
    return null; // The same.
  }
}
