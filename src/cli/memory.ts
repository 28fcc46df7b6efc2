// `memory`: an agent's notes, listed, read, written and searched.

import { text as streamText } from "node:stream/consumers";
import { Fault } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import type { Input, Output } from "../calls/door.ts";
import type { Client } from "./client.ts";
import { textOf, type Command, type Invocation } from "./command.ts";
import { ago, bold, bytes, clean, dim, json, many, oneLine, table } from "./output.ts";
import { limitIn } from "./ps.ts";

const ACTIONS = ["list", "read", "write", "search"] as const;
const PLACES = ["notes", "transcripts", "all"] as const;
const MODES = ["append", "replace", "delete"] as const;

export const memory: Command = {
  name: "memory",
  summary: "an agent's notes: list, read, write, search",
  arguments: [
    { name: "action", about: ACTIONS.join(", "), required: false, completes: ACTIONS },
    {
      name: "words",
      about: "the path of a note, and what to write (- or nothing: standard input); or words to find",
      required: false,
      variadic: true,
    },
  ],
  options: [
    { flags: "--agent <agent>", about: "whose (main)" },
    { flags: "--append", about: "write: at the end of the note; so it is if you do not say" },
    { flags: "--replace", about: "write: in place of the note, if it is still as you have read it" },
    { flags: "--delete", about: "write: the note goes, if it is still as you have read it" },
    {
      flags: "--if-version <version>",
      about: "write: the version that you have read, as read tells it; none: there is no such note yet",
    },
    { flags: "--id <id>", about: "write: your own id of it: sent again, it is there once" },
    { flags: "--in <place>", about: "search: where (all)", completes: PLACES },
    { flags: "-n, --limit <hits>", about: "search: how many at most, up to 200 (20)" },
  ],
  more: `Examples:
  sessiond memory read memory/people/ann.md
  sessiond memory write memory/people/ann.md "Ann likes tea."
  sessiond memory write memory/people/ann.md -- "- likes tea"
  sessiond memory write MEMORY.md --replace --if-version 3f1c09aa52d7be10 < MEMORY.md
  sessiond memory search tea

Exit codes of search: 0 found, 1 nothing found. Of write: 75 somebody else wrote meanwhile.`,
  run: async (invocation) => {
    const [action = "list", ...rest] = invocation.args;
    switch (action) {
      case "list":
        return await list(invocation, rest);
      case "read":
        return await read(invocation, rest);
      case "write":
        return await write(invocation, rest);
      case "search":
        return await search(invocation, rest);
      default:
        throw new Fault(
          "bad_input",
          `memory: there is no ${JSON.stringify(action)}; say ${ACTIONS.join(", ")}`,
        );
    }
  },
};

type Words = readonly string[];

function agentIn({ options }: Invocation): { readonly agent: string } {
  return { agent: textOf(options, "agent") ?? "main" };
}

async function list(invocation: Invocation, [under, ...more]: Words): Promise<number> {
  const { client: find, screen, signal } = invocation;
  if (more.length > 0) throw new Fault("bad_input", "memory list: one word too many; say how paths begin");
  const input = { ...agentIn(invocation), ...(under === undefined ? {} : { under }) };
  const told = await (await find()).call("memory", input, signal);
  if (screen.json) json(screen, told);
  else if (told.notes.length === 0) screen.out(under === undefined ? "no notes yet\n" : "no such notes\n");
  else {
    const nowMs = new RealWorld().nowMs();
    screen.out(
      table(told.notes, [
        { title: "NOTE", of: (row) => row.path },
        { title: "SIZE", align: "right", of: (row) => bytes(row.bytes) },
        { title: "CHANGED", of: (row) => ago(Math.max(0, nowMs - Date.parse(row.changedAt))) },
      ]),
    );
    if (told.more) screen.err("(there are more; say how their paths begin)\n");
  }
  return 0;
}

