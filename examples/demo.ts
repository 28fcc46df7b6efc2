// A minute with sessiond: three sub-agents research at the same time, the daemon is killed in the middle (SIGKILL, as by
// `kill -9` or a machine that runs out of memory), is started again, and the answers arrive.
//
//   npm run demo
//
// The daemon is a real one in a process of its own, on a home that is removed afterwards; this program is its client. Only
// the model is scripted: the built-in rehearsal does what the lines that begin with "!" say (docs/rehearsal.md).

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, findGateway } from "../src/cli/client.ts";
import { textOf, type Entry } from "../src/index.ts";

const MAIN = "agent:main:main";
const CLI = new URL("../src/cli/main.ts", import.meta.url).pathname;

/** What each of them finds, and how long its model takes for the first and for the second step. */
const RESEARCH = [
  { name: "Acme", steps: [800, 600], finding: "Acme sells at $49 a seat and has no offline mode." },
  { name: "Globex", steps: [1_000, 2_500], finding: "Globex is free up to five people, then $12 each." },
  { name: "Initech", steps: [1_200, 3_000], finding: "Initech charges by use, about $0.40 an hour." },
];

const spawns = RESEARCH.map(({ name, steps: [first, second], finding }) => {
  const script = `!slow ${first}\n!say Reading what ${name} says.\n!call session_status\n!then\n!slow ${second}\n!say ${finding}`;
  return `!spawn ${JSON.stringify({ task: `What does ${name} charge, and what is missing?\n${script}`, label: name })}`;
});
const question = [
  "Compare our three competitors.",
  ...spawns,
  "!call sessions_yield",
  "!then",
  "!results",
].join("\n");

const home = await mkdtemp(join(tmpdir(), "sessiond-demo-"));
const env = {
  ...process.env,
  SESSIOND_HOME: home,
  SESSIOND_PORT: "0",
  SESSIOND_URL: undefined,
  SESSIOND_TOKEN: undefined,
};
const find = () => findGateway(env);
const over = new AbortController();
const startedMs = Date.now();
let daemon: ChildProcess | null = null;

function tell(who: string, what: string): void {
  console.log(`${((Date.now() - startedMs) / 1_000).toFixed(1).padStart(5)} s  ${who.padEnd(9)}${what}`);
}

/** Resolves when it answers. */
async function start(): Promise<Client> {
  const begun = spawn(process.execPath, [CLI, "serve"], { env, stdio: ["ignore", "ignore", "inherit"] });
  daemon = begun;
  for (;;) {
    const text = await readFile(join(home, "gateway.json"), "utf8").catch(() => "");
    if (text.includes(`"pid":${begun.pid}`)) break;
    if (begun.exitCode !== null) throw new Error(`the daemon ended with ${begun.exitCode}`);
    await sleep(20);
  }
  tell("daemon", `runs (pid ${begun.pid})`);
  return new Client(await find(), find);
}

async function end(signal: NodeJS.Signals): Promise<void> {
  if (daemon === null || daemon.exitCode !== null || daemon.signalCode !== null) return;
  const ended = once(daemon, "exit");
  daemon.kill(signal);
  await ended;
}

/** The key of the child that an entry says was spawned; null: it says something else. */
function spawnedIn(entry: Entry): string | null {
  if (entry.type !== "message" || entry.message.role !== "toolResult") return null;
  if (entry.message.toolName !== "sessions_spawn" || entry.message.isError) return null;
  return (JSON.parse(textOf(entry)) as { readonly sessionKey: string }).sessionKey;
}

let reports = 0;
const answered = Promise.withResolvers<string>();

/** Says who does what, each thing once, also over the restart: who follows comes back with the last entry that it has. */
async function watch(client: Client, key: string, who: string): Promise<void> {
  const input = { sessionKey: key, from: 0 };
  for await (const { event } of client.stream("follow", input, { signal: over.signal, reconnect: true })) {
    if (event.type !== "entry") continue;
    const entry = event.entry as unknown as Entry;
    if (entry.type === "custom" && entry.customType === "sessiond/turn-resumed")
      tell(who, "goes on where it was");
    if (entry.type !== "message") continue;
    const child = spawnedIn(entry);
    const text = textOf(entry).split("\n")[0] ?? "";
    if (child !== null) {
      const name = RESEARCH[children.length]?.name ?? child;
      children.push(watch(client, child, name));
      tell(who, `has sent ${name}`);
    } else if (entry.message.role === "user" && text.startsWith("Report")) {
      reports += 1;
      const [, found = ""] = textOf(entry).split("Its answer:\n");
      tell(who, `has report ${reports} of ${RESEARCH.length}: ${found.trim()}`);
    } else if (entry.message.role === "assistant" && textOf(entry).trim() !== "") {
      if (key !== MAIN) tell(who, text);
      else if (reports === RESEARCH.length) answered.resolve(textOf(entry));
    }
  }
}

const children: Promise<void>[] = [];

try {
  const client = await start();
  const watching = watch(client, MAIN, "main");
  await client.call("send", { sessionKey: MAIN, message: question, id: "the question" });
  while (reports === 0) await sleep(50); // One of them is done, the others are in the middle of a step.
  await sleep(300);
  await end("SIGKILL");
  tell("daemon", "KILLED (SIGKILL), with two sub-agents in the middle of their work");
  await sleep(1_000);
  await start();
  tell("main", await answered.promise);
  const { children: all } = await client.call("children", { sessionKey: MAIN });
  console.log(`\n${all.length} sub-agents were sent, ${reports} reports came, each once. Nothing was lost.`);
  over.abort();
  await Promise.allSettled([watching, ...children]);
} finally {
  over.abort();
  await end("SIGKILL");
  await rm(home, { recursive: true, force: true });
}
