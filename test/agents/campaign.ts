// The campaign of sub-agents: lives in which tasks fan out to children and grandchildren are killed (test/turns/homes.ts). It
// shows that every child reports once, that nothing that has a result runs again, and that every message is answered.

import { isReport } from "../../src/mail/task.ts";
import { realSource } from "../crash/variants.ts";
import { homes, type Campaign, type Counted, type Outcome } from "../turns/homes.ts";
import { isInterrupted } from "../turns/judge.ts";
import { judge } from "./judge.ts";
import { look, type Seen } from "./look.ts";
import { AgentReports } from "./reports.ts";
import { tasksOf } from "./tasks.ts";
import { brokenSource, type Variant } from "./variants.ts";

/** What happened, in numbers. */
export interface Tally extends Counted {
  readonly acknowledged: number;
  readonly tasks: number; //          given by sessions that are still there, and by people
  readonly grandchildren: number; //  of the sessions that are still there
  readonly gone: number; //           deleted at their end
  readonly killed: number; //         by people or by those above
  readonly timeouts: number;
  readonly reports: number;
  readonly reportsElsewhere: number; // to another than who gave the task
  readonly turns: number;
  readonly turnsResumed: number;
  readonly turnsGivenUp: number;
  readonly toolCalls: number;
  readonly interrupted: number;
  readonly marks: number;
}

const NOTHING: Tally = {
  lives: 0,
  kills: 0,
  killsBeforeReady: 0,
  acknowledged: 0,
  sentAgain: 0,
  tasks: 0,
  grandchildren: 0,
  gone: 0,
  killed: 0,
  timeouts: 0,
  reports: 0,
  reportsElsewhere: 0,
  turns: 0,
  turnsResumed: 0,
  turnsGivenUp: 0,
  toolCalls: 0,
  interrupted: 0,
  marks: 0,
};

export async function agents(campaign: Campaign<Variant>): Promise<Outcome<Tally>> {
  const { variant } = campaign;
  return await homes(campaign, {
    life: "test/agents/life.ts",
    source: (folder) => (variant === null ? realSource() : brokenSource(variant, folder)),
    lifeMsMax: 800,
    nothing: NOTHING,
    reports: () => new AgentReports(),
    judged: async (folder, reports, before) => {
      const seen = await look(folder);
      return { tally: tallied(before, reports, seen), problems: judge(reports, seen) };
    },
  });
}

/** What was there before, and what this home adds to it. */
function tallied(before: Tally, reports: AgentReports, { stories, effects, gone }: Seen): Tally {
  const tasks = tasksOf(stories, reports);
  const turns = stories.flatMap((story) => story.turns);
  const calls = turns.flatMap((turn) => turn.calls);
  const heard = stories.flatMap(({ row, letters }) =>
    [...letters.keys()].filter((id) => isReport({ id })).map((id) => ({ id, key: row.key })),
  );
  const elsewhere = heard.filter(({ id, key }) => {
    const task = tasks.get(id.replace("cause:report:", ""));
    return task !== undefined && task.giver !== key;
  });
  const endings = (outcome: string): number => turns.filter(({ end }) => end?.outcome === outcome).length;
  const results = calls.flatMap((call) => call.results);
  return {
    ...before,
    acknowledged: before.acknowledged + reports.acknowledged.size,
    tasks: before.tasks + tasks.size,
    grandchildren: before.grandchildren + stories.filter(({ row }) => row.depth > 1).length,
    gone: before.gone + gone.length,
    killed: before.killed + endings("killed"),
    timeouts: before.timeouts + endings("timeout"),
    reports: before.reports + heard.length,
    reportsElsewhere: before.reportsElsewhere + elsewhere.length,
    turns: before.turns + turns.length,
    turnsResumed: before.turnsResumed + turns.filter(({ resumed }) => resumed > 0).length,
    turnsGivenUp: before.turnsGivenUp + endings("interrupted"),
    toolCalls: before.toolCalls + calls.length,
    interrupted: before.interrupted + results.filter(({ text }) => isInterrupted(text)).length,
    marks: before.marks + effects.filter(({ what }) => what === "begun").length,
  };
}
