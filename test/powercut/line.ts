// One line of strace's output.
//
// strace runs with -xx, so that every string and every path is nothing but \xNN. Then no comma, quote,
// bracket or angle in a line belongs to data, and a line is cut with a few searches. Lines stay bytes: one
// that carries a large write is hundreds of megabytes long, and only its small parts are made strings.

import { assert } from "../../src/base/assert.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const UNFINISHED = Buffer.from(" <unfinished ...>");

export interface Descriptor {
  readonly number: number;
  readonly path: string | null; // null: not open
  readonly deleted: boolean; //    its name is gone
}

export interface Result {
  readonly value: number; //       -1: it failed; NaN: the trace does not tell (the process ended in it)
  readonly path: string | null; // of the descriptor it returned
}

export type Line =
  | { readonly kind: "call"; readonly pid: number; readonly call: Call; readonly result: Result | null } // null: unfinished
  | { readonly kind: "resumed"; readonly pid: number; readonly result: Result }
  | { readonly kind: "gone"; readonly pid: number };

/** null for lines that say nothing about calls (signals). */
export function parseLine(line: Buffer): Line | null {
  const space = line.indexOf(" ");
  const pid = Number(line.toString("latin1", 0, space));
  if (!Number.isSafeInteger(pid)) throw new Error(`no process begins this line: ${show(line)}`);
  let start = space;
  while (line[start] === 0x20) start += 1;

  const mark = line.toString("latin1", start, start + 4);
  if (mark === "--- ") return null;
  if (mark === "+++ ") return { kind: "gone", pid };
  if (mark === "<...") return { kind: "resumed", pid, result: parseResult(line) };

  const bracket = line.indexOf("(", start);
  if (bracket < 0) throw new Error(`no call is in this line: ${show(line)}`);
  const name = line.toString("latin1", start, bracket);
  const unfinished = line.subarray(-UNFINISHED.length).equals(UNFINISHED);
  const end = unfinished ? line.length - UNFINISHED.length : line.lastIndexOf(" = ");
  const call = new Call(name, line, cutArguments(line, bracket + 1, end));
  return { kind: "call", pid, call, result: unfinished ? null : parseResult(line) };
}

function parseResult(line: Buffer): Result {
  const text = line.toString("latin1", line.lastIndexOf(" = ") + 3);
  if (text.startsWith("?")) return { value: text.includes("ERESTART") ? -1 : Number.NaN, path: null };
  const path = /^\d+<([^>]*)>/.exec(text)?.[1];
  return { value: Number.parseInt(text), path: path === undefined ? null : unhex(path) };
}

/** Where each argument starts and ends, brackets counted. Strings are jumped over, however long. */
function cutArguments(line: Buffer, from: number, end: number): number[] {
  const cuts = [from];
  let depth = 0;
  for (let at = from; at < end; at += 1) {
    const byte = line[at];
    if (byte === QUOTE) at = line.indexOf('"', at + 1);
    else if (byte === 0x28 || byte === 0x5b || byte === 0x7b) depth += 1;
    else if (byte === 0x29 || byte === 0x5d || byte === 0x7d) depth -= 1;
    else if (byte === COMMA && depth === 0) cuts.push(at, at + 2);
    if (depth < 0) {
      cuts.push(at); // the bracket that closes the call
      return cuts;
    }
  }
  cuts.push(end);
  return cuts;
}

export class Call {
  readonly name: string;
  readonly #line: Buffer;
  readonly #cuts: readonly number[];

  constructor(name: string, line: Buffer, cuts: readonly number[]) {
    this.name = name;
    this.#line = line;
    this.#cuts = cuts;
  }

  text(index: number): string {
    return this.#part(index).toString("latin1");
  }

  /** NaN for NULL. A pointer to a number is shown in brackets. */
  number(index: number): number {
    return Number.parseInt(this.text(index).replace("[", ""));
  }

  /** A descriptor, or the place a relative path is seen from (number NaN, for AT_FDCWD). */
  descriptor(index: number): Descriptor {
    const [, number = "", path, deleted] =
      /^([^<]*)(?:<([^>]*)>)?(\(deleted\))?/.exec(this.text(index)) ?? [];
    return {
      number: Number.parseInt(number),
      path: path === undefined ? null : unhex(path),
      deleted: deleted !== undefined,
    };
  }

  path(index: number): string {
    return Buffer.from(this.bytes(index)).toString("utf8");
  }

  /** A string, or all strings of an array of buffers, one after the other. */
  bytes(index: number): Uint8Array {
    const part = this.#part(index);
    const strings: Uint8Array[] = [];
    for (let open = part.indexOf('"'); open >= 0;) {
      const close = part.indexOf('"', open + 1);
      assert(part[close + 1] !== 0x2e, `${this.name}: a string was too long to be traced whole`);
      strings.push(decode(part, open + 1, close));
      open = part.indexOf('"', close + 1);
    }
    return strings.length === 1 && strings[0] !== undefined ? strings[0] : Buffer.concat(strings);
  }

  #part(index: number): Buffer {
    const [from, to] = this.#cuts.slice(2 * index, 2 * index + 2);
    assert(from !== undefined && to !== undefined, `${this.name} has an argument ${index}`);
    return this.#line.subarray(from, to);
  }

  toString(): string {
    return show(this.#line);
  }
}

const HEX = new Uint8Array(256);
for (const [value, digit] of [..."0123456789abcdef"].entries()) HEX[digit.charCodeAt(0)] = value;

/** `\x68\x69` between two places of a line. The bytes are new, so that no operation keeps its line alive. */
function decode(line: Buffer, from: number, to: number): Uint8Array {
  const bytes = new Uint8Array((to - from) >> 2);
  for (let at = from + 2, index = 0; at < to; at += 4, index += 1)
    bytes[index] = ((HEX[line[at] ?? 0] ?? 0) << 4) | (HEX[line[at + 1] ?? 0] ?? 0);
  return bytes;
}

/** Some words that are no file's path (pipe:[1]) are not escaped. */
function unhex(path: string): string {
  return path.startsWith("\\x") ? Buffer.from(path.replaceAll("\\x", ""), "hex").toString("utf8") : path;
}

/** The beginning of a line, for people. */
function show(line: Buffer): string {
  return line
    .toString("latin1", 0, 1000)
    .replaceAll(/(?:\\x[0-9a-f]{2})+/g, (text) => unhex(text))
    .slice(0, 300);
}

/** Cuts a stream of chunks into lines. A line spanning chunks is put together once, when its end is there. */
export class Lines {
  #begun: Buffer[] = [];

  push(chunk: Buffer, take: (line: Buffer) => void): void {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      const rest = chunk.subarray(from, end);
      take(this.#begun.length === 0 ? rest : Buffer.concat([...this.#begun, rest]));
      this.#begun = [];
      from = end + 1;
    }
    if (from < chunk.length) this.#begun.push(Buffer.from(chunk.subarray(from)));
  }

  /** A trace whose last line has no end was cut short. */
  close(): void {
    assert(this.#begun.length === 0, "the trace ends with a whole line");
  }
}
