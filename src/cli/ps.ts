// `ps`: sessions as a forest, those that do something first.

import { Fault } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import { KINDS, STATES } from "../calls/words.ts";
import type { Output } from "../calls/door.ts";
import type { Client } from "./client.ts";
import { textOf, type Command, type Invocation, type Options } from "./command.ts";
import { forest, type Branch } from "./forest.ts";
import { keyOf } from "./key.ts";
import {
  age,
  ago,
  bold,
  count,
  json,
  many,
  modelName,
  money,
  oneLine,
  percent,
  stateColour,
  roomOn,
  table,
  type Column,
  type Screen,
} from "./output.ts";

export type Row = Output<"list">["sessions"][number];

/** Rows that are shown when nobody says how many: a screen or two. */
const ROWS = 50;
/** Rows of one page, as the daemon gives them at most. */
const PAGE_ROWS = 200;
/** Parents that are fetched for children whose parent is not among the rows. */
const PARENTS_MAX = 50;
/** Sessions that a tree shows. */
const TREE_ROWS_MAX = 1_000;

export const ps: Command = {
  name: "ps",
  aliases: ["list"],
  summary: "sessions as a forest: what each does, waits for and costs",
  arguments: [
    {
      name: "words",
      about: "only those whose key or title has each of these words",
      required: false,
      variadic: true,
    },
  ],
  options: [
    { flags: "-a, --all", about: "all of them, also those that have ended" },
    { flags: "--tree <key>", about: "one session and everything below it", completes: "session" },
    { flags: "--state <state>", about: "only those in this state", completes: STATES },
    { flags: "--agent <agent>", about: "only those of this agent" },
    { flags: "--kind <kind>", about: "only those of this kind", completes: KINDS },
    { flags: "-n, --limit <rows>", about: `how many at most (${ROWS})` },
  ],
  run,
};

interface Found {
  readonly rows: readonly Row[];
  readonly isAll: boolean; // false: there are more
}

async function run({ args, options, client: find, screen, signal }: Invocation): Promise<number> {
  const words = args.join(" ").trim();
  if (words !== "" && options["tree"] !== undefined)
    throw new Fault(
      "bad_input",
      "--tree shows all below one session: say it without words, or words without it",
    );
  const client = await find();
  const found = await look(client, { options, words }, signal);
  if (screen.json) {
    json(screen, { sessions: found.rows, more: !found.isAll });
    return 0;
  }
  if (found.rows.length === 0) {
    screen.out(words === "" ? "no sessions. `sessiond chat` begins one.\n" : NONE_HAS_THEM);
    return 0;
  }
  const branches = forest(await withParents(client, found.rows, signal));
  screen.out(table(branches, columnsFor(branches, screen), roomOn(screen)));
  const more = found.isAll ? "" : "; there are more";
  const pinned = branches.some(({ row }) => row.pinned) ? "; *: pinned" : "";
  screen.out(
    `${many(found.rows.length, "session")} (active first; --all, --tree <key>, --state, --agent, --limit)${more}${pinned}\n`,
  );
  return 0;
}

const NONE_HAS_THEM =
  "no session has all of these words in its key or title (--all: also of those that ended); `sessiond search` looks into what was said\n";

interface Asked {
  readonly options: Options;
  readonly words: string; // "": any
}

async function look(client: Client, { options, words }: Asked, signal: AbortSignal): Promise<Found> {
  const tree = textOf(options, "tree");
  if (tree !== undefined) return await below(client, await keyOf(client, tree, signal), signal);
  const limit = limitIn(options, options["all"] === true ? Infinity : ROWS);
  const only = { ...filterIn(options), ...(words === "" ? {} : { text: words }) };
  if (only.state !== undefined || options["all"] === true) return await pages(client, only, limit, signal);
  // What does something is asked for by itself: among a hundred thousand it may not be among the newest.
  const lists = await Promise.all([
    ...(["running", "waiting", "paused"] as const).map((state) =>
      pages(client, { ...only, state }, limit, signal),
    ),
    pages(client, only, limit, signal),
  ]);
  const rows = new Map(lists.flatMap(({ rows: each }) => each).map((row) => [row.sessionKey, row]));
  const shown = [...rows.values()].filter(({ state }) => state !== "ended");
  return { rows: shown.slice(0, limit), isAll: lists.every(({ isAll }) => isAll) && shown.length <= limit };
}

type Filter = {
  agent?: string;
  kind?: (typeof KINDS)[number];
  state?: (typeof STATES)[number];
  text?: string;
};

function filterIn(options: Options): Filter {
  const [agent, kind, state] = [textOf(options, "agent"), textOf(options, "kind"), textOf(options, "state")];
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(kind === undefined ? {} : { kind: kind as NonNullable<Filter["kind"]> }),
    ...(state === undefined ? {} : { state: state as NonNullable<Filter["state"]> }),
  };
}

export function limitIn(options: Options, otherwise: number): number {
  const text = textOf(options, "limit");
  if (text === undefined) return otherwise;
  if (!/^[1-9]\d{0,6}$/.test(text))
    throw new Fault("bad_input", `--limit is a number from 1 on, not ${JSON.stringify(text)}`);
  return Number(text);
}

