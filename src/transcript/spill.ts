// What is too large for a line goes to the blob store before the entry is built: its head and tail stay, with
// size and hash. So a finished answer is never refused, and a line stays a line that people can read.
//
// A blob holds a text as UTF-8, a picture as the bytes that its base64 stands for, and a call's arguments as JSON.

import { BLOCK_BYTES_MAX, RESULT_BYTES_MAX } from "../limits.ts";
import type { BlobName, Block, Message } from "./entry.ts";

/** Keeps the bytes for good and says how they are called. The blob is durable when this resolves. */
export type PutBlob = (bytes: Uint8Array) => Promise<BlobName>;

/** Bytes of head and of tail that stay: enough to know what it was, and how it ended. */
const KEPT_BYTES = 2 * 1024;

export async function spillMessage(message: Message, putBlob: PutBlob): Promise<Message> {
  const bytesMax = message.role === "toolResult" ? RESULT_BYTES_MAX : BLOCK_BYTES_MAX;
  if (typeof message.content === "string") {
    const block = await spillBlock({ type: "text", text: message.content }, bytesMax, putBlob);
    return block.blob ? ({ ...message, content: [block] } as Message) : message;
  }
  const content: Block[] = [];
  for (const block of message.content) content.push(await spillBlock(block, bytesMax, putBlob));
  return { ...message, content } as Message;
}

async function spillBlock(block: Block, bytesMax: number, putBlob: PutBlob): Promise<Block> {
  switch (block.type) {
    case "text": {
      const spilled = await spillText(block.text, bytesMax, putBlob);
      return spilled ? { ...block, text: spilled.text, blob: spilled.blob } : block;
    }
    case "thinking": {
      const spilled = await spillText(block.thinking, bytesMax, putBlob);
      return spilled ? { ...block, thinking: spilled.text, blob: spilled.blob } : block;
    }
    case "toolCall": {
      const spilled = await spillText(JSON.stringify(block.arguments), bytesMax, putBlob);
      return spilled ? { ...block, arguments: { spilled: spilled.text }, blob: spilled.blob } : block;
    }
    case "image":
      return block.data.length > bytesMax ? await spillImage(block, putBlob) : block;
    default:
      return block; // A kind we do not know is kept as it came (E4).
  }
}

/** A picture cut in two is no picture: readers that do not know blobs get words instead. `mimeType` stays beside them. */
async function spillImage(image: Extract<Block, { type: "image" }>, putBlob: PutBlob): Promise<Block> {
  const { data, ...rest } = image;
  const bytes = Buffer.from(data, "base64");
  // What does not come back as it was is not the base64 of anything, and is kept as the text it is.
  const isBase64 = bytes.toString("base64") === data;
  const blob = await putBlob(isBase64 ? bytes : Buffer.from(data, "utf8"));
  const what = isBase64 ? image.mimeType : `${image.mimeType}, not in base64,`;
  return { ...rest, type: "text", text: `[${what} of ${blob.bytes} bytes, blob ${blob.sha256}]`, blob };
}

async function spillText(
  text: string,
  bytesMax: number,
  putBlob: PutBlob,
): Promise<{ text: string; blob: BlobName } | null> {
  if (text.length * 3 <= bytesMax) return null; // cannot be too long, so do not measure it
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= bytesMax) return null;
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
