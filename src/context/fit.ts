// Fit
//
// The last resort, when neither pruning nor a compaction has made a prompt small enough: what is long is cut, and then what is old
// is left out, so that a model can always be asked. Nothing of it is written down; the transcript keeps everything.
//
//   Owns:      what is cut and left out, in which order, and the marks that stand for it.
//   Does not:  know a model's window: whoever asks says how many bytes there are.
//
// Invariants
//   F1. What comes out weighs at most the room (bytesOf), for any room of FITTED_BYTES_MIN or more.
//   F2. What was valid stays valid: a call and its results are shown or left out together, in their order.
//   F3. The newest message of a user is there, at least its head and tail, with a share of the room that nothing else takes.
//   F4. So is every pinned message, whole if all of them together have room in their share, else its head and tail with its id.
//       What stands beside a pinned result (its call, and the other results of that step) counts in that share; where not even
//       heads have room in it, the oldest of them go like other messages.
//   F5. What is cut says so, and no character is cut in two. The same messages and room always give the same.

import type { Message } from "../transcript/entry.ts";
import { asSummary, isSummary, sourceOf } from "./assemble.ts";
import { inBytes, quoted } from "./clip.ts";
import { detailsOf, type CompactionDetails, type Verbatim } from "./compaction.ts";
import { BLOCK_BYTES_MIN, NAMING_BYTES, PICTURE_LEFT_OUT, shortened, shortText, sizesIn } from "./shorten.ts";
import { pinnedText, summaryText } from "./summary.ts";
import { bytesOf, isPicture } from "./weight.ts";

/** Below it the marks themselves have no room. */
export const FITTED_BYTES_MIN = 2_000;

/** The shortest that a text is cut to before whole exchanges are left out: less of it would say nothing to anybody. */
const CAP_BYTES_MIN = 1_000;
const CAP_SHARE = 1 / 8; // of a small room

/** What the newest user message, a summary at the front, and all pinned messages together may have for themselves. */
const OWN_SHARE = 1 / 4;

/** Bytes of a pinned text that are worth keeping, with the mark that says where the rest is. */
const PINNED_BYTES_MIN = 2 * NAMING_BYTES + BLOCK_BYTES_MIN;

/** Bytes of the message that says how many are left out. */
const LEFT_OUT_BYTES = 120;

/** What stays or goes together: something a user said, or an answer and the results of its calls. */
interface Piece {
  readonly messages: readonly Message[];
  readonly stays: "own" | "pinned" | null; // own: the newest user message, or the summary. null: it may go
  readonly pinned: ReadonlySet<Message>; //   of its messages
}

/** A piece, and how far it is cut. */
interface Fitting extends Piece {
  readonly floors: readonly (readonly number[])[]; // of each part of each message: bytes that it is not cut below
  readonly sizes: readonly { readonly size: number; readonly floor: number }[]; // of all parts
  readonly fixed: number; // bytes of the rest
}

/** The same array when it fits. `pins`: ids of entries. */
export function fitted(
  messages: readonly Message[],
  roomBytes: number,
  pins: ReadonlySet<string> = new Set(),
): readonly Message[] {
  if (roomBytes === Infinity) return messages;
  const room = Math.max(FITTED_BYTES_MIN, Math.floor(roomBytes));
  if (weightOf(messages) <= room) return messages;
  const pieces = fittingsOf(piecesOf(messages, pins), pins, Math.floor(room * OWN_SHARE));
  const isEnough = (cap: number): boolean =>
    pieces.reduce((sum, piece) => sum + mostOf(piece, cap), 0) <= room;
  const least = Math.min(CAP_BYTES_MIN, Math.floor(room * CAP_SHARE));
  if (!isEnough(least)) return withoutOldest(pieces, least, room);
  let [enough, tooMuch] = [least, room + 1]; // All of it does not fit, nor does anything that is larger than the room.
  while (tooMuch - enough > 1) {
    const cap = Math.floor((enough + tooMuch) / 2);
    if (isEnough(cap)) enough = cap;
    else tooMuch = cap;
  }
  return pieces.flatMap((piece) => cut(piece, enough));
}

function weightOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + bytesOf(message), 0);
}

