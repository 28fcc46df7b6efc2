// An agent's memory: notes that all its sessions share, and finding again what is in them and what was said.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import type { Agent } from "../config/config.ts";
import {
  HISTORY_BYTES_MAX,
  HISTORY_BYTES_MAX_OF_TOOL,
  NOTE_BYTES_MAX,
  NOTE_PATH_CHARS_MAX,
  SNIPPET_CHARS_MAX,
} from "../limits.ts";
import type { Writing } from "../memory/memory.ts";
import { agentOf, DEFAULT_AGENT, type AgentId } from "../routing/key.ts";
import type { SearchQuery } from "../store/store.ts";
import { call, just, type Caller, type Done, type System } from "./call.ts";
import { configured, searchableBy } from "./reach.ts";
import { limit } from "./schemas.ts";
import { behindGroups, saidHits, seen, shownSnippet, words } from "./searching.ts";
import { iso } from "./views.ts";

/** Hits of notes, and of transcripts, that are told if nobody says how many. */
const HITS_USUALLY = 10;

/** Lines of one page. */
const PAGE_LINES_MAX = 5_000;

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

const listInput = z.strictObject({
  agent,
  under: z
    .string()
    .max(NOTE_PATH_CHARS_MAX)
    .optional()
    .describe("Only notes whose path begins so, such as memory/people/."),
});
const noteList = z.strictObject({
  agent: z.string(),
  notes: z
    .array(z.strictObject({ path: z.string(), bytes: z.int(), changedAt: z.string() }))
    .describe("By path."),
  more: z.boolean().describe("There are others, which are left out here: ask with `under`."),
});

async function list(
  system: System,
  caller: Caller,
  input: z.output<typeof listInput>,
): Promise<Done<z.input<typeof noteList>>> {
  const { id, workspace } = whose(system, caller, input.agent);
  const { notes, more } = await system.memory.list(workspace);
  const rows = notes
    .filter((note) => note.path.startsWith(input.under ?? ""))
    .map((note) => ({ path: note.path, bytes: note.bytes, changedAt: iso(note.changedAtMs) }));
  const told = fitting(rows, pageBytes(caller));
  return just({ agent: id, notes: told, more: more || told.length < rows.length });
}

// ── What one says ───────────────────────────────────────────────────────────────────────────────────────────

const readInput = z.strictObject({
  agent,
  path,
  offset: z.int().min(1).optional().describe("First line, from 1."),
  limit: z.int().min(1).max(PAGE_LINES_MAX).optional().describe("How many lines."),
});
const noteRead = z.strictObject({
  agent: z.string(),
  path: z.string(),
  version,
  bytes: z.int(),
  lines: z.int().describe("How many the note has."),
  text: z.string().describe("As many of its lines as fit, from the offset on."),
  next: z.int().nullable().describe("The offset to go on with; null: this is the end."),
});

async function read(
  system: System,
  caller: Caller,
  input: z.output<typeof readInput>,
): Promise<Done<z.input<typeof noteRead>>> {
  const { id, workspace } = whose(system, caller, input.agent);
  const { text, ...note } = await system.memory.read(workspace, input.path);
  const { offset = 1, limit: most = PAGE_LINES_MAX } = input;
  const lines = linesOf(text);
  if (offset > Math.max(1, lines.length))
    throw new Fault("bad_input", `offset: ${note.path} has ${lines.length} lines`);
  const asked = lines.slice(offset - 1, offset - 1 + most);
  const told = fitting(asked, pageBytes(caller));
  const [first] = asked;
  if (told.length === 0 && first !== undefined) told.push(cutLine(first, pageBytes(caller)));
  const next = offset + told.length <= lines.length ? offset + told.length : null;
  return just({ agent: id, ...note, lines: lines.length, text: told.join(""), next });
}

/** Each with its end, so that joined they are the text. */
function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

/** Of a line that is longer than a page. Escaped, a character may take six bytes. */
function cutLine(line: string, bytes: number): string {
  const chars = Math.floor((bytes - 100) / 6);
  return `${line.slice(0, chars).toWellFormed()} … [cut: this line has ${line.length} characters]\n`;
}

// ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────

const writeInput = z.strictObject({
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
});
const noteWritten = z.strictObject({
  agent: z.string(),
  path: z.string(),
  version: version.nullable().describe("What its content is called now; null: it is gone."),
  bytes: z.int(),
  changed: z.boolean().describe("False: it was so already, such as when this is sent again."),
});

/** It is done here and not by a change: made again, it changes nothing. */
async function write(
  system: System,
  caller: Caller,
  input: z.output<typeof writeInput>,
  signal: AbortSignal,
): Promise<Done<z.input<typeof noteWritten>>> {
  const { id, workspace } = whose(system, caller, input.agent);
  const cause = caller.kind === "agent" ? caller.cause : null;
  const written = await system.memory.write(workspace, writingOf(input, cause), signal);
  return just({ agent: id, ...written });
}

function writingOf(input: z.output<typeof writeInput>, cause: string | null): Writing {
  const { path: at, mode = "append", text, version: known } = input;
  const of = { path: at, cause };
  if (mode !== "append" && known === undefined)
    throw new Fault(
      "bad_input",
      `version: ${mode} needs the version that you have read, so that nobody's writing is lost; null: there is no such note yet`,
    );
  if (mode === "delete") {
    if (text !== undefined) throw new Fault("bad_input", "text: a note that is deleted has none");
    return { ...of, mode, version: known ?? null };
  }
  if (text === undefined) throw new Fault("bad_input", `text: ${mode} needs one`);
  if (mode === "replace") return { ...of, mode, text, version: known ?? null };
  if (known !== undefined)
    throw new Fault("bad_input", "version: an append is to whatever is there; leave it out");
  if (text.trim() === "") throw new Fault("bad_input", "text: there is nothing in it to append");
  return { ...of, mode, text };
}

