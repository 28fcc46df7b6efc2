// What is out of the way: archive, archives, restore.

import { Fault } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import type { Input, Output } from "../calls/door.ts";
import { unlessAgreed } from "./agreed.ts";
import type { Client } from "./client.ts";
import { SESSION, textOf, type Command, type Invocation, type Options } from "./command.ts";
import { archivedAlike, keyOf, spellings } from "./key.ts";
import {
  ago,
  bytes,
  cut,
  json,
  many,
  oneLine,
  roomOn,
  table,
  whole,
  type Column,
  type Screen,
} from "./output.ts";
import { limitIn } from "./ps.ts";

type Archive = Output<"archives">["archives"][number];

/** Archives of one page. */
const PAGE_ROWS = 200;
/** The part of an id that is a time, with its hyphen. */
const ID_TIME_CHARS = 13;

export const archive: Command = {
  name: "archive",
  summary: "put a session and everything below it out of the way, packed; restore brings it back",
  arguments: [SESSION],
  options: [],
  run: async ({ args, client: find, screen, signal }) => {
    const client = await find();
    const sessionKey = await keyOf(client, args[0] ?? "", signal);
    const made = await client.call("archive", { sessionKey }, signal);
    if (screen.json) json(screen, made);
    else {
      const tree = made.archived > 1 ? " --tree" : "";
      const them = made.archived > 1 ? "them" : "it";
      screen.out(
        `archived ${many(made.archived, "session")}; sessiond restore ${made.sessionKey}${tree} brings ${them} back\n`,
      );
      sayWriters(screen, made.jobs);
    }
    return 0;
  },
};

/** Of a session that is out of the way, or gone. */
export function sayWriters(screen: Screen, jobs: readonly string[]): void {
  for (const job of jobs) screen.out(`job ${oneLine(job)} writes to it: its next run opens another\n`);
}

export const archives: Command = {
  name: "archives",
  summary: "what is out of the way: sessions, and conversations before a reset",
  arguments: [{ ...SESSION, name: "key", about: "only those of this session", required: false }],
  options: [
    { flags: "--agent <agent>", about: "only those of this agent" },
    { flags: "-n, --limit <rows>", about: "how many at most (50); the newest come first" },
    { flags: "--purge <id>", about: "erase this one for good", completes: "archive" },
    { flags: "-y, --yes", about: "do not ask before that" },
  ],
  more: "An id may be written as its beginning, of at least 6 characters, where only one archive begins so.",
  run: async (invocation) => {
    const { args, options, client: find, screen, signal } = invocation;
    const client = await find();
    const purge = textOf(options, "purge");
    if (purge !== undefined) return await purged(invocation, client, purge);
    const agent = textOf(options, "agent");
    const of = args[0] === undefined ? {} : { sessionKey: await knownKey(client, args[0], signal) };
    const asked = { ...of, ...(agent === undefined ? {} : { agent }) };
    const found = await newest(client, asked, { most: limitIn(options, 50), signal });
    if (screen.json) json(screen, found);
    else showArchives(screen, found);
    return 0;
  },
};

async function purged(invocation: Invocation, client: Client, text: string): Promise<number> {
  const { options, screen, signal } = invocation;
  const { id, sessionKey, title, entries } = await oneOf(client, text, signal);
  if (options["yes"] !== true) {
    const said = title === "" ? "" : ` (${cut(oneLine(title), 60)})`;
    const what = `archive ${id} of ${sessionKey}${said}: ${many(entries, "entry", "entries")}`;
    const exit = await unlessAgreed(invocation, { command: "archives --purge", verb: "erase", what });
    if (exit !== null) return exit;
  }
  const gone = await client.call("purgeArchive", { id }, signal);
  if (screen.json) json(screen, gone);
  else screen.out(`erased an archive of ${gone.sessionKey}, ${bytes(gone.bytes)}\n`);
  return 0;
}

/** By its id, or the beginning of it. */
async function oneOf(client: Client, text: string, signal: AbortSignal): Promise<Archive> {
  const [found] = (await client.call("archives", { id: text, limit: 1 }, signal)).archives;
  if (found !== undefined) return found;
  throw new Fault("not_found", `there is no archive ${JSON.stringify(text)}`, {
    todo: "`sessiond archives` lists those that there are",
  });
}

