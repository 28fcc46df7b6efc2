// The kill campaign: start the workload, kill it without warning at a random moment, recover, compare; again and
// again on the same home. Often the start after a kill is killed as well, while it recovers. It shows that a process
// crash costs nothing. It cannot show that a power cut does not, because the page cache survives a process: for that
// there is test/powercut/.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLog } from "../../src/base/log.ts";
import { RealWorld, SimulatedWorld } from "../../src/base/world.ts";
import { fsck } from "../../src/upkeep/fsck.ts";
import { judge } from "./judge.ts";
import { Killer } from "./killer.ts";
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
  /** Of these, kills of a start that was not done: it was recovering from the kill before. */
  readonly beforeReady: number;
  readonly acknowledged: number;
  /** Killed with commits under way whose fate nobody had been told. */
  readonly undecided: number;
  readonly problems: readonly string[];
}

/** A home is used for so many kills, then a new one: so that a run's cost does not grow with its length. */
const KILLS_PER_HOME = 20;

/** How often the start after a kill is killed too. Of those, so many again: in the end it is two kills in five. */
const STARTS_KILLED = 0.4;

/** Comparisons for each that also runs fsck and asks search. */
const THOROUGH_EVERY = 4;

export async function crash(campaign: Campaign): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "sessiond-crash-"));
  const dice = new SimulatedWorld(campaign.seed);
  try {
    const source =
      campaign.variant === null ? realSource() : brokenSource(campaign.variant, join(folder, "broken"));
    const killer = new Killer(join(source, "test/crash/workload.ts"), campaign.seed, dice);
    let outcome: Outcome = { kills: 0, beforeReady: 0, acknowledged: 0, undecided: 0, problems: [] };
    for (let homes = 0; outcome.kills < campaign.kills && outcome.problems.length === 0; homes += 1) {
      const home = join(folder, `home-${homes}`);
      outcome = await oneHome({ ...campaign, home, dice, killer }, outcome);
      rmSync(home, { recursive: true, force: true });
    }
    return outcome;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Running = Campaign & { readonly home: string; readonly dice: SimulatedWorld; readonly killer: Killer };

async function oneHome(running: Running, before: Outcome): Promise<Outcome> {
  const ledger = new Ledger();
  const last = Math.min(before.kills + KILLS_PER_HOME, running.kills);
  let outcome = before;
  for (let round = 1; outcome.kills < last && outcome.problems.length === 0; round += 1) {
    try {
      const { kills, beforeReady } = await killSome(running, ledger, outcome, last);
      const undecided = outcome.undecided + ledger.undecided;
      const { kept, problems, words } = await compare(running.home, ledger, round % THOROUGH_EVERY === 0);
      if (problems.length === 0) running.said(`${kills} kills: ${words}`);
      outcome = { kills, beforeReady, acknowledged: before.acknowledged + kept, undecided, problems };
    } catch (error) {
      const problem = `it does not start: ${error instanceof Error ? error.message : String(error)}`;
      outcome = { ...outcome, problems: [problem] };
    }
  }
  return outcome;
}

/** A life, and perhaps the starts after it, all killed. */
async function killSome(
  { home, killer, dice }: Running,
  ledger: Ledger,
  before: Outcome,
  last: number,
): Promise<Pick<Outcome, "kills" | "beforeReady">> {
  const life = await killer.life(home, before.kills);
  if (!life.killed) throw new Error(`the workload ended by itself: ${life.output.slice(-300)}`);
  ledger.hearOutput(life.output);
  let { kills, beforeReady } = { ...before, kills: before.kills + 1 };
  while (kills < last && dice.random() < STARTS_KILLED) {
    const start = await killer.start(home);
    ledger.hearOutput(start.output);
    if (!start.killed) break;
    kills += 1;
    if (!start.ready) beforeReady += 1;
  }
  return { kills, beforeReady };
}

async function compare(
  home: string,
  ledger: Ledger,
  thorough: boolean,
): Promise<{ readonly kept: number; readonly problems: readonly string[]; readonly words: string }> {
  const world = new RealWorld();
  const open = ledger.undecided;
  const seen = await look(home, { world, log: openLog("silent"), search: thorough });
  const { kept, problems } = judge(ledger, seen);
  const { findings } = thorough ? await fsck(home, world.nowMs(), () => {}) : { findings: [] };
  const found = findings.map((finding) => `fsck: ${finding.where}: ${finding.message}`);
  const words = `${kept} commits in ${seen.accounts.size} sessions all there; ${open} were under way`;
  return { kept, problems: [...problems, ...found], words };
}
