// What was typed into a note and is not saved. It is kept by the browser for this tab, so a reload, another view or a lost
// connection takes nothing; a closed tab does, and asks before.

import { signal } from "@preact/signals";

export interface Draft {
  readonly text: string;
  /** Of the note that it was begun on; null: there was none. */
  readonly version: string | null;
}

const KEPT_AS = "sessiond.draft ";

export const drafts = signal<ReadonlyMap<string, Draft>>(kept());

/** An agent's name has no /. */
function nameOf(agent: string, path: string): string {
  return `${agent}/${path}`;
}

export function draftOf(agent: string, path: string): Draft | null {
  return drafts.value.get(nameOf(agent, path)) ?? null;
}

/** Null: there is none any more. */
export function keepDraft(agent: string, path: string, draft: Draft | null): void {
  const name = nameOf(agent, path);
  if (draft === null && !drafts.value.has(name)) return;
  const all = new Map(drafts.value);
  if (draft === null) all.delete(name);
  else all.set(name, draft);
  drafts.value = all;
  try {
    if (draft === null) sessionStorage.removeItem(KEPT_AS + name);
    else sessionStorage.setItem(KEPT_AS + name, JSON.stringify(draft));
  } catch {
    return; // No room, or a browser that keeps nothing: it is there until the page is closed or loaded anew.
  }
}

function kept(): ReadonlyMap<string, Draft> {
  try {
    const names = Object.keys(sessionStorage).filter((each) => each.startsWith(KEPT_AS));
    return new Map(
      names.flatMap((each) => {
        const draft = read(sessionStorage.getItem(each));
        return draft === null ? [] : [[each.slice(KEPT_AS.length), draft]];
      }),
    );
  } catch {
    return new Map();
  }
}

/** Null: it is no draft; anything else of this address may have written there. */
function read(json: string | null): Draft | null {
  try {
    const { text, version } = JSON.parse(json ?? "null") as Partial<Draft>;
    const isDraft = typeof text === "string" && (version === null || typeof version === "string");
    return isDraft ? { text, version } : null;
  } catch {
    return null;
  }
}