// ── Finding ─────────────────────────────────────────────────────────────────────────────────────────────────

const searchInput = z.strictObject({
  text: words,
  agent: agent.describe(
    "Whose notes; then also only its sessions. Without it, your own notes, and all sessions that you may see.",
  ),
  in: z.enum(["notes", "transcripts", "all"]).optional().describe("Where (all, if you do not say)."),
  limit,
});
const memoryFound = z.strictObject({
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
  behind: behindGroups,
});

async function search(
  system: System,
  caller: Caller,
  { text, agent: named, in: where = "all", limit: most = HITS_USUALLY }: z.output<typeof searchInput>,
  signal: AbortSignal,
): Promise<Done<z.input<typeof memoryFound>>> {
  const { id, workspace } = whose(system, caller, named);
  const [notes, said] = await Promise.all([
    where === "transcripts"
      ? { hits: [], skipped: 0 }
      : system.memory.search(workspace, { text, limit: most }),
    where === "notes"
      ? { hits: [], behind: 0 }
      : saidWithin(
          system,
          caller,
          { text, limit: most, ...(named === undefined ? {} : { agent: id }) },
          signal,
        ),
  ]);
  const room = pageBytes(caller) / 2;
  return just({
    agent: id,
    notes: fitting(notes.hits, room),
    skipped: notes.skipped,
    transcripts: fitting(said.hits, room),
    behind: said.behind,
  });
}

/** In what was said, as far as the caller may see. */
async function saidWithin(system: System, caller: Caller, query: SearchQuery, signal: AbortSignal) {
  const reach = await searchableBy(system, caller);
  // Of two agents, the one that is asked for and the one that may be seen, no session is.
  if (query.agent !== undefined && reach.agent !== undefined && query.agent !== reach.agent)
    return { hits: [], behind: 0 };
  const { hits, behind } = await seen(system, { ...reach, ...query }, signal);
  const told = hits.map(({ key, seq, snippet }) => {
    const clean = shownSnippet(snippet);
    return {
      sessionKey: key,
      seq,
      snippet:
        clean.length > SNIPPET_CHARS_MAX ? `${clean.slice(0, SNIPPET_CHARS_MAX).toWellFormed()}…` : clean,
    };
  });
  return { hits: told, behind };
}

// ── Whose, and how much ─────────────────────────────────────────────────────────────────────────────────────

/**
 * The agent whose memory is meant. A session's own is where its files are: a sub-agent works in its root's workspace, also one of
 * another agent, and has that memory. Else who may spawn another agent's child could read that agent's notes through it.
 */
function whose(system: System, caller: Caller, named: string | undefined): Agent {
  const own = caller.kind === "agent" ? agentOf(caller.session.root) : DEFAULT_AGENT;
  const id = named ?? own;
  if (caller.kind === "agent" && id !== own && caller.agent.tools.visibility !== "all")
    throw new Fault(
      "forbidden",
      `you have the memory of ${own}; that of ${shown(id)} is not yours (tools.visibility is ${caller.agent.tools.visibility})`,
    );
  configured(system, id);
  const found = system.config.agents.get(id as AgentId);
  if (found === undefined) throw new Fault("bug", `agent ${id} is configured, and is not there`);
  return found;
}

/** What an agent is told is the result of a tool, and has to stay whole in it. */
function pageBytes(caller: Caller): number {
  return caller.kind === "agent" ? HISTORY_BYTES_MAX_OF_TOOL : HISTORY_BYTES_MAX * 2;
}

/** The first of them, as many as have room. */
function fitting<Row>(rows: readonly Row[], bytes: number): Row[] {
  let room = bytes;
  const end = rows.findIndex((row) => (room -= Buffer.byteLength(JSON.stringify(row)) + 1) < 0);
  return rows.slice(0, end < 0 ? rows.length : end);
}

/** Their rows in the table. */
export const memoryCalls = {
  memory: call({
    about:
      "The notes of an agent's memory: MEMORY.md, and what is below memory/. All sessions of the agent share them; they outlast " +
      "every conversation.",
    who: "both",
    tool: "memory_list",
    scope: "read",
    http: "GET /agents/:agent/memory",
    input: listInput,
    output: noteList,
    idempotent: true,
    run: list,
  }),
  readMemory: call({
    about: "Reads a note, by lines. Its version is what a replacement has to name.",
    who: "both",
    tool: "memory_read",
    scope: "read",
    http: "GET /agents/:agent/memory/note",
    input: readInput,
    output: noteRead,
    idempotent: true,
    run: read,
  }),
  writeMemory: call({
    about:
      "Writes a note: appends to it, replaces all of it, or deletes it. It is durable when this returns. A replacement names the " +
      "version that was read, and is refused if another session wrote meanwhile. What a note ends with is not appended again.",
    who: "both",
    tool: "memory_write",
    scope: "operate",
    http: "POST /agents/:agent/memory/note",
    input: writeInput,
    output: noteWritten,
    idempotent: true,
    run: write,
  }),
  searchMemory: call({
    about:
      "Finds words in an agent's notes, and in what was said in its sessions and those that the caller may see. Notes are " +
      "found as they are at the moment of the question.",
    who: "both",
    tool: "memory_search",
    scope: "read",
    http: "GET /agents/:agent/memory/search",
    input: searchInput,
    output: memoryFound,
    idempotent: true,
    run: search,
  }),
};
