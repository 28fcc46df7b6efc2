// Pictures live in blobs; in an entry words stand for them. A model that is asked gets the pictures.

import { REQUEST_PICTURES_BYTES_MAX } from "../limits.ts";
import type { Block, Message } from "../transcript/entry.ts";
import { isPicture } from "./weight.ts";

/** Bytes of a blob, whole; null: there is no such blob. */
export type ReadWhole = (blob: {
  readonly sha256: string;
  readonly bytes: number;
}) => Promise<Uint8Array | null>;

export async function withPictures(messages: readonly Message[], read: ReadWhole): Promise<Message[]> {
  const isShown = picturesShown(messages);
  return await Promise.all(
    messages.map(async (message) => {
      if (typeof message.content === "string" || !message.content.some(isPicture)) return message;
      const content = message.content.map((block) => (isShown.has(block) ? pictureOf(block, read) : block));
      return { ...message, content: await Promise.all(content) } as Message;
    }),
  );
}

/**
 * As many as a request has room for; of the others the words stay that stand for them. When one more has no room, the oldest
 * go until half of the room is free: so the beginning of the prompt changes seldom, and a provider's cache of it is of use.
 * Those that no answer has seen yet only go when they alone are too much.
 */
function picturesShown(messages: readonly Message[]): ReadonlySet<Block> {
  const shown = new Set<Block>(); // oldest first
  let bytes = 0;
  let seen = 0; // of `shown`: those before the last answer
  const drop = (count: () => number, most: number): void => {
    for (const block of shown) {
      if (bytes <= most || count() <= 0) return;
      shown.delete(block);
      bytes -= bytesIn(block);
      seen = Math.max(0, seen - 1);
    }
  };
  for (const { role, content } of messages) {
    if (role === "assistant") seen = shown.size;
    if (typeof content === "string") continue;
    for (const block of content) {
      if (!isPicture(block)) continue;
      shown.add(block);
      bytes += bytesIn(block);
      if (bytes <= REQUEST_PICTURES_BYTES_MAX) continue;
      drop(() => seen, REQUEST_PICTURES_BYTES_MAX / 2);
      drop(() => shown.size, REQUEST_PICTURES_BYTES_MAX);
    }
  }
  return shown;
}

/** Nobody checked what others wrote here. */
function bytesIn({ blob }: Block): number {
  const bytes: unknown = blob?.bytes;
  return typeof bytes === "number" && bytes > 0 ? bytes : 0;
}

async function pictureOf(block: Block, read: ReadWhole): Promise<Block> {
  if (!isPicture(block) || block.blob === undefined) return block;
  const bytes = await read(block.blob);
  if (bytes === null) return { type: "text", text: "[a picture that is not there any more]" };
  return { type: "image", data: Buffer.from(bytes).toString("base64"), mimeType: block.mimeType };
}
