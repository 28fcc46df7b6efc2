// Pieces
//
// What is followed, without secrets, as `entries` shows it. An answer that comes in pieces may have one that no piece has whole: so
// a word is told when it is there whole, and what may yet become a secret waits.
//
//   Owns:      what of an answer was told, and what waits.
//   Does not:  know what a secret is (base/redact.ts), or change what is followed by a program that embeds sessions.
//
// Invariants
//   D1. No entry, and no state, has a secret that `entries` takes out.
//   D2. Pieces have none either, and together they are the text of the entry: of an answer, from its first piece on. Who comes in the
//       middle of one hears none of it; a model that is asked again begins anew.
//   D3. What waits is told with an entry that has it, and never of an answer that came to nothing.
//   D4. What waits is bounded (PIECE_HELD_CHARS_MAX). Past that the rest of the answer comes with its entry only.

import { openIn, redactedIn, secretsIn } from "../base/redact.ts";
import type { Event } from "../events/bus.ts";
import type { Entry } from "../transcript/entry.ts";
import { PIECE_HELD_CHARS_MAX } from "./limits.ts";

type Delta = Extract<Event, { type: "delta" }>;

/** Who speaks, since when, and what. */
interface Speech {
  readonly of: Omit<Delta, "kind" | "text" | "begins">;
  readonly said: Readonly<Record<Delta["kind"], Said>>;
  isNew: boolean; // nothing of it was told
}

/** One follower's. */
export class Pieces {
  #speech: Speech | null = null; // null: nobody speaks, or its beginning was missed

  /** What is told of an event, in this order; nothing, if all of it waits. */
  of(event: Event): readonly Event[] {
    const pieces = this.said(event);
    switch (event.type) {
      case "delta":
        return pieces;
      case "state":
        return [{ ...event, state: redactedIn(event.state) as typeof event.state }];
      case "entry":
        return [...pieces, { ...event, entry: redactedIn(event.entry) as Entry }];
    }
  }

  /** Only the pieces. */
  said(event: Event): readonly Delta[] {
    if (event.type === "delta") return this.#heard(event);
    return event.type === "entry" ? this.#ended(event.entry) : [];
  }

  #heard({ kind, text, begins, ...of }: Delta): readonly Delta[] {
    if (begins) this.#speech = { of, said: { text: new Said(), thinking: new Said() }, isNew: true };
    const speech = this.#speech;
    return speech === null ? [] : pieceOf(speech, kind, speech.said[kind].add(text));
  }

  #ended(entry: Entry): readonly Delta[] {
    const speech = this.#speech;
    if (speech === null || entry.type !== "message" || entry.message.role !== "assistant") return [];
    this.#speech = null;
    const { content } = entry.message;
    const thought = content.map((block) => (block.type === "thinking" ? block.thinking : "")).join("");
    const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
    return [
      ...pieceOf(speech, "thinking", speech.said.thinking.rest(thought)),
      ...pieceOf(speech, "text", speech.said.text.rest(text)),
    ];
  }
}

function pieceOf(speech: Speech, kind: Delta["kind"], text: string): readonly Delta[] {
  if (text === "") return [];
  const begins = speech.isNew ? ({ begins: true } as const) : {};
  speech.isNew = false;
  return [{ ...speech.of, kind, text, ...begins }];
}

/** A text that goes on. */
class Said {
  #text = ""; // from where nothing before it can be part of a secret with what comes, and a character more: a word may begin there
  #told = 0; //  so much of that was told
  #isMuted = false; // D4

  /** What can be told now. */
  add(piece: string): string {
    if (this.#isMuted) return "";
    this.#text += piece;
    const secrets = secretsIn(this.#text);
    const last = secrets.at(-1);
    const open = openIn(this.#text);
    const goesOn = last !== undefined && last.to >= open;
    const told = this.#upTo(goesOn ? Math.min(open, last.from) : open, secrets);
    if (!goesOn) this.#forget(open - 1);
    if (this.#text.length > PIECE_HELD_CHARS_MAX) {
      this.#isMuted = true;
      this.#text = "";
    }
    return told;
  }

  /** D3. `whole` is what was said, as it was written down. */
  rest(whole: string): string {
    if (this.#isMuted || !whole.endsWith(this.#text)) return "";
    return this.#upTo(this.#text.length, secretsIn(this.#text));
  }

  #upTo(end: number, secrets: ReturnType<typeof secretsIn>): string {
    let told = "";
    let at = this.#told;
    for (const { from, to, shown } of secrets) {
      if (to <= at || from >= end) continue;
      told += this.#text.slice(at, from) + shown;
      at = to;
    }
    told += this.#text.slice(at, Math.max(at, end));
    this.#told = Math.max(at, end);
    return told;
  }

  #forget(end: number): void {
    const past = Math.max(0, Math.min(end, this.#told));
    this.#text = this.#text.slice(past);
    this.#told -= past;
  }
}
