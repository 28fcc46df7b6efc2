// `sessiond chat`: talk with a session.

import { Fault } from "../base/fault.ts";
import { RealWorld } from "../base/world.ts";
import type { Output } from "../calls/door.ts";
import type { Entry, Gap } from "../transcript/entry.ts";
import type { Client } from "./client.ts";
import { exitBy, SESSION, type Command, type Invocation } from "./command.ts";
import { keyOf } from "./key.ts";
import type { Piped } from "./live/piped.ts";
import { age, count, oneLine, percent, widthOf } from "./output.ts";

/** Entries of before that are shown to somebody who comes back. */
const BEFORE_ENTRIES = 30;

export const chat: Command = {
  name: "chat",
  summary: "talk with a session",
  arguments: [
    {
      ...SESSION,
      about: "whom to talk with (main, if it is not said); a whole key that is new opens a session",
      required: false,
    },
  ],
  options: [],
  signals: "self",
  more: [
    "Ctrl-C stops the turn; twice, or when nothing runs, it leaves. Ctrl-D leaves. /help says what else there is; Tab completes it.",
    "Without a terminal every line of the input is a message: `echo hello | sessiond chat`; --json writes events.",
    "Exit code: 0; 75 when something that was typed could not be sent; through a pipe 1 when the last turn was not done.",
  ].join("\n"),
  run,
};

async function run({ args, client: find, screen }: Invocation): Promise<number> {
  const client = await find();
  const world = new RealWorld();
  const sessionKey = await keyOf(client, args[0] ?? "main");
  const status = await statusOf(client, sessionKey);
  const from = status?.entries ?? null;
  const isTerminal = screen.isTty && process.stdin.isTTY === true && !screen.json;
  if (!isTerminal) return await piped({ client, world, screen, sessionKey, from, lines: process.stdin });
  const { ChatTerminal } = await import("./live/terminal.ts");
  return await new ChatTerminal({
    client,
    world,
    screen,
    sessionKey,
    header: (width) => headerOf(sessionKey, status, world.nowMs(), width),
    past: status === null ? null : await pastOf(client, sessionKey),
    end: from ?? 0,
  }).run();
}

async function piped(of: Piped): Promise<number> {
  const { PipedChat } = await import("./live/piped.ts");
  const over = new AbortController();
  let exit = 0;
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.once(name, () => {
      exit = exitBy(name);
      over.abort();
    });
  try {
    return (await new PipedChat(of).run(over.signal)) === "done" ? 0 : 1;
  } catch (error) {
    if (over.signal.aborted) return exit; // The session goes on, and its answer is in its transcript.
    throw error;
  }
}

/** The last entries of the active path: what somebody went back from is over. */
async function pastOf(client: Client, sessionKey: string): Promise<readonly (Entry | Gap)[]> {
  const entries: (Entry | Gap)[] = [];
  let where: { readonly last: number } | { readonly from: number } | null = { last: BEFORE_ENTRIES };
  while (where !== null) {
    const page: Output<"entries"> = await client.call("entries", { sessionKey, ...where });
    entries.push(...(page.entries as unknown as readonly (Entry | Gap)[]));
    where = page.next === null ? null : { from: page.next };
  }
  return entries;
}

/** Null: there is no such session yet. */
async function statusOf(client: Client, sessionKey: string): Promise<Output<"status"> | null> {
  try {
    return await client.call("status", { sessionKey });
  } catch (error) {
    if (error instanceof Fault && error.code === "not_found") return null;
    throw error;
  }
}

function headerOf(key: string, status: Output<"status"> | null, nowMs: number, width: number): string {
  const about = status === null ? `${key} · new: your first message opens it` : aboutOf(status, nowMs);
  const room = width - 1 - widthOf(about);
  const help = HELP.find((words) => words.length + 3 <= room) ?? "";
  return help === "" ? about : about + help.padStart(room);
}

/** The longest that fits. */
const HELP = ["/help, Ctrl-C stops the turn, twice leaves", "/help"];

function aboutOf(
  { sessionKey, model, context, bornAt, state, why }: Output<"status">,
  nowMs: number,
): string {
  const used = `${percent(context.tokens, context.window)} of ${count(context.window)}`;
  const old = age(nowMs - Date.parse(bornAt));
  const now = state === "idle" ? "" : ` · ${oneLine(why ?? "")}`;
  return `${sessionKey} · ${model} · ${used} · ${old === "now" ? "new" : `${old} old`}${now}`;
}
