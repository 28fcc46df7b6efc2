// What a message weighs in a prompt, in bytes: UTF-8 of what a provider is sent of it, with a fixed amount for what is around it and
// for a picture. Tokens are made of it by the meter, which knows how many bytes a token of the model in force is.

import type { Block, Message } from "../transcript/entry.ts";

/** Tokens per byte of a model that has not reported anything yet: between prose (1/4) and code (1/3). */
export const TOKENS_PER_BYTE = 1 / 3.5;

/** What a provider adds around a message, and around a call and its result: ids, names and marks are many tokens for few bytes. */
const MESSAGE_BYTES = 8;
const CALL_BYTES = 120;

/** What a tool's result weighs beside its content. */
export const RESULT_BYTES = MESSAGE_BYTES + CALL_BYTES;

/** A picture of a usual size is about 1,500 tokens, whatever its bytes are. */
const PICTURE_BYTES = 5_250;

/** Providers are not shown longer names of tools. */
const NAME_BYTES_MAX = 64;

const known = new WeakMap<Message, number>();

/** Messages never change, so each is weighed once. */
export function bytesOf(message: Message): number {
  let bytes = known.get(message);
  if (bytes === undefined) known.set(message, (bytes = weighed(message)));
  return bytes;
}

/** As `bytesOf`, of what nobody asks about again. */
export function weighed({ role, content }: Message): number {
  return (role === "toolResult" ? RESULT_BYTES : MESSAGE_BYTES) + contentBytes(content);
}

/** A file may hold anything in place of a message's content: what is no block weighs nothing. */
export function contentBytes(content: unknown): number {
  if (typeof content === "string") return Buffer.byteLength(content);
  if (!Array.isArray(content)) return 0;
  let bytes = 0;
  for (const block of content) bytes += blockBytes(block as Block | null);
  return bytes;
}

export function blockBytes(block: Block | null): number {
  switch (block?.type) {
    case "text":
      if (isPicture(block)) return PICTURE_BYTES;
      return typeof block.text === "string" ? Buffer.byteLength(block.text) : 0;
    case "thinking":
      return typeof block.thinking === "string" ? Buffer.byteLength(block.thinking) : 0;
    case "image":
      return PICTURE_BYTES;
    case "toolCall":
      return callBytes(block.name) + argumentBytes(block.arguments);
    default:
      return 0;
  }
}

/** What a call weighs beside its arguments. */
export function callBytes(name: unknown): number {
  return CALL_BYTES + Math.min(NAME_BYTES_MAX, typeof name === "string" ? Buffer.byteLength(name) : 0);
}

function argumentBytes(given: unknown): number {
  return Buffer.byteLength(JSON.stringify(given ?? {}) ?? "");
}

/** Words that stand for a picture: who is asked is shown the picture. */
export function isPicture(block: Block): block is Block & { readonly mimeType: string } {
  const { mimeType } = block as { readonly mimeType?: unknown };
  return block.blob !== undefined && typeof mimeType === "string" && mimeType.startsWith("image/");
}
