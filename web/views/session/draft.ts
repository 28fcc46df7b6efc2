// What somebody is about to say, session by session. The words survive a reload and a look elsewhere; nothing typed is ever lost.

import { signal, type Signal } from "@preact/signals";
import type { Input } from "../../../src/calls/door.ts";

export type Mode = NonNullable<Input<"send">["mode"]>;

export interface Picture {
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: number;
  readonly data: string; // base64, as `send` takes it
  readonly url: string; //  blob:, to be seen
}

export interface TextFile {
  readonly name: string;
  readonly text: string;
}

export interface Draft {
  readonly text: string;
  readonly pictures: readonly Picture[];
  readonly files: readonly TextFile[];
  readonly mode: Mode | null; //   null: as the session is set
  readonly model: string | null; // null: the one it has
}

const NOTHING: Draft = { text: "", pictures: [], files: [], mode: null, model: null };
const KEPT_AS = "sessiond.draft.";
const drafts = new Map<string, Signal<Draft>>();

export function draftOf(sessionKey: string): Signal<Draft> {
  const had = drafts.get(sessionKey);
  if (had !== undefined) return had;
  const made = signal<Draft>({ ...NOTHING, text: kept(sessionKey) });
  drafts.set(sessionKey, made);
  return made;
}

export function redraft(sessionKey: string, changes: Partial<Draft>): void {
  const draft = draftOf(sessionKey);
  draft.value = { ...draft.value, ...changes };
  if (changes.text !== undefined) keep(sessionKey, changes.text);
}

/** How it is to be read stays as it was chosen. The model is the session's own from this message on. */
export function sent(sessionKey: string): void {
  redraft(sessionKey, { text: "", pictures: [], files: [], model: null });
}

/** Words and pictures that come back: behind what is there already. */
export function putBack(sessionKey: string, text: string, pictures: readonly Picture[] = []): void {
  const had = draftOf(sessionKey).value;
  const both = [had.text.trimEnd(), text].filter((each) => each !== "").join("\n\n");
  redraft(sessionKey, { text: both, pictures: [...had.pictures, ...pictures] });
}

/** A browser may keep nothing: then it is there until the page is closed. */
function keep(sessionKey: string, text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(KEPT_AS + sessionKey);
    else sessionStorage.setItem(KEPT_AS + sessionKey, text);
  } catch {
    return;
  }
}

function kept(sessionKey: string): string {
  try {
    return sessionStorage.getItem(KEPT_AS + sessionKey) ?? "";
  } catch {
    return "";
  }
}
