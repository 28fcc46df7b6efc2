// Where in the page somebody is: it is the address, so every place can be linked to, gone back from and opened twice.
//
//   #/processes?state=running      #/session/agent%3Amain%3Amain?seq=120      #/search?text=prices

import { signal } from "@preact/signals";
import { signInByAddress } from "../wire/token.ts";

export const VIEWS = [
  "processes",
  "overview",
  "schedule",
  "search",
  "memory",
  "upkeep",
  "settings",
  "session",
] as const;
export type View = (typeof VIEWS)[number];

export interface Place {
  readonly view: View;
  readonly of: string | null; // the key of a session, the id of a job, the path of a note; null: nothing in particular
  readonly query: Readonly<Record<string, string>>;
}

export const place = signal(placeIn(location.hash));

addEventListener("hashchange", () => {
  signInByAddress(); // A link with a token may be opened where the page is already.
  place.value = placeIn(location.hash);
});

export function hrefOf(view: View, of: string | null = null, query: Place["query"] = {}): string {
  const given = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString();
  return `#/${view}${of === null ? "" : `/${encodeURIComponent(of)}`}${given === "" ? "" : `?${given}`}`;
}

export function go(view: View, of: string | null = null, query: Place["query"] = {}): void {
  location.hash = hrefOf(view, of, query);
}

/** The same place otherwise asked for, such as another filter: not a step to go back over. */
export function replace(query: Place["query"]): void {
  const { view, of } = place.value;
  history.replaceState(history.state, "", hrefOf(view, of, query)); // What was opened by it is still open.
  place.value = { view, of, query };
}

/**
 * Taken before something is waited for: whether somebody is still where they were, otherwise filtered or not. An answer that comes
 * late asks nothing, opens nothing and leads nowhere for who has gone on to something else.
 */
export function stillHere(): () => boolean {
  const { view, of } = place.value;
  return () => place.value.view === view && place.value.of === of;
}

/** What a step of the history is, that was made by opening something over the same place. */
const OPENED = { isOpened: true } as const;

/** Something stands before the same place: the browser's Back closes it. */
export function open(query: Place["query"]): void {
  const { view, of } = place.value;
  history.pushState(OPENED, "", hrefOf(view, of, query));
  place.value = { view, of, query };
}

/** It was closed otherwise: the history is as if it had not been opened. What came by a link is not gone back from. */
export function close(query: Place["query"]): void {
  if ((history.state as Partial<typeof OPENED> | null)?.isOpened !== true) return replace(query);
  place.value = { ...place.value, query }; // Going back takes a moment, and is not to be done twice.
  history.back();
}

/** Whatever cannot be understood is the first view. */
function placeIn(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [name = "", of = ""] = path.split("/", 2);
  const view = VIEWS.find((each) => each === name) ?? "processes";
  return {
    view: view === "session" && of === "" ? "processes" : view,
    of: of === "" ? null : decoded(of),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
