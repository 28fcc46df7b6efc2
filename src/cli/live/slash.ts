// What can be said to the chat itself and not to the session: words that begin with a slash. Each is a call of the table.

import { Fault } from "../../base/fault.ts";
import type { World } from "../../base/world.ts";
import type { Output } from "../../calls/door.ts";
import { THINKING } from "../../models/model.ts";
import type { Client } from "../client.ts";
import { compactedWords, contextLines, entryIn, handedWords, rewoundWords } from "../context.ts";
import { ago, count, cut, duration, many, money, oneLine, percent } from "../output.ts";

/** What they work on. */
export interface Spoken {
  readonly client: Client;
  readonly world: World;
  readonly sessionKey: string;
  /** The key that somebody means by a shortened one. */
  readonly keyOf: (text: string) => Promise<string>;
}

interface Slash {
  readonly takes: string; //  as help shows it
  readonly about: string;
  /** Lines to show. */
  readonly run: (spoken: Spoken, rest: string) => Promise<readonly string[]>;
}

const SLASHES: Readonly<Record<string, Slash>> = {
  help: { takes: "", about: "this", run: async () => helpLines() },
  status: {
    takes: "",
    about: "what it does or waits for, context, usage",
    run: async ({ client, world, sessionKey }) => {
      const status = await client.call("status", { sessionKey });
      return statusLines(status, world.nowMs());
    },
  },
  model: {
    takes: "[model]",
    about: 'another model from now on; "default" goes back; without one, which there are',
    run: async ({ client, sessionKey }, rest) => {
      if (rest === "") return modelLines(await client.call("models", {}));
      const model = rest === "default" ? null : rest;
      const { settings } = await client.call("set", { sessionKey, model });
      return [`model ${settings.model ?? "as the agent's configuration says"}`];
    },
  },
  think: {
    takes: "<level>",
    about: `${THINKING.join(", ")}; "default" goes back`,
    run: async ({ client, sessionKey }, rest) => {
      const thinking = rest === "default" ? null : THINKING.find((level) => level === rest);
      if (thinking === undefined)
        throw new Fault("bad_input", `/think takes one of ${THINKING.join(", ")}, default`);
      const { settings } = await client.call("set", { sessionKey, thinking });
      return [`thinking ${settings.thinking ?? "as the agent's configuration says"}`];
    },
  },
  context: {
    takes: "",
    about: "what fills the context, and what has left it",
    run: async ({ client, sessionKey }) => contextLines(await client.call("context", { sessionKey }), null),
  },
  compact: {
    takes: "[focus]",
    about: "replaces the older part of the context by a summary, now",
    run: async ({ client, sessionKey }, rest) => {
      const done = await client.call("compact", { sessionKey, ...(rest === "" ? {} : { focus: rest }) });
      return [compactedWords(done)];
    },
  },
  handoff: {
    takes: "[what it is to do]",
    about: "writes down where things stand, and begins a fresh session with it",
    run: async ({ client, sessionKey }, rest) => {
      const done = await client.call("handoff", { sessionKey, ...(rest === "" ? {} : { message: rest }) });
      const isDone = done.outcome === "done" && done.sessionKey !== null;
      return [handedWords(done), ...(isDone ? [`sessiond chat ${done.sessionKey}`] : [])];
    },
  },
  rewind: {
    takes: "[entry]",
    about: "goes back: the conversation continues from that entry; without one, where to",
    run: async ({ client, sessionKey }, rest) => {
      if (rest === "") return placeLines(await client.call("history", { sessionKey, limit: PLACES }));
      return [rewoundWords(await client.call("rewind", { sessionKey, ...entryIn(rest) }))];
    },
  },
  stop: {
    takes: "",
    about: "pauses the session after the step that runs; messages wait",
    run: async ({ client, sessionKey }) => {
      const { accepted } = await client.call("stop", { sessionKey });
      return [accepted ? "paused; /cont goes on" : "was paused already; /cont goes on"];
    },
  },
  cont: {
    takes: "",
    about: "goes on with what was paused",
    run: async ({ client, sessionKey }) => {
      const { accepted } = await client.call("cont", { sessionKey });
      return [accepted ? "goes on" : "was not paused"];
    },
  },
  children: {
    takes: "",
    about: "its sub-agents, and what they do",
    run: async ({ client, sessionKey }) => {
      const { children, next } = await client.call("children", { sessionKey });
      const lines = children.map(
        ({ sessionKey: key, title, why, tokens }) =>
          `${key} ${title === "" ? "" : `"${oneLine(title)}" `}· ${oneLine(why)} · ${count(tokens)} tokens`,
      );
      if (lines.length === 0) return ["no children"];
      return next === null ? lines : [...lines, "… and more: `sessiond ps --tree`"];
    },
  },
  kill: {
    takes: "<child>",
    about: "ends a child and everything below it",
    run: async ({ client, keyOf }, rest) => {
      const sessionKey = await keyOf(needed(rest, "/kill <child>"));
      const { killed } = await client.call("kill", { sessionKey });
      return [killed.length === 0 ? `${sessionKey} had ended` : `killed ${killed.join(", ")}`];
    },
  },
  steer: {
    takes: "<child> <text>",
    about: "tells a child something before its next step",
    run: async ({ client, keyOf }, rest) => {
      const [, who = "", message = ""] = /^(\S+)\s+(.+)$/s.exec(rest) ?? [];
      const sessionKey = await keyOf(needed(who, "/steer <child> <text>"));
      await client.call("steer", { sessionKey, message });
      return [`${sessionKey} reads it before its next step`];
    },
  },
  fork: {
    takes: "",
    about: "a new session that knows what this one knows now",
    run: async ({ client, sessionKey }) => {
      const forked = await client.call("fork", { sessionKey });
      return [`sessiond chat ${forked.sessionKey}`];
    },
  },
};

