// Tally: what happened, in numbers, so that nobody believes in a run in which nothing did.

import type { Class } from "../src/mail/letter.ts";
import type { Home } from "./home.ts";
import type { SeenAtRest } from "./look.ts";

export interface Tally {
  readonly lives: number;
  readonly commits: number;
  readonly acknowledged: number;
  readonly turns: number;
  readonly turnsResumed: number;
  readonly turnsGivenUp: number;
  readonly toolCalls: number;
  readonly runAgain: number;
  readonly betweenSessions: number;
  readonly deliveries: number;
  readonly parked: number;
  readonly spawned: number;
  readonly compactions: number;
  readonly prunings: number;
  readonly flushes: number;
  readonly handoffs: number;
  readonly grants: Readonly<Record<Class, number>>;
}

export const NOTHING: Tally = {
  lives: 0,
  commits: 0,
  acknowledged: 0,
  turns: 0,
  turnsResumed: 0,
  turnsGivenUp: 0,
  toolCalls: 0,
  runAgain: 0,
  betweenSessions: 0,
  deliveries: 0,
  parked: 0,
  spawned: 0,
  compactions: 0,
  prunings: 0,
  flushes: 0,
  handoffs: 0,
  grants: { interactive: 0, delegated: 0, scheduled: 0, background: 0 },
};

export function tallied(
  { stories, entries, effects, deliveries }: SeenAtRest,
  { reports, commits }: Home,
  counted: Pick<Tally, "lives" | "grants">,
): Tally {
  const turns = stories.flatMap((story) => story.turns);
  const kinds = [...entries.values()]
    .flat()
    .map((entry) => ("customType" in entry ? entry.customType : entry.type));
  const count = (what: string): number => kinds.filter((kind) => kind === what).length;
  const begun = effects.filter(({ what }) => what === "begun");
  return {
    ...counted,
    commits,
    acknowledged: reports.acknowledged.size,
    turns: turns.length,
    turnsResumed: turns.filter(({ resumed }) => resumed > 0).length,
    turnsGivenUp: turns.filter(({ end }) => end?.outcome === "interrupted").length,
    toolCalls: turns.flatMap((turn) => turn.calls).length,
    runAgain: begun.length - new Set(begun.map(({ cause }) => cause)).size,
    betweenSessions: turns.flatMap(({ letters }) => letters).filter(({ isFromSession }) => isFromSession)
      .length,
    deliveries: deliveries.length,
    parked: stories.filter(({ row }) => row.signal === "pause").length,
    spawned: stories.filter(({ row }) => row.parent !== null).length,
    compactions: count("compaction"),
    prunings: count("sessiond/pruned"),
    flushes: count("sessiond/flush"),
    handoffs: count("sessiond/handoff"),
  };
}

export function added(one: Tally, other: Tally): Tally {
  const { grants, ...counts } = one;
  const sums = Object.entries(counts).map(([name, count]) => [
    name,
    count + (other[name as keyof typeof counts] as number),
  ]);
  const classes = Object.entries(grants).map(([of, count]) => [of, count + other.grants[of as Class]]);
  return { ...Object.fromEntries(sums), grants: Object.fromEntries(classes) } as Tally;
}
