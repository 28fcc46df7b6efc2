// What somebody is about to say, session by session: words, and what is attached to them. It survives a reload and a look elsewhere;
// nothing typed is ever lost. What the browser has no room for is there until the page is left, which asks before.

import { signal, type Signal } from "@preact/signals";
import type { Input } from "../../../src/calls/door.ts";
import { token } from "../../wire/token.ts";
import { shown } from "./attaching.ts";

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
const ATTACHED_AS = "sessiond.attached.";
const drafts = new Map<string, Signal<Draft>>();
const unkept = new Set<string>(); // what the browser has no room for

export function draftOf(sessionKey: string): Signal<Draft> {
  const had = drafts.get(sessionKey);
  if (had !== undefined) return had;
  const made = signal<Draft>({ ...NOTHING, text: kept(KEPT_AS + sessionKey), ...attachedTo(sessionKey) });
  drafts.set(sessionKey, made);
  return made;
}

export function redraft(sessionKey: string, changes: Partial<Draft>): void {
  const draft = draftOf(sessionKey);
  draft.value = { ...draft.value, ...changes };
  const { text, pictures, files } = draft.value;
  const isAttached = pictures.length + files.length > 0;
  if (changes.pictures !== undefined || changes.files !== undefined)
    keep(ATTACHED_AS + sessionKey, isAttached ? JSON.stringify({ pictures, files }) : null);
  keep(KEPT_AS + sessionKey, isAttached || text !== "" ? text : null); // Also a picture alone is a draft.
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

// ── Over a reload ───────────────────────────────────────────────────────────────────────────────────────────

/** Null: it is not to be kept any more. */
function keep(name: string, text: string | null): void {
  if (token.value === null) return; // Who signs out leaves nothing here.
  try {
    if (text === null) sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, text);
    unkept.delete(name);
  } catch {
    unkept.add(name); // Of what was kept before, most is right.
  }
}

function kept(name: string): string {
  try {
    return sessionStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}

/** What can be read of it: a browser may have been given anything to keep. */
function attachedTo(sessionKey: string): Partial<Pick<Draft, "pictures" | "files">> {
  const json = kept(ATTACHED_AS + sessionKey);
  if (json === "") return {};
  try {
    const { pictures, files } = JSON.parse(json) as Pick<Draft, "pictures" | "files">;
    return { pictures: pictures.map(shown), files: files.filter(({ text }) => typeof text === "string") };
  } catch {
    return {};
  }
}

addEventListener("beforeunload", (event) => {
  if (unkept.size > 0 && token.value !== null) event.preventDefault();
});
