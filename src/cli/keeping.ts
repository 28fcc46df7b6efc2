// Sessions that are made from others, found, and removed: fork, search, rm; and answers on their way: outbox.

import { RealWorld } from "../base/world.ts";
import { sayerOf } from "../calls/told.ts";
import { unlessAgreed } from "./agreed.ts";
import { archivedKey, sayWriters, unlessNone } from "./archives.ts";
import type { Client } from "./client.ts";
import { SESSION, textOf, type Command, type Invocation } from "./command.ts";
import { keyOf } from "./key.ts";
import { ago, bold, cut, cutMiddle, dim, json, many, oneLine, table, type Screen } from "./output.ts";
import { limitIn, named } from "./ps.ts";

export const fork: Command = {
  name: "fork",
  summary: "a new session that begins with what another knows",
  arguments: [SESSION],
  options: [
    {
      flags: "--at <entry>",
      about: "the last entry it has: a number (seq) or an id; without it, the newest",
    },
    { flags: "--name <name>", about: "a name, which becomes a part of its key" },
    { flags: "--label <label>", about: "what it is called in lists" },
  ],
  run: async ({ args, options, client: find, screen, signal }) => {
    const client = await find();
    const sessionKey = await keyOf(client, args[0] ?? "", signal);
    const [at, name, label] = [textOf(options, "at"), textOf(options, "name"), textOf(options, "label")];
    const where = at === undefined ? {} : /^\d+$/.test(at) ? { seq: Number(at) } : { entry: at };
    const of = { ...(name === undefined ? {} : { name }), ...(label === undefined ? {} : { label }) };
    const forked = await client.call("fork", { sessionKey, ...where, ...of }, signal);
    if (screen.json) json(screen, forked);
    else
      screen.out(
        `${forked.sessionKey}: ${many(forked.entries, "entry", "entries")} of ${forked.from}, up to ${forked.throughSeq}. It waits for a message.\n`,
      );
    return 0;
  },
};

/** Of who said something: the key of a run of a job would take the whole line. */
const WHO_CELLS = 32;

export const search: Command = {
  name: "search",
  summary: "find words in what was said, and who said them when",
  arguments: [{ name: "text", about: "words, in any order", required: true, variadic: true }],
  options: [
    { flags: "--in <key>", about: "only in this session", completes: "session" },
    { flags: "--agent <agent>", about: "only in sessions of this agent" },
    { flags: "-n, --limit <hits>", about: "how many at most, up to 200 (20)" },
  ],
  more: "What is archived is not looked into: restore it first. Notes are searched by memory search. Exit codes: 0 found, 1 nothing found.",
  run: async ({ args, options, client: find, screen, signal }) => {
    const client = await find();
    const [within, agent] = [textOf(options, "in"), textOf(options, "agent")];
    const input = {
      text: args.join(" "),
      limit: limitIn(options, 20),
      ...(agent === undefined ? {} : { agent }),
      ...(within === undefined ? {} : { sessionKey: await keyOf(client, within, signal) }),
    };
    const { hits, behind } = await client.call("search", input, signal);
    if (screen.json) json(screen, { hits, behind });
    else {
      const nowMs = new RealWorld().nowMs();
      for (const hit of hits) {
        const when = hit.at === null ? [] : [ago(Math.max(0, nowMs - Date.parse(hit.at)))];
        const who = cutMiddle(oneLine(sayerOf(hit)), WHO_CELLS);
        const about = [`#${hit.seq}`, ...when, ...(who === "" ? [] : [who])].join(" · ");
        screen.out(`${bold(screen, hit.sessionKey)} ${dim(screen, about)}  ${oneLine(hit.snippet)}\n`);
      }
      if (hits.length === 0) screen.err("nothing found\n");
      if (behind > 0) screen.err("(the newest commits are not searched yet)\n");
    }
    return hits.length === 0 ? 1 : 0;
  },
};

export const rm: Command = {
  name: "rm",
  summary: "remove a session and everything below it for good, transcripts and archives too",
  arguments: [SESSION],
  options: [{ flags: "-y, --yes", about: "do not ask" }],
  more: "kill ends a session and keeps what it said; rm takes that too. What is at work is not removed.",
  run: remove,
};

