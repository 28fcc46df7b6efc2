// Changes one value in the text of a JSON5 file and leaves the rest as it is, comments included: people write there, too.
//
// It only looks for where things are; what they mean is said by the parser, which is asked afterwards whether the text now
// says what it should.

import json5 from "json5";

/** Where a value is: from its first character to behind its last. */
interface Span {
  readonly from: number;
  readonly to: number;
}

interface Member extends Span {
  readonly name: string;
  readonly value: Span;
}

/** `value` undefined: the member is taken out. Null: the text is not understood well enough to be changed. */
export function edited(text: string, path: readonly string[], value: unknown): string | null {
  try {
    const found = new Scan(text).find(path);
    if (value === undefined) return found.rest.length === 0 ? without(text, found) : text;
    const indent = "  ".repeat(path.length - found.rest.length);
    if (found.rest.length === 0) return spliced(text, found.value, written(value, indent));
    const [name = "", ...deeper] = found.rest;
    const inner = deeper.reduceRight<unknown>((below, each) => ({ [each]: below }), value);
    return withMember(text, found, `${nameText(name)}: ${written(inner, `${indent}  `)}`, indent);
  } catch (error) {
    if (error instanceof Lost) return null;
    throw error;
  }
}

function spliced(text: string, { from, to }: Span, by: string): string {
  return text.slice(0, from) + by + text.slice(to);
}

function written(value: unknown, indent: string): string {
  return json5.stringify(value, { space: 2, quote: '"' }).replaceAll("\n", `\n${indent}`);
}

function nameText(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** As the last member, behind a comma if it needs one. */
function withMember(text: string, { value: { to }, members }: Found, member: string, indent: string): string {
  const last = members.at(-1);
  const close = to - 1;
  if (last === undefined)
    return spliced(text, { from: close, to: close }, `\n${indent}  ${member},\n${indent}`);
  const between = text.slice(last.to, close);
  const comma = new Scan(text).at(last.to) === "," ? "" : ",";
  const behind = comma === "" ? between : `${comma}${between}`;
  return spliced(text, { from: last.to, to: close }, `${behind.trimEnd()}\n${indent}  ${member},\n${indent}`);
}

/** With the comma behind it, and the line if nothing else is on it. */
function without(text: string, { member }: Found): string {
  if (member === null) throw new Lost();
  const comma = /^\s*,/.exec(text.slice(member.to))?.[0].length ?? 0;
  let [from, to] = [member.from, member.to + comma];
  while (from > 0 && /[ \t]/.test(text[from - 1] ?? "")) from -= 1;
  if (text[from - 1] === "\n" && /^[ \t]*\n/.test(text.slice(to))) to = text.indexOf("\n", to) + 1;
  return spliced(text, { from, to }, "");
}

/** How far a path leads: the value where it ends, its members if it is an object, and what is left of the path. */
interface Found {
  readonly value: Span;
  readonly member: Member | null; // null: the whole
  readonly members: readonly Member[];
  readonly rest: readonly string[];
}

class Lost extends Error {}

class Scan {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  find(path: readonly string[]): Found {
    const from = this.#gap(0);
    let value: Span = { from, to: this.#value(from) };
    let member: Member | null = null;
    for (const [at, name] of path.entries()) {
      if (this.#text[value.from] !== "{") throw new Lost();
      const members = this.#members(value.from);
      const next = members.findLast((each) => each.name === name); // the last of two counts
      if (next === undefined) return { value, member, members, rest: path.slice(at) };
      [member, value] = [next, next.value];
    }
    return { value, member, members: [], rest: [] };
  }

  /** The next character that means something. */
  at(from: number): string | undefined {
    return this.#text[this.#gap(from)];
  }

  /** Behind blanks and comments. */
  #gap(from: number): number {
    const gap = /(?:[\s\ufeff]+|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;
    gap.lastIndex = from;
    return from + (gap.exec(this.#text)?.[0].length ?? 0);
  }

  /** Behind the value that begins here. */
  #value(from: number): number {
    const begin = this.#text[from];
    if (begin === '"' || begin === "'") return this.#string(from);
    if (begin === "{") return this.#end(this.#members(from).at(-1)?.to ?? from + 1, "}");
    if (begin === "[") return this.#list(from);
    return this.#match(/[^\s,\]}/]+/y, from);
  }

  #list(from: number): number {
    let at = this.#gap(from + 1);
    while (this.#text[at] !== "]") {
      at = this.#gap(this.#value(at));
      if (this.#text[at] === ",") at = this.#gap(at + 1);
      else if (this.#text[at] !== "]") throw new Lost();
    }
    return at + 1;
  }

  #members(open: number): readonly Member[] {
    const members: Member[] = [];
    let at = this.#gap(open + 1);
    while (this.#text[at] !== "}") {
      const from = at;
      const isQuoted = /["']/.test(this.#text[at] ?? "");
      const end = isQuoted ? this.#string(at) : this.#match(/[\p{L}\p{N}_$\u200c\u200d]+/uy, at);
      const raw = this.#text.slice(from, end);
      if (raw.includes("\\")) throw new Lost(); // an escape: too rare to be worth a second parser
      at = this.#gap(end);
      if (this.#text[at] !== ":") throw new Lost();
      const begin = this.#gap(at + 1);
      const to = this.#value(begin);
      members.push({ name: isQuoted ? raw.slice(1, -1) : raw, from, to, value: { from: begin, to } });
      at = this.#gap(to);
      if (this.#text[at] === ",") at = this.#gap(at + 1);
      else if (this.#text[at] !== "}") throw new Lost();
    }
    return members;
  }

  #end(from: number, close: string): number {
    let at = this.#gap(from);
    if (this.#text[at] === ",") at = this.#gap(at + 1);
    if (this.#text[at] !== close) throw new Lost();
    return at + 1;
  }

  #string(from: number): number {
    return this.#match(/"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'/y, from);
  }

  #match(pattern: RegExp, from: number): number {
    pattern.lastIndex = from;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) throw new Lost();
    return from + found.length;
  }
}
