// Within
//
// Leads from a workspace to a place inside it, and nowhere else. Node has no openat, but on Linux a path that begins with
// /proc/self/fd/<n> begins at an open folder. So a path is walked name by name, each opened from the folder before it
// and without following links; links are read and walked by the same rules. What somebody swaps between two
// steps is either opened as what it is, or refused: there is no moment between checking and using.
//
// Where there is no /proc, the same walk uses joined paths. It refuses the same, but a program that swaps a folder for a
// link in the right moment can then lead outside.
//
//   Owns:      which places belong to a workspace.
//   Does not:  read or write files (place.ts), or confine programs.
//
// Invariants
//   W1. Every folder that is entered was opened from one that is inside, or is the workspace.
//   W2. Going up ends at the workspace. A link to an absolute path is walked from the workspace, or refused.
//   W3. All folders are closed when the work is done, however it ends.
//
// A hard link cannot be told from the file itself. Whoever made it could read that file.

import { constants } from "node:fs";
import { lstat, mkdir, open, readlink, realpath } from "node:fs/promises";
import { resolve as absolute } from "node:path";
import { shown } from "../base/fits.ts";
import { Fault } from "../base/fault.ts";
import { codeOf, noSuch, pathOf, shownIn, type Folder, type Place } from "./place.ts";
import { HAS_PROC } from "./proc.ts";

/** Characters of a path: what Linux takes. */
export const PATH_CHARS_MAX = 4_096;

/** Links on the way to one place: what Linux follows. */
const LINKS_MAX = 40;

/** Folders below each other: each is a handle while the walk lasts, and systems grant about a thousand. */
const FOLDERS_DEEP_MAX = 100;

/** Times that a name is tried which is something else whenever it is looked at. */
const TRIES_MAX = 8;

/** `make`: folders that are missing on the way are made. */
export interface Going {
  readonly make: boolean;
}

/** The place may only be used until `use` is done. The last name need not exist. */
export async function within<Value>(
  to: { readonly workspace: string; readonly path: string },
  going: Going,
  use: (place: Place) => Promise<Value>,
): Promise<Value> {
  const path = checked(to.path);
  try {
    await using walk = await Walk.from(to.workspace, going);
    return await use(await walk.to(path));
  } catch (error) {
    throw inWords(error, path);
  }
}

/** The same for a folder that exists. */
export async function withinFolder<Value>(
  to: { readonly workspace: string; readonly path: string },
  use: (folder: Folder) => Promise<Value>,
): Promise<Value> {
  return within(to, { make: false }, async (place) => {
    const folder = await enterOrSay(place);
    try {
      return await use(folder);
    } finally {
      await folder.handle.close();
    }
  });
}

/**
 * The real path of a folder inside the workspace, for a program to start in; null: the workspace. It is a path again: what
 * happens to it afterwards is not seen.
 */
export async function folderWithin(workspace: string, path: string | null): Promise<string> {
  return withinFolder({ workspace, path: path ?? "." }, async (folder) => {
    const root = await realpath(workspace);
    return folder.shown === "." ? root : `${root}/${folder.shown}`;
  });
}

/** Without following a link. The caller closes its handle. */
export async function enter(folder: Folder, name: string): Promise<Folder> {
  const path = pathOf({ folder, name });
  return held(path, shownIn(folder, name));
}

async function held(path: string, shown: string): Promise<Folder> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  return { handle, path: HAS_PROC ? `/proc/self/fd/${handle.fd}` : path, shown };
}

async function enterOrSay(place: Place): Promise<Folder> {
  try {
    return await enter(place.folder, place.name);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return noSuch(place, "folder");
    if (codeOf(error) !== "ENOTDIR") throw error;
    throw new Fault("bad_input", `${place.shown} is a file, not a folder`);
  }
}

class Walk implements AsyncDisposable {
  readonly #make: boolean;
  readonly #roots: readonly string[]; //   how the workspace is called: its real path, and the one that was given
  readonly #stack: Folder[]; //            the workspace first, then each folder in the one before it
  readonly #ahead: string[] = []; //       names still to go, the next one last
  #links = 0;
  #lastLink: string | null = null; //      null: none was followed yet

  private constructor(root: Folder, roots: readonly string[], { make }: Going) {
    this.#stack = [root];
    this.#roots = roots;
    this.#make = make;
  }

  /** The workspace itself may be a link: whoever configured it meant what it points to. */
  static async from(workspace: string, going: Going): Promise<Walk> {
    const given = absolute(workspace);
    const real = await realpath(given).catch(async (error: unknown) => {
      if (codeOf(error) !== "ENOENT") throw error;
      await mkdir(given, { recursive: true, mode: 0o700 });
      return realpath(given);
    });
    return new Walk(await held(real, "."), [real, given], going);
  }