async function remove(invocation: Invocation): Promise<number> {
  const { args, options, client: find, screen, signal } = invocation;
  const client = await find();
  const text = args[0] ?? "";
  const sessionKey = await unlessNone(
    () => keyOf(client, text, signal),
    (none) =>
      unlessNone(
        () => archivedKey(client, text, signal),
        () => Promise.reject(none),
      ),
  );
  if (options["yes"] !== true) {
    const what = await unlessNone(
      () => sessionTold(client, screen, { sessionKey, signal }),
      () => archivesTold(client, sessionKey, signal),
    );
    const exit = await unlessAgreed(invocation, { command: "rm", verb: "remove", what });
    if (exit !== null) return exit;
  }
  const done = await client.call("remove", { sessionKey }, signal);
  if (screen.json) json(screen, done);
  else {
    const gone = [
      ...(done.removed === 0 ? [] : [many(done.removed, "session")]),
      ...(done.archives === 0 ? [] : [many(done.archives, "archive")]),
    ];
    screen.out(`removed ${gone.join(" and ")}${done.removed === 0 ? "; there was no session" : ""}\n`);
    sayWriters(screen, done.jobs);
  }
  return 0;
}

async function sessionTold(
  client: Client,
  screen: Screen,
  { sessionKey, signal }: { readonly sessionKey: string; readonly signal: AbortSignal },
): Promise<string> {
  const [about, live, own, put] = await Promise.all([
    client.call("status", { sessionKey }, signal),
    client.call("children", { sessionKey, limit: 200 }, signal),
    client.call("archives", { sessionKey, limit: 200 }, signal),
    client.call("archives", { parent: sessionKey, limit: 200 }, signal),
  ]);
  const below = [
    ...counted(live.children.length, live.next, ["child", "children"]),
    ...counted(put.archives.length, put.next, ["archive of children", "archives of children"]),
  ];
  const told = [
    many(about.entries, "entry", "entries"),
    ...counted(own.archives.length, own.next, ["archive", "archives"]),
    ...(below.length === 0 ? [] : [`${below.join(" and ")} with all below them`]),
  ];
  return `${named(screen, about)}: ${told.join(", ")}`;
}

/** Of a first page. None is not worth a word. */
function counted(
  rows: number,
  next: string | null,
  [one, more]: readonly [one: string, more: string],
): readonly string[] {
  return rows === 0 ? [] : [`${next === null ? "" : "more than "}${many(rows, one, more)}`];
}

async function archivesTold(client: Client, sessionKey: string, signal: AbortSignal): Promise<string> {
  const [live, own, put] = await Promise.all([
    client.call("list", { parent: sessionKey, limit: 200 }, signal),
    client.call("archives", { sessionKey, limit: 200 }, signal),
    client.call("archives", { parent: sessionKey, limit: 200 }, signal),
  ]);
  const told = [
    ...counted(own.archives.length, own.next, ["archive", "archives"]),
    ...counted(live.sessions.length, live.next, ["child that lives", "children that live"]),
    ...counted(put.archives.length, put.next, ["archive of children", "archives of children"]),
  ];
  return `${sessionKey}: ${told.join(", ")}, and no session of its own`;
}

export const outbox: Command = {
  name: "outbox",
  summary: "answers on their way to a channel, or refused, and why",
  arguments: [{ ...SESSION, required: false }],
  options: [
    { flags: "--refused", about: "those that will not be delivered" },
    { flags: "-n, --limit <rows>", about: "how many at most, up to 200 (50)" },
  ],
  run: async ({ args, options, client: find, screen, signal }) => {
    const client = await find();
    const of = args[0] === undefined ? {} : { sessionKey: await keyOf(client, args[0], signal) };
    const refused = options["refused"] === true;
    const page = await client.call("outbox", { ...of, refused, limit: limitIn(options, 50) }, signal);
    if (screen.json) {
      json(screen, page);
      return 0;
    }
    const nowMs = new RealWorld().nowMs();
    if (page.answers.length === 0) screen.out(refused ? "nothing was refused\n" : "nothing is on its way\n");
    else
      screen.out(
        table(page.answers, [
          { title: "SESSION", of: ({ sessionKey }) => sessionKey },
          { title: "TO", of: ({ route }) => `${route.channel}:${route.to}` },
          { title: "SINCE", of: ({ postedAt }) => ago(Math.max(0, nowMs - Date.parse(postedAt))) },
          ...(refused
            ? [{ title: "REFUSED", of: (row: { refused: string | null }) => row.refused ?? "" }]
            : []),
          { title: "TEXT", of: ({ text }) => cut(oneLine(text), 60) },
        ]),
      );
    if (page.next !== null) screen.out("there are more: --limit\n");
    return 0;
  },
};
