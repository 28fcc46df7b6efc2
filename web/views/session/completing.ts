// How a command that was begun may go on: its name, then its first word. Pure.

import type { Output } from "../../../src/calls/door.ts";

export type Commands = Output<"commands">["commands"];

export interface Choice {
  /** What the whole text is then. */
  readonly text: string;
  readonly name: string;
  readonly takes: string;
  readonly about: string;
}

const CHOICES_MAX = 50;

/** Of `/na`, or of `/name wo`. Of anything else there are none: it is a message, or nobody knows. */
export function choicesFor(text: string, commands: Commands): readonly Choice[] {
  const [, typed, gap = "", word = ""] = /^\/([a-z]*)(?:([ \t]+)(\S*))?$/i.exec(text) ?? [];
  if (typed === undefined) return [];
  const name = typed.toLowerCase();
  if (gap === "") return commands.flatMap((each) => namesOf(each, name)).slice(0, CHOICES_MAX);
  const found = commands.find((each) => each.name === name || each.aliases.includes(name));
  const words = name === "help" ? commands.map((each) => each.name) : (found?.words ?? []);
  return words
    .filter((each) => each.toLowerCase().includes(word.toLowerCase()) && each !== word)
    .toSorted((one, other) => rank(one, word) - rank(other, word))
    .slice(0, CHOICES_MAX)
    .map((each) => ({ text: `/${name} ${each}`, name: each, takes: "", about: "" }));
}

/** What begins so comes before what has it somewhere. */
function rank(word: string, begun: string): number {
  return word.toLowerCase().startsWith(begun.toLowerCase()) ? 0 : 1;
}

function namesOf({ name, aliases, takes, about }: Commands[number], begun: string): readonly Choice[] {
  const found = [name, ...aliases].find((each) => each.startsWith(begun));
  if (found === undefined) return [];
  return [{ text: takes === "" ? `/${found}` : `/${found} `, name: `/${found}`, takes, about }];
}

/** Two slashes stand for one, as in the terminal. */
export function isCommand(text: string): boolean {
  return /^\/(?!\/)/.test(text.trimStart());
}

export function withoutEscape(text: string): string {
  return text.startsWith("//") ? text.slice(1) : text;
}
