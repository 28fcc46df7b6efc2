// The thread of a search: walks a folder of the workspace and reads its files line by line. A regular expression can take
// for ever on one line; here it holds up nobody, and whoever waits ends the thread.
//
// A search with ripgrep ends here too: that says in which lines, and they are read here. Ripgrep opens files by
// their path, and so could be led outside by whoever swaps a folder for a link; what is shown never comes from there.

import type { Dirent } from "node:fs";
import { matchesGlob } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { codeOf, look, namesIn, openFile, shownIn, type Folder, type Place } from "../../sandbox/place.ts";
import { enter, within, withinFolder } from "../../sandbox/within.ts";
import { inside, throwIfToldToStop, type Flags } from "./flags.ts";
import { beginningOf, isBinary, scanLines, SKIPPED, textOf, type Line } from "./lines.ts";

/** What is looked for. */
export interface Looking {
  readonly workspace: string;
  readonly path: string;
  readonly pattern: RegExp;
  readonly glob: string | null; //         null: every file
  readonly context: number; //             lines before and after
  readonly limit: number; //               matches
  readonly bytesMax: number; //            of all that is shown
  readonly where: readonly Where[] | null; // null: to be found out
  readonly flags: Flags; //                by which it is told to stop
}

/** Lines of a file that match. `path` is from the workspace on. */
export interface Where {
  readonly path: string;
  readonly lines: readonly number[];
}

/** What the thread says. After `done` or `failed` it says nothing more. */
export type Said =
  | { readonly say: "found"; readonly text: string; readonly matches: number } // of one file, or a part of it
  | { readonly say: "done"; readonly isCut: boolean } //  cut: there may be more
  | { readonly say: "failed"; readonly why: string };

/** Characters of a line that are looked at, and that are shown. */
const LOOKED_CHARS_MAX = 10_000;
const SHOWN_CHARS_MAX = 500;

/** Folders inside each other: each is a handle. */
const DEPTH_MAX = 64;

/** What happens to files while they are searched is no failure of the search. */
const PASSED_OVER = new Set(["ENOENT", "ENOTDIR", "ELOOP", "EACCES", "ENXIO", "not_found", "bad_input"]);

class Search {
  readonly #of: Looking;
  #matches = 0;
  #room: number;

  constructor(of: Looking) {
    this.#of = of;
    this.#room = of.bytesMax;
  }

  get isFull(): boolean {
    return this.#matches >= this.#of.limit || this.#room <= 0;
  }

  throwIfAborted(): void {
    throwIfToldToStop(this.#of.flags);
  }

  async run(): Promise<void> {
    const { workspace, path, pattern, where } = this.#of;
    this.throwIfAborted();
    if (where === null) {
      const matches = (text: string): boolean => inside(this.#of.flags, () => pattern.test(text));
      await within({ workspace, path }, { make: false }, (place) => this.#startAt(place, matches));
      return;
    }
    for (const { path, lines } of where) {
      if (this.isFull) return;
      const wanted = new Set(lines);
      await passingOver(() =>
        within({ workspace, path }, { make: false }, (place) =>
          this.#file(place, (_text, number) => wanted.has(number)),
        ),
      );
    }
  }

  async #startAt(place: Place, matches: (text: string) => boolean): Promise<void> {
    const { workspace, path } = this.#of;
    if ((await look(place))?.isFile()) return this.#file(place, matches);
    await withinFolder({ workspace, path }, (folder) => this.#folder(folder, "", matches));
  }

  /** `before`: the path from the searched folder on, with a slash at its end: globs go by it. */
  async #folder(folder: Folder, before: string, matches: (text: string) => boolean): Promise<void> {
    const { names } = await namesIn(folder);
    for (const each of names.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      if (this.isFull) return;
      await passingOver(() => this.#entry(folder, each, before, matches));
    }
  }

  async #entry(
    folder: Folder,
    each: Dirent,
    before: string,
    matches: (text: string) => boolean,
  ): Promise<void> {
    this.throwIfAborted();
    const { name } = each;
    const path = `${before}${name}`;
    if (each.isDirectory() && !SKIPPED.includes(name) && path.split("/").length < DEPTH_MAX) {
      const below = await enter(folder, name);
      try {
        await this.#folder(below, `${path}/`, matches);
      } finally {
        await below.handle.close();
      }
    } else if (each.isFile() && inside(this.#of.flags, () => isWanted(path, this.#of.glob))) {
      await this.#file({ folder, name, shown: shownIn(folder, name) }, matches);
    }
  }

  async #file(place: Place, matches: (text: string, number: number) => boolean): Promise<void> {
    const { context, limit } = this.#of;
    await using file = await openFile(place);
    if (isBinary(await beginningOf(file))) return;
    const out: string[] = [];
    const before: string[] = []; // the last lines that were not shown
    let lastShown = 0;
    let [found, after] = [0, 0];
    const show = (text: string): void => {
      this.#room -= Buffer.byteLength(text) + 1;
      if (this.#room >= 0) out.push(text);
    };
    await scanLines(file, { keptBytes: LOOKED_CHARS_MAX * 4, signal: this }, (line) => {
      const isMatch = this.#matches + found < limit && matches(textToLookAt(line), line.number);
      if (isMatch) {
        if (lastShown > 0 && lastShown < line.number - before.length - 1) show("--");
        for (const text of before.splice(0)) show(text);
        show(`${line.number}: ${textOf(line, SHOWN_CHARS_MAX)}`);
        [found, after, lastShown] = [found + 1, context, line.number];
      } else if (after > 0) {
        show(`${line.number}- ${textOf(line, SHOWN_CHARS_MAX)}`);
        [after, lastShown] = [after - 1, line.number];
      } else if (context > 0) {
        before.push(`${line.number}- ${textOf(line, SHOWN_CHARS_MAX)}`);
        if (before.length > context) before.shift();
      }
      return this.#room > 0 && (this.#matches + found < limit || after > 0);
    });
    this.#matches += found;
    if (found === 0) return;
    const text = [place.shown, ...out].join("\n");
    this.#room -= Buffer.byteLength(place.shown) + 2;
    say({ say: "found", text, matches: found });
  }
}

function textToLookAt({ kept }: Line): string {
  const text = kept.toString("utf8").slice(0, LOOKED_CHARS_MAX);
  return text.endsWith("\r") ? text.slice(0, -1) : text;
}

/** As ripgrep reads globs: one without a slash is about the name, wherever it is; "!" turns it round. */
function isWanted(path: string, glob: string | null): boolean {
  if (glob === null) return true;
  if (glob.startsWith("!")) return !isWanted(path, glob.slice(1));
  const name = path.slice(path.lastIndexOf("/") + 1);
  return glob.includes("/") ? matchesGlob(path, glob.replace(/^\//, "")) : matchesGlob(name, glob);
}

async function passingOver(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!PASSED_OVER.has(codeOf(error) ?? "")) throw error;
  }
}

function say(said: Said): void {
  parentPort?.postMessage(said);
}

if (parentPort !== null) {
  const search = new Search(workerData as Looking);
  try {
    await search.run();
    say({ say: "done", isCut: search.isFull });
  } catch (error) {
    say({ say: "failed", why: error instanceof Error ? error.message : String(error) });
  }
}
