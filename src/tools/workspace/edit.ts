// Changing parts of a file of the workspace. All edits of a call are done, or none.

import type { BigIntStats } from "node:fs";
import { z } from "zod";
import { Fault } from "../../base/fault.ts";
import type { World } from "../../base/world.ts";
import { inTurn, openFile, replaceFile, type Place } from "../../sandbox/place.ts";
import { PATH_CHARS_MAX, within } from "../../sandbox/within.ts";
import { tool, type Tool } from "../tool.ts";
import { diffOf } from "./diff.ts";
import { Pauses } from "./pauses.ts";
import { linesAt, nearest, placesOf } from "./sought.ts";

/** Bytes of a file that can be edited: all edits of a call look through all of it, on the main thread, though in pieces. */
const EDITED_BYTES_MAX = 2 * 1024 * 1024;

/** Edits of one call, and characters of each side of one. */
const EDITS_MAX = 100;
const SIDE_CHARS_MAX = 256 * 1024;

/** Parts that are put together at once. */
const PARTS_AT_ONCE = 20_000;

/** Line numbers that a refusal tells. */
const LINES_TOLD_MAX = 10;

interface Edit {
  readonly old: string;
  readonly new: string;
  readonly all?: boolean | undefined;
}

/** A text as it is edited. In a file whose lines all end with CRLF, an edit need not know that, and cannot change it. */
interface Read {
  readonly text: string; // with LF, when isCrlf
  readonly isCrlf: boolean;
  readonly stats: BigIntStats;
}

const input = z.strictObject({
  path: z.string().min(1).max(PATH_CHARS_MAX).describe("Relative to the workspace."),
  edits: z
    .array(
      z.strictObject({
        old: z.string().min(1).max(SIDE_CHARS_MAX).describe("The text as it is now."),
        new: z.string().max(SIDE_CHARS_MAX).describe("What takes its place."),
        all: z.boolean().optional().describe("True: every occurrence."),
      }),
    )
    .min(1)
    .max(EDITS_MAX)
    .describe("Done in this order, each on the result of the one before."),
});

export function editWith(world: World): Tool {
  return tool({
    name: "edit",
    description:
      "Change parts of a text file of your workspace. Each old text must be in the file exactly once (or set all), with the same spaces. All edits are done, or none.",
    input,
    replay: "never",
    run: ({ path, edits }, { agent, cause, signal }) =>
      within({ workspace: agent.workspace, path }, { make: false }, (place) =>
        inTurn(place, async () => {
          signal.throwIfAborted();
          const pauses = new Pauses(world, signal);
          const { text, isCrlf, stats } = await textIn(place);
          let edited = text;
          for (const [at, each] of edits.entries())
            edited = await applied(pauses, edited, {
              ...(isCrlf ? withLf(each) : each),
              which: `edit ${at + 1}`,
            });
          if (edited === text) throw new Fault("bad_input", "the edits change nothing");
          const bytes = Buffer.from(isCrlf ? edited.replaceAll("\n", "\r\n") : edited, "utf8");
          if (bytes.length > EDITED_BYTES_MAX) throw tooLarge(place.shown, bytes.length);
          await replaceFile(place, { bytes, cause, signal, known: stats });
          return `edited ${place.shown}\n${diffOf(text, edited)}`;
        }),
      ),
  });
}

async function textIn(place: Place): Promise<Read> {
  await using file = await openFile(place);
  const stats = await file.stat({ bigint: true });
  if (stats.size > EDITED_BYTES_MAX) throw tooLarge(place.shown, Number(stats.size));
  const text = decoded(await file.readFile(), place.shown);
  const isCrlf = hasOnlyCrlf(text);
  return { text: isCrlf ? text.replaceAll("\r\n", "\n") : text, isCrlf, stats };
}

function hasOnlyCrlf(text: string): boolean {
  let ends = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text.charCodeAt(at) !== 10) continue;
    if (at === 0 || text.charCodeAt(at - 1) !== 13) return false;
    ends += 1;
  }
  return ends > 0;
}

/** Bytes that are no UTF-8 would come back as others. */
function decoded(bytes: Uint8Array, shown: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new Fault("bad_input", `${shown} is no text in UTF-8; it cannot be edited`, { cause: error });
  }
}

function withLf({ old, new: after, all }: Edit): Edit {
  return { old: old.replaceAll("\r\n", "\n"), new: after.replaceAll("\r\n", "\n"), all };
}

async function applied(
  pauses: Pauses,
  text: string,
  { old, new: after, all = false, which }: Edit & { readonly which: string },
): Promise<string> {
  const { places, isMore } = await placesOf(pauses, text, old, all ? null : LINES_TOLD_MAX);
  if (places.length === 0) {
    const instead = await nearest(pauses, text, old);
    throw new Fault("bad_input", `${which}: old is not in the file; nothing was changed. ${instead}`);
  }
  if (!all && places.length > 1) {
    const where = `old is there several times (lines ${linesAt(text, places).join(", ")}${isMore ? " and more" : ""})`;
    const todo = "Add lines around it so that it is one of them, or set all.";
    throw new Fault("bad_input", `${which}: ${where}; nothing was changed. ${todo}`);
  }
  const chars = text.length + places.length * (after.length - old.length);
  if (chars > EDITED_BYTES_MAX)
    throw new Fault("bad_input", `${which}: it makes ${chars} characters; at most ${EDITED_BYTES_MAX} bytes`);
  return await replaced(pauses, text, { places, old, after });
}

interface Replacing {
  readonly places: readonly number[];
  readonly old: string;
  readonly after: string;
}

async function replaced(pauses: Pauses, text: string, { places, old, after }: Replacing): Promise<string> {
  const pieces: string[] = [];
  let from = 0;
  for (let first = 0; first < places.length; first += PARTS_AT_ONCE) {
    const parts: string[] = [];
    for (const place of places.slice(first, first + PARTS_AT_ONCE)) {
      parts.push(text.slice(from, place), after);
      from = place + old.length;
    }
    pieces.push(parts.join(""));
    if (pauses.isDue(parts.length * 10)) await pauses.rest();
  }
  return [...pieces, text.slice(from)].join("");
}

function tooLarge(shown: string, bytes: number): Fault {
  return new Fault("bad_input", `${shown} has ${bytes} bytes; at most ${EDITED_BYTES_MAX} can be edited`);
}