/** Who waits for a slot is kept as running: so those are asked for, and sorted out here. */
async function pages(client: Client, only: Filter, limit: number, signal: AbortSignal): Promise<Found> {
  const { state } = only;
  const asked = state === "queued" ? { ...only, state: "running" as const } : only;
  const rows: Row[] = [];
  let cursor: string | null = null;
  do {
    const most = Math.min(PAGE_ROWS, state === "queued" ? PAGE_ROWS : limit - rows.length);
    const at: { cursor?: string } = cursor === null ? {} : { cursor };
    const page: Output<"list"> = await client.call("list", { ...asked, ...at, limit: most }, signal);
    rows.push(
      ...page.sessions.filter((row) => state === undefined || state === "running" || row.state === state),
    );
    cursor = page.next;
  } while (cursor !== null && rows.length < limit);
  return { rows: rows.slice(0, limit), isAll: cursor === null };
}

async function below(client: Client, key: string, signal: AbortSignal): Promise<Found> {
  const rows: Row[] = [await client.call("status", { sessionKey: key }, signal)];
  for (let at = 0; at < rows.length; at += 1) {
    let cursor: string | null = null;
    do {
      if (rows.length >= TREE_ROWS_MAX) return { rows, isAll: false };
      const from: { cursor?: string } = cursor === null ? {} : { cursor };
      const of = { sessionKey: rows[at]?.sessionKey ?? "", limit: PAGE_ROWS, ...from };
      const page: Output<"children"> = await client.call("children", of, signal);
      rows.push(...page.children);
      cursor = page.next;
    } while (cursor !== null);
  }
  return { rows, isAll: true };
}

/** So that a child stands below its parent, also when that has done nothing for long. */
async function withParents(
  client: Client,
  rows: readonly Row[],
  signal: AbortSignal,
): Promise<readonly Row[]> {
  const known = new Set(rows.map(({ sessionKey }) => sessionKey));
  const missing = new Set(
    rows.flatMap(({ parent }) => (parent === null || known.has(parent) ? [] : [parent])),
  );
  const found = await Promise.all(
    [...missing].slice(0, PARENTS_MAX).map(async (sessionKey) => {
      try {
        return [await client.call("status", { sessionKey }, signal)];
      } catch (error) {
        if (error instanceof Fault && error.code === "not_found") return []; // removed
        throw error;
      }
    }),
  );
  return [...rows, ...found.flat()];
}

// ── Showing it ──────────────────────────────────────────────────────────────────────────────────────────────

type Shown = Branch<Row>;

function columnsFor(branches: readonly Shown[], screen: Screen): readonly Column<Shown>[] {
  const nowMs = new RealWorld().nowMs();
  const since = (iso: string): number => Math.max(0, nowMs - Date.parse(iso));
  const columns: readonly Column<Shown>[] = [
    {
      title: "KEY",
      max: 48,
      least: 24,
      of: ({ stem, name, row }) =>
        `${stem}${name}${row.pinned ? " *" : ""}${stem === "" || row.title === "" ? "" : `  "${oneLine(row.title)}"`}`,
    },
    {
      title: "STATE",
      of: ({ row }) => stateWords(row, since),
      style: (text, { row }) => stateColour(row.state)(screen, text),
    },
    { title: "CLASS", keep: 2, of: ({ row }) => row.class ?? "–" },
    { title: "MODEL", max: 24, least: 12, keep: 4, of: ({ row }) => modelName(row.model) },
    {
      title: "CTX",
      align: "right",
      keep: 5,
      of: ({ row }) => (row.contextTokens === null ? "–" : percent(row.contextTokens, row.windowTokens)),
    },
    { title: "TOKENS", align: "right", of: ({ row }) => count(row.tokens) },
    { title: "COST", align: "right", of: ({ row }) => money(row.cost) },
    { title: "AGE", align: "right", keep: 3, of: ({ row }) => age(since(row.bornAt)) },
    { title: "LAST", align: "right", of: ({ row }) => ago(since(row.updatedAt)) },
  ];
  if (!branches.some(({ row }) => whyIn(row) !== "")) return columns;
  return [...columns, { title: "WHY", least: 16, keep: 1, of: ({ row }) => whyIn(row) }];
}

export function stateWords(row: Row, since: (iso: string) => number): string {
  switch (row.state) {
    case "running":
      return row.step === null ? "running" : `running step ${row.step}`;
    case "waiting":
      return `waiting${row.since === null ? "" : ` ${age(since(row.since))}`}${forWhom(row.why)}`;
    case "paused":
      return row.since === null ? row.state : `${row.state} ${age(since(row.since))}`;
    case "ended":
      return `ended ${/^ended \((\w+)\)/.exec(row.why ?? "")?.[1] ?? ""}`.trimEnd();
    default:
      return row.state;
  }
}

/** For how many children, where all of them are named or counted; "": it does not say. */
function forWhom(why: string | null): string {
  const [, names, more = "0"] =
    /^waits for its children(?: since \S+?Z)?: ([^ ,…]+(?:, [^ ,…]+)*)(?: and (\d+) more)?$/.exec(
      why ?? "",
    ) ?? [];
  return names === undefined
    ? ""
    : ` for ${many(names.split(", ").length + Number(more), "child", "children")}`;
}

/** Without what the other columns say. */
function whyIn({ why, state }: Row): string {
  if (why === null || state === "idle") return "";
  const words = why.replace(/ since \d{4}-[\d:T.-]+Z/, "");
  if (state === "running") return words.replace(/^step \d+ of a turn(?:: )?/, "");
  return state === "ended" ? words.replace(/^ended \(\w+\)(?:: )?/, "") : words;
}

/** For a headline. */
export function named(screen: Screen, { sessionKey, title }: Pick<Row, "sessionKey" | "title">): string {
  return `${bold(screen, sessionKey)}${title === "" ? "" : ` "${oneLine(title)}"`}`;
}
