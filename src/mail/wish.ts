// What people want done to a session's own history. Only its owner may write that, so it is told by a letter: an order, which
// is never written down, and is taken in the commit that does what it says. So it happens once, whatever crashes. Such
// letters are made by calls alone, from what they have checked.

import type { SessionKey } from "../routing/key.ts";
import type { Settings } from "../sessions/session.ts";
import type { Letter } from "./letter.ts";

export interface Wishes {
  /** Make the context smaller. Null: nothing in particular is to be kept. */
  readonly compact: { readonly focus: string | null };
  /** Write down where things stand, and open a session that goes on from there. */
  readonly handoff: {
    readonly focus: string | null;
    readonly key: SessionKey; //           of the session to open
    readonly transcript: string; //        its transcript's id
    readonly settings: Partial<Settings>;
    readonly message: string | null; //    what it is to do; null: it says what comes next
  };
  /** Go back to an entry, if `after` is still the last one. */
  readonly rewind: {
    readonly to: { readonly id: string; readonly seq: number };
    readonly contextSeq: number;
    readonly after: number;
    readonly isReturn?: boolean; // the entry is of a branch that was left; absent in letters of an older version
  };
  /** Go on in a new file, which begins with what the model is shown. */
  readonly rotate: { readonly transcript: string }; // the id of the new file
  /** Begin anew, with another model if one is named; what was said becomes an archive. */
  readonly reset: { readonly transcript: string; readonly model: string | null };
}

export type Wish = keyof Wishes;

const WISH = "cause:wish:";
const NAMES: ReadonlySet<string> = new Set<Wish>(["compact", "handoff", "rewind", "rotate", "reset"]);

export function wishLetter<Name extends Wish>(own: string, name: Name, wished: Wishes[Name]): Letter {
  return {
    id: `${WISH}${name}:${own}`,
    from: { kind: "internal_system", cause: name },
    class: "interactive",
    mode: "followup",
    content: [{ type: "text", text: JSON.stringify(wished) }],
    replyTo: null,
    origin: null,
  };
}

/** Null: it is none. */
export function wishOf({ id }: Pick<Letter, "id">): Wish | null {
  const name = id.startsWith(WISH) ? (id.slice(WISH.length).split(":", 1)[0] ?? "") : "";
  return NAMES.has(name) ? (name as Wish) : null;
}

export function wishedIn<Name extends Wish>({ content }: Pick<Letter, "content">, _name: Name): Wishes[Name] {
  const [block] = content;
  return JSON.parse(block?.type === "text" ? block.text : "") as Wishes[Name];
}
