// What is too large for a line goes to the blob store before the entry is built: its head and tail stay, with
// size and hash. So a finished answer is never refused, and a line stays a line that people can read.
//
// A blob holds a text as UTF-8, a picture as the bytes that its base64 stands for, and everything else as JSON: the
// arguments of a call, the details of a result, and the blocks that were too many.

import { BLOCK_BYTES_MAX, MESSAGE_BYTES_MAX, RESULT_BYTES_MAX, SPILLED_BLOCKS_MAX } from "../limits.ts";
import { jsonOf } from "./codec.ts";
import { isSpilled, type BlobName, type Block, type Message } from "./entry.ts";

/** Keeps the bytes for good and says how they are called. The blob is durable when this resolves. */
export type PutBlob = (bytes: Uint8Array) => Promise<BlobName>;

/** Bytes of head and of tail that stay: enough to know what it was, and how it ended. */
const KEPT_BYTES = 2 * 1024;

/** What a block takes beside its text: a thousand empty ones are a long line too. */
const FRAME_BYTES = 64;

export async function spillMessage(message: Message, putBlob: PutBlob): Promise<Message> {
  if (message.role === "toolResult") {
    const content = await spillBlocks(message, putBlob);
    const details = await spillDetails(message.details, putBlob);
    return details === undefined ? { ...message, content } : { ...message, content, details };
  }
  if (typeof message.content !== "string")
    return { ...message, content: await spillBlocks(message, putBlob) } as Message;
  if (Buffer.byteLength(message.content) <= BLOCK_BYTES_MAX) return message;
  return { ...message, content: [await spillBlock({ type: "text", text: message.content }, putBlob)] };
}

/**
 * The first blocks stay whole for as long as there is room. Of those after them head and tail stay; and when these are
 * many too, the others become one blob. An answer keeps each of its blocks: results refer to its calls.
 */
async function spillBlocks({ role, content }: Message, putBlob: PutBlob): Promise<Block[]> {
  const isResult = role === "toolResult";
  let room = isResult ? RESULT_BYTES_MAX : MESSAGE_BYTES_MAX;
  let spilled = 0;
  const kept: Block[] = [];
  const rest: Block[] = [];
  for (const block of content as readonly Block[]) {
    const bytes = Math.max(FRAME_BYTES, bytesOf(block));
    if (block.blob !== undefined) {
      kept.push(block); // It was spilled before.
    } else if (bytes <= Math.min(room, isResult ? RESULT_BYTES_MAX : BLOCK_BYTES_MAX)) {
      room -= bytes;
      kept.push(block);
    } else if (spilled < SPILLED_BLOCKS_MAX || role === "assistant") {
      spilled += 1;
      kept.push(await spillBlock(block, putBlob));
    } else {
      rest.push(block);
    }
  }
  return rest.length === 0 ? kept : [...kept, await spillRest(rest, putBlob)];
}

/** How much of a line the block would take; what escaping adds is not counted. */
function bytesOf(block: Block): number {
  switch (block.type) {
    case "text":
      return Buffer.byteLength(block.text);
    case "thinking":
      return Buffer.byteLength(block.thinking);
    case "toolCall":
      return Buffer.byteLength(jsonOf(block.arguments));
    case "image":
      return block.data.length;
    default:
      return 0; // A kind we do not know is kept as it came (E4).
  }
}

export async function spillBlock(block: Block, putBlob: PutBlob): Promise<Block> {
  if (bytesOf(block) <= 2 * KEPT_BYTES) return block; // Head and tail would be all of it.
  switch (block.type) {
    case "text": {
      const { text, blob } = await spillText(block.text, putBlob);
      return { ...block, text, blob };
    }
    case "thinking": {
      const { text, blob } = await spillText(block.thinking, putBlob);
      return { ...block, thinking: text, blob };
    }
    case "toolCall": {
      const { text, blob } = await spillText(jsonOf(block.arguments), putBlob);
      return { ...block, arguments: { spilled: text }, blob };
    }
    default:
      return spillPicture(block, putBlob);
  }
}

/** A picture cut in two is no picture: readers that do not know blobs get words instead. `mimeType` stays beside them. */
export async function spillPicture(
  image: Extract<Block, { type: "image" }>,
  putBlob: PutBlob,
): Promise<Block> {
  const { data, ...rest } = image;
  const bytes = Buffer.from(data, "base64");
  // What does not come back as it was is not the base64 of anything, and is kept as the text it is.
  const isBase64 = bytes.toString("base64") === data;
  const blob = await putBlob(isBase64 ? bytes : Buffer.from(data, "utf8"));
  const what = isBase64 ? image.mimeType : `${image.mimeType}, not in base64,`;
  return { ...rest, type: "text", text: `[${what} of ${blob.bytes} bytes, blob ${blob.sha256}]`, blob };
}

async function spillRest(blocks: readonly Block[], putBlob: PutBlob): Promise<Block> {
  const blob = await putBlob(Buffer.from(jsonOf(blocks), "utf8"));
  const text = `[… ${blocks.length} more blocks, a JSON list of ${blob.bytes} bytes, blob ${blob.sha256} …]`;
  return { type: "text", text, blob };
}

/** Programs read details, people seldom do. What takes their place is an object as well, and names all of them. */
async function spillDetails(details: unknown, putBlob: PutBlob): Promise<unknown> {
  if (details === undefined || isSpilled(details)) return details;
  const json = jsonOf(details);
  if (Buffer.byteLength(json) <= RESULT_BYTES_MAX) return details;
  const { text, blob } = await spillText(json, putBlob);
  return { spilled: text, blob };
}

/** For texts that are longer than the head and the tail that stay of them. */
async function spillText(text: string, putBlob: PutBlob): Promise<{ text: string; blob: BlobName }> {
  const bytes = Buffer.from(text, "utf8");
  const blob = await putBlob(bytes);
  const from = characterStart(bytes, KEPT_BYTES);
  const to = characterStart(bytes, bytes.length - KEPT_BYTES);
  const head = bytes.toString("utf8", 0, from);
  const tail = bytes.toString("utf8", to);
  return {
    text: `${head}\n[… ${to - from} bytes left out; all ${blob.bytes} are in blob ${blob.sha256} …]\n${tail}`,
    blob,
  };
}

/** Where the character begins that this byte belongs to, so that none is cut in two. */
function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return start;
}
