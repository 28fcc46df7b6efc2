// Reading a file of the workspace: a page of its lines, or a picture.

import type { FileHandle } from "node:fs/promises";
import { z } from "zod";
import { Fault } from "../../base/fault.ts";
import { openFile } from "../../sandbox/place.ts";
import { PATH_CHARS_MAX, within } from "../../sandbox/within.ts";
import { beginsLike, PICTURE_BYTES_MAX, pictureKind, type PictureType } from "../picture.ts";
import { tool, type Output } from "../tool.ts";
import { beginningOf, isBinary, scanLines, SHOWN_BYTES_MAX, textOf } from "./lines.ts";

/** Lines of one page, and characters shown of one line: minified files have lines that fill a page. */
const PAGE_LINES_MAX = 2_000;
const LINE_CHARS_MAX = 2_000;

/** A character has at most four bytes. */
const KEPT_BYTES = LINE_CHARS_MAX * 4;

/** How files begin that are no text, for a word about what they are. */
const KINDS: readonly (readonly [beginning: string, kind: string])[] = [
  ["%PDF-", "a PDF document"],
  ["PK\x03\x04", "a ZIP archive, or a document in one"],
  ["\x1f\x8b", "gzip"],
  ["\x28\xb5\x2f\xfd", "zstd"],
  ["\x7fELF", "a program"],
  ["SQLite format 3\0", "a SQLite database"],
];

export const read = tool({
  name: "read",
  description:
    "Read a text file or a picture (png, jpeg, gif, webp) of your workspace. Long files come in pages: go on with offset.",
  input: z.strictObject({
    path: z.string().min(1).max(PATH_CHARS_MAX).describe("Relative to the workspace."),
    offset: z.int().min(1).optional().describe("First line, from 1."),
    limit: z.int().min(1).max(PAGE_LINES_MAX).optional().describe("How many lines."),
  }),
  replay: "safe",
  run: ({ path, offset = 1, limit = PAGE_LINES_MAX }, { agent, signal }) =>
    within({ workspace: agent.workspace, path }, { make: false }, async (place): Promise<Output> => {
      await using file = await openFile(place);
      const { size } = await file.stat();
      const beginning = await beginningOf(file);
      const type = beginsLike(beginning);
      const picture = type === null ? null : await pictureOf(file, { type, size, shown: place.shown });
      if (picture !== null) return picture;
      if (isBinary(beginning)) return `${place.shown} is no text: ${kindOf(beginning)}, ${size} bytes.`;
      return size === 0 ? `${place.shown} is empty.` : await pageOf(file, { from: offset, limit }, signal);
    }),
});

async function pageOf(
  file: FileHandle,
  { from, limit }: { readonly from: number; readonly limit: number },
  signal: AbortSignal,
): Promise<string> {
  const lines: string[] = [];
  let room = SHOWN_BYTES_MAX;
  const count = await scanLines(file, { keptBytes: KEPT_BYTES, signal }, (line) => {
    if (line.number < from) return true;
    const text = textOf(line, LINE_CHARS_MAX);
    room -= Buffer.byteLength(text) + 1;
    if (lines.length === limit || (room < 0 && lines.length > 0)) return false;
    lines.push(text);
    return true;
  });
  if (lines.length === 0)
    throw new Fault("bad_input", `it has ${count} lines; offset ${from} is after the last one`);
  const next = from + lines.length;
  const more = count === null ? `\n\n[There is more. Go on with offset ${next}.]` : "";
  return `${lines.join("\n")}${more}`;
}

/** Null: it only begins like one. */
async function pictureOf(
  file: FileHandle,
  { type, size, shown }: { readonly type: PictureType; readonly size: number; readonly shown: string },
): Promise<Output | null> {
  if (size > PICTURE_BYTES_MAX)
    return `${shown} is a picture (${type}) of ${size} bytes; at most ${PICTURE_BYTES_MAX} can be shown.`;
  const buffer = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await file.read(buffer, length, size - length, length);
    if (bytesRead === 0) break; // shorter than when we looked
    length += bytesRead;
  }
  const bytes = buffer.subarray(0, length);
  const mimeType = pictureKind(bytes);
  if (mimeType === null) return null;
  return {
    content: [
      { type: "text", text: `${shown}: ${mimeType}, ${length} bytes` },
      { type: "image", data: bytes.toString("base64"), mimeType },
    ],
  };
}

function kindOf(beginning: Buffer): string {
  const text = beginning.toString("latin1", 0, 16);
  const kind = KINDS.find(([start]) => text.startsWith(start))?.[1] ?? "binary data";
  const type = beginsLike(beginning);
  return type === null ? kind : `it begins like ${type}, but is no whole picture, or too large a one`;
}
