// Fit
//
// The last resort, when neither pruning nor a compaction has made a prompt small enough: what is long is cut, and then what is old
// is left out, so that a model can always be asked. Nothing of it is written down; the transcript keeps everything.
//
//   Owns:      what is cut and left out, in which order, and the marks that stand for it.
//   Does not:  know a model's window: whoever asks says how many bytes there are.
//
// Invariants
//   F1. What comes out weighs at most the room (bytesOf), for any room of ROOM_BYTES_MIN or more.
//   F2. What was valid stays valid: a call and its results are shown or left out together, in their order.
//   F3. The newest message of a user is there, at least its head and tail, with a share of the room that nothing else takes.
//   F4. What is cut says so, and no character is cut in two. The same messages and room always give the same.

import type { Block, Message } from "../transcript/entry.ts";
import { isSummary } from "./assemble.ts";
import { blockBytes, bytesOf, callBytes, contentBytes, isPicture } from "./weight.ts";

/** Below it the marks themselves have no room. */
const ROOM_BYTES_MIN = 2_000;

/** The shortest that a text is cut to before whole exchanges are left out: less of it would say nothing to anybody. */
const CAP_BYTES_MIN = 1_000;
const CAP_SHARE = 1 / 8; // of a small room

/** What the newest user message, and a summary at the front, may have for themselves. */
const OWN_SHARE = 1 / 4;

/** Of a text that is cut: its beginning says what it is, its end how it went. */
const HEAD_SHARE = 2 / 3;

/** Bytes of the longest mark, and of the message that says how many are left out. */
const MARK_BYTES = 80;
const LEFT_OUT_BYTES = 100;

/** Bytes of a string inside arguments below which they are not cut any further, but left out. */
const STRING_BYTES_MIN = 100;

type Call = Extract<Block, { type: "toolCall" }>;

/** What stays or goes together: something a user said, or an answer and the results of its calls. */
interface Piece {
  readonly messages: readonly Message[];
  readonly isOwn: boolean; //           the newest user message, or the summary: it never goes
  readonly sizes: readonly number[]; // bytes of everything in it that can be cut
  readonly fixed: number; //            bytes of the rest
}

/** The same array when it fits. */
export function fitted(messages: readonly Message[], roomBytes: number): readonly Message[] {
  const room = Math.max(ROOM_BYTES_MIN, Math.floor(roomBytes));
  if (weightOf(messages) <= room) return messages;
  const pieces = piecesOf(messages);
  const own = Math.floor(room * OWN_SHARE);
  const capOf = ({ isOwn }: Piece, cap: number): number => (isOwn ? Math.max(own, cap) : cap);
  const isEnough = (cap: number): boolean =>
    pieces.reduce((sum, piece) => sum + mostOf(piece, capOf(piece, cap)), 0) <= room;
  const least = Math.min(CAP_BYTES_MIN, Math.floor(room * CAP_SHARE));
  if (!isEnough(least)) return withoutOldest(pieces, least, room);
  let [enough, tooMuch] = [least, room + 1]; // All of it does not fit, nor does anything that is larger than the room.
  while (tooMuch - enough > 1) {
    const cap = Math.floor((enough + tooMuch) / 2);
    if (isEnough(cap)) enough = cap;
    else tooMuch = cap;
  }
  return pieces.flatMap((piece) => piece.messages.map((message) => cut(message, capOf(piece, enough))));
}

function weightOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + bytesOf(message), 0);
}

/** F2. */
function piecesOf(messages: readonly Message[]): readonly Piece[] {
  const newest = messages.findLastIndex(({ role }) => role === "user");
  const together: Message[][] = [];
  const own = new Set<Message[]>();
  for (const [at, message] of messages.entries()) {
    const last = together.at(-1);
    if (message.role === "toolResult" && last !== undefined) last.push(message);
    else together.push([message]);
    if (at === newest || (at === 0 && isSummary(message))) own.add(together.at(-1) ?? []);
  }
  return together.map((each) => {
    const sizes = each.flatMap(sizesIn);
    const fixed = weightOf(each) - sizes.reduce((sum, size) => sum + size, 0);
    return { messages: each, isOwn: own.has(each), sizes, fixed };
  });
}

function sizesIn({ content }: Message): readonly number[] {
  if (typeof content === "string") return [contentBytes(content)];
  return content.map((block) => blockBytes(block) - (block.type === "toolCall" ? callBytes(block.name) : 0));
}

/** What it weighs at most when everything in it is cut to this. */
function mostOf({ sizes, fixed }: Piece, cap: number): number {
  return sizes.reduce((sum, size) => sum + Math.min(size, cap), fixed);
}

