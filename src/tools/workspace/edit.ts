// Changing parts of a file of the workspace. All edits of a call are done, or none.

import type { BigIntStats } from "node:fs";
import { z } from "zod";
import { Fault } from "../../base/fault.ts";
import { inTurn, openFile, replaceFile, type Place } from "../../sandbox/place.ts";
import { PATH_CHARS_MAX, within } from "../../sandbox/within.ts";
import { tool } from "../tool.ts";
import { diffOf } from "./diff.ts";
import { nearest, placesOf } from "./sought.ts";

/** Bytes of a file that can be edited: all edits of a call look through all of it, on the main thread. */
const EDITED_BYTES_MAX = 2 * 1024 * 1024;

/** Edits of one call, and characters of each side of one. */
const EDITS_MAX = 100;
const SIDE_CHARS_MAX = 256 * 1024;

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

export const edit = tool({
  name: "edit",
  description:
    "Change parts of a text file of your workspace. Each old text must be in the file exactly once (or set all), with the same spaces. All edits are done, or none.",
  input: z.strictObject({
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
  }),
  replay: "never",
  run: ({ path, edits }, { agent, cause, signal }) =>
    within({ workspace: agent.workspace, path }, { make: false }, (place) =>
      inTurn(place, async () => {
        signal.throwIfAborted();
        const { text, isCrlf, stats } = await textIn(place);
        const edited = edits.reduce((now, each, at) => applied(now, isCrlf ? withLf(each) : each, at), text);
        if (edited === text) throw new Fault("bad_input", "the edits change nothing");
        const bytes = Buffer.from(isCrlf ? edited.replaceAll("\n", "\r\n") : edited, "utf8");
        if (bytes.length > EDITED_BYTES_MAX) throw tooLarge(place.shown, bytes.length);
        await replaceFile(place, { bytes, cause, signal, known: stats });
        return `edited ${place.shown}\n${diffOf(text, edited)}`;
      }),
    ),
});

async function textIn(place: Place): Promise<Read> {
  await using file = await openFile(place);
  const stats = await file.stat({ bigint: true });
  if (stats.size > EDITED_BYTES_MAX) throw tooLarge(place.shown, Number(stats.size));
  const text = decoded(await file.readFile(), place.shown);
  const lines = text.split("\n").length - 1;
  const isCrlf = lines > 0 && text.split("\r\n").length - 1 === lines;
  return { text: isCrlf ? text.replaceAll("\r\n", "\n") : text, isCrlf, stats };
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

function applied(text: string, { old, new: after, all = false }: Edit, at: number): string {
  const which = `edit ${at + 1}`;
  const { places, isMore } = placesOf(text, old, all ? null : LINES_TOLD_MAX);
  const [first] = places;
  if (first === undefined)
    throw new Fault(
      "bad_input",
      `${which}: old is not in the file; nothing was changed. ${nearest(text, old)}`,
    );
  if (!all && places.length > 1) {
    const lines = places.map((place) => text.slice(0, place).split("\n").length).join(", ");
    const where = `old is there several times (lines ${lines}${isMore ? " and more" : ""})`;
    const todo = "Add lines around it so that it is one of them, or set all.";
    throw new Fault("bad_input", `${which}: ${where}; nothing was changed. ${todo}`);
  }
  const parts: string[] = [];
  let from = 0;
  for (const place of places) {
    parts.push(text.slice(from, place), after);
    from = place + old.length;
  }
  return [...parts, text.slice(from)].join("");
}

function tooLarge(shown: string, bytes: number): Fault {
  return new Fault("bad_input", `${shown} has ${bytes} bytes; at most ${EDITED_BYTES_MAX} can be edited`);
}