/** F2. */
function piecesOf(messages: readonly Message[], pins: ReadonlySet<string>): readonly Piece[] {
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
    const pinned = new Set(each.filter((message) => pins.has(sourceOf(message)?.id ?? "")));
    const stays = pinned.size === 0 ? null : "pinned";
    return { messages: each, stays: own.has(each) ? "own" : stays, pinned };
  });
}

// ── Shares ──────────────────────────────────────────────────────────────────────────────────────────────────

/** Each with what it has for itself: `share` bytes are for each of its own, and for all that is pinned. */
function fittingsOf(pieces: readonly Piece[], pins: ReadonlySet<string>, share: number): readonly Fitting[] {
  const summary = pieces[0]?.messages[0];
  const details = summary && isSummary(summary) ? detailsOf(sourceOf(summary) ?? undefined) : null;
  const carried = (details?.pinned ?? []).filter(({ id }) => pins.has(id));
  const { cap, unkept } = pinnedCap(pieces, carried, share);
  return pieces.map((piece, at): Fitting => {
    if (at === 0 && details !== null && carried.length > 0)
      return fitting({ ...piece, messages: [parted(piece, details, carried, { cap, share })] }, [
        [share, Infinity],
      ]);
    if (piece.stays === "own") return fitting(piece, [piece.messages.flatMap(sizesIn).map(() => share)]);
    const now = unkept.has(piece) ? { ...piece, stays: null } : piece;
    return fitting(
      now,
      now.messages.map((message) =>
        sizesIn(message).map(() => (now.stays !== null && now.pinned.has(message) ? cap : 0)),
      ),
    );
  });
}

function fitting(piece: Piece, floors: Fitting["floors"]): Fitting {
  const sizes = piece.messages.flatMap((message, at) =>
    sizesIn(message).map((size, part) => ({ size, floor: floors[at]?.[part] ?? 0 })),
  );
  return { ...piece, floors, sizes, fixed: weightOf(piece.messages) - sumOf(sizes.map(({ size }) => size)) };
}

/** F4. How many bytes each pinned text has; `unkept`: the oldest, for which there is no room. */
function pinnedCap(
  pieces: readonly Piece[],
  carried: readonly Verbatim[],
  share: number,
): { readonly cap: number; readonly unkept: ReadonlySet<Piece> } {
  const around = carried.length === 0 ? 0 : Buffer.byteLength(pinnedText(carried, 0));
  const texts = carried.map(({ text }) => Buffer.byteLength(quoted(text)));
  const kept = pieces.filter(({ stays }) => stays === "pinned");
  const unkept = new Set<Piece>();
  for (;;) {
    const sizes = [...texts, ...kept.flatMap(pinnedSizes)];
    const left = share - around - sumOf(kept.map(besides));
    const cap = evenly(sizes, left);
    const oldest = kept[0];
    const isWorth = left >= 0 && cap >= Math.min(PINNED_BYTES_MIN, Math.max(0, ...sizes));
    if (isWorth || oldest === undefined) return { cap, unkept };
    unkept.add(oldest);
    kept.shift();
  }
}

function pinnedSizes({ pinned }: Piece): readonly number[] {
  return [...pinned].flatMap(sizesIn);
}

/** What a piece weighs without its pinned texts, when all else in it is as short as it gets. */
function besides(piece: Piece): number {
  const others = piece.messages.filter((message) => !piece.pinned.has(message)).flatMap(sizesIn);
  const all = sumOf(piece.messages.flatMap(sizesIn));
  return weightOf(piece.messages) - all + sumOf(others.map((size) => Math.min(size, BLOCK_BYTES_MIN)));
}

/** The most that each may have so that all together have no more than `room`. Negative: nothing has any room. */
function evenly(sizes: readonly number[], room: number): number {
  let left = room;
  for (const [at, size] of sizes.toSorted((a, b) => a - b).entries()) {
    const each = Math.floor(left / (sizes.length - at));
    if (each < size) return each;
    left -= size;
  }
  return Math.max(0, ...sizes);
}

