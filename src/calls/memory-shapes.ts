// What the calls of an agent's memory take and give.

import { z } from "zod";
import { NOTE_BYTES_MAX, NOTE_PATH_CHARS_MAX, NOTE_WORDS_MAX } from "../limits.ts";
import { limit, MESSAGE_ID_CHARS_MAX } from "./schemas.ts";
import { behindGroups, saidHits, words } from "./searching.ts";

/** Lines of one page. */
export const PAGE_LINES_MAX = 5_000;

const agent = z
  .string()
  .optional()
  .describe(
    "Whose memory; without it, your own (a person's: main's). Of others only who may see everything.",
  );
const path = z
  .string()
  .min(1)
  .max(NOTE_PATH_CHARS_MAX)
  .describe("MEMORY.md, or a path below memory/ that ends in .md, such as memory/people/ann.md.");
const version = z
  .string()
  .describe("What the note's content is called; another content is called otherwise.");

// ── Which there are ─────────────────────────────────────────────────────────────────────────────────────────

export const listInput = z.strictObject({
  agent,
  under: z
    .string()
    .max(NOTE_PATH_CHARS_MAX)
    .optional()
    .describe("Only notes whose path begins so, such as memory/people/."),
});
export const noteList = z.strictObject({
  agent: z.string(),
  notes: z
    .array(z.strictObject({ path: z.string(), bytes: z.int(), changedAt: z.string() }))
    .describe("By path."),
  more: z
    .boolean()
    .describe(
      "There are others, which are left out here: ask with `under`. Or there is what nobody may look at.",
    ),
});

// ── What one says ───────────────────────────────────────────────────────────────────────────────────────────

export const readInput = z.strictObject({
  agent,
  path,
  offset: z.int().min(1).optional().describe("First line, from 1."),
  column: z
    .int()
    .min(1)
    .optional()
    .describe("First character of that line, from 1: a line that is longer than a page is read in parts."),
  limit: z.int().min(1).max(PAGE_LINES_MAX).optional().describe("How many lines."),
});
export const noteRead = z.strictObject({
  agent: z.string(),
  path: z.string(),
  version,
  bytes: z.int(),
  lines: z.int().describe("How many the note has."),
  text: z
    .string()
    .describe("As many of its lines as fit, from the offset on; of a line that does not fit, its beginning."),
  next: z
    .strictObject({ offset: z.int(), column: z.int() })
    .nullable()
    .describe(
      "What to go on with; null: this is the end. A column of more than 1: the last line is cut here, and its rest comes next.",
    ),
});

// ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────

export const writeInput = z.strictObject({
  agent,
  path,
  mode: z
    .enum(["append", "replace", "delete"])
    .optional()
    .describe(
      "append (if you do not say): the text comes at the end, as lines of its own. replace: it becomes the whole note. delete: " +
        "the note goes.",
    ),
  text: z.string().max(NOTE_BYTES_MAX).optional().describe("append, replace: what to write, as Markdown."),
  version: z
    .string()
    .nullable()
    .optional()
    .describe("replace, delete: the version that you have read; null: there is no such note yet."),
  id: z
    .string()
    .min(1)
    .max(MESSAGE_ID_CHARS_MAX)
    .optional()
    .describe(
      "For people: your own id of this write. Sent again with the same id and content, it is there once, also when others have " +
        "written since. A session's calls have one of their own.",
    ),
});
export const noteWritten = z.strictObject({
  agent: z.string(),
  path: z.string(),
  version: version.nullable().describe("What its content is called now; null: it is gone."),
  bytes: z.int(),
  changed: z.boolean().describe("False: it was so already, such as when this is sent again."),
});

// ── Finding ─────────────────────────────────────────────────────────────────────────────────────────────────

export const searchInput = z.strictObject({
  text: words.describe(
    `Words, in any order and case; the last may be the beginning of one. In notes at most ${NOTE_WORDS_MAX} different ones.`,
  ),
  agent: agent.describe(
    "Whose notes; then also only its sessions. Without it, your own notes, and all sessions that you may see.",
  ),
  in: z.enum(["notes", "transcripts", "all"]).optional().describe("Where (all, if you do not say)."),
  limit,
});
export const memoryFound = z.strictObject({
  agent: z.string(),
  notes: z
    .array(
      z.strictObject({
        path: z.string(),
        line: z.int().describe("Where the snippet begins."),
        snippet: z.string().describe("The words with what stands around them."),
      }),
    )
    .describe("Notes that have all the words, the best first."),
  skipped: z.int().describe("Notes that could not be searched: too large, or not to be read."),
  transcripts: saidHits,
  more: z
    .boolean()
    .describe(
      "There may be hits that are left out here, of notes or of transcripts: ask with more words, or `in` one of them.",
    ),
  behind: behindGroups,
});
