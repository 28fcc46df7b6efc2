// What an agent is to look after when it beats: a file in its workspace.

import { stat } from "node:fs/promises";
import { Fault } from "../base/fault.ts";
import type { Agent } from "../config/config.ts";
import { codeOf, openFile } from "../sandbox/place.ts";
import { within } from "../sandbox/within.ts";
import { TASK_BYTES_MAX } from "./limits.ts";

export const TASK_FILE = "HEARTBEAT.md";

/** Null: there is nothing to do. Fault bad_input: there may be, and the file cannot be read. */
export type ReadTask = (agent: Pick<Agent, "workspace">) => Promise<string | null>;

/** A link that leads outside of the workspace is refused, as the agent's own tools do. No folder is made for looking. */
export const readTask: ReadTask = async ({ workspace }) => {
  try {
    await stat(workspace);
    const to = { workspace, path: TASK_FILE };
    const text = await within(to, { make: false }, async (place) => {
      await using file = await openFile(place);
      const bytes = Buffer.alloc(TASK_BYTES_MAX);
      let length = 0;
      while (length < bytes.length) {
        const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      const isCut = Number((await file.stat()).size) > length;
      // As part of a stream, a character whose last bytes were not read is left out instead of becoming another one.
      const head = new TextDecoder().decode(bytes.subarray(0, length), { stream: isCut });
      return isCut ? `${head}\n\n[The rest of this file is left out: it is longer than it may be.]` : head;
    });
    return asksForSomething(text) ? text.trim() : null;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || (error instanceof Fault && error.code === "not_found")) return null;
    throw error instanceof Fault
      ? error
      : new Fault("bad_input", `${TASK_FILE}: ${String(error)}`, { cause: error });
  }
};

/** For people: what is missing. A folder that nobody has used yet is not there. */
export async function noTask({ workspace }: Pick<Agent, "workspace">): Promise<string> {
  const found = await stat(workspace).catch(() => null);
  return found === null
    ? `there is no ${TASK_FILE} in ${workspace}, nor that folder yet: make it first`
    : `there is no ${TASK_FILE} in ${workspace} that asks for something`;
}

/** Blank lines, headings, comments, and list items without a word ask for nothing. */
export function asksForSomething(text: string): boolean {
  const lines = text.replaceAll(/<!--[\s\S]*?(?:-->|$)/g, "").split("\n");
  return lines.some((line) => !EMPTY.test(line.trim()));
}

const EMPTY = /^(?:#{1,6}(?:\s.*)?|(?:[-*+]|\d+[.)])(?:\s*\[[ xX]?\])?)?$/;