  async to(path: string): Promise<Place> {
    await this.#head(path, null);
    for (let name = this.#ahead.pop(); name !== undefined; name = this.#ahead.pop()) {
      if (name === "..") {
        await this.#up(path);
        continue;
      }
      if (this.#ahead.length > 0) {
        await this.#down(name);
        continue;
      }
      const place = { folder: this.#top, name, shown: shownIn(this.#top, name) };
      const target = await linkAt(place);
      if (target === null) return place;
      await this.#follow(place.shown, target);
    }
    return { folder: this.#top, name: ".", shown: this.#top.shown };
  }

  /** W3. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { handle } of this.#stack.splice(0)) await handle.close();
  }

  get #top(): Folder {
    const top = this.#stack.at(-1);
    if (top === undefined) throw new Fault("bug", "a walk went above its workspace");
    return top;
  }

  /** Sets out for a path. `link`: the one whose target it is; null: it was asked for. */
  async #head(path: string, link: string | null): Promise<void> {
    let names = path;
    if (path.startsWith("/")) {
      const root = this.#roots.find((each) => path === each || path.startsWith(`${each}/`));
      if (root === undefined) throw outside(path, link);
      for (const { handle } of this.#stack.splice(1)) await handle.close(); // W2
      names = path.slice(root.length);
    }
    this.#ahead.push(
      ...names
        .split("/")
        .filter((name) => name !== "" && name !== ".")
        .reverse(),
    );
  }

  async #up(path: string): Promise<void> {
    if (this.#stack.length === 1) throw outside(path, this.#lastLink);
    await this.#stack.pop()?.handle.close();
  }

  /** W1. */
  async #down(name: string): Promise<void> {
    const place = { folder: this.#top, name, shown: shownIn(this.#top, name) };
    if (this.#stack.length > FOLDERS_DEEP_MAX)
      throw new Fault("bad_input", `${place.shown} is more than ${FOLDERS_DEEP_MAX} folders deep`);
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const next = await enter(place.folder, name).catch(codeOf);
      if (next !== null && typeof next === "object") {
        this.#stack.push(next);
        return;
      }
      if (next === "ENOENT") {
        await this.#missing(place);
        continue;
      }
      if (next !== "ENOTDIR" && next !== "ELOOP") throw new Fault("bad_input", cannot(place.shown, next));
      const target = await linkAt(place);
      if (target !== null) return this.#follow(place.shown, target);
      if (!(await isFolder(place))) throw new Fault("bad_input", `${place.shown} is a file, not a folder`);
    }
    throw new Fault("bad_input", `${place.shown} keeps changing; try again`);
  }

  async #missing(place: Place): Promise<void> {
    if (!this.#make) return noSuch(place, "folder");
    try {
      await mkdir(pathOf(place));
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error; // Somebody else made something: it is looked at next.
    }
  }

  async #follow(link: string, target: string): Promise<void> {
    this.#links += 1;
    this.#lastLink = link;
    if (this.#links > LINKS_MAX)
      throw new Fault("bad_input", `${link} leads through more than ${LINKS_MAX} links, or in a circle`);
    await this.#head(target, link);
  }
}

function checked(path: string): string {
  if (path.length > PATH_CHARS_MAX)
    throw new Fault("bad_input", `the path has ${path.length} characters; at most ${PATH_CHARS_MAX}`);
  if (path.includes("\0"))
    throw new Fault("bad_input", `the path ${shown(path)} has a NUL character; no file has`);
  if (path === "") throw new Fault("bad_input", 'the path is empty; "." is the workspace');
  return path;
}

/** Null: it is no link, or there is nothing. */
async function linkAt(place: Place): Promise<string | null> {
  try {
    return await readlink(pathOf(place));
  } catch (error) {
    const code = codeOf(error);
    if (code === "EINVAL" || code === "ENOENT") return null;
    throw error;
  }
}

async function isFolder(place: Place): Promise<boolean> {
  return (await lstat(pathOf(place))).isDirectory();
}

function outside(path: string, link: string | null): Fault {
  const through = link === null ? "" : ` (through the link ${link})`;
  return new Fault(
    "bad_input",
    `${shown(path)} leads outside of the workspace${through}; only files below it can be used`,
  );
}

function cannot(path: string, why: string | null): string {
  return `${path} cannot be used: ${why ?? "nobody knows why"}`;
}

/** What the system says names handles of ours, which mean nothing to a model. */
export function inWords(error: unknown, path: string): unknown {
  const code = codeOf(error);
  if (!(error instanceof Error) || error instanceof Fault || !("syscall" in error) || code === null)
    return error;
  const why = error.message.split(", ")[0] ?? code; // "EACCES: permission denied"
  if (code === "ENOSPC" || code === "EDQUOT")
    return new Fault("disk_full", cannot(path, why), { cause: error });
  if (code === "ELOOP")
    return new Fault("bad_input", `${path} was changed by somebody else meanwhile; try again`);
  return new Fault("bad_input", cannot(path, why), { cause: error });
}
