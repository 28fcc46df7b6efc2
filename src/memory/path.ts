// Which paths are those of notes. Nothing is trimmed or guessed: a path is one, or it is refused with what is wrong.

import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { NOTE_PATH_CHARS_MAX, NOTES_DEEP_MAX } from "../limits.ts";

/** The note that every session of the agent begins with, and the folder of all others. */
export const FIRST = "MEMORY.md";
export const FOLDER = "memory";

const ENDING = ".md";

/** The path, if it is one of a note. */
export function notePath(path: string): string {
  const wrong = wrongIn(path);
  if (wrong === null) return path;
  throw new Fault(
    "bad_input",
    `path: ${shown(path)} is no note: ${wrong}. Notes are ${FIRST} and ${FOLDER}/<name>${ENDING}, also in folders below ${FOLDER}/`,
  );
}

/** Where a walk came to, which is elsewhere if it went through a link. */
export function mustBeAt(there: string, path: string): void {
  if (there === path) return;
  throw new Fault("bad_input", `path: ${shown(path)} is a link, or leads through one; notes are files`);
}

/** Whether a folder of notes can have it: others, such as hidden ones, are no notes. */
export function isNoteName(name: string): boolean {
  return name.endsWith(ENDING) && isVisible(name);
}

/** What a note is called, without what all are called. */
export function nameOf(path: string): string {
  const from = path.startsWith(`${FOLDER}/`) ? FOLDER.length + 1 : 0;
  return path.slice(from, -ENDING.length);
}

export function isVisible(name: string): boolean {
  return !name.startsWith(".");
}

/** Null: nothing. */
function wrongIn(path: string): string | null {
  if (path.length > NOTE_PATH_CHARS_MAX) return `it has more than ${NOTE_PATH_CHARS_MAX} characters`;
  if (!path.isWellFormed() || /[\p{Cc}\\]/u.test(path)) return "it has a character that no note's name has";
  if (path === FIRST) return null;
  const [folder, ...names] = path.split("/");
  if (folder !== FOLDER) return `it is not in ${FOLDER}/`;
  if (names.length > NOTES_DEEP_MAX) return `it is more than ${NOTES_DEEP_MAX - 1} folders below ${FOLDER}/`;
  if (names.some((name) => name === "" || !isVisible(name)))
    return "a name in it is empty, or begins with a dot";
  return names.at(-1)?.endsWith(ENDING) ? null : `it does not end in ${ENDING}`;
}
