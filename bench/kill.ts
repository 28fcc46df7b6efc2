// Measure 13: a child is killed while it runs a program that ignores SIGTERM and has put a daemon aside: until nothing of that
// tree lives and its parent is told. And the same tree when it was orphaned: its gateway was killed, and the next one starts.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { open, type Sessions } from "../src/index.ts";
import { median, ms, type Figure } from "./measure.ts";
import type { Run } from "./run.ts";

const MAIN = "agent:main:main";

/** Two processes that write down their numbers and mean to stay: one of them left its parent, its group and its session. */
const STUBBORN =
  "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$ > daemon.pid; while :; do sleep 1; done' >/dev/null 2>&1 &); " +
  "echo $$ > own.pid; while :; do sleep 1; done";

const ASKED = [
  `!spawn ${JSON.stringify({ task: `!call exec ${JSON.stringify({ command: STUBBORN })}` })}`,
  "!call sessions_yield",
  "!then",
  "!results",
].join("\n");

export async function kill(run: Run): Promise<Figure[]> {
  if (process.platform !== "linux") return [];
  const killed: number[] = [];
  const orphaned: number[] = [];
  for (let round = 0; round < run.atLeast(3, 10); round += 1) {
    killed.push(await killedChild(run));
    orphaned.push(await orphanedTree(run));
  }
  const figure = (what: string, took: readonly number[]): Figure => ({
    what,
    ours: ms(Math.max(...took), "slowest"),
    beside: "half of these took at most",
    base: ms(median(took)),
    wanted: { words: "≤ 2000 ms", met: Math.max(...took) <= 2_000 },
  });
  return [
    figure(
      "a child is killed whose program ignores SIGTERM and left a daemon: tree gone, parent told",
      killed,
    ),
    figure("the same tree, left by a gateway that was killed: gone after the next start", orphaned),
  ];
}

export async function openWithPrograms(home: string): Promise<Sessions> {
  return await open({ home, agents: { main: { tools: { exec: true } } }, log: { level: "error" } });
}

async function killedChild(run: Run): Promise<number> {
  const home = run.scratch.home("kill");
  const sessions = await openWithPrograms(home);
  const answer = sessions.ask(MAIN, ASKED);
  const pids = await stubborn(home);
  const [child] = (await sessions.children(MAIN)).children;
  const fromMs = performance.now();
  await sessions.kill(child?.sessionKey ?? "");
  const told = answer.then(() => performance.now() - fromMs);
  await gone(pids);
  const goneMs = performance.now() - fromMs;
  const tookMs = Math.max(goneMs, await told);
  await sessions.close();
  await run.scratch.remove(home);
  return tookMs;
}

async function orphanedTree(run: Run): Promise<number> {
  const home = run.scratch.home("orphans");
  const child = run.scratch.start(new URL("./kill-life.ts", import.meta.url), [home, ASKED]);
  const pids = await stubborn(home);
  const dead = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await dead;
  const fromMs = performance.now();
  const sessions = await openWithPrograms(home);
  await gone(pids);
  const tookMs = performance.now() - fromMs;
  await sessions.close();
  await run.scratch.remove(home);
  return tookMs;
}

/** The numbers of both, as soon as they have written them down. */
async function stubborn(home: string): Promise<readonly number[]> {
  const folder = join(home, "agents", "main", "workspace");
  for (;;) {
    const pids = ["own.pid", "daemon.pid"].flatMap((name) => {
      try {
        return readdirSync(folder).includes(name) ? [Number(readFileSync(join(folder, name), "utf8"))] : [];
      } catch {
        return []; // The folder is not there yet.
      }
    });
    if (pids.length === 2 && pids.every((pid) => pid > 1)) return pids;
    await sleep(5);
  }
}

async function gone(pids: readonly number[]): Promise<void> {
  while (pids.some(lives)) await sleep(2);
}

/** A dead one whose parent has not looked yet is dead. */
function lives(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