/** F1. From the front, and only as many as must go; what is left is cut as short as it gets. */
function withoutOldest(pieces: readonly Piece[], cap: number, room: number): readonly Message[] {
  const own = Math.floor(room * OWN_SHARE);
  const kept = pieces.map((piece) => (piece.isOwn ? shortened(piece, own) : []));
  let left = room - weightOf(kept.flat()) - LEFT_OUT_BYTES;
  let from = pieces.length; // what may go stays from here on
  for (const piece of pieces.toReversed()) {
    if (!piece.isOwn) left -= mostOf(piece, cap);
    if (left < 0) break;
    from -= 1;
  }
  const gone = pieces.flatMap(({ isOwn, messages }, at) => (isOwn || at >= from ? [] : messages));
  return pieces.flatMap((piece, at) => {
    if (piece.isOwn) return kept[at] ?? [];
    if (at >= from) return piece.messages.map((message) => cut(message, cap));
    return at === from - 1 ? [leftOut(gone)] : [];
  });
}

/** One that never goes, in so many bytes: if cutting its blocks is not enough, as one text. */
function shortened(piece: Piece, most: number): readonly Message[] {
  const each = Math.floor(most / 2);
  for (const cap of [most, each])
    if (mostOf(piece, cap) <= most) return piece.messages.map((message) => cut(message, cap));
  const [message] = piece.messages;
  if (message?.role !== "user") return [];
  const blocks =
    typeof message.content === "string"
      ? [{ type: "text", text: message.content } as const]
      : message.content;
  const pictures = blocks.filter((block) => block.type === "image" || isPicture(block));
  const texts = blocks.flatMap((block) => (block.type === "text" && !isPicture(block) ? [block.text] : []));
  const words = [...texts, ...pictures.map(() => PICTURE_LEFT_OUT)].join("\n"); // What was said comes first.
  const around = bytesOf({ ...message, content: "" });
  return [{ ...message, content: shortText(words, most - around) }];
}

const PICTURE_LEFT_OUT = "[a picture, left out to fit the model's window]";

function leftOut(gone: readonly Message[]): Message {
  const content = `[… ${gone.length} messages left out to fit the model's window …]`;
  return { role: "user", content, timestamp: gone[0]?.timestamp ?? 0 };
}

/** Everything in it to so many bytes at most. */
function cut(message: Message, cap: number): Message {
  if (typeof message.content === "string") {
    const content = shortText(message.content, cap);
    return content === message.content ? message : ({ ...message, content } as Message);
  }
  const content = message.content.flatMap((block) => shortBlock(block, cap));
  if (
    content.every((block, at) => block === message.content[at]) &&
    content.length === message.content.length
  )
    return message;
  // An answer of thoughts alone would be an empty one.
  if (content.length === 0) content.push({ type: "text", text: markOf(contentBytes(message.content)) });
  return { ...message, content } as Message;
}

/** Signatures are of the whole: nobody takes them with a part of it. So a long thought goes, and a text loses its own. */
function shortBlock(block: Block, cap: number): Block[] {
  if (block.type === "toolCall") return [shortCall(block, cap)];
  if (blockBytes(block) <= cap) return [block];
  if (block.type === "thinking") return [];
  if (block.type === "image" || isPicture(block)) return [{ type: "text", text: PICTURE_LEFT_OUT }];
  return [{ type: "text", text: shortText(block.text, cap) }];
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
  return { type: "toolCall", id, name, arguments: { left_out: markOf(bytes) } };
}

/** Files hold nothing that is nested deeper than NESTING_LEVELS_MAX. */
function shortValues(value: unknown, most: number): unknown {
  if (typeof value === "string") return shortText(value, Math.floor(most));
  if (Array.isArray(value)) return value.map((each) => shortValues(each, most));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shortValues(each, most)]));
}

/** F4. */
function shortText(text: string, most: number): string {
  if (text.length * 3 <= most || Buffer.byteLength(text) <= most) return text;
  const bytes = Buffer.from(text);
  const room = Math.max(0, most - MARK_BYTES);
  const head = characterStart(bytes, Math.floor(room * HEAD_SHARE));
  let tail = bytes.length - (room - head);
  while (((bytes[tail] ?? 0) & 0xc0) === 0x80) tail += 1;
  return `${bytes.toString("utf8", 0, head)}${markOf(tail - head)}${bytes.toString("utf8", tail)}`;
}

/** The beginning of the character that this byte is in. */
function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return start;
}

function markOf(bytes: number): string {
  return `[… ${bytes} bytes left out to fit the model's window …]`;
}
