// Reading what is not in a prompt, or not any more: a result that left it, a blob of which head and tail stayed, the arguments
// of a call that were too long for their line. By pages, or by a text that is looked for.
//
// Offsets are bytes of what is kept. People, and agents that look into another session, are shown it without secrets, as in a
// history; the offsets stay those of what is kept. An agent is shown its own as it was: it has seen it, and a file with
// something taken out is not the file that it read.
//
// Bytes as they are, in base64, are for people and of what is no text: a picture, a file. Nothing can be taken out of those, so
// where something looks like a secret they are not given.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { CHARACTER_BYTES_MAX, jsonBytes } from "../base/utf8.ts";
import { ID_CHARS_MAX } from "../limits.ts";
import {
  RESULT_CONTEXT_LINES_MAX,
  RESULT_GREP_CHARS_MAX,
  RESULT_HEAD_BYTES,
  RESULT_MATCHES_MAX,
  RESULT_PAGE_BYTES_MAX,
  RESULT_PAGE_BYTES_MAX_OF_TOOL,
  RESULT_REACH_BYTES,
} from "./limits.ts";
import { beginsLike } from "../tools/picture.ts";
import type { Entry } from "../transcript/entry.ts";
import { just, type Caller, type Done, type System } from "./call.ts";
import { keptBy, pictured, readKept } from "./kept.ts";
import { matchesIn, type Long } from "./matches.ts";
import { keyFor, reached } from "./reach.ts";
import { sessionKey } from "./setting-shapes.ts";
import { Window } from "./window.ts";

/** Matches that are told when nobody says how many. */
const MATCHES = 20;

export const resultInput = z.strictObject({
  sessionKey: sessionKey
    .optional()
    .describe("The key of a session; without it, your own (a person's: main)."),
  ref: z
    .string()
    .min(1)
    .max(ID_CHARS_MAX)
    .describe(
      "The id of an entry, as it stands after `ref`, or its number (seq); or the 64 digits after `blob`.",
    ),
  from: z.int().min(0).optional().describe("The byte to begin with: 0, or the `next` of the answer before."),
  bytes: z
    .int()
    .min(1)
    .max(RESULT_PAGE_BYTES_MAX)
    .optional()
    .describe("How long a page is at most. An agent's is never longer than what stays whole as a result."),
  grep: z
    .string()
    .min(1)
    .max(RESULT_GREP_CHARS_MAX)
    .regex(/^[^\n]*$/, "is one line")
    .optional()
    .describe("Instead of a page, the lines that have this text. It is a plain text, not a pattern."),
  ignoreCase: z.boolean().optional().describe("With grep: capitals are as good as small letters (false)."),
  context: z
    .int()
    .min(0)
    .max(RESULT_CONTEXT_LINES_MAX)
    .optional()
    .describe(`With grep: lines before and after each, 0 to ${RESULT_CONTEXT_LINES_MAX} (0).`),
  limit: z
    .int()
    .min(1)
    .max(RESULT_MATCHES_MAX)
    .optional()
    .describe(`With grep: how many matches at most, 1 to ${RESULT_MATCHES_MAX} (${MATCHES}).`),
  as: z
    .enum(["text", "base64"])
    .optional()
    .describe(
      "For people: base64 gives the bytes of a page as they are, for pictures and files; a text is refused (text).",
    ),
});

/** An agent sees pictures by other means, and base64 is nothing for a model. */
export const resultToolInput = resultInput.omit({ as: true });

const match = z.strictObject({
  line: z.int().describe("The number of the line, from 1 on."),
  at: z.int().describe("The byte where the match begins: a page from a little before it shows more."),
  text: z.string().describe("The line; of a long one, what is around the match."),
  before: z.array(z.string()),
  after: z.array(z.string()),
});

export const resultPage = z.strictObject({
  sessionKey,
  entry: z.string().describe("The id of the entry that keeps it, or names the blob."),
  kind: z.string().describe("Of that entry: toolResult, user, assistant; or its type."),
  tool: z.string().nullable().describe("Whose result that is; null: it is none."),
  total: z.int().describe("Bytes of all of it."),
  from: z.int().describe("The byte that this begins with."),
  text: z
    .string()
    .nullable()
    .describe("A page; null: matches or bytes were asked for. For people secrets are taken out of it."),
  data: z.string().nullable().describe("The bytes of a page, in base64; null: they were not asked for."),
  isText: z
    .boolean()
    .describe("False: the bytes of this page are no text: words, or `data`, stand in their place."),
  bad: z
    .int()
    .describe(
      "Bytes of the page that are no text. Where most others are, \ufffd stands for them. 0 with grep.",
    ),
  bytes: z.int().describe("Bytes that the page is made of; 0 with grep."),
  matches: z.array(match).nullable().describe("In their order; null: a page was asked for."),
  next: z.int().nullable().describe("Pass it as `from` for what follows; null: that was the end."),
});

type Given = z.output<typeof resultInput>;
type Told = z.input<typeof resultPage>;