/** Null: it is for the session. Two slashes stand for one. */
export function slashIn(text: string): { readonly name: string; readonly rest: string } | null {
  const [, name, rest = ""] = /^\/([a-z]*)(?:\s+(.*))?$/s.exec(text.trim()) ?? [];
  return name === undefined || text.startsWith("//") ? null : { name, rest: rest.trim() };
}

export async function obey(spoken: Spoken, name: string, rest: string): Promise<readonly string[]> {
  const slash = Object.hasOwn(SLASHES, name) ? SLASHES[name] : undefined;
  if (slash === undefined)
    throw new Fault("bad_input", `there is no /${name}; /help says what there is, // sends a slash`);
  return await slash.run(spoken, rest);
}

function needed(text: string, usage: string): string {
  if (text === "") throw new Fault("bad_input", `write ${usage}; /children says who there is`);
  return text;
}

function helpLines(): readonly string[] {
  const rows = [
    ...Object.entries(SLASHES).map(([name, { takes, about }]) => [`/${name} ${takes}`, about] as const),
    ["/quit", "leaves; the session goes on"],
    ["Ctrl-C", "stops the turn; again, or when nothing runs: leaves"],
    ["Ctrl-D", "leaves"],
    ["Ctrl-J, \\ Enter", "a new line in the message"],
  ] as const;
  const width = Math.max(...rows.map(([what]) => what.length));
  return [
    ...rows.map(([what, about]) => `${what.padEnd(width)} ${about}`),
    "What you write while it works is read before its next step.",
  ];
}

function statusLines(status: Output<"status">, nowMs: number): readonly string[] {
  const { usage, tree, context, settings } = status;
  const tokens = (of: typeof usage): number => of.input + of.output + of.cacheRead + of.cacheWrite;
  const below = tokens(tree) - tokens(usage);
  return [
    `${status.sessionKey}${status.title === "" ? "" : ` "${oneLine(status.title)}"`} · ${status.state}`,
    `why      ${oneLine(status.why)}`,
    `model    ${status.model} (${status.modelFrom === "session" ? "set here" : "the agent's"}) · thinking ${status.thinking}`,
    `context  ${percent(context.tokens, context.window)} of ${count(context.window)}`,
    `usage    ${count(tokens(usage))} tokens · ${money(usage.cost)} · ${many(usage.steps, "step")} · ${many(usage.toolCalls, "tool call")}` +
      (below > 0 ? ` (with children ${count(tokens(tree))} · ${money(tree.cost)})` : ""),
    `age      ${duration(nowMs - Date.parse(status.bornAt))} · last ${ago(nowMs - Date.parse(status.updatedAt))} · nice ${settings.nice}`,
  ];
}

/** Entries that somebody may want to go back to. */
const PLACES = 12;

function placeLines({ entries }: Output<"history">): readonly string[] {
  const lines = entries.map(({ seq, kind, text }) => `#${seq} ${kind}: ${cut(oneLine(text), PLACE_CELLS)}`);
  return [...lines, "/rewind <number>: that entry is the last that stays"];
}

const PLACE_CELLS = 60;

function modelLines({ models, aliases }: Output<"models">): readonly string[] {
  const named = Object.entries(aliases).map(([alias, id]) => `${alias} = ${id}`);
  return [...models.map(({ id, windowTokens }) => `${id} · ${count(windowTokens)}`), ...named];
}
