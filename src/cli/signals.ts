// What is told to a session that is there: steer, kill, abort, stop, cont; and wait, for what became of a message.

import { OUTCOMES_HELP, tell, waitFor, waitMs, WAITING } from "./answer.ts";
import { SESSION, type Command, type Invocation } from "./command.ts";
import { keyOf } from "./key.ts";
import { json, many } from "./output.ts";

export const steer: Command = {
  name: "steer",
  summary: "tell a session that works something before its next step",
  arguments: [SESSION, { name: "text", about: "what it is to know or do", required: true, variadic: true }],
  options: [],
  run: async (invocation) => {
    const { args, client: find, screen, signal } = invocation;
    const client = await find();
    const sessionKey = await keyOf(client, args[0] ?? "", signal);
    const steered = await client.call("steer", { sessionKey, message: args.slice(1).join(" ") }, signal);
    if (screen.json) json(screen, steered);
    else screen.out(`${sessionKey} reads it before its next step\n`);
    return 0;
  },
};

export const kill: Command = {
  name: "kill",
  summary: "end a session and everything below it, at once; its transcript stays",
  arguments: [SESSION],
  options: [],
  run: async ({ args, client: find, screen, signal }) => {
    const client = await find();
    const done = await client.call(
      "kill",
      { sessionKey: await keyOf(client, args[0] ?? "", signal) },
      signal,
    );
    if (screen.json) json(screen, done);
    else if (done.killed.length === 0) screen.out(`${done.sessionKey} had ended already\n`);
    else
      screen.out(
        `killed ${many(done.killed.length, "session")}:\n${done.killed.map((key) => `  ${key}\n`).join("")}`,
      );
    return 0;
  },
};

export const abort = wish("abort", {
  summary: "stop the turn that runs; the session goes on with its next message",
  yes: "its turn stops",
  no: "no turn runs in it",
});

export const stop = wish("stop", {
  summary: "pause a session after its step; letters wait, nothing is lost",
  yes: "pauses; `sessiond cont` goes on",
  no: "was paused already",
});

export const cont = wish("cont", {
  summary: "go on with a session that was paused",
  yes: "goes on",
  no: "was not paused",
});

interface Words {
  readonly summary: string;
  readonly yes: string;
  readonly no: string;
}

function wish(name: "abort" | "stop" | "cont", { summary, yes, no }: Words): Command {
  const run = async ({ args, client: find, screen, signal }: Invocation): Promise<number> => {
    const client = await find();
    const done = await client.call(name, { sessionKey: await keyOf(client, args[0] ?? "", signal) }, signal);
    if (screen.json) json(screen, done);
    else screen.out(`${done.sessionKey}: ${done.accepted ? yes : no}\n`);
    return 0;
  };
  return { name, summary, arguments: [SESSION], options: [], run };
}

export const wait: Command = {
  name: "wait",
  summary: "wait for what becomes of a message or a task, and print the answer",
  arguments: [
    SESSION,
    { name: "id", about: "of the message, as sending it gave it, or your own", required: true },
  ],
  options: WAITING.slice(1),
  more: OUTCOMES_HELP.replace(" with --wait", ""),
  run: async (invocation) => {
    const { args, client: find, options, screen, signal } = invocation;
    const [named = "", id = ""] = args;
    const sessionKey = await keyOf(await find(), named, signal);
    return tell(screen, await waitFor(invocation, { sessionKey, id }, waitMs(options)), { sessionKey, id });
  },
};
