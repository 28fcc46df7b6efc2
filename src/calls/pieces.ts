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
//   D2. Pieces of an answer that is heard from its beginning have none either, and together they are the text of its entry.
//   D3. What waits is bounded (PIECE_HELD_CHARS_MAX). Past that the rest of the answer comes with its entry only.

import { openIn, redactedIn, secretsIn } from "../base/redact.ts";
import type { Event } from "../events/bus.ts";
import type { Entry } from "../transcript/entry.ts";
import { PIECE_HELD_CHARS_MAX, PIECE_PAST_CHARS } from "./limits.ts";

type Delta = Extract<Event, { type: "delta" }>;

/** One follower's. */
export class Pieces {
  #of: Omit<Delta, "kind" | "text"> | null = null; // null: nobody speaks
  readonly #said = new Map<Delta["kind"], Said>();

  /** What is told of an event, in this order; nothing, if all of it waits. */
  of(event: Event): readonly Event[] {
    switch (event.type) {
      case "delta":
        return this.#piece(event);
      case "state":
        return [{ ...event, state: redactedIn(event.state) as typeof event.state }];
      case "entry":
        return [...this.#ended(event.entry), { ...event, entry: redactedIn(event.entry) as Entry }];
    }
  }

  #piece({ kind, text, ...of }: Delta): readonly Event[] {
    if (this.#of?.turn !== of.turn || this.#of.step !== of.step) this.#said.clear();
    this.#of = of;
    const said = this.#said.get(kind) ?? new Said();
    this.#said.set(kind, said);
    return pieceOf(of, kind, said.add(text));
  }

  /** What waits is whole when the answer is. One that was broken off may end in the middle of a secret. */
  #ended(entry: Entry): readonly Event[] {
    const of = this.#of;
    if (of === null || entry.type !== "message" || entry.message.role !== "assistant") return [];
    this.#of = null;
    const left = [...this.#said].flatMap(([kind, said]) => pieceOf(of, kind, said.rest()));
    this.#said.clear();
    return left;
  }
}

function pieceOf(of: Omit<Delta, "kind" | "text">, kind: Delta["kind"], text: string): readonly Delta[] {
  return text === "" ? [] : [{ ...of, kind, text }];
}

/** A text that goes on. */
class Said {
  #text = ""; // what waits, and a little of what stands before it
  #told = 0; //  so much of that was told
  #isMuted = false; // D3

  /** What can be told now. */
  add(piece: string): string {
    if (this.#isMuted) return "";
    this.#text += piece;
    const secrets = secretsIn(this.#text);
    const last = secrets.at(-1);
    const open = openIn(this.#text);
    const end = last !== undefined && last.to >= open ? Math.min(open, last.from) : open;
    const told = this.#upTo(Math.max(this.#told, end), secrets);
    if (this.#text.length - this.#told > PIECE_HELD_CHARS_MAX) {
      this.#isMuted = true;
      this.#text = "";
    }
    return told;
  }

  rest(): string {
    return this.#isMuted ? "" : this.#upTo(this.#text.length, secretsIn(this.#text));
  }

  #upTo(end: number, secrets: ReturnType<typeof secretsIn>): string {
    let told = "";
    let at = this.#told;
    for (const { from, to, shown } of secrets) {
      if (to <= at || from >= end) continue;
      told += this.#text.slice(at, Math.max(at, from)) + shown;
      at = to;
    }
    told += this.#text.slice(at, Math.max(at, end));
    const past = Math.max(0, end - PIECE_PAST_CHARS);
    this.#text = this.#text.slice(past);
    this.#told = end - past;
    return told;
  }
}
