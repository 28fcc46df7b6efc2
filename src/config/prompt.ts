// Prompt
//
// The persona part of an agent's system prompt, made from the files in its workspace.
//
//   Owns:      which files, in which order, how much of each, and the memory of what they said.
//   Does not:  write them, or add anything that is not in them (rules, tools, the time).
//
// Invariants
//   P1. What is in a file at the time of the call is in the prompt, up to the bound; what is cut off is said there.
//   P2. A file that has not changed is not read again: every turn asks.
//   P3. A missing file or folder is no error. One that is there and cannot be read is: an agent without its rules
//       must not go to work.
//   P4. Memory and reading are bounded, whatever the size of the file.

import type { Stats } from "node:fs";
import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../base/fault.ts";
import type { Agent } from "./config.ts";
import { PROMPT_FILE_CHARS_MAX, PROMPT_READ_BYTES_MAX } from "./defaults.ts";

/** The work first, then who does it, for whom, and what is remembered. */
const FILES = ["AGENTS.md", "SOUL.md", "USER.md", "MEMORY.md"] as const;

/** A sub-agent does a piece of work; it has nobody to be somebody for. */
const FILES_OF_SUBAGENT = ["AGENTS.md"] as const;

/** Bytes that surely hold PROMPT_FILE_CHARS_MAX characters: UTF-8 takes at most three for each half of a pair. */
const BEGINNING_BYTES = PROMPT_FILE_CHARS_MAX * 3 + 4;

interface Remembered {
  readonly version: string; // equal: not changed
  readonly text: string; //    cut to the bound; "" when there is nothing but space in it
}

export class Prompts {
  readonly #remembered = new Map<string, Remembered>(); // by path

  /** "" when there are no files. */
  async of(agent: Agent, who: "session" | "subagent"): Promise<string> {
    const files = who === "subagent" ? FILES_OF_SUBAGENT : FILES;
    const texts = await Promise.all(files.map((file) => this.#text(join(agent.workspace, file))));
    return files
      .map((file, at) => ({ file, text: texts[at] ?? "" }))
      .filter(({ text }) => text !== "")
      .map(({ file, text }) => `# ${file}\n\n${text}`)
      .join("\n\n");
  }

  async #text(path: string): Promise<string> {
    try {
      const stats = await stat(path);
      if (!stats.isFile()) throw unreadable(path, "it is not a file"); // opening a pipe would wait for a writer
      const version = versionOf(stats);
      const known = this.#remembered.get(path);
      if (known?.version === version) return known.text; // P2
      // A change after the look gives the file another version, so the next call reads it again.
      const text = await read(path, stats.size);
      this.#remembered.set(path, { version, text });
      return text;
    } catch (error) {
      this.#remembered.delete(path);
      const { code, message } = error as NodeJS.ErrnoException;
      if (error instanceof Fault || code === undefined) throw error;
      if (code === "ENOENT") return "";
      throw unreadable(path, message, error);
    }
  }
}

/** The time of the last change of rights counts too: a file that may no longer be read must not live on (P3). */
function versionOf({ mtimeMs, ctimeMs, size, ino }: Stats): string {
  return [mtimeMs, ctimeMs, size, ino].join(" ");
}

async function read(path: string, size: number): Promise<string> {
  const whole = size <= PROMPT_READ_BYTES_MAX;
  const bytes = new Uint8Array(whole ? size : BEGINNING_BYTES);
  let length = 0;
  await using file = await open(path);
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length);
    if (bytesRead === 0) break; // shorter than when we looked
    length += bytesRead;
  }
  // As part of a stream, a character whose last bytes were not read is left out instead of becoming another one.
  const text = new TextDecoder().decode(bytes.subarray(0, length), { stream: !whole });
  if (whole && text.length <= PROMPT_FILE_CHARS_MAX) return text.trim();
  const kept = text.slice(0, cutAt(text));
  const left = whole ? `${text.length - kept.length} characters` : `${size - Buffer.byteLength(kept)} bytes`;
  return `${kept}\n\n[The other ${left} of this file are left out.]`;
}

/** Not between the two halves of a character. */
function cutAt(text: string): number {
  const last = text.charCodeAt(PROMPT_FILE_CHARS_MAX - 1);
  return last >= 0xd800 && last <= 0xdbff ? PROMPT_FILE_CHARS_MAX - 1 : PROMPT_FILE_CHARS_MAX;
}

function unreadable(path: string, why: string, cause?: unknown): Fault {
  return new Fault("bad_input", `${path} cannot be read: ${why}`, { cause });
}