export async function result(
  system: System,
  caller: Caller,
  given: Given,
  signal: AbortSignal,
): Promise<Done<Told>> {
  const session = await reached(system, caller, keyFor(caller, given.sessionKey));
  const isBytes = given.as === "base64";
  if (isBytes && given.grep !== undefined)
    throw new Fault("bad_input", "result: as base64 there are pages only: leave out grep, or as");
  const found = await keptBy(system.store, session, given.ref, signal);
  const { picture } = found;
  const kept = isBytes && picture !== null ? pictured({ ...found, picture }) : found;
  const long: Long = {
    total: kept.total,
    isRedacted: caller.kind === "person" || caller.session.key !== session.key,
    read: (from, to) => readKept(system.store, kept, { from, to }, signal),
  };
  const of = { sessionKey: session.key, ...aboutOf(kept.entry), total: kept.total };
  const isTool = caller.kind === "agent";
  const part = isBytes
    ? await bytesIn(long, given)
    : await (given.grep === undefined ? page(long, given, isTool) : matching(long, given, isTool));
  return just({ ...of, ...part });
}

function aboutOf(entry: Entry): Pick<Told, "entry" | "kind" | "tool"> {
  if (entry.type !== "message") return { entry: entry.id, kind: entry.type, tool: null };
  const { message } = entry;
  return {
    entry: entry.id,
    kind: message.role,
    tool: message.role === "toolResult" ? message.toolName : null,
  };
}

type Part = Pick<Told, "from" | "text" | "data" | "isText" | "bad" | "bytes" | "matches" | "next">;

async function matching(long: Long, given: Given, isTool: boolean): Promise<Part> {
  const { grep = "", ignoreCase = false, from = 0, context = 0, limit = MATCHES } = given;
  const bytes = isTool ? RESULT_PAGE_BYTES_MAX_OF_TOOL : RESULT_PAGE_BYTES_MAX;
  const { matches, next } = await matchesIn(long, { grep, ignoreCase, from, context, limit, bytes });
  const told = matches.map((each) => ({ ...each, before: [...each.before], after: [...each.after] }));
  return {
    from: Math.min(from, long.total),
    text: null,
    data: null,
    isText: true,
    bad: 0,
    bytes: 0,
    matches: told,
    next,
  };
}

/** It begins and ends where characters do, and has at least one, so that whoever goes on comes to the end. */
async function page(long: Long, given: Given, isTool: boolean): Promise<Part> {
  const most = isTool ? RESULT_PAGE_BYTES_MAX_OF_TOOL : RESULT_PAGE_BYTES_MAX;
  const wanted = Math.min(given.from ?? 0, long.total);
  const until = Math.min(long.total, wanted + Math.min(most, given.bytes ?? most));
  // Of an own result only the characters at the edges are looked at.
  const reach = long.isRedacted ? RESULT_REACH_BYTES : CHARACTER_BYTES_MAX;
  const at = Math.max(0, wanted - reach);
  const window = new Window(await long.read(at, until + reach), long.isRedacted);
  const begin = window.characterAt(wanted - at);
  let end = Math.max(window.characterAt(until - at), begin);
  if (end === begin && begin < window.bytes.length) end = window.characterAfter(begin);
  let text = window.shown(begin, end);
  if (isTool)
    for (let size = jsonBytes(text); size > most; size = jsonBytes(text)) {
      // What is escaped takes up to six times its bytes; so this is over soon.
      end = window.characterAt(begin + Math.floor((end - begin) * Math.min(LESS, most / size)));
      text = window.shown(begin, end);
    }
  const next = at + end < long.total ? at + end : null;
  const about = { isText: window.isText(begin, end), bad: window.bad(begin, end) };
  return { from: at + begin, text, data: null, ...about, bytes: end - begin, matches: null, next };
}

/** Exactly those that were asked for. */
async function bytesIn(long: Long, given: Given): Promise<Part> {
  const from = Math.min(given.from ?? 0, long.total);
  const until = Math.min(long.total, from + (given.bytes ?? RESULT_PAGE_BYTES_MAX));
  const at = Math.max(0, from - RESULT_REACH_BYTES);
  const window = new Window(await long.read(at, until + RESULT_REACH_BYTES), long.isRedacted);
  const [begin, end] = [from - at, until - at];
  if (window.hides(begin, end))
    throw new Fault(
      "bad_input",
      "result: among these bytes is what looks like a secret: they are not given as they are",
    );
  if (until > from && window.isText(begin, end) && (await beginsAsText(long)))
    throw new Fault("bad_input", "result: these bytes are text: read them without `as`");
  return {
    from,
    text: null,
    data: window.bytes.toString("base64", begin, end),
    isText: false,
    bad: window.bad(begin, end),
    bytes: end - begin,
    matches: null,
    next: until < long.total ? until : null,
  };
}

/** A page of a picture, or of a file, may look like text by itself: then its beginning tells what it is. */
async function beginsAsText(long: Long): Promise<boolean> {
  const head = new Window(await long.read(0, RESULT_HEAD_BYTES), false);
  return beginsLike(head.bytes) === null && head.isText(0, head.bytes.length);
}

/** A page that is too long is at least a tenth shorter the next time. */
const LESS = 0.9;
