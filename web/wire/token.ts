// The token by which this page may call. It comes in the address once, behind the #, which no server and no log is ever told; it
// leaves the address bar, and the history, at once. It is kept by the browser for this address alone, until somebody signs out.

import { signal } from "@preact/signals";

const KEPT_AS = "sessiond.token";

/** Null: nobody has signed in. */
export const token = signal<string | null>(fromAddress() ?? kept());

/** Why the last one was not taken; null: it was, or none was tried. */
export const refusal = signal<string | null>(null);

export function signIn(text: string): void {
  refusal.value = null;
  token.value = text;
  keep(text);
}

/** `why` is told to who has to sign in again; null: they wanted to. */
export function signOut(why: string | null): void {
  refusal.value = why;
  token.value = null;
  keep(null);
}

/** `#t=…`, alone or before a place: `#t=…&/session/…`. */
function fromAddress(): string | null {
  const [, given, place = ""] = /^#t=([^&/]+)&?(.*)$/.exec(location.hash) ?? [];
  if (given === undefined) return null;
  history.replaceState(null, "", `${location.pathname}${place === "" ? "" : `#${place}`}`);
  const said = decoded(given);
  keep(said);
  return said;
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
    return localStorage.getItem(KEPT_AS);
  } catch {
    return null; // The same.
  }
}
