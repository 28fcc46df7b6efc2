// Files that go with a message: pictures as pictures, text as text with its name, and nothing else. Whatever does not fit is
// refused here, before somebody has waited for it, with the daemon's own bounds.

import { bytes } from "../../../src/base/figures.ts";
import { fenced, oneLine } from "../../../src/base/harmless.ts";
import { MESSAGE_PICTURES_BYTES_MAX, MESSAGE_TEXT_BYTES_MAX } from "../../../src/limits.ts";
import type { Draft, Picture, TextFile } from "./draft.ts";

/** Models take these. */
const PICTURES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** As `send` has it. */
const PICTURES_MAX = 20;

interface Given {
  readonly pictures: readonly Picture[];
  readonly files: readonly TextFile[];
  readonly refusals: readonly string[];
}

/** What can be added to what is there. */
export async function attached(had: Draft, given: readonly File[]): Promise<Given> {
  const pictures: Picture[] = [];
  const files: TextFile[] = [];
  const refusals: string[] = [];
  for (const file of given) {
    if (PICTURES.has(file.type)) {
      const refusal = noRoomFor(file, [...had.pictures, ...pictures]);
      if (refusal === null) pictures.push(await pictureOf(file));
      else refusals.push(refusal);
      continue;
    }
    const text = file.size > MESSAGE_TEXT_BYTES_MAX ? null : textIn(await file.arrayBuffer());
    if (text !== null) files.push({ name: nameOf(file), text });
    else refusals.push(notText(file));
  }
  return { pictures, files, refusals };
}

function nameOf({ name }: File): string {
  return oneLine(name) || "unnamed";
}

function noRoomFor(file: File, had: readonly Picture[]): string | null {
  if (had.length >= PICTURES_MAX) return `${nameOf(file)}: a message has at most ${PICTURES_MAX} pictures`;
  const all = had.reduce((sum, each) => sum + each.bytes, file.size);
  if (all <= MESSAGE_PICTURES_BYTES_MAX) return null;
  return `${nameOf(file)}: the pictures of a message have at most ${bytes(MESSAGE_PICTURES_BYTES_MAX)} together, and with it they had ${bytes(all)}`;
}

function notText(file: File): string {
  if (file.size > MESSAGE_TEXT_BYTES_MAX)
    return `${nameOf(file)} has ${bytes(file.size)}; a text in a message has at most ${bytes(MESSAGE_TEXT_BYTES_MAX)}. Put it into the workspace, and say where it is`;
  return `${nameOf(file)} is neither text nor a picture (PNG, JPEG, GIF, WebP). Put it into the workspace, and say where it is`;
}

/** Null: it is no text. */
export function textIn(given: ArrayBuffer): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(given);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

async function pictureOf(file: File): Promise<Picture> {
  const data = await base64(file);
  return { name: nameOf(file), mimeType: file.type, bytes: file.size, data, url: URL.createObjectURL(file) };
}

/** One that was hidden is to be seen again. */
export function shown(picture: Picture): Picture {
  const text = atob(picture.data);
  const written = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) written[at] = text.charCodeAt(at);
  return { ...picture, url: URL.createObjectURL(new Blob([written], { type: picture.mimeType })) };
}

/** One that nobody sees any more: what the browser holds to show it is let go. */
export function hidden(picture: Picture): Picture {
  URL.revokeObjectURL(picture.url);
  return { ...picture, url: "" };
}

function base64(file: File): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const reader = new FileReader();
  reader.addEventListener("load", () => resolve(String(reader.result).replace(/^[^,]*,/, "")));
  reader.addEventListener("error", () => reject(reader.error ?? new Error("the file cannot be read")));
  reader.readAsDataURL(file);
  return promise;
}

/** The message as it is sent: what was written, then each file under its name. */
export function composed(text: string, files: readonly TextFile[]): string {
  return [text, ...files.map((file) => `${file.name}:\n\n${fenced(file.text)}`)]
    .filter((part) => part.trim() !== "")
    .join("\n\n");
}

/** Why it cannot be sent; null: it can. The daemon counts as it is written down. */
export function tooLong(message: string): string | null {
  const written = new TextEncoder().encode(JSON.stringify(message)).length;
  if (written <= MESSAGE_TEXT_BYTES_MAX) return null;
  return `The message has ${bytes(written)}, and at most ${bytes(MESSAGE_TEXT_BYTES_MAX)} fit. Put the long part into a file of the workspace, and say where it is.`;
}
