// Notes as a tree of folders. MEMORY.md stands first; everything else is below memory/, so that is not said again.

import type { Output } from "../../../src/calls/door.ts";
import { FIRST, FOLDER } from "../../../src/memory/path.ts";

export type Note = Output<"memory">["notes"][number];

export interface Folder {
  readonly name: string;
  readonly path: string; // with its /; of the top: empty
  readonly folders: readonly Folder[];
  readonly notes: readonly Note[];
}

/** By name within each folder. */
export function treeOf(notes: readonly Note[]): Folder {
  const top = folderOf("", "", [...notes.filter(({ path }) => path !== FIRST)], `${FOLDER}/`.length);
  return { ...top, notes: [...notes.filter(({ path }) => path === FIRST), ...top.notes] };
}

/** `from`: where the names in this folder begin. */
function folderOf(name: string, path: string, notes: readonly Note[], from: number): Folder {
  const below = Map.groupBy(notes, (note) => {
    const end = note.path.indexOf("/", from);
    return end < 0 ? "" : note.path.slice(from, end);
  });
  const own = below.get("") ?? [];
  const folders = [...below].filter(([each]) => each !== "");
  return {
    name,
    path,
    notes: own.toSorted((a, b) => byText(a.path, b.path)),
    folders: folders
      .toSorted(([a], [b]) => byText(a, b))
      .map(([each, all]) => folderOf(each, `${path}${each}/`, all, from + each.length + 1)),
  };
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The last part of a path. */
export function nameIn(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Those whose path has all the words. */
export function named(notes: readonly Note[], text: string): readonly Note[] {
  const words = text.toLowerCase().split(/\s+/);
  return notes.filter(({ path }) => words.every((word) => path.toLowerCase().includes(word)));
}
