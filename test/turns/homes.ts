// Homes: start a life, kill it without warning at a random moment, start the next one on the same home; at last one life that
// only finishes what is left, and then the judge. What the lives do, and what is judged, is the campaign's own.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SimulatedWorld } from "../../src/base/world.ts";
import { Killer } from "../crash/killer.ts";

export interface Campaign<Variant extends string> {
  readonly kills: number;
  readonly seed: number;
  /** Null: the real source. */
  readonly variant: Variant | null;
  /** After so many kills a home comes to rest and is judged; the next kills are of lives in a new one. */
  readonly killsPerHome: number;
  readonly said: (line: string) => void;
}

/** What is counted while it happens. */
export interface Counted {
  readonly lives: number;
  readonly kills: number;
  readonly killsBeforeReady: number;
  readonly sentAgain: number;
}

export interface Outcome<Tally extends Counted> {
  readonly tally: Tally;
  readonly problems: readonly string[];
}

/** What is kept of what lives say. */
interface Hearing {
  /** What the next life has to send again. */
  readonly unsure: readonly unknown[];
  readonly problems: readonly string[];
  hearOutput(output: string): void;
}

/** What makes one campaign different from another. */
export interface Play<Tally extends Counted, Reports extends Hearing> {
  readonly life: string; //                               the program that is killed, within its source
  readonly source: (folder: string) => string; //         where the source is; a broken copy goes into that folder
  readonly lifeMsMax?: number; //                         how long a life is at most, in which something is to come about
  readonly nothing: Tally;
  readonly reports: () => Reports;
  /** A home has come to rest. */
  readonly judged: (folder: string, reports: Reports, before: Tally) => Promise<Outcome<Tally>>;
}

/** How often the start after a kill is killed too, while it recovers. */
const STARTS_KILLED = 0.3;

/** How often a life closes by itself instead. */
const CLOSES = 0.1;

/** How often lives are short for a while, so that some turn is killed at the same place again and again. */
const VOLLEYS = 0.1;
const VOLLEY_KILLS = 5;
const VOLLEY_LIFE_MS_MAX = 60;

export async function homes<Tally extends Counted, Reports extends Hearing>(
  campaign: Campaign<string>,
  play: Play<Tally, Reports>,
): Promise<Outcome<Tally>> {
  const folder = mkdtempSync(join(tmpdir(), "sessiond-campaign-"));
  const dice = new SimulatedWorld(campaign.seed);
  try {
    const source = play.source(join(folder, "broken"));
    const killer = new Killer(join(source, play.life), campaign.seed, dice);
    let outcome: Outcome<Tally> = { tally: play.nothing, problems: [] };
    for (let count = 0; outcome.tally.kills < campaign.kills && outcome.problems.length === 0; count += 1) {
      const home = join(folder, `home-${count}`);
      mkdirSync(home);
      outcome = await oneHome(
        play,
        { ...campaign, folder: home, dice, killer, lifeMsMax: play.lifeMsMax },
        outcome.tally,
      );
      campaign.said(`${outcome.tally.kills} kills: ${outcome.problems.length} problems`);
      rmSync(home, { recursive: true, force: true });
    }
    return outcome;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Running = Campaign<string> & {
  readonly folder: string;
  readonly dice: SimulatedWorld;
  readonly killer: Killer;
  readonly lifeMsMax: number | undefined;
};

type Counts = { -readonly [Name in keyof Counted]: number };

async function oneHome<Tally extends Counted, Reports extends Hearing>(
  play: Play<Tally, Reports>,
  running: Running,
  before: Tally,
): Promise<Outcome<Tally>> {
  const reports = play.reports();
  const { lives, kills, killsBeforeReady, sentAgain } = before;
  const counts: Counts = { lives, kills, killsBeforeReady, sentAgain };
  const last = Math.min(kills + running.killsPerHome, running.kills);
  try {
    while (counts.kills < last) await someLives(running, reports, counts, last);
    tellWhatToSendAgain(running.folder, reports, counts);
    reports.hearOutput((await running.killer.whole(running.folder, counts.lives, "rest")).output);
    return await play.judged(running.folder, reports, { ...before, ...counts });
  } catch (error) {
    const problem = `it does not start, or not end: ${error instanceof Error ? error.message : String(error)}`;
    return { tally: { ...before, ...counts }, problems: [...reports.problems, problem] };
  }
}

/** A life that closes; or one or several, and perhaps the starts after them, all killed. */
async function someLives(running: Running, reports: Hearing, counts: Counts, last: number): Promise<void> {
  const { folder, killer, dice, lifeMsMax } = running;
  if (dice.random() < CLOSES) {
    tellWhatToSendAgain(folder, reports, counts);
    return reports.hearOutput((await killer.whole(folder, counts.lives, "3")).output);
  }
  const isVolley = dice.random() < VOLLEYS;
  const until = Math.min(counts.kills + (isVolley ? VOLLEY_KILLS : 1), last);
  while (counts.kills < until) {
    tellWhatToSendAgain(folder, reports, counts);
    const life = await killer.life(folder, counts.lives, isVolley ? VOLLEY_LIFE_MS_MAX : lifeMsMax);
    reports.hearOutput(life.output);
    if (!life.killed) throw new Error(`a life ended by itself: ${life.output.slice(-300)}`);
    counts.kills += 1;
  }
  await someStarts(running, reports, counts, last);
}

/** Before a life: like any sender it knows what was not acknowledged. */
function tellWhatToSendAgain(folder: string, { unsure }: Hearing, counts: Counts): void {
  writeFileSync(join(folder, "again.json"), JSON.stringify(unsure));
  counts.lives += 1;
  counts.sentAgain += unsure.length;
}

async function someStarts(
  { folder, killer, dice }: Running,
  reports: Hearing,
  counts: Counts,
  last: number,
): Promise<void> {
  while (counts.kills < last && dice.random() < STARTS_KILLED) {
    const start = await killer.start(folder);
    reports.hearOutput(start.output);
    counts.lives += 1;
    if (!start.killed) return;
    counts.kills += 1;
    if (!start.ready) counts.killsBeforeReady += 1;
  }
}