/** Page by page until there are so many. `next` is null when those were all. */
async function newest(
  client: Client,
  asked: { readonly sessionKey?: string; readonly agent?: string },
  { most, signal }: { readonly most: number; readonly signal: AbortSignal },
): Promise<Output<"archives">> {
  const rows: Archive[] = [];
  for (let cursor: string | null = null; ;) {
    const limit = Math.min(PAGE_ROWS, most - rows.length);
    const at: { cursor?: string } = cursor === null ? {} : { cursor };
    const page = await client.call("archives", { ...asked, ...at, limit }, signal);
    rows.push(...page.archives);
    cursor = page.next;
    if (cursor === null || rows.length >= most) return { archives: rows, next: cursor };
  }
}

function showArchives(screen: Screen, { archives: rows, next }: Output<"archives">): void {
  if (rows.length === 0) return screen.out("no archives\n");
  const nowMs = new RealWorld().nowMs();
  const chars = charsOf(rows.map(({ id }) => id));
  const columns: readonly Column<Archive>[] = [
    { title: "ID", of: ({ id }) => id.slice(0, chars) },
    { title: "SESSION", least: 18, cut: "middle", of: ({ sessionKey }) => sessionKey },
    { title: "WHY", keep: 3, of: ({ why }) => why },
    { title: "SINCE", of: ({ archivedAt }) => ago(Math.max(0, nowMs - Date.parse(archivedAt))) },
    { title: "ENTRIES", keep: 1, of: ({ entries }) => whole(entries), align: "right" },
    { title: "SIZE", keep: 5, of: (row) => bytes(row.bytes), align: "right" },
    {
      title: "PACKED",
      keep: 2,
      of: ({ packedBytes }) => (packedBytes === null ? "not yet" : bytes(packedBytes)),
      align: "right",
    },
    { title: "TITLE", max: 40, least: 10, keep: 4, of: ({ title }) => oneLine(title) },
  ];
  screen.out(table(rows, columns, roomOn(screen)));
  if (next !== null) screen.out("there are older ones: -n\n");
}

/** So many tell ids from each other. Their beginning is a time; with fewer than all of it, an older archive would often begin alike. */
function charsOf(ids: readonly string[]): number {
  let chars = ID_TIME_CHARS;
  while (new Set(ids.map((id) => id.slice(0, chars))).size < new Set(ids).size) chars += 1;
  return chars;
}

export const restore: Command = {
  name: "restore",
  summary: "bring an archive back as it was",
  arguments: [
    {
      name: "archive",
      about: "the id of an archive, or its beginning; or the key of a session: then its newest",
      required: true,
      completes: "archive",
    },
  ],
  options: [
    { flags: "--swap", about: "archive the session that has its key now, in the same moment" },
    { flags: "--tree", about: "bring back what was archived below it, too; also of a session that is there" },
    {
      flags: "--together",
      about: "bring back what was archived below it in the same moment, and nothing older",
    },
  ],
  run: async ({ args, options, client: find, screen, signal }) => {
    const [swap, below] = [options["swap"] === true, belowIn(options)];
    const client = await find();
    const text = args[0] ?? "";
    const living = below === "all" && !swap ? await livingKey(client, text, signal) : null;
    const archived = living === null ? await meant(client, text, signal) : null;
    const back = await restored(client, { id: archived?.id ?? living ?? "", swap, below }, signal);
    if (screen.json) json(screen, back);
    else screen.out(archived === null ? toldBelow(back) : toldOf(back, archived.why));
    return 0;
  },
};

function belowIn(options: Options): "none" | "together" | "all" {
  const [isAll, isTogether] = [options["tree"] === true, options["together"] === true];
  if (isAll && isTogether)
    throw new Fault(
      "bad_input",
      "--tree brings back all that is below it, --together only what went with it: say one of them",
    );
  return isAll ? "all" : isTogether ? "together" : "none";
}

/** Time after time, until nothing is left: cut off in between and asked again, it goes on. */
async function restored(
  client: Client,
  asked: Input<"restore">,
  signal: AbortSignal,
): Promise<Output<"restore">> {
  for (let below = 0; ;) {
    const back = await client.call("restore", asked, signal);
    below += back.below;
    if (back.left === 0) return { ...back, below };
  }
}

