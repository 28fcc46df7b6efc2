// The line that is being typed: a few keys of Emacs, a history, and text of several lines. Pure: it is told keys and says
// what is to be done.

import { clean, GRAPHEMES, widthOf } from "../output.ts";
import { rowsOf } from "./cells.ts";

/** A key as node:readline names it. `text` is what it would type; undefined: nothing. */
export interface Key {
  readonly text: string | undefined;
  readonly name: string | undefined;
  readonly ctrl: boolean;
  readonly meta: boolean;
}

export type Wish =
  | { readonly do: "send"; readonly text: string }
  | { readonly do: "complete"; readonly begun: string } // all that is typed: the beginning of a command
  | { readonly do: "interrupt" }
  | { readonly do: "leave" };

/** Where the cursor stands is counted in rows and columns of what is shown. */
export interface Typed {
  readonly rows: readonly string[];
  readonly row: number;
  readonly column: number;
}

/** Messages that are kept to be typed again. */
const HISTORY_MAX = 200;

/** Rows of the line that are shown: what is pasted may be longer than the terminal. */
const ROWS_MAX = 10;

const PROMPT = "> ";

export class Editor {
  readonly #history: string[] = [];
  #text = "";
  #cursor = 0;
  #at = 0; //             in the history; at its end: what is being typed now
  #draft = ""; //         what was being typed when somebody began to look back
  #pasted: string[] | null = null; // what is being pasted, and comes piece by piece; null: nothing is

  get text(): string {
    return this.#text;
  }

  /** Null: it is only about the line itself. */
  press(key: Key): Wish | null {
    if (key.name === "paste-start" || key.name === "paste-end") {
      if (this.#pasted !== null) this.#insert(this.#pasted.join(""));
      this.#pasted = key.name === "paste-start" ? [] : null;
      return null;
    }
    if (this.#pasted !== null) {
      this.#pasted.push(isReturn(key) ? "\n" : (key.text ?? ""));
      return null;
    }
    if (key.ctrl) return this.#control(key.name);
    if (key.name === "return" && !key.meta) return this.#enter();
    if (key.name === "tab" && this.#isBegun()) return { do: "complete", begun: this.#text };
    if (isReturn(key)) this.#insert("\n");
    else if (!this.#move(key.name, key.meta) && !key.meta) this.#insert(key.text ?? "");
    return null;
  }

  /** What goes on from a beginning. Nothing, if something else was typed since. */
  complete(begun: string, more: string): void {
    if (this.#text === begun && this.#isBegun()) this.#insert(more);
  }

  /** The first word of a command, or the second. Elsewhere Tab is a letter like others. */
  #isBegun(): boolean {
    return this.#cursor === this.#text.length && /^\/[a-z]*(?:[^\S\n]+\S*)?$/i.test(this.#text);
  }

  #enter(): Wish | null {
    if (this.#text.endsWith("\\") && this.#cursor === this.#text.length) {
      this.#set(`${this.#text.slice(0, -1)}\n`);
      return null;
    }
    const text = this.#text;
    this.#set("");
    if (text.trim() === "") return null;
    if (this.#history.at(-1) !== text) this.#history.push(text);
    if (this.#history.length > HISTORY_MAX) this.#history.shift();
    this.#at = this.#history.length;
    return { do: "send", text };
  }

  #control(name: string | undefined): Wish | null {
    switch (name) {
      case "c":
        if (this.#text === "") return { do: "interrupt" };
        this.#set("");
        return null;
      case "d":
        if (this.#text === "") return { do: "leave" };
        this.#move("delete", false);
        return null;
      case "a":
        this.#cursor = 0;
        return null;
      case "e":
        this.#cursor = this.#text.length;
        return null;
      case "u":
        this.#remove(0, this.#cursor);
        return null;
      case "k":
        this.#remove(this.#cursor, this.#text.length);
        return null;
      case "w":
        this.#remove(this.#wordBefore(), this.#cursor);
        return null;
      case "j":
        this.#insert("\n");
        return null;
      case "p":
        this.#move("up", false);
        return null;
      case "n":
        this.#move("down", false);
        return null;
      default:
        return null;
    }
  }

  /** False: it is no key that moves or removes. */
  #move(name: string | undefined, meta: boolean): boolean {
    switch (name) {
      case "left":
      case "b":
        if (name === "b" && !meta) return false;
        this.#cursor = meta ? this.#wordBefore() : this.#before();
        return true;
      case "right":
      case "f":
        if (name === "f" && !meta) return false;
        this.#cursor = meta ? this.#wordAfter() : this.#after();
        return true;
      case "home":
        this.#cursor = 0;
        return true;
      case "end":
        this.#cursor = this.#text.length;
        return true;
      case "backspace":
        this.#remove(meta ? this.#wordBefore() : this.#before(), this.#cursor);
        return true;
      case "delete":
        this.#remove(this.#cursor, this.#after());
        return true;
      case "up":
        this.#recall(this.#at - 1);
        return true;
      case "down":
        this.#recall(this.#at + 1);
        return true;
      default:
        return false;
    }
  }

  #recall(at: number): void {
    if (at < 0 || at > this.#history.length) return;
    if (this.#at === this.#history.length) this.#draft = this.#text;
    this.#at = at;
    this.#set(this.#history[at] ?? this.#draft);
  }

  #insert(text: string): void {
    const typed = clean(text);
    this.#text = this.#text.slice(0, this.#cursor) + typed + this.#text.slice(this.#cursor);
    this.#cursor += typed.length;
  }

  #remove(from: number, to: number): void {
    this.#text = this.#text.slice(0, from) + this.#text.slice(to);
    this.#cursor = from;
  }

  #set(text: string): void {
    this.#text = text;
    this.#cursor = text.length;
  }

  #before(): number {
    let last = 0;
    for (const { index } of GRAPHEMES.segment(this.#text.slice(0, this.#cursor))) last = index;
    return last;
  }

  #after(): number {
    const [next] = GRAPHEMES.segment(this.#text.slice(this.#cursor));
    return this.#cursor + (next?.segment.length ?? 0);
  }

  #wordBefore(): number {
    return /\S*\s*$/.exec(this.#text.slice(0, this.#cursor))?.index ?? 0;
  }

  #wordAfter(): number {
    return this.#cursor + (/^\s*\S*/.exec(this.#text.slice(this.#cursor))?.[0].length ?? 0);
  }

  /** As it is shown, at most `width` columns wide. */
  shown(width: number): Typed {
    const before = rowsOf(PROMPT + indented(this.#text.slice(0, this.#cursor)), width);
    const all = rowsOf(PROMPT + indented(this.#text), width);
    const row = before.length - 1;
    const from = Math.max(0, Math.min(row - ROWS_MAX + 2, all.length - ROWS_MAX));
    return {
      rows: all.slice(from, from + ROWS_MAX),
      row: row - from,
      column: widthOf(before[row] ?? ""),
    };
  }
}

function indented(text: string): string {
  return text.replaceAll("\n", `\n${" ".repeat(PROMPT.length)}`);
}

function isReturn({ name }: Key): boolean {
  return name === "return" || name === "enter";
}
