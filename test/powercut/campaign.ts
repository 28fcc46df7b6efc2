// The power-cut campaign: the workload runs once, watched; then the disk is put together again and again as it
// may stand after a cut at a random moment, recovered, and compared with what the workload had been told by then.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLog } from "../../src/base/log.ts";
import { RealWorld, SimulatedWorld } from "../../src/base/world.ts";
import { fsck } from "../../src/upkeep/fsck.ts";
import { judge } from "../crash/judge.ts";
import { Ledger } from "../crash/ledger.ts";
import { look } from "../crash/look.ts";
import { brokenSource, realSource, type Variant } from "../crash/variants.ts";
import { Disk, type Cut } from "./disk.ts";
import { saidBefore, type Recording } from "./operation.ts";
import { record } from "./trace.ts";
import { materialise } from "./tree.ts";

export interface Campaign {
  readonly cuts: number;
  /** Commits of the workload that is cut. */
  readonly commits: number;
  readonly seed: number;
  /** Null: the real source. */
  readonly variant: Variant | null;
  readonly said: (line: string) => void;
}

export interface Outcome {
  readonly cuts: number;
  readonly operations: number;
  readonly acknowledged: number;
  /** Of the first cut that showed one; the campaign ends there. */
  readonly problems: readonly string[];
}

/** A recording is cut so many times, then the workload runs anew: other commits, other interleavings. */
const CUTS_PER_RECORDING = 100;

export async function powercut(campaign: Campaign): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "sessiond-powercut-"));
  const dice = new SimulatedWorld(campaign.seed);
  try {
    const source =
      campaign.variant === null ? realSource() : brokenSource(campaign.variant, join(folder, "broken"));
    let outcome: Outcome = { cuts: 0, operations: 0, acknowledged: 0, problems: [] };
    for (let run = 0; outcome.cuts < campaign.cuts && outcome.problems.length === 0; run += 1) {
      const root = join(folder, `run-${run}`);
      mkdirSync(root);
      const args = [
        join(source, "test/crash/workload.ts"),
        join(root, "home"),
        String(campaign.seed),
        String(run),
        String(campaign.commits),
      ];
      const recording = await record({ command: process.execPath, args, env: {}, root });
      campaign.said(`recorded ${recording.operations.length} operations of ${campaign.commits} commits`);
      outcome = await cutAll({ ...campaign, folder, recording, dice }, outcome);
      rmSync(root, { recursive: true, force: true });
    }
    return outcome;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Cutting = Campaign & {
  readonly folder: string;
  readonly recording: Recording;
  readonly dice: SimulatedWorld;
};

async function cutAll(cutting: Cutting, before: Outcome): Promise<Outcome> {
  const { operations } = cutting.recording;
  const disk = new Disk(cutting.recording);
  const count = Math.min(CUTS_PER_RECORDING, cutting.cuts - before.cuts);
  const places = Array.from({ length: count }, () =>
    Math.floor(cutting.dice.random() * (operations.length + 1)),
  );
  let { cuts, acknowledged } = before;
  for (const at of places.toSorted((a, b) => a - b)) {
    const cut = disk.cut(at, () => cutting.dice.random());
    const { kept, problems } = await recover(cutting, cut);
    cuts += 1;
    acknowledged += kept;
    if (cuts % 25 === 0 || problems.length > 0)
      cutting.said(
        `cut ${cuts}: at operation ${at} of ${operations.length}, loss "${cut.style}": ${kept} acknowledged commits there`,
      );
    if (problems.length > 0)
      return { cuts, operations: before.operations + operations.length, acknowledged, problems };
  }
  return { cuts, operations: before.operations + operations.length, acknowledged, problems: [] };
}

async function recover(
  cutting: Cutting,
  cut: Cut,
): Promise<{ readonly kept: number; readonly problems: readonly string[] }> {
  const root = join(cutting.folder, "after");
  const world = new RealWorld();
  const ledger = new Ledger();
  ledger.hearOutput(saidBefore(cutting.recording.operations, cut.at));
  try {
    mkdirSync(root);
    await materialise(cut.tree, root);
    const home = join(root, "home");
    const seen = await look(home, { world, log: openLog("silent") });
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
