// What fills a session's context, and what is done about it: context, compact, handoff, rewind, reset.

import { alarm } from "../base/waiting.ts";
import { RealWorld } from "../base/world.ts";
import { entryIn } from "../calls/commands/conversation.ts";
import {
  compactedWords,
  contextLines,
  handedWords,
  resetWords,
  rewoundWords,
} from "../calls/commands/words.ts";
import { SESSION, textOf, type Command } from "./command.ts";
import { keyOf } from "./key.ts";
import { dim, json, type Screen } from "./output.ts";

export const context: Command = {
  name: "context",
  summary: "what fills a session's context, and what has left it",
  arguments: [{ ...SESSION, required: false }],
  options: [],
  run: async ({ args, client: find, screen, signal }) => {
    const client = await find();
    const sessionKey = await keyOf(client, args[0] ?? "main", signal);
    const about = await client.call("context", { sessionKey }, signal);
    if (screen.json) json(screen, about);
    else for (const line of contextLines(about, (text) => dim(screen, text))) screen.out(`${line}\n`);
    return 0;
  },
};

/** Whoever waits longer is told for what. */
const SLOW_MS = 1_000;

async function told<Value>(screen: Screen, done: Promise<Value>): Promise<Value> {
  if (screen.json) return await done;
  const words =
    "(waits: a step that runs comes first, and a summary takes a while; Ctrl-C leaves, and it is done anyway)";
  const callOff = alarm(new RealWorld(), SLOW_MS, () => screen.err(`${dim(screen, words)}\n`));
  try {
    return await done;
  } finally {
    callOff();
  }
}

const FOCUS = { flags: "--focus <text>", about: "what is to be kept above all" };

export const compact: Command = {
  name: "compact",
  summary: "replace the older part of a session's context by a summary, now",
  arguments: [SESSION],
  options: [FOCUS],
  more: "Nothing is deleted: `sessiond rewind` goes back to before it.",
  run: async ({ args, options, client: find, screen, signal }) => {
    const client = await find();
    const sessionKey = await keyOf(client, args[0] ?? "", signal);
    const focus = textOf(options, "focus");
    const input = { sessionKey, ...(focus === undefined ? {} : { focus }) };
    const done = await told(screen, client.call("compact", input, signal));
    if (screen.json) json(screen, done);
    else screen.out(`${sessionKey}: ${compactedWords(done)}\n`);
    return done.outcome === "done" ? 0 : 1;
  },
};

export const handoff: Command = {
  name: "handoff",
  summary: "write down where a session stands, and begin a fresh one with it",
  arguments: [SESSION],
  options: [
    { flags: "--name <name>", about: "a name for the fresh session, which becomes a part of its key" },
    FOCUS,
    {
      flags: "-m, --message <text>",
      about: "what the fresh session is to do; without it, it says what comes next",
    },
  ],
  more: "The state is a file in the folder handoff of the agent's workspace. The old session stays as it is.",
  run: async ({ args, options, client: find, screen, signal }) => {
    const client = await find();
    const sessionKey = await keyOf(client, args[0] ?? "", signal);
    const given = Object.fromEntries(
      ["name", "focus", "message"].flatMap((name) => {
        const text = textOf(options, name);
        return text === undefined ? [] : [[name, text]];
      }),
    );
    const done = await told(screen, client.call("handoff", { sessionKey, ...given }, signal));
    if (screen.json) json(screen, done);
    else screen.out(`${handedWords(done)}\n`);
    return done.outcome === "done" ? 0 : 1;
  },
};

export const rewind: Command = {
  name: "rewind",
  summary: "go back in a session: it continues from an older entry",
  arguments: [
    SESSION,
    { name: "entry", about: "the last that stays: a number (seq) or an id", required: true },
  ],
  options: [],
  more: "What came after stays in the transcript, and can be gone back to. `sessiond log` shows the numbers.",
  run: async ({ args, client: find, screen, signal }) => {
    const client = await find();
    const sessionKey = await keyOf(client, args[0] ?? "", signal);
    const to = entryIn(args[1] ?? "");
    const done = await told(screen, client.call("rewind", { sessionKey, ...to }, signal));
    if (screen.json) json(screen, done);
    else screen.out(`${sessionKey} ${rewoundWords(done)}\n`);
    return done.outcome === "done" ? 0 : 1;
  },
};

export const reset: Command = {
  name: "reset",
  summary: "begin a new conversation in a session; the old one becomes an archive",
  arguments: [SESSION],
  options: [{ flags: "--model <model>", about: "the model from then on" }],
  more: "A turn that runs is stopped. Settings stay, and children report into the new conversation.",
  run: async ({ args, options, client: find, screen, signal }) => {
    const client = await find();
    const sessionKey = await keyOf(client, args[0] ?? "", signal);
    const model = textOf(options, "model");
    const input = { sessionKey, ...(model === undefined ? {} : { model }) };
    const done = await told(screen, client.call("reset", input, signal));
    if (screen.json) json(screen, done);
    else screen.out(`${sessionKey}: ${resetWords(done)}\n`);
    return done.outcome === "done" ? 0 : 1;
  },
};
