// The power-cut campaign: the workload runs, watched; it is killed at a few moments, and each time runs again, watched,
// on what it left; then the disk is put together again and again as it may stand after a cut at a random moment of
// either life, recovered, and compared with what the workload had been told by then. A third of the cuts and more are
// in the recovery with which the second life begins.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLog } from "../../src/base/log.ts";
import { RealWorld, SimulatedWorld } from "../../src/base/world.ts";
import { fsck } from "../../src/upkeep/fsck.ts";
import { judge } from "../crash/judge.ts";
import type { Ledger } from "../crash/ledger.ts";
import { look } from "../crash/look.ts";
import { brokenSource, realSource, type Variant } from "../crash/variants.ts";
import { deathsOf } from "./deaths.ts";
import { Disk } from "./disk.ts";
import { liveOn } from "./lives.ts";
import type { Tree } from "./operation.ts";
import { Story } from "./story.ts";
import { record, type Program } from "./trace.ts";
import { materialise } from "./tree.ts";

export interface Campaign {
  readonly cuts: number;
  /** Of the first life; the second one has a quarter of them. */
  readonly commits: number;
  readonly seed: number;
  /** Null: the real source. */
  readonly variant: Variant | null;
  readonly said: (line: string) => void;
}

export interface Outcome {
  readonly cuts: number;
  /** Of these, cuts while a second life recovered from the end of the first. */
  readonly ofRecovery: number;
  readonly operations: number;
  readonly acknowledged: number;
  /** Of the first cut that showed one; the campaign ends there. */
  readonly problems: readonly string[];
}

/** A first life and those that follow its deaths are cut so many times, then all is done anew: other interleavings. */
const CUTS_PER_LIFE = 60;

/** With fewer cuts than this, a death is not worth the second life that has to be run for it. */
const CUTS_PER_DEATH_MIN = 4;

/** Cuts for each after which search is asked too. */
const SEARCH_EVERY = 5;

export async function powercut(campaign: Campaign): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "sessiond-powercut-"));
  const dice = new SimulatedWorld(campaign.seed);
  try {
    const source =
      campaign.variant === null ? realSource() : brokenSource(campaign.variant, join(folder, "broken"));
    let outcome: Outcome = { cuts: 0, ofRecovery: 0, operations: 0, acknowledged: 0, problems: [] };
    for (let run = 0; outcome.cuts < campaign.cuts && outcome.problems.length === 0; run += 1)
      outcome = await oneLife({ ...campaign, folder, source, dice, run }, outcome);
    return outcome;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Running = Campaign & {
  readonly folder: string;
  readonly source: string;
  readonly dice: SimulatedWorld;
  readonly run: number;
};

/** A first life, killed in every way, and the cuts of it and of what comes after. */
async function oneLife(running: Running, before: Outcome): Promise<Outcome> {
  const { commits, dice, said } = running;
  const until = Math.min(before.cuts + CUTS_PER_LIFE, running.cuts);
  const first = await record(workload(running, 0, commits));
  const kinds = Math.ceil((until - before.cuts) / CUTS_PER_DEATH_MIN);
  const ends = deathsOf(first, join(running.folder, "state"), kinds, () => dice.random());
  let outcome: Outcome = { ...before, operations: before.operations + first.operations.length };
  for (const [at, end] of ends.entries()) {
    const count = Math.ceil((until - outcome.cuts) / (ends.length - at));
    if (count <= 0 || outcome.problems.length > 0) break;
    const story = new Story(await liveOn(first, end, workload(running, at + 1, Math.ceil(commits / 4))));
    said(`recorded ${story}`);
    outcome = await cutSome(running, story, count, outcome);
  }
  return outcome;
}

/** `life` counts from 0. Each has a root that is empty; liveOn() puts there what the one before it left. */
function workload({ source, folder, seed, run }: Running, life: number, commits: number): Program {
  const root = join(folder, "root");
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root);
  const args = [join(source, "test/crash/workload.ts"), join(root, "home"), seed, 10 * run + life, commits];
  return { command: process.execPath, args: args.map(String), env: {}, root };
}

async function cutSome(running: Running, story: Story, count: number, before: Outcome): Promise<Outcome> {
  const { dice, said } = running;
  const { lives } = story;
  const operations = before.operations + lives.operations.length - lives.second;
  // What the first life left is looked at once as it is: then everybody has seen what had happened by that time.
  const shown = story.testament;
  const left = await recover(running, { tree: lives.left, ledger: shown, search: true });
  if (left.problems.length > 0) return { ...before, operations, problems: left.problems };
  const disk = new Disk(lives);
  let { cuts, ofRecovery, acknowledged } = before;
  for (const at of story.places(count, () => dice.random())) {
    const cut = disk.cut(at, () => dice.random());
    const search = cuts % SEARCH_EVERY === 0;
    const { kept, problems } = await recover(running, {
      tree: cut.tree,
      ledger: story.told(at, shown),
      search,
    });
    cuts += 1;
    ofRecovery += story.isRecovery(at) ? 1 : 0;
    acknowledged += kept;
    if (cuts % 25 === 0 || problems.length > 0)
      said(`cut ${cuts}: at ${story.describe(at)}, loss "${cut.style}": ${kept} commits there`);
    if (problems.length > 0) return { cuts, ofRecovery, operations, acknowledged, problems };
  }
  return { cuts, ofRecovery, operations, acknowledged, problems: [] };
}

async function recover(
  { folder }: Running,
  { tree, ledger, search }: { readonly tree: Tree; readonly ledger: Ledger; readonly search: boolean },
): Promise<{ readonly kept: number; readonly problems: readonly string[] }> {
  const root = join(folder, "after");
  const world = new RealWorld();
  try {
    mkdirSync(root);
    await materialise(tree, root);
    const home = join(root, "home");
    const seen = await look(home, { world, log: openLog("silent"), search });
    const verdict = judge(ledger, seen);
    const { findings } = await fsck(home, world.nowMs(), () => {});
    return {
      kept: verdict.kept,
      problems: [
        ...verdict.problems,
        ...findings.filter(isDamage).map(({ where, message }) => `fsck: ${where}: ${message}`),
      ],
    };
  } catch (error) {
    return {
      kept: 0,
      problems: [`it does not start: ${error instanceof Error ? error.message : String(error)}`],
    };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** A transcript without a session is what a cut leaves of a deletion, or of a birth that was never acknowledged. */
function isDamage(finding: { readonly grade: string }): boolean {
  return finding.grade === "damage";
}
