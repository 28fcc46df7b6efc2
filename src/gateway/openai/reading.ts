// Reading
//
// What a turn says, read from what happens in its session: the words as they come, and what they came to.
//
//   Owns:      which of the events belong to the answer to one letter, and what of its text was told already.
//   Does not:  follow anything (turn.ts), know how a client is told (chat.ts, responses.ts).
//
// Invariants
//   O1. An entry's text is what counts. Pieces are told ahead of it, and with the entry comes what is missing of it.
//   O2. Pieces of a step are told only by who has heard the step from its beginning: a state was heard before them, and no
//       state changes while a model speaks. So an answer is never told from its middle.
//   O3. Of a very long answer an entry has a part. It is told when somebody knows the whole (`complete`), or with the next step.
//   O4. What a model said before it failed and was asked again cannot be taken back: the whole answer comes after it.

import type { Event } from "../../events/bus.ts";
import { textOf, type Block, type Entry } from "../../transcript/entry.ts";
import { isNote } from "../../transcript/note.ts";
import type { TurnEnded, TurnStarted } from "../../turns/where.ts";

/** Tokens of a turn, all its steps together. */
export interface Tokens {
  readonly input: number; //  with what the provider remembered
  readonly cached: number; // of these
  readonly output: number;
}

export interface End {
  readonly outcome: TurnEnded["outcome"];
  readonly reason: string | null;
  readonly seq: number;
}

/** Between what is said in two steps. */
const BETWEEN = "\n\n";

export class Reading {
  readonly #isOurs: (mailId: string) => boolean;
  #turn: string | null = null; //  null: none runs, or it began before this was read
  #steps = 0; //                   of that turn, answered
  #hasStarted = false; //          our letter is in it
  #isWhole = false; //             O2
  #said = ""; //                   pieces of the step that runs
  #isParted = false; //            it thought after them
  readonly #texts: string[] = []; // of steps that are over
  #isCut = false;
  #isSpilled = false;
  /** What was told of a long answer whose rest is to come (O3); null: nothing is. */
  #left: string | null = null;
  #tokens: Tokens = { input: 0, cached: 0, output: 0 };
  #end: End | null = null;
  #sinceMs: number | null = null;

  constructor(isOurs: (mailId: string) => boolean) {
    this.#isOurs = isOurs;
  }

  /** Null: it has not ended, as far as this was read. */
  get end(): End | null {
    return this.#end;
  }
  get tokens(): Tokens {
    return this.#tokens;
  }
  /** When the letter was taken; null: it was not, yet. */
  get sinceMs(): number | null {
    return this.#sinceMs;
  }
  /** True: the model had more to say than its limit lets it. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** All that was said. `last` is the last answer as who waited for it got it: of a very long one an entry has a part. */
  text(last: string | null = null): string {
    if (last === null || (this.#texts.length > 0 && !this.#isSpilled)) return this.#texts.join(BETWEEN);
    return [...this.#texts.slice(0, -1), last].join(BETWEEN);
  }

  /** True: `complete` has something to tell. */
  get isLeft(): boolean {
    return this.#left !== null;
  }

  /** The rest of the last answer, as who waited for it got it; "": it is not known, and an entry's part has to do. */
  complete(last: string): string {
    const said = this.#left;
    if (said === null) return "";
    this.#left = null;
    const whole = last === "" ? (this.#texts.at(-1) ?? "") : last;
    this.#texts.splice(-1, 1, whole);
    const rest = restOf(said, [], whole);
    return said === "" && this.#texts.length > 1 ? `${BETWEEN}${rest}` : rest;
  }

  /** Something was missed. */
  lose(): void {
    this.#isWhole = false;
  }

  /** What it adds to what was said; "" for most. */
  hear(event: Event): string {
    if (event.type === "state") {
      this.#isWhole = true;
      return "";
    }
    if (event.type === "entry") return this.#read(event.entry);
    const isNews = event.turn === this.#turn && event.step === this.#steps + 1;
    if (!this.#hasStarted || !this.#isWhole || !isNews) return "";
    if (event.kind === "text") return this.complete("") + this.#say(event.text);
    this.#isParted = this.#said !== "";
    return "";
  }

  #read(entry: Entry): string {
    if (isNote(entry, "turn-started")) this.#begin(entry);
    else if (isNote(entry, "turn-ended")) this.#finish(entry);
    else if (entry.type === "message" && entry.message.role === "assistant") return this.#answer(entry);
    else if (entry.type === "message" && entry.mailId !== undefined && this.#isOurs(entry.mailId)) {
      this.#hasStarted = true;
      this.#sinceMs = Date.parse(entry.timestamp);
    }
    return "";
  }

  #begin(entry: Entry): void {
    this.#turn = entry.type === "custom" ? (entry.data as TurnStarted).turn : null;
    this.#steps = 0;
  }

  #finish(entry: Entry): void {
    if (!this.#hasStarted || entry.type !== "custom") return;
    const { outcome, reason } = entry.data as TurnEnded;
    this.#end = { outcome, reason, seq: entry.seq };
  }

  /** O1. */
  #answer(entry: Entry): string {
    this.#steps += 1;
    if (!this.#hasStarted || entry.type !== "message" || entry.message.role !== "assistant") return "";
    const { content, usage, stopReason } = entry.message;
    const { input, output, cacheRead, cacheWrite } = usage;
    this.#tokens = {
      input: this.#tokens.input + input + cacheRead + cacheWrite,
      cached: this.#tokens.cached + cacheRead,
      output: this.#tokens.output + output,
    };
    if (entry.silent === true) return "";
    this.#isCut = stopReason === "length";
    this.#isSpilled = content.some((block) => block.type === "text" && block.blob !== undefined);
    const before = this.complete("");
    const isToldWhole = this.#isSpilled && this.#said !== "" && this.#isWhole;
    const whole = isToldWhole ? this.#said : textOf(entry);
    if (this.#isSpilled && !isToldWhole) this.#left = this.#said;
    const rest = this.#isSpilled ? "" : restOf(this.#said, content, whole);
    const told = before + (rest === "" ? "" : this.#say(rest));
    if (whole !== "") this.#texts.push(whole);
    this.#said = "";
    this.#isParted = false;
    return told;
  }

  /** A line between two texts of a step, as its entry will have it; a blank one between steps. */
  #say(text: string): string {
    const isFirst = this.#said === "";
    const piece = this.#isParted && !isFirst ? `\n${text}` : text;
    this.#isParted = false;
    this.#said += piece;
    return isFirst && this.#texts.length > 0 ? `${BETWEEN}${piece}` : piece;
  }
}

/** What is missing of an answer of which this was told. Pieces do not say where one text ends and the next begins. */
function restOf(said: string, content: readonly Block[], whole: string): string {
  if (whole.startsWith(said)) return whole.slice(said.length);
  const joined = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
  if (joined.startsWith(said)) return joined.slice(said.length);
  return said.endsWith(whole) ? "" : `${BETWEEN}${whole}`; // O4
}
