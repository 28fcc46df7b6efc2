// What fills a session's context, and what is done about it: context, compact, handoff, rewind.

import { Fault } from "../base/fault.ts";
import { alarm } from "../base/waiting.ts";
import { RealWorld } from "../base/world.ts";
import type { Output } from "../calls/door.ts";
import { SESSION, textOf, type Command } from "./command.ts";
import { keyOf } from "./key.ts";
import { count, cut, dim, json, many, oneLine, percent, whole, type Screen } from "./output.ts";

type Context = Output<"context">;

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
    else for (const line of contextLines(about, screen)) screen.out(`${line}\n`);
    return 0;
  },
};

/** Also for the chat. */
export function contextLines(about: Context, screen: Screen | null): readonly string[] {
  const { tokens, window, most, compactAt, parts, pruned, compaction, pins, model } = about;
  const faint = (text: string): string => (screen === null ? text : dim(screen, text));
  const shares: readonly (readonly [string, number])[] = [
    ["system prompt", parts.system],
    ["tools", parts.tools],
    ["summary", parts.summary],
    ["messages", parts.messages],
    ["tool results", parts.toolResults],
  ];
  const lines = [
    `${count(tokens)} tokens, ${percent(tokens, window)} of the ${count(window)} of ${model}; summarised past ${count(compactAt)}`,
    ...shares.map(
      ([name, part]) => `  ${faint(name.padEnd(14))} ${count(part).padStart(7)}  ${bar(part, tokens)}`,
    ),
  ];
  if (tokens > most) lines.push(`  the next request is cut to ${count(most)}, so that it fits`);
  if (pins.length > 0) lines.push(`  ${many(pins.length, "entry", "entries")} pinned`);
  for (const { entry, seq, text } of pins)
    lines.push(`    ${seq === null ? oneLine(entry) : `#${seq}`} ${faint(cut(oneLine(text), PIN_CELLS))}`);
  if (pruned.results > 0)
    lines.push(
      `  ${many(pruned.results, "tool result")} removed from the prompt (${whole(pruned.bytes)} bytes); sessiond result reads them`,
    );
  if (compaction !== null) {
    const why =
      compaction.truncated === null ? "" : `; cut without a summary: ${cut(compaction.truncated, WHY_CELLS)}`;
    lines.push(
      `  compacted at entry ${compaction.seq} from ${count(compaction.tokensBefore)} tokens${oneLine(why)}`,
    );
  }
  return lines;
}

/** Of the words of a pinned entry: beside its number they fit a line. */
const PIN_CELLS = 60;

/** Of why there is no summary. */
const WHY_CELLS = 100;

const BAR_CELLS = 30;

function bar(part: number, of: number): string {
  return "█".repeat(of === 0 ? 0 : Math.round((part / of) * BAR_CELLS));
}

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

/** Also for the chat. */
export function compactedWords({ outcome, reason, tokensBefore, tokensAfter }: Output<"compact">): string {
  if (tokensBefore !== null && tokensAfter !== null)
    return `${count(tokensBefore)} tokens became ${count(tokensAfter)}${reason === null ? "" : `; ${reason}`}`;
  return outcome === "done" ? (reason ?? "nothing to do") : `not compacted${yet({ outcome, reason })}`;
}

/** Of what is not done. */
function yet({ outcome, reason }: Pick<Output<"compact">, "outcome" | "reason">): string {
  const why = reason ?? "nobody says why";
  if (outcome !== "unanswered") return ` (${outcome}): ${why}`;
  return ` yet: ${why}; it is done when the session comes to it`;
}

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

/** Also for the chat. */
export function handedWords(done: Output<"handoff">): string {
  const { from, sessionKey, file, outcome } = done;
  if (outcome === "done")
    return `${sessionKey} goes on from ${from}; the state is in ${file} of the workspace`;
  const who = outcome === "unanswered" ? `, and ${sessionKey} goes on from there` : "";
  return `${from} is not handed over${yet(done)}${who}`;
}

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

/** Also for the chat. */
export function rewoundWords(done: Output<"rewind">): string {
  return done.outcome === "done" ? `continues from entry ${done.to}` : `has not gone back${yet(done)}`;
}

/** Also for the chat. */
export function entryIn(text: string): { readonly seq: number } | { readonly entry: string } {
  if (text === "")
    throw new Fault(
      "bad_input",
      "say which entry, by its number or its id: `sessiond log` shows the numbers",
    );
  return /^\d+$/.test(text) ? { seq: Number(text) } : { entry: text };
}
