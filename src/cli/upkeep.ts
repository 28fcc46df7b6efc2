// What keeps the disk bounded, and what is out of the way: upkeep, archive, archives, restore.

import { Fault } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import type { Output } from "../calls/door.ts";
import type { Client } from "./client.ts";
import { SESSION, textOf, type Command, type Invocation } from "./command.ts";
import { keyOf, spellings } from "./key.ts";
import { ago, bytes, json, many, oneLine, roomOn, table, whole, type Column, type Screen } from "./output.ts";
import { limitIn } from "./ps.ts";

type Plan = Output<"upkeepPlan">;
type Run = Output<"upkeep">;
type Archive = Output<"archives">["archives"][number];

/** Archives of one page, and steps of a plan: what is asked for at once. */
const PAGE_ROWS = 200;
const PAGE_STEPS = 1_000;
/** Between two words about how far it is, to somebody who watches, and to a file. */
const WAIT_SECONDS = { watched: 1, unwatched: 15 };
/** As the answer was: it was done, but not all of it. */
const PARTLY_EXIT = 1;

export const upkeep: Command = {
  name: "upkeep",
  summary: "archive what is old, erase old archives, keep the disk within its budget",
  arguments: [],
  options: [{ flags: "--dry-run", about: "show exactly what a run would do now, and do nothing" }],
  more: `What it does is \`upkeep\` of the configuration; main, named, pinned and busy sessions are never taken.
Without --dry-run it is done now, whatever upkeep.mode says. Ctrl-C stops watching; the run goes on.
Exit codes: 0 done, 1 some of it failed, or the disk was full.`,
  run: async (invocation) => {
    const { options, client: find, screen, signal } = invocation;
    const client = await find();
    if (options["dryRun"] !== true) return await done(invocation, client);
    const plan = await wholePlan(client, signal);
    if (screen.json) json(screen, plan);
    else showPlan(screen, plan);
    return 0;
  },
};

/** All pages of one plan. Should another be made meanwhile, the daemon says so. */
async function wholePlan(client: Client, signal: AbortSignal): Promise<Plan> {
  const first = await client.call("upkeepPlan", { limit: PAGE_STEPS }, signal);
  const steps = [...first.steps];
  for (let { next } = first; next !== null;) {
    const page: Plan = await client.call("upkeepPlan", { limit: PAGE_STEPS, cursor: next }, signal);
    steps.push(...page.steps);
    next = page.next;
  }
  return { ...first, steps, more: 0, next: null };
}

function showPlan(screen: Screen, plan: Plan): void {
  const { steps, totals, usedBytes, leftBytes, overBytes } = plan;
  if (steps.length > 0)
    screen.out(
      table(
        steps,
        [
          { title: "DO", of: (step) => step.do },
          { title: "WHY", least: 12, of: ({ why }) => why ?? "" },
          { title: "SIZE", of: (step) => bytes(step.bytes), align: "right" },
          {
            title: "WHAT",
            least: 24,
            cut: "middle",
            of: ({ sessionKey, archive, blobs }) =>
              [sessionKey ?? many(blobs ?? 0, "blob"), ...(archive === null ? [] : [`(${archive})`])].join(
                " ",
              ),
          },
        ],
        roomOn(screen),
      ),
    );
  const { archive: archived, purge: purged, rotate: rotated, pack: packed, collect: collected } = totals;
  const words = wordsOf({ archived, purged, rotated, packed, collected }, false);
  const then = leftBytes === usedBytes ? "" : `, about ${bytes(leftBytes)} then`;
  screen.out(
    `${words === "" ? "nothing to do" : `would ${words}`}; ${bytes(usedBytes)} on the disk${then}\n`,
  );
  sayOver(screen, overBytes);
}

interface Counts {
  readonly archived: number;
  readonly purged: number;
  readonly rotated: number;
  readonly packed: number;
  readonly collected: number;
}

/** What is not nothing; empty: nothing is. */
function wordsOf({ archived, purged, rotated, packed, collected }: Counts, isDone: boolean): string {
  const did = (verb: string): string => (isDone ? verb.replace(/e?$/, "ed") : verb);
  return [
    archived > 0 && `${did("archive")} ${many(archived, "session")}`,
    purged > 0 && `${did("erase")} ${many(purged, "archive")} for good`,
    rotated > 0 && `${did("ask")} ${many(rotated, "session")} to go on in a new file`,
    packed > 0 && `${did("pack")} ${many(packed, "archive")}`,
    collected > 0 && `${did("remove")} ${many(collected, "blob")} that nobody names`,
  ]
    .filter((each) => each !== false)
    .join(", ");
}

function sayOver(screen: Screen, overBytes: number): void {
  if (overBytes > 0)
    screen.err(
      `${bytes(overBytes)} above upkeep.diskMiB stay: they are of sessions that are protected, blobs that are named, or archives of today\n`,
    );
}

