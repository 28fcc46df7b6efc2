// A message in fewer bytes, for the last resort (fit.ts). What is cut says so, and no character is cut in two.

import type { Block, Message } from "../transcript/entry.ts";
import { blockBytes, callBytes, contentBytes, isPicture } from "./weight.ts";

/** Of a text that is cut: its beginning says what it is, its end how it went. */
const HEAD_SHARE = 2 / 3;

/** Bytes of the longest mark, without what it names. */
const MARK_BYTES = 80;

/** Bytes of a string inside arguments below which they are not cut any further, but left out. */
const STRING_BYTES_MIN = 100;

/** The least that every block of a message can be cut to: it has a mark in it, and a few words. */
export const BLOCK_BYTES_MIN = 100;

/** Characters of an id that a mark names: files of others may have any. */
const ID_CHARS_MAX = 60;

/** What a mark of a pinned message has at most beside that of any other. */
export const NAMING_BYTES = 90;

export const PICTURE_LEFT_OUT = "[a picture, left out to fit the model's window]";

type Call = Extract<Block, { type: "toolCall" }>;

/** Bytes of everything in it that can be cut, in its order. */
export function sizesIn({ content }: Message): readonly number[] {
  if (typeof content === "string") return [contentBytes(content)];
  return content.map((block) => blockBytes(block) - (block.type === "toolCall" ? callBytes(block.name) : 0));
}

/** Each part of it, as sizesIn has them, to so many bytes at most. `named`: the entry that has it whole; null: not said. */
export function shortened(
  message: Message,
  capOf: (part: number) => number,
  named: string | null = null,
): Message {
  if (typeof message.content === "string") {
    const content = shortText(message.content, capOf(0), named);
    return content === message.content ? message : ({ ...message, content } as Message);
  }
  const content = message.content.flatMap((block, at) => shortBlock(block, capOf(at), named));
  if (
    content.every((block, at) => block === message.content[at]) &&
    content.length === message.content.length
  )
    return message;
  // An answer of thoughts alone would be an empty one.
  if (content.length === 0)
    content.push({ type: "text", text: markOf(contentBytes(message.content), named) });
  return { ...message, content } as Message;
}

/** Signatures are of the whole: nobody takes them with a part of it. So a long thought goes, and a text loses its own. */
function shortBlock(block: Block, cap: number, named: string | null): Block[] {
  if (block.type === "toolCall") return [shortCall(block, cap)];
  if (blockBytes(block) <= cap) return [block];
  if (block.type === "thinking") return [];
  if (block.type === "image" || isPicture(block)) return [{ type: "text", text: PICTURE_LEFT_OUT }];
  return [{ type: "text", text: shortText(block.text, cap, named) }];
}

/** The names of what was given stay for as long as that is enough: a model learns from what it sees itself do. */
function shortCall(block: Call, cap: number): Call {
  const { id, name } = block;
  const bytes = blockBytes(block) - callBytes(name);
  if (bytes <= cap) return block;
  for (let most = cap; most >= STRING_BYTES_MIN; most /= 2) {
    const given = shortValues(block.arguments, most) as Call["arguments"];
    if (Buffer.byteLength(JSON.stringify(given)) <= cap)
      return { type: "toolCall", id, name, arguments: given };
  }
  return { type: "toolCall", id, name, arguments: { left_out: markOf(bytes, null) } };
}

/** Files hold nothing that is nested deeper than NESTING_LEVELS_MAX. */
function shortValues(value: unknown, most: number): unknown {
  if (typeof value === "string") return shortText(value, Math.floor(most));
  if (Array.isArray(value)) return value.map((each) => shortValues(each, most));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shortValues(each, most)]));
}

export function shortText(text: string, most: number, named: string | null = null): string {
  if (text.length * 3 <= most || Buffer.byteLength(text) <= most) return text;
  const bytes = Buffer.from(text);
  const room = Math.max(0, most - MARK_BYTES - Buffer.byteLength(naming(named)));
  const head = characterStart(bytes, Math.floor(room * HEAD_SHARE));
  let tail = bytes.length - (room - head);
  while (((bytes[tail] ?? 0) & 0xc0) === 0x80) tail += 1;
  return `${bytes.toString("utf8", 0, head)}${markOf(tail - head, named)}${bytes.toString("utf8", tail)}`;
}

/** The beginning of the character that this byte is in. */
function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return start;
}

function markOf(bytes: number, named: string | null): string {
  return `[… ${bytes} bytes left out to fit the model's window${naming(named)} …]`;
}

function naming(named: string | null): string {
  if (named === null || named.length > ID_CHARS_MAX || /[^\x20-\x7e]/.test(named)) return "";
  return `; entry ${named} has them`;
}