function toldOf({ sessionKey, entries, archived, ...tree }: Output<"restore">, why: Archive["why"]): string {
  const { below, away, taken } = tree;
  const also = below === 0 ? "" : `, and ${whole(below)} below it`;
  const instead = archived === null ? "" : `; what was there is archive ${archived}`;
  // Upkeep took it because there were too many, and there may be still.
  const again = why === "cap" || why === "budget";
  return [
    `${sessionKey} is back: ${many(entries, "entry", "entries")}${also}${instead}\n`,
    away > 0 && `${whole(away)} below it ${away === 1 ? "is" : "are"} still archived: sessiond restore `,
    away > 0 && `${sessionKey} --tree brings ${away === 1 ? "it" : "them"} back too\n`,
    taken > 0 && leftOf(taken),
    again && `sessiond pin ${sessionKey} keeps upkeep from taking it again\n`,
  ]
    .filter((each) => each !== false)
    .join("");
}

function leftOf(taken: number): string {
  return `left ${many(taken, "archive")} below it: ${taken === 1 ? "its key has" : "their keys have"} a session now\n`;
}

/** Of a session that is there. */
function toldBelow({ sessionKey, below, taken }: Output<"restore">): string {
  const words = below === 0 ? "nothing came back" : `${many(below, "session")} came back`;
  return `${sessionKey} is there; ${words} below it\n${taken === 0 ? "" : leftOf(taken)}`;
}

/** Null: it is none of a session that is there. */
async function livingKey(client: Client, text: string, signal: AbortSignal): Promise<string | null> {
  const find = async (): Promise<string | null> => {
    const sessionKey = await keyOf(client, text, signal);
    await client.call("history", { sessionKey, limit: 1 }, signal);
    return sessionKey;
  };
  return await unlessNone(find, () => Promise.resolve(null));
}

/** A session that is out of the way is not among those that a short key is looked for in. */
export async function archivedKey(client: Client, text: string, signal: AbortSignal): Promise<string> {
  const spelled = await spelledAway(client, text, signal);
  const found = spelled.length > 0 ? spelled : await archivedAlike(client, text, signal);
  const [only, ...others] = found;
  if (only === undefined)
    throw new Fault("not_found", `nothing of ${JSON.stringify(text)} is archived`, {
      todo: "`sessiond archives` lists what is; name it by its whole key or by the archive's id, at least 6 characters of it",
    });
  if (others.length > 0)
    throw new Fault("bad_input", `${JSON.stringify(text)} may be ${found.join(" or ")}: say which`);
  return only;
}

async function spelledAway(client: Client, text: string, signal: AbortSignal): Promise<readonly string[]> {
  const found: string[] = [];
  for (const sessionKey of keysOf(text)) {
    const page = await client.call("archives", { sessionKey, limit: 1 }, signal);
    if (page.archives.length > 0) found.push(sessionKey);
  }
  return found;
}

/** Of a session that has archives, or that is there and has none. */
async function knownKey(client: Client, text: string, signal: AbortSignal): Promise<string> {
  return await unlessNone(
    () => archivedKey(client, text, signal),
    async (none) => (await livingKey(client, text, signal)) ?? (await Promise.reject(none)),
  );
}

function keysOf(text: string): readonly string[] {
  return text === "main" || text.startsWith("agent:") ? [text] : spellings(text);
}

/** A key goes before the beginning of an archive's id, because a name may look like one; and that before the beginning of a key's. */
async function meant(client: Client, text: string, signal: AbortSignal): Promise<Archive> {
  const byKey = (): Promise<Archive> => newestOf(client, text, signal);
  if ((await spelledAway(client, text, signal)).length > 0) return await byKey();
  return await unlessNone(() => oneOf(client, text, signal), byKey);
}

async function newestOf(client: Client, text: string, signal: AbortSignal): Promise<Archive> {
  const sessionKey = await archivedKey(client, text, signal);
  const [found] = (await client.call("archives", { sessionKey, limit: 1 }, signal)).archives;
  if (found === undefined) throw new Fault("not_found", `nothing of ${sessionKey} is archived any more`);
  return found;
}

/** What else a word may mean that is nobody's name. */
export async function unlessNone<Value>(
  find: () => Promise<Value>,
  otherwise: (none: Fault) => Promise<Value>,
): Promise<Value> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof Fault && error.code === "not_found") return await otherwise(error);
    throw error;
  }
}
