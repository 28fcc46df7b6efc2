// Measure: what a daemon costs that has nothing to do: 1,000 jobs that are due next year and 50 agents whose hearts beat once in ten
// hours, beside a daemon with nothing. The daemon is a process of its own, built; its CPU time over a minute is the kernel's.
//
//   SESSIOND_BENCH_IDLE_SECONDS   how long it is looked at (60)

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Connection, Daemon } from "./daemon.ts";
import { percent, type Figure } from "./measure.ts";
import type { Run } from "./run.ts";

const JOBS = 1_000;
const AGENTS = 50;
const SHARE_MAX = 0.005;
/** After a start: heaps, caches, and the first round of upkeep, which comes after a minute and then once an hour. */
const SETTLE_MS = 75_000;

export async function idle(run: Run): Promise<Figure[]> {
  const seconds = Number(process.env["SESSIOND_BENCH_IDLE_SECONDS"] ?? run.atLeast(20, 60));
  const nothing = await Daemon.start(run.scratch.home("idle-empty"));
  const home = run.scratch.home("idle");
  const agents = configured(home);
  const full = await Daemon.start(home);
  try {
    const jobs = run.sized(JOBS);
    await withJobs(full, jobs, agents);
    await sleep(run.atLeast(5_000, SETTLE_MS));
    const before = [full.cpuMs, nothing.cpuMs] as const;
    await sleep(seconds * 1_000);
    const share = (full.cpuMs - before[0]) / (seconds * 1_000);
    const base = (nothing.cpuMs - before[1]) / (seconds * 1_000);
    return [
      {
        what: `CPU of a daemon with ${jobs.toLocaleString("en-US")} jobs and ${AGENTS} heartbeats, nothing due, over ${seconds} s`,
        ours: percent(share),
        base: percent(base),
        beside: "a daemon with nothing",
        wanted: { words: `< ${SHARE_MAX * 100} % of a core`, met: share < SHARE_MAX },
      },
    ];
  } finally {
    await Promise.all([full.stop(), nothing.stop()]);
  }
}

/** Each with something to look after. */
function configured(home: string): readonly string[] {
  const names = Array.from({ length: AGENTS }, (_, n) => `agent-${n}`);
  const agents = Object.fromEntries(names.map((name) => [name, { heartbeat: { everyMinutes: 600 } }]));
  writeFileSync(join(home, "config.json5"), JSON.stringify({ agents }));
  for (const name of names) {
    const workspace = join(home, "agents", name, "workspace");
    mkdirSync(workspace, { recursive: true, mode: 0o700 });
    writeFileSync(join(workspace, "HEARTBEAT.md"), "- Look whether the garden wants water.\n");
  }
  return names;
}

async function withJobs(daemon: Daemon, jobs: number, agents: readonly string[]): Promise<void> {
  const connection = await Connection.open(daemon.port, daemon.token);
  const nextYear = new Date().getUTCFullYear() + 1;
  for (let n = 0; n < jobs; n += 1) {
    const at = new Date(Date.UTC(nextYear, n % 12, 1 + (n % 28), n % 24, n % 60)).toISOString();
    const params = { agent: agents[n % agents.length], at, message: "Water the garden.", name: `job ${n}` };
    const said = await connection.request(
      "POST",
      "/rpc",
      JSON.stringify({ jsonrpc: "2.0", id: n, method: "addJob", params }),
    );
    if (said.includes('"error"')) throw new Error(said.slice(0, 300));
  }
  connection.close();
}