async function read(invocation: Invocation, [path, ...more]: Words): Promise<number> {
  const { client: find, screen, signal } = invocation;
  if (path === undefined || more.length > 0)
    throw new Fault("bad_input", "memory read: say the path of one note");
  const { text, version, ...note } = await wholeNote(await find(), { ...agentIn(invocation), path }, signal);
  if (screen.json) json(screen, { agent: note.agent, path: note.path, version, bytes: note.bytes, text });
  else {
    screen.out(screen.isTty ? clean(text) : text); // A file that it is written to has what the note has.
    screen.err(`${screen.isTty && text !== "" && !text.endsWith("\n") ? "\n" : ""}(version ${version})\n`);
  }
  return 0;
}

/** All pages. Should somebody write in between, it is read once more from the beginning. */
async function wholeNote(
  client: Client,
  input: Input<"readMemory">,
  signal: AbortSignal,
): Promise<Output<"readMemory">> {
  let note = await client.call("readMemory", input, signal);
  while (note.next !== null) {
    const { next, text } = note;
    const page = await client.call("readMemory", { ...input, ...next }, signal);
    note =
      page.version === note.version
        ? { ...page, text: text + page.text }
        : await client.call("readMemory", input, signal);
  }
  return note;
}

async function write(invocation: Invocation, [path, ...words]: Words): Promise<number> {
  const { client: find, options, screen, signal } = invocation;
  if (path === undefined) throw new Fault("bad_input", "memory write: say the path of a note");
  const said = MODES.filter((each) => options[each] === true);
  if (said.length > 1) throw new Fault("bad_input", `memory write: either --${said.join(" or --")}`);
  const [mode = "append"] = said;
  const known = textOf(options, "ifVersion");
  const version = known === undefined ? {} : { version: known === "none" ? null : known };
  if (mode === "delete" && words.length > 0)
    throw new Fault("bad_input", "memory write: --delete takes no words; say only the path of the note");
  const text = mode === "delete" ? {} : { text: await textFrom(words, mode) };
  const named = textOf(options, "id");
  const id = named === undefined ? {} : { id: named };
  const input = { ...agentIn(invocation), path, mode, ...text, ...version, ...id };
  const written = await (await find()).call("writeMemory", input, signal);
  if (screen.json) json(screen, written);
  else if (!written.changed) screen.out(`${written.path} was so already\n`);
  else if (written.version === null) screen.out(`${written.path} is deleted\n`);
  else screen.out(`${written.path}: ${bytes(written.bytes)}, version ${written.version}\n`);
  return 0;
}

/** A file that was meant and did not come, such as from a program that failed, empties no note. */
async function textFrom(words: Words, mode: "append" | "replace"): Promise<string> {
  const isPiped = words.length === 0 || (words.length === 1 && words[0] === "-");
  if (!isPiped) return words.join(" ");
  if (words.length === 0 && process.stdin.isTTY)
    throw new Fault("bad_input", "memory write: say what to write, or - for standard input");
  const text = await streamText(process.stdin);
  if (text === "" && mode === "replace" && words.length === 0)
    throw new Fault("bad_input", "memory write: standard input is empty; say - if the note is to be empty");
  return text;
}

async function search(invocation: Invocation, words: Words): Promise<number> {
  const { client: find, options, screen, signal } = invocation;
  if (words.length === 0) throw new Fault("bad_input", "memory search: say words to find");
  const where = (textOf(options, "in") ?? "all") as (typeof PLACES)[number];
  const of = { ...agentIn(invocation), in: where, limit: limitIn(options, 20) };
  const found = await (await find()).call("searchMemory", { text: words.join(" "), ...of }, signal);
  const count = found.notes.length + found.transcripts.length;
  if (screen.json) json(screen, found);
  else {
    for (const { path, line, snippet } of found.notes)
      screen.out(`${bold(screen, oneLine(path))}${dim(screen, `:${line}`)}  ${oneLine(snippet)}\n`);
    for (const { sessionKey, seq, snippet } of found.transcripts)
      screen.out(`${bold(screen, sessionKey)} ${dim(screen, `#${seq}`)}  ${oneLine(snippet)}\n`);
    if (count === 0) screen.err("nothing found\n");
    if (found.more) screen.err("(there may be more; say more words, or a higher --limit)\n");
    if (found.behind > 0) screen.err("(the newest commits are not searched yet)\n");
    if (found.skipped > 0) screen.err(`(${many(found.skipped, "note")} could not be searched)\n`);
  }
  return count === 0 ? 1 : 0;
}