/** A summary with its pinned messages in a text of their own, which is not cut any further. */
function parted(
  { messages: [message] }: Piece,
  { sections, asked, tasks, pinned }: CompactionDetails,
  carried: readonly Verbatim[],
  { cap, share }: { readonly cap: number; readonly share: number },
): Message {
  const rest = summaryText({
    sections,
    asked: asked.filter(({ id }) => !pinned.some((each) => each.id === id)),
    pinned: [],
    tasks,
    pinnedBytesMax: share,
  });
  const bytes = sumOf(carried.map(({ text }) => Math.min(Buffer.byteLength(quoted(text)), Math.max(0, cap))));
  const content = [asSummary(rest), inBytes(pinnedText(carried, bytes), share)];
  return {
    role: "user",
    content: content.map((text) => ({ type: "text", text })),
    timestamp: message?.timestamp ?? 0,
  };
}

function sumOf(sizes: readonly number[]): number {
  return sizes.reduce((sum, size) => sum + size, 0);
}

// ── Cutting ─────────────────────────────────────────────────────────────────────────────────────────────────

/** What it weighs at most when everything in it is cut to this. */
function mostOf({ sizes, fixed }: Fitting, cap: number): number {
  return sizes.reduce((sum, { size, floor }) => sum + Math.min(size, Math.max(floor, cap)), fixed);
}

function cut({ messages, floors, pinned }: Fitting, cap: number): readonly Message[] {
  return messages.map((message, at) => {
    const named = pinned.has(message) ? (sourceOf(message)?.id ?? null) : null;
    return shortened(message, (part) => Math.max(floors[at]?.[part] ?? 0, cap), named);
  });
}

/** F1. From the front, and only as many as must go; what is left is cut as short as it gets. */
function withoutOldest(pieces: readonly Fitting[], cap: number, room: number): readonly Message[] {
  const own = Math.floor(room * OWN_SHARE);
  const kept = pieces.map((piece) => {
    if (piece.stays === "pinned") return cut(piece, BLOCK_BYTES_MIN);
    return piece.stays === "own" ? within(piece, own) : [];
  });
  let left = room - weightOf(kept.flat()) - LEFT_OUT_BYTES;
  let from = pieces.length; // what may go stays from here on
  const newest = pieces.at(-1);
  const newestCap = newest && mostOf(newest, cap) > left ? BLOCK_BYTES_MIN : cap; // Who is not shown it would do it again.
  const capFor = (piece: Fitting): number => (piece === newest ? newestCap : cap);
  for (const piece of pieces.toReversed()) {
    if (piece.stays === null) left -= mostOf(piece, capFor(piece));
    if (left < 0) break;
    from -= 1;
  }
  const gone = pieces.filter(({ stays }, at) => stays === null && at < from);
  return pieces.flatMap((piece, at) => {
    if (piece.stays !== null) return kept[at] ?? [];
    if (at >= from) return cut(piece, capFor(piece));
    return at === from - 1 ? [leftOut(gone)] : [];
  });
}

/** One that is its own, in so many bytes: if cutting its blocks is not enough, as one text. */
function within(piece: Fitting, most: number): readonly Message[] {
  const [message] = piece.messages;
  if (message?.role !== "user") return [];
  if (piece.floors[0]?.includes(Infinity)) return cut(piece, 0); // a summary with its pinned messages
  const named = piece.pinned.has(message) ? (sourceOf(message)?.id ?? null) : null;
  const sizes = sizesIn(message);
  for (const cap of [most, Math.floor(most / 2)])
    if (piece.fixed + sumOf(sizes.map((size) => Math.min(size, cap))) <= most)
      return [shortened(message, () => cap, named)];
  const blocks =
    typeof message.content === "string"
      ? [{ type: "text", text: message.content } as const]
      : message.content;
  const pictures = blocks.filter((block) => block.type === "image" || isPicture(block));
  const texts = blocks.flatMap((block) => (block.type === "text" && !isPicture(block) ? [block.text] : []));
  const words = [...texts, ...pictures.map(() => PICTURE_LEFT_OUT)].join("\n"); // What was said comes first.
  const around = bytesOf({ ...message, content: "" });
  return [{ ...message, content: shortText(words, most - around, named) }];
}

function leftOut(gone: readonly Piece[]): Message {
  const messages = gone.flatMap((piece) => piece.messages);
  const pinned = sumOf(gone.map((piece) => piece.pinned.size));
  const among = pinned === 0 ? "" : `, ${pinned} of them pinned`;
  const content = `[… ${messages.length} messages left out to fit the model's window${among} …]`;
  return { role: "user", content, timestamp: messages[0]?.timestamp ?? 0 };
}
