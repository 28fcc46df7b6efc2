// Sessions that are made from others, found, and removed: fork, search, rm; and answers on their way: outbox.

import { Fault } from "../base/fault.ts";
import { unlessAborted } from "../base/waiting.ts";
import { RealWorld } from "../base/world.ts";
import type { Client } from "./client.ts";
import { SESSION, textOf, type Command, type Invocation } from "./command.ts";
import { keyOf } from "./key.ts";
import { ago, bold, cut, dim, json, many, oneLine, table, type Screen } from "./output.ts";
import { limitIn, named } from "./ps.ts";
import { archivedKey } from "./upkeep.ts";

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

export const search: Command = {
  name: "search",
  summary: "find words in what was said",
  arguments: [{ name: "text", about: "words, in any order", required: true, variadic: true }],
  options: [
    { flags: "--in <key>", about: "only in this session", completes: "session" },
    { flags: "--agent <agent>", about: "only in sessions of this agent" },
    { flags: "-n, --limit <hits>", about: "how many at most, up to 200 (20)" },
  ],
  more: "Exit codes: 0 found, 1 nothing found.",
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
      for (const { sessionKey, seq, snippet } of hits)
        screen.out(`${bold(screen, sessionKey)} ${dim(screen, `#${seq}`)}  ${oneLine(snippet)}\n`);
      if (hits.length === 0) screen.err("nothing found\n");
      if (behind > 0) screen.err("(the newest commits are not searched yet)\n");
    }
    return hits.length === 0 ? 1 : 0;
  },
};

/** As Ctrl-C ends any command. */
const STOPPED_EXIT = 130;

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
    const answer = await agreed(invocation, what);
    if (answer !== "yes") return answer === "no" ? 1 : STOPPED_EXIT;
  }
  const done = await client.call("remove", { sessionKey }, signal);
  if (screen.json) json(screen, done);
  else if (done.removed > 0) screen.out(`removed ${many(done.removed, "session")}\n`);
  else screen.out(`removed ${many(done.archives, "archive")}; there was no session\n`);
  return 0;
}

async function unlessNone<Value>(
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

async function sessionTold(
  client: Client,
  screen: Screen,
  { sessionKey, signal }: { readonly sessionKey: string; readonly signal: AbortSignal },
): Promise<string> {
  const [about, { children, next }] = await Promise.all([
    client.call("status", { sessionKey }, signal),
    client.call("children", { sessionKey, limit: 200 }, signal),
  ]);
  const more = next === null ? "" : "more than ";
  const below =
    children.length === 0
      ? ""
      : ` and ${more}${many(children.length, "child", "children")} with all below them`;
  return `${named(screen, about)}: ${many(about.entries, "entry", "entries")}${below}`;
}

async function archivesTold(client: Client, sessionKey: string, signal: AbortSignal): Promise<string> {
  const { archives, next } = await client.call("archives", { sessionKey, limit: 200 }, signal);
  return `${sessionKey}: ${next === null ? "" : "more than "}${many(archives.length, "archive")}, and no session`;
}

/** Nobody is asked who cannot answer. Ctrl-D is no; Ctrl-C stops the command. */
async function agreed({ screen, signal }: Invocation, what: string): Promise<"yes" | "no" | "stopped"> {
  if (screen.json || !screen.isTty || !process.stdin.isTTY)
    throw new Fault("bad_input", `rm removes for good: say --yes (${what})`);
  const { createInterface } = await import("node:readline/promises");
  const asking = createInterface({ input: process.stdin, output: process.stdout });
  const { promise: left, resolve: leave } = Promise.withResolvers<"no" | "stopped">();
  asking.once("SIGINT", () => leave("stopped")).once("close", () => leave("no"));
  const asked = asking.question(`remove ${what}\nfor good? [y/N] `);
  const answered = asked.then((text) => (/^y(?:es)?$/i.test(text.trim()) ? "yes" : "no"));
  answered.catch(() => {}); // It fails when it is left: that is told by who leaves.
  try {
    return await unlessAborted(Promise.race([left, answered]), signal);
  } finally {
    asking.close();
  }
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
