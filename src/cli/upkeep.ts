// `upkeep`: what keeps the disk bounded.

import { Fault } from "../base/fault.ts";
import type { Input, Output } from "../calls/door.ts";
import { unlessAgreed } from "./agreed.ts";
import type { Client } from "./client.ts";
import type { Command, Invocation } from "./command.ts";
import { bytes, json, many, roomOn, table, whole, type Screen } from "./output.ts";

type Plan = Output<"upkeepPlan">;
type Run = Output<"upkeep">;

/** Steps of a plan that are asked for at once. */
const PAGE_STEPS = 1_000;
/** Between two words about how far it is, to somebody who watches, and to a file. */
const WAIT_SECONDS = { watched: 1, unwatched: 15 };
/** As the answer was: it was done, but not all of it. */
const PARTLY_EXIT = 1;

/** Of steps that are done for one reason only. */
const ONLY_WHY: Readonly<Partial<Record<Plan["steps"][number]["do"], string>>> = {
  rotate: "large",
  pack: "archived",
  collect: "unnamed",
};

export const upkeep: Command = {
  name: "upkeep",
  summary: "archive what is old, erase old archives, keep the disk within its budget",
  arguments: [],
  options: [
    { flags: "--dry-run", about: "show exactly what a run would do now, and do nothing" },
    { flags: "-y, --yes", about: "do not ask before archives are erased" },
  ],
  more: `What it does is \`upkeep\` of the configuration; main, named, pinned and busy sessions are never taken.
Without --dry-run it is done now, whatever upkeep.mode says. At a terminal you are asked before archives are erased for good; what comes
to be due while you think is not among them. Ctrl-C stops watching; the run goes on.
Exit codes: 0 done, 1 some of it failed, or the disk was full.`,
  run: async (invocation) => {
    const { options, client: find, screen, signal } = invocation;
    const client = await find();
    if (options["dryRun"] !== true) {
      const agreed = await mayErase(invocation, client);
      return typeof agreed === "number" ? agreed : await done(invocation, client, agreed);
    }
    const plan = await wholePlan(client, signal);
    if (screen.json) json(screen, plan);
    else showPlan(screen, plan);
    return 0;
  },
};

/** All pages of one plan. Should another be made meanwhile, the daemon says so. */
async function wholePlan(client: Client, signal: AbortSignal): Promise<Plan> {
  const first = await client.call("upkeepPlan", { limit: PAGE_STEPS }, signal);
  const steps = [...first.steps];
  for (let { next } = first; next !== null;) {
    const page: Plan = await client.call("upkeepPlan", { limit: PAGE_STEPS, cursor: next }, signal);
    steps.push(...page.steps);
    next = page.next;
  }
  return { ...first, steps, more: 0, next: null };
}

function showPlan(screen: Screen, plan: Plan): void {
  const { steps, totals, usedBytes, leftBytes, overBytes } = plan;
  if (steps.length > 0)
    screen.out(
      table(
        steps,
        [
          { title: "DO", of: (step) => step.do },
          { title: "WHY", least: 12, of: ({ do: what, why }) => why ?? ONLY_WHY[what] ?? "" },
          { title: "SIZE", of: (step) => bytes(step.bytes), align: "right" },
          {
            title: "WHAT",
            least: 24,
            cut: "middle",
            of: ({ sessionKey, archive, blobs }) =>
              [sessionKey ?? many(blobs ?? 0, "blob"), ...(archive === null ? [] : [`(${archive})`])].join(
                " ",
              ),
          },
        ],
        roomOn(screen),
      ),
    );
  const { archive: archived, purge: purged, rotate: rotated, pack: packed, collect: collected } = totals;
  const words = wordsOf({ archived, purged, rotated, packed, collected }, false);
  const then = leftBytes === usedBytes ? "" : `, about ${bytes(leftBytes)} then`;
  screen.out(
    `${words === "" ? "nothing to do" : `would ${words}`}; ${bytes(usedBytes)} on the disk${then}\n`,
  );
  sayOver(screen, overBytes);
}

