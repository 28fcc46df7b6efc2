// An agent's memory: notes that all its sessions share, and finding again what is in them and what was said.

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import type { Agent } from "../config/config.ts";
import { SNIPPET_CHARS_MAX } from "../limits.ts";
import { HISTORY_BYTES_MAX, HISTORY_BYTES_MAX_OF_TOOL } from "./limits.ts";
import type { Writing } from "../memory/memory.ts";
import { agentOf, DEFAULT_AGENT, type AgentId } from "../routing/key.ts";
import type { SearchQuery } from "../store/store.ts";
import { call, just, type Caller, type Done, type Person, type System } from "./call.ts";
import * as shape from "./memory-shapes.ts";
import { configured, searchableBy } from "./reach.ts";
import { seen, shownSnippet } from "./searching.ts";
import { iso } from "./views.ts";

/** Hits of notes, and of transcripts, that are told if nobody says how many. */
const HITS_USUALLY = 10;

// ── Which there are ─────────────────────────────────────────────────────────────────────────────────────────

async function list(
  system: System,
  caller: Caller,
  input: z.output<typeof shape.listInput>,
): Promise<Done<z.input<typeof shape.noteList>>> {
  const { id, workspace } = whose(system, caller, input.agent);
  const { notes, more, unread } = await system.memory.list(workspace, input.under);
  const rows = notes.map((note) => ({
    path: note.path,
    bytes: note.bytes,
    changedAt: iso(note.changedAtMs),
  }));
  const told = fitting(rows, pageBytes(caller));
  return just({ agent: id, notes: told, more: more || unread > 0 || told.length < rows.length });
}

// ── What one says ───────────────────────────────────────────────────────────────────────────────────────────

async function read(
  system: System,
  caller: Caller,
  input: z.output<typeof shape.readInput>,
): Promise<Done<z.input<typeof shape.noteRead>>> {
  const { id, workspace } = whose(system, caller, input.agent);
  const { text, ...note } = await system.memory.read(workspace, input.path);
  const { offset = 1, column = 1, limit: most = shape.PAGE_LINES_MAX } = input;
  const lines = linesOf(text);
  if (offset > Math.max(1, lines.length))
    throw new Fault("bad_input", `offset: ${note.path} has ${lines.length} lines`);
  const [begun = "", ...rest] = lines.slice(offset - 1, offset - 1 + most);
  if (column > Math.max(1, begun.length))
    throw new Fault("bad_input", `column: line ${offset} of ${note.path} has ${begun.length} characters`);
  const first = begun.slice(column - 1);
  const told = fitting([first, ...rest], pageBytes(caller));
  const of = { agent: id, ...note, lines: lines.length };
  if (told.length === 0) {
    const part = cutLine(first, pageBytes(caller));
    return just({ ...of, text: part, next: { offset, column: column + part.length } });
  }
  const end = offset + told.length;
  return just({ ...of, text: told.join(""), next: end <= lines.length ? { offset: end, column: 1 } : null });
}

/** Each with its end, so that joined they are the text. */
function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

/** As much of a line as fits a page: escaped, a character may take six bytes. Never a half of one. */
function cutLine(line: string, bytes: number): string {
  let [fits, tooMany] = [1, Math.min(line.length, bytes)];
  while (tooMany - fits > 1) {
    const chars = Math.floor((fits + tooMany) / 2);
    if (Buffer.byteLength(JSON.stringify(line.slice(0, chars))) <= bytes) fits = chars;
    else tooMany = chars;
  }
  const isHalf = /[\uD800-\uDBFF]/.test(line.charAt(fits - 1));
  return line.slice(0, isHalf ? fits - 1 : fits);
}

// ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * It is done here and not by a change: made again under its cause, it changes nothing. A person's is made of the id that they gave, for
 * this note; two people may both have a write 1.
 */
async function write(
  system: System,
  caller: Caller,
  input: z.output<typeof shape.writeInput>,
  signal: AbortSignal,
): Promise<Done<z.input<typeof shape.noteWritten>>> {
  const { id, workspace } = whose(system, caller, input.agent);
  const cause = caller.kind === "agent" ? caller.cause : personsCause(caller, id, input);
  const written = await system.memory.write(workspace, writingOf(input, cause), signal);
  return just({ agent: id, ...written });
}

/** Null: every write is another. */
function personsCause(
  { principal }: Person,
  agent: AgentId,
  { path, id }: z.output<typeof shape.writeInput>,
): string | null {
  return id === undefined ? null : JSON.stringify(["memory", principal, agent, path, id]);
}

function writingOf(input: z.output<typeof shape.writeInput>, cause: string | null): Writing {
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

async function search(
  system: System,
  caller: Caller,
  { text, agent: named, in: where = "all", limit: most = HITS_USUALLY }: z.output<typeof shape.searchInput>,
  signal: AbortSignal,
): Promise<Done<z.input<typeof shape.memoryFound>>> {
  const { id, workspace } = whose(system, caller, named);
  const [notes, said] = await Promise.all([
    where === "transcripts"
      ? { hits: [], skipped: 0, more: false }
      : system.memory.search(workspace, { text, limit: most }, signal),
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
  const [told, transcripts] = [fitting(notes.hits, room), fitting(said.hits, room)];
  const isCut = told.length < notes.hits.length || transcripts.length < said.hits.length;
  return just({
    agent: id,
    notes: told,
    skipped: notes.skipped,
    transcripts,
    more: notes.more || isCut || said.hits.length >= most,
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
    input: shape.listInput,
    output: shape.noteList,
    idempotent: true,
    run: list,
  }),
  readMemory: call({
    about: "Reads a note, by lines. Its version is what a replacement has to name.",
    who: "both",
    tool: "memory_read",
    scope: "read",
    http: "GET /agents/:agent/memory/note",
    input: shape.readInput,
    output: shape.noteRead,
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
    input: shape.writeInput,
    output: shape.noteWritten,
    idempotent: false, // with an id of the writer's it is
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
    input: shape.searchInput,
    output: shape.memoryFound,
    idempotent: true,
    run: search,
  }),
};