/** Until it is over, with a word about how far it is now and then. */
async function done({ screen, signal }: Invocation, client: Client): Promise<number> {
  const waitSeconds = screen.isTty && !screen.json ? WAIT_SECONDS.watched : WAIT_SECONDS.unwatched;
  let run: Run = await client.call("upkeep", { waitSeconds: 0 }, signal);
  while (!run.isDone) {
    run = await client.call("upkeep", { run: run.run, waitSeconds }, signal);
    if (!run.isDone) screen.err(progressOf(run, screen.isTty));
  }
  if (screen.isTty) screen.err("\r\u001b[K");
  const { report } = run;
  if (report === null) throw new Fault("bug", "a run of upkeep is done and does not say what it did");
  if (screen.json) json(screen, run);
  else {
    const words = wordsOf(report, true);
    screen.out(`${words === "" ? "nothing to do" : words}\n`);
    if (report.skipped > 0)
      screen.out(`left ${many(report.skipped, "step")}: something had changed meanwhile\n`);
    if (report.failed > 0) screen.err(`${many(report.failed, "step")} failed; the daemon's log says why\n`);
    if (report.stopped === "disk_full") screen.err("the disk is full: the rest is done by the next run\n");
    if (report.stopped === "closed") screen.err("the daemon was stopped: the rest is done by the next run\n");
  }
  return report.failed > 0 || report.stopped !== null ? PARTLY_EXIT : 0;
}

function progressOf({ planned, progress: { done: steps, of, bytes: size } }: Run, isTty: boolean): string {
  const words =
    planned === null ? "looking at what there is" : `${whole(steps)} of ${whole(of)} steps, ${bytes(size)}`;
  return isTty ? `\r\u001b[K${words}` : `${words}\n`;
}

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
    else
      screen.out(
        `archived ${many(made.archived, "session")}; sessiond restore ${made.sessionKey} brings it back\n`,
      );
    return 0;
  },
};

export const archives: Command = {
  name: "archives",
  summary: "what is out of the way: sessions, and conversations before a reset",
  arguments: [{ ...SESSION, name: "key", about: "only those of this session", required: false }],
  options: [
    { flags: "--agent <agent>", about: "only those of this agent" },
    { flags: "-n, --limit <rows>", about: "how many at most (50); the newest come first" },
    { flags: "--purge <id>", about: "erase this one for good" },
  ],
  run: async ({ args, options, client: find, screen, signal }) => {
    const client = await find();
    const purge = textOf(options, "purge");
    if (purge !== undefined) {
      const gone = await client.call("purgeArchive", { id: purge }, signal);
      if (screen.json) json(screen, gone);
      else screen.out(`erased an archive of ${gone.sessionKey}, ${bytes(gone.bytes)}\n`);
      return 0;
    }
    const agent = textOf(options, "agent");
    const of = args[0] === undefined ? {} : { sessionKey: await archivedKey(client, args[0], signal) };
    const asked = { ...of, ...(agent === undefined ? {} : { agent }) };
    const found = await newest(client, asked, { most: limitIn(options, 50), signal });
    if (screen.json) json(screen, found);
    else showArchives(screen, found);
    return 0;
  },
};

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
  const columns: readonly Column<Archive>[] = [
    { title: "ID", of: ({ id }) => id }, // whole: restore and --purge take it
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

export const restore: Command = {
  name: "restore",
  summary: "bring an archive back as it was",
  arguments: [
    {
      name: "archive",
      about: "the id of an archive, or the key of a session: then its newest",
      required: true,
    },
  ],
  options: [{ flags: "--swap", about: "archive the session that has its key now, in the same moment" }],
  run: async ({ args, options, client: find, screen, signal }) => {
    const client = await find();
    const [named = ""] = args;
    const id = /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(named) ? named : await newestOf(client, named, signal);
    const back = await client.call("restore", { id, swap: options["swap"] === true }, signal);
    if (screen.json) json(screen, back);
    else {
      const instead = back.archived === null ? "" : `; what was there is archive ${back.archived}`;
      screen.out(`${back.sessionKey} is back: ${many(back.entries, "entry", "entries")}${instead}\n`);
    }
    return 0;
  },
};

/** A session that is out of the way is not among those that a short key is looked for in. */
export async function archivedKey(client: Client, text: string, signal: AbortSignal): Promise<string> {
  const found: string[] = [];
  for (const sessionKey of keysOf(text)) {
    const page = await client.call("archives", { sessionKey, limit: 1 }, signal);
    if (page.archives.length > 0) found.push(sessionKey);
  }
  const [only, ...others] = found;
  if (only === undefined)
    throw new Fault("not_found", `nothing of ${JSON.stringify(text)} is archived`, {
      todo: "`sessiond archives` lists what is; name it by its whole key or by the archive's id",
    });
  if (others.length > 0)
    throw new Fault("bad_input", `${JSON.stringify(text)} may be ${found.join(" or ")}: say which`);
  return only;
}

function keysOf(text: string): readonly string[] {
  return text === "main" || text.startsWith("agent:") ? [text] : spellings(text);
}

async function newestOf(client: Client, text: string, signal: AbortSignal): Promise<string> {
  const sessionKey = await archivedKey(client, text, signal);
  const [found] = (await client.call("archives", { sessionKey, limit: 1 }, signal)).archives;
  if (found === undefined) throw new Fault("not_found", `nothing of ${sessionKey} is archived any more`);
  return found.id;
}
