// The campaign of turns: start a life, kill it without warning at a random moment, start the next one on the same home;
// at last one life that only finishes what is left, and then the judge. It shows that every message that was accepted is
// answered, and that no tool call that has finished runs twice.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SimulatedWorld } from "../../src/base/world.ts";
import { Killer } from "../crash/killer.ts";
import { realSource } from "../crash/variants.ts";
import { isInterrupted, judge } from "./judge.ts";
import { look, type Seen } from "./look.ts";
import { Reports } from "./reports.ts";
import { brokenSource, type Variant } from "./variants.ts";

export interface Campaign {
  readonly kills: number;
  readonly seed: number;
  /** Null: the real source. */
  readonly variant: Variant | null;
  /** After so many kills a home comes to rest and is judged; the next kills are of lives in a new one. */
  readonly killsPerHome: number;
  readonly said: (line: string) => void;
}

/** What happened, in numbers. */
export interface Tally {
  readonly lives: number;
  readonly kills: number;
  readonly killsBeforeReady: number;
  readonly acknowledged: number;
  readonly sentAgain: number;
  readonly turns: number;
  readonly turnsResumed: number;
  readonly turnsGivenUp: number; // killed again and again at the same place
  readonly toolCalls: number;
  readonly interrupted: number;
  readonly runAgain: number;
  readonly betweenSessions: number;
  readonly deliveries: number;
  readonly deliveredAgain: number;
}

export interface Outcome {
  readonly tally: Tally;
  readonly problems: readonly string[];
}

const NOTHING: Tally = {
  lives: 0,
  kills: 0,
  killsBeforeReady: 0,
  acknowledged: 0,
  sentAgain: 0,
  turns: 0,
  turnsResumed: 0,
  turnsGivenUp: 0,
  toolCalls: 0,
  interrupted: 0,
  runAgain: 0,
  betweenSessions: 0,
  deliveries: 0,
  deliveredAgain: 0,
};

/** How often the start after a kill is killed too, while it recovers. */
const STARTS_KILLED = 0.3;

/** How often a life closes by itself instead. */
const CLOSES = 0.1;

/** How often lives are short for a while, so that some turn is killed at the same place again and again. */
const VOLLEYS = 0.1;
const VOLLEY_KILLS = 5;
const VOLLEY_LIFE_MS_MAX = 60;

export async function turns(campaign: Campaign): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "sessiond-turns-"));
  const dice = new SimulatedWorld(campaign.seed);
  try {
    const { variant } = campaign;
    const source = variant === null ? realSource() : brokenSource(variant, join(folder, "broken"));
    const killer = new Killer(join(source, "test/turns/life.ts"), campaign.seed, dice);
    let outcome: Outcome = { tally: NOTHING, problems: [] };
    for (let homes = 0; outcome.tally.kills < campaign.kills && outcome.problems.length === 0; homes += 1) {
      const home = join(folder, `home-${homes}`);
      mkdirSync(home);
      outcome = await oneHome({ ...campaign, folder: home, dice, killer }, outcome.tally);
      campaign.said(
        `${outcome.tally.kills} kills, ${outcome.tally.turns} turns: ${outcome.problems.length} problems`,
      );
      rmSync(home, { recursive: true, force: true });
    }
    return outcome;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Running = Campaign & { readonly folder: string; readonly dice: SimulatedWorld; readonly killer: Killer };

/** What is counted while it happens. */
type Counts = { -readonly [Name in "lives" | "kills" | "killsBeforeReady" | "sentAgain"]: Tally[Name] };

async function oneHome(running: Running, before: Tally): Promise<Outcome> {
  const reports = new Reports();
  const { lives, kills, killsBeforeReady, sentAgain } = before;
  const counts: Counts = { lives, kills, killsBeforeReady, sentAgain };
  const last = Math.min(kills + running.killsPerHome, running.kills);
  try {
    while (counts.kills < last) await someLives(running, reports, counts, last);
    tellWhatToSendAgain(running.folder, reports, counts);
    reports.hearOutput((await running.killer.whole(running.folder, counts.lives, "rest")).output);
    const seen = await look(running.folder);
    const tally = tallied({ ...before, ...counts }, reports, seen);
    return { tally, problems: judge(reports, seen) };
  } catch (error) {
    const problem = `it does not start, or not end: ${error instanceof Error ? error.message : String(error)}`;
    return { tally: { ...before, ...counts }, problems: [...reports.problems, problem] };
  }
}

/** A life that closes; or one or several, and perhaps the starts after them, all killed. */
async function someLives(running: Running, reports: Reports, counts: Counts, last: number): Promise<void> {
  const { folder, killer, dice } = running;
  if (dice.random() < CLOSES) {
    tellWhatToSendAgain(folder, reports, counts);
    return reports.hearOutput((await killer.whole(folder, counts.lives, "3")).output);
  }
  const isVolley = dice.random() < VOLLEYS;
  const until = Math.min(counts.kills + (isVolley ? VOLLEY_KILLS : 1), last);
  while (counts.kills < until) {
    tellWhatToSendAgain(folder, reports, counts);
    const life = await killer.life(folder, counts.lives, isVolley ? VOLLEY_LIFE_MS_MAX : undefined);
    reports.hearOutput(life.output);
    if (!life.killed) throw new Error(`a life ended by itself: ${life.output.slice(-300)}`);
    counts.kills += 1;
  }
  await someStarts(running, reports, counts, last);
}

/** Before a life: like any sender it knows what was not acknowledged. */
function tellWhatToSendAgain(folder: string, { unsure }: Reports, counts: Counts): void {
  writeFileSync(join(folder, "again.json"), JSON.stringify(unsure));
  counts.lives += 1;
  counts.sentAgain += unsure.length;
}

async function someStarts(
  { folder, killer, dice }: Running,
  reports: Reports,
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

/** What was there before, and what this home adds to it. */
function tallied(before: Tally, reports: Reports, { stories, effects, deliveries }: Seen): Tally {
  const turns = stories.flatMap((story) => story.turns);
  const calls = turns.flatMap((turn) => turn.calls);
  const results = calls.flatMap((call) => call.results);
  const begun = effects.filter(({ what }) => what === "begun");
  const letters = turns.flatMap((turn) => turn.letters);
  return {
    ...before,
    acknowledged: before.acknowledged + reports.acknowledged.size,
    turns: before.turns + turns.length,
    turnsResumed: before.turnsResumed + turns.filter(({ resumed }) => resumed > 0).length,
    turnsGivenUp: before.turnsGivenUp + turns.filter(({ end }) => end?.outcome === "interrupted").length,
    toolCalls: before.toolCalls + calls.length,
    interrupted: before.interrupted + results.filter(({ text }) => isInterrupted(text)).length,
    runAgain: before.runAgain + begun.length - new Set(begun.map(({ cause }) => cause)).size,
    betweenSessions: before.betweenSessions + letters.filter(({ isFromSession }) => isFromSession).length,
    deliveries: before.deliveries + deliveries.length,
    deliveredAgain: before.deliveredAgain + deliveries.length - new Set(deliveries.map(({ id }) => id)).size,
  };
}