interface Counts {
  readonly archived: number;
  readonly purged: number;
  readonly rotated: number;
  readonly packed: number;
  readonly collected: number;
}

/** What is not nothing; empty: nothing is. */
function wordsOf({ archived, purged, rotated, packed, collected }: Counts, isDone: boolean): string {
  const did = (verb: string): string => (isDone ? verb.replace(/e?$/, "ed") : verb);
  return [
    archived > 0 && `${did("archive")} ${many(archived, "session")}`,
    purged > 0 && `${did("erase")} ${many(purged, "archive")} for good`,
    rotated > 0 && `${did("ask")} ${many(rotated, "session")} to go on in a new file`,
    packed > 0 && `${did("pack")} ${many(packed, "archive")}`,
    collected > 0 && `${did("remove")} ${many(collected, "blob")} that nobody names`,
  ]
    .filter((each) => each !== false)
    .join(", ");
}

function sayOver(screen: Screen, overBytes: number): void {
  if (overBytes > 0)
    screen.err(
      `${bytes(overBytes)} above upkeep.diskMiB stay: they are of sessions that are protected, blobs that are named, or archives of today\n`,
    );
}

/** What was agreed to, of who can be asked; of nobody else: whatever is due. A number: they said no, and the command ends with it. */
async function mayErase(
  invocation: Invocation,
  client: Client,
): Promise<Pick<Input<"upkeep">, "agreed"> | number> {
  const { options, screen, signal } = invocation;
  if (options["yes"] === true || screen.json || !screen.isTty || !process.stdin.isTTY) return {};
  const { totals, erases } = await client.call("upkeepPlan", { limit: 0 }, signal);
  if (erases === null) return { agreed: null };
  const { archive: archived, rotate: rotated, pack: packed, collect: collected } = totals;
  const rest = wordsOf({ archived, purged: 0, rotated, packed, collected }, false);
  const what = `${many(totals.purge, "archive")}${rest === "" ? "" : `, and ${rest}`} (--dry-run shows which)`;
  return (await unlessAgreed(invocation, { command: "upkeep", verb: "erase", what })) ?? { agreed: erases };
}

/** Until it is over, with a word about how far it is now and then. */
async function done(
  { screen, signal }: Invocation,
  client: Client,
  agreed: Pick<Input<"upkeep">, "agreed">,
): Promise<number> {
  const waitSeconds = screen.isTty && !screen.json ? WAIT_SECONDS.watched : WAIT_SECONDS.unwatched;
  let run: Run = await client.call("upkeep", { waitSeconds: 0, ...agreed }, signal);
  while (!run.isDone) {
    run = await client.call("upkeep", { run: run.run, waitSeconds }, signal);
    if (!run.isDone) screen.err(progressOf(run, screen.isTty));
  }
  if (screen.isTty) screen.err("\r\u001b[K");
  const { report } = run;
  if (report === null) throw new Fault("bug", "a run of upkeep is done and does not say what it did");
  if (screen.json) json(screen, run);
  else {
    const words = wordsOf(report, true);
    screen.out(`${words === "" ? "nothing to do" : words}\n`);
    if (report.skipped > 0)
      screen.out(`left ${many(report.skipped, "step")}: something had changed meanwhile\n`);
    if (report.failed > 0) screen.err(`${many(report.failed, "step")} failed; the daemon's log says why\n`);
    if (report.stopped === "disk_full") screen.err("the disk is full: the rest is done by the next run\n");
    if (report.stopped === "closed") screen.err("the daemon was stopped: the rest is done by the next run\n");
  }
  return report.failed > 0 || report.stopped !== null ? PARTLY_EXIT : 0;
}

function progressOf({ planned, progress: { done: steps, of, bytes: size } }: Run, isTty: boolean): string {
  const words =
    planned === null ? "looking at what there is" : `${whole(steps)} of ${whole(of)} steps, ${bytes(size)}`;
  return isTty ? `\r\u001b[K${words}` : `${words}\n`;
}
