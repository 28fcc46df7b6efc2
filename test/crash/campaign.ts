// The kill campaign: start the workload, kill it without warning at a random moment, recover, compare; again and
// again on the same home. It shows that a process crash costs nothing. It cannot show that a power cut does not,
// because the page cache survives a process: for that there is test/powercut/.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLog } from "../../src/base/log.ts";
import { RealWorld, SimulatedWorld } from "../../src/base/world.ts";
import { fsck } from "../../src/upkeep/fsck.ts";
import { judge } from "./judge.ts";
import { Ledger } from "./ledger.ts";
import { look } from "./look.ts";
import { brokenSource, realSource, type Variant } from "./variants.ts";

export interface Campaign {
  readonly kills: number;
  readonly seed: number;
  /** Null: the real source. */
  readonly variant: Variant | null;
  readonly said: (line: string) => void;
}

export interface Outcome {
  readonly kills: number;
  readonly acknowledged: number;
  /** Killed with commits under way whose fate nobody had been told. */
  readonly undecided: number;
  readonly problems: readonly string[];
}

/** A home is used for so many kills, then a new one: so that a run's cost does not grow with its length. */
const KILLS_PER_HOME = 20;
const LIFE_MS_MAX = 400;

export async function crash(campaign: Campaign): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "sessiond-crash-"));
  const dice = new SimulatedWorld(campaign.seed);
  try {
    const source =
      campaign.variant === null ? realSource() : brokenSource(campaign.variant, join(folder, "broken"));
    let outcome: Outcome = { kills: 0, acknowledged: 0, undecided: 0, problems: [] };
    for (let homes = 0; outcome.kills < campaign.kills && outcome.problems.length === 0; homes += 1) {
      const home = join(folder, `home-${homes}`);
      outcome = await oneHome({ ...campaign, source, home, dice }, outcome);
      rmSync(home, { recursive: true, force: true });
    }
    return outcome;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Running = Campaign & { readonly source: string; readonly home: string; readonly dice: SimulatedWorld };

async function oneHome(running: Running, before: Outcome): Promise<Outcome> {
  const world = new RealWorld();
  const ledger = new Ledger();
  let { kills, acknowledged, undecided } = before;
  for (let run = 0; run < KILLS_PER_HOME && kills < running.kills; run += 1) {
    await liveAndDie(running, ledger, kills);
    kills += 1;
    const open = ledger.attempts.size - ledger.acknowledged.size;
    const seen = await look(running.home, { world, log: openLog("silent") });
    const verdict = judge(ledger, seen);
    const checked = run % 5 === 4 ? await fsck(running.home, world.nowMs(), () => {}) : { findings: [] };
    const problems = [
      ...verdict.problems,
      ...checked.findings.map((finding) => `fsck: ${finding.where}: ${finding.message}`),
    ];
    acknowledged = before.acknowledged + verdict.kept;
    undecided += open;
    running.said(
      `kill ${kills}: ${verdict.kept} acknowledged commits in ${seen.sessions.size} sessions all there; ${open} were under way`,
    );
    if (problems.length > 0) return { kills, acknowledged, undecided, problems };
  }
  return { kills, acknowledged, undecided, problems: [] };
}

/** Runs the workload until a moment that nobody chose, and hears what it had said by then. */
async function liveAndDie(running: Running, ledger: Ledger, run: number): Promise<void> {
  const workload = join(running.source, "test/crash/workload.ts");
  const child = spawn(process.execPath, [workload, running.home, String(running.seed), String(run)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  let doomed: NodeJS.Timeout | null = null;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    doomed ??= setTimeout(() => child.kill("SIGKILL"), running.dice.random() * LIFE_MS_MAX);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  child.on("close", () => resolve());
  await promise;
  if (doomed) clearTimeout(doomed);
  if (child.signalCode !== "SIGKILL")
    throw new Error(`the workload ended by itself (exit ${child.exitCode}): ${output.slice(-300)}`);
  ledger.hearOutput(output);
}
