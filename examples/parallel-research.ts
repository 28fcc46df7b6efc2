// Three research agents look into three competitors at the same time, each alone with its task; the session that sent them
// rests meanwhile, and has their answers when the last one is back.
//
//   node examples/parallel-research.ts
//
// No key and no network are needed: the model is the built-in rehearsal, which does what the lines that begin with "!" say
// (docs/rehearsal.md). A real one would decide by itself to call `sessions_spawn` and `sessions_yield`; the rest is the same.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open, textOf, type Entry } from "../src/index.ts";

const MAIN = "agent:main:main";

/** What each of them is told, and how long its model takes. */
const RESEARCH = [
  { competitor: "Acme", slowMs: 1_500, finding: "Acme sells at $49 a seat and has no offline mode." },
  { competitor: "Globex", slowMs: 1_800, finding: "Globex is free up to five people, then $12 each." },
  { competitor: "Initech", slowMs: 1_200, finding: "Initech charges by use, about $0.40 an hour." },
];

/** One line for each child; then the turn rests until all have reported; then what they said is the answer. */
const spawns = RESEARCH.map(({ competitor, slowMs, finding }) => {
  const task = `What does ${competitor} charge, and what is missing?\n!slow ${slowMs}\n!say ${finding}`;
  return `!spawn ${JSON.stringify({ task, label: competitor })}`;
});
const question = ["Compare our three competitors.", ...spawns, "!call sessions_yield", "!then", "!results"];

const home = await mkdtemp(join(tmpdir(), "parallel-research-"));
const sessions = await open({ home, log: { level: "warn" } });
const startedMs = Date.now();
const over = new AbortController();

function tell(who: string, what: string): void {
  console.log(`${((Date.now() - startedMs) / 1_000).toFixed(1).padStart(5)} s  ${who.padEnd(8)} ${what}`);
}

/** The key of the child that an entry says was spawned; null: it says something else. */
function spawnedIn(entry: Entry): string | null {
  if (entry.type !== "message" || entry.message.role !== "toolResult") return null;
  if (entry.message.toolName !== "sessions_spawn" || entry.message.isError) return null;
  return (JSON.parse(textOf(entry)) as { readonly sessionKey: string }).sessionKey;
}

/** Says who works when. Entries come as soon as they are written down, and those that are there already come first. */
async function watch(key: string, who: string): Promise<void> {
  const children: Promise<void>[] = [];
  for await (const event of sessions.follow(key, { from: 0, signal: over.signal })) {
    if (event.type === "state" && event.state.kind === "waiting")
      tell(who, "rests until its children report");
    if (event.type !== "entry" || event.entry.type !== "message") continue;
    const { role } = event.entry.message;
    const child = spawnedIn(event.entry);
    if (child !== null) children.push(watch(child, (await sessions.status(child)).title));
    else if (role === "user" && key !== MAIN) tell(who, "has its task and asks its model");
    else if (role === "user" && textOf(event.entry).startsWith("Report")) tell(who, "has read a report");
    else if (role === "assistant" && key !== MAIN) tell(who, `answers: ${textOf(event.entry)}`);
  }
  await Promise.all(children);
}

try {
  const watching = watch(MAIN, "main");
  const { text } = await sessions.ask(MAIN, question.join("\n"));
  const tookMs = Date.now() - startedMs;
  const { children } = await sessions.children(MAIN);
  const each = await Promise.all(children.map(({ sessionKey }) => sessions.status(sessionKey)));
  over.abort();
  await watching;
  const apart = each.reduce((ms, { usage }) => ms + usage.modelMs, 0);
  console.log(`\n${text}\n`);
  console.log(
    `It took ${(tookMs / 1_000).toFixed(1)} s; one after the other: ${(apart / 1_000).toFixed(1)} s.`,
  );
} finally {
  await sessions.close();
  await rm(home, { recursive: true, force: true });
}
