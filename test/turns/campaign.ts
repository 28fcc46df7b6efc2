// The campaign of turns: lives whose turns call tools, write to each other and answer through a door are killed (homes.ts).
// It shows that every message that was accepted is answered, and that no tool call that has finished runs twice.

import type { Entry } from "../../src/index.ts";
import { realSource } from "../crash/variants.ts";
import { homes, type Campaign, type Counted, type Outcome } from "./homes.ts";
import { isInterrupted, judge } from "./judge.ts";
import { look, type Seen } from "./look.ts";
import { Reports } from "./reports.ts";
import { brokenSource, type Variant } from "./variants.ts";

/** What happened, in numbers. */
export interface Tally extends Counted {
  readonly acknowledged: number;
  readonly turns: number;
  readonly turnsResumed: number;
  readonly turnsGivenUp: number; // killed again and again at the same place
  readonly toolCalls: number;
  readonly interrupted: number;
  readonly runAgain: number;
  readonly betweenSessions: number;
  readonly deliveries: number;
  readonly deliveredAgain: number;
  readonly compactions: number;
  readonly prunings: number;
  readonly flushes: number;
  readonly handoffs: number;
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
  compactions: 0,
  prunings: 0,
  flushes: 0,
  handoffs: 0,
};

export async function turns(campaign: Campaign<Variant>): Promise<Outcome<Tally>> {
  const { variant } = campaign;
  return await homes(campaign, {
    life: "test/turns/life.ts",
    source: (folder) => (variant === null ? realSource() : brokenSource(variant, folder)),
    nothing: NOTHING,
    reports: () => new Reports(),
    judged: async (folder, reports, before) => {
      const seen = await look(folder);
      return { tally: tallied(before, reports, seen), problems: judge(reports, seen) };
    },
  });
}

/** What was there before, and what this home adds to it. */
function tallied(before: Tally, reports: Reports, seen: Seen): Tally {
  const { stories, effects, deliveries } = seen;
  const count = (what: string): number => [...seen.entries.values()].flat().filter(isOf(what)).length;
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
    compactions: before.compactions + count("compaction"),
    prunings: before.prunings + count("sessiond/pruned"),
    flushes: before.flushes + count("sessiond/flush"),
    handoffs: before.handoffs + count("sessiond/handoff"),
  };
}

/** By its type, or by that of a note. */
function isOf(what: string): (entry: Entry) => boolean {
  return (entry) => what === ("customType" in entry ? entry.customType : entry.type);
}
