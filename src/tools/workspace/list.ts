// What is in a folder of the workspace.

import type { Dirent } from "node:fs";
import { lstat, readlink } from "node:fs/promises";
import { z } from "zod";
import { codeOf, namesIn, NAMES_MAX, type Folder } from "../../sandbox/place.ts";
import { enter, PATH_CHARS_MAX, withinFolder } from "../../sandbox/within.ts";
import { tool } from "../tool.ts";
import { SHOWN_BYTES_MAX } from "./lines.ts";

/** Entries that one call shows. */
const ENTRIES_MAX = 1_000;

/** Folders inside each other that one call shows. */
const DEPTH_MAX = 5;

interface Listing {
  readonly depth: number;
  readonly hidden: boolean;
  readonly signal: AbortSignal;
  readonly lines: string[];
  room: number;
  isCut: boolean;
}

export const list = tool({
  name: "list",
  description: "List a folder of your workspace: folders first, then files with their size in bytes.",
  input: z.strictObject({
    path: z
      .string()
      .max(PATH_CHARS_MAX)
      .optional()
      .describe("Relative to the workspace, which is the default."),
    depth: z.int().min(1).max(DEPTH_MAX).optional().describe("How many levels of folders; 1 is the default."),
    hidden: z.boolean().optional().describe("True: also names that begin with a dot."),
  }),
  replay: "safe",
  run: ({ path = ".", depth = 1, hidden = false }, { agent, signal }) =>
    withinFolder({ workspace: agent.workspace, path: path === "" ? "." : path }, async (folder) => {
      const listing = { depth, hidden, signal, lines: [], room: SHOWN_BYTES_MAX, isCut: false };
      await listInto(listing, folder, "");
      const { lines, isCut } = listing;
      if (lines.length === 0)
        return `${folder.shown} is empty${hidden ? "" : ", but for hidden files perhaps"}.`;
      const more = isCut ? "\n\n[There is more. List a folder of these, or with less depth.]" : "";
      return `${lines.join("\n")}${more}`;
    }),
});

/** `before`: the path from the listed folder on, with a slash at its end. */
async function listInto(listing: Listing, folder: Folder, before: string): Promise<void> {
  const { names, more } = await namesIn(folder);
  const shown = names.filter(({ name }) => listing.hidden || !name.startsWith("."));
  for (const each of shown.sort(foldersFirst)) {
    listing.signal.throwIfAborted();
    const path = `${before}${each.name}`;
    const line = await lineOf(folder, each, path);
    if (line === null) continue;
    listing.room -= Buffer.byteLength(line) + 1;
    listing.isCut ||= listing.room < 0 || listing.lines.length === ENTRIES_MAX;
    if (listing.isCut) return;
    listing.lines.push(line);
    if (each.isDirectory() && path.split("/").length < listing.depth) await listBelow(listing, folder, path);
    if (listing.isCut) return;
  }
  if (more)
    listing.lines.push(`[${before || "."} has more than ${NAMES_MAX} names; the others were not looked at]`);
}

async function listBelow(listing: Listing, folder: Folder, path: string): Promise<void> {
  let below: Folder;
  try {
    below = await enter(folder, path.slice(path.lastIndexOf("/") + 1));
  } catch (error) {
    // It is gone, became a link or a file, or may not be read: then its name is all there is to say.
    if (["ENOENT", "ENOTDIR", "ELOOP", "EACCES"].includes(codeOf(error) ?? "")) return;
    throw error;
  }
  try {
    await listInto(listing, below, `${path}/`);
  } finally {
    await below.handle.close();
  }
}

/** Null: it is gone. */
async function lineOf(folder: Folder, each: Dirent, path: string): Promise<string | null> {
  const there = `${folder.path}/${each.name}`;
  try {
    if (each.isDirectory()) return `${path}/`;
    if (each.isSymbolicLink()) return `${path} -> ${await readlink(there)}`;
    if (each.isFile()) return `${path}  ${(await lstat(there)).size}`;
    return `${path}  (a pipe, a socket or a device)`;
  } catch (error) {
    if (["ENOENT", "EINVAL"].includes(codeOf(error) ?? "")) return null;
    throw error;
  }
}

function foldersFirst(one: Dirent, other: Dirent): number {
  const folders = Number(other.isDirectory()) - Number(one.isDirectory());
  return folders !== 0 ? folders : one.name < other.name ? -1 : 1;
}
