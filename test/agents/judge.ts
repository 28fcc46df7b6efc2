// Judge: what must have become of children when everything has come to rest, however often it was killed. Of a session that
// was deleted at its end there is no transcript: what only that one could tell is not asked.
//
//   A1. Every task that a transcript says was given, or a person was told of, is reported once: to who gave it or, if that one
//       has ended, to one above. What should not be reported is not, and nothing is reported that nobody gave.
//   A2. The child is there and has the letter of its task once. Nobody has a task, or is a child, because of no result.
//   A3. A mark is made once for a result that says so, and never after it (J3).
//   A4. Every message that was accepted is in a turn that has ended (J1).
//   A5. Every call has one result, no turn is open, nothing runs or waits, no letter waits, fsck finds nothing (J2, J6).
//   A6. What runs once has ended; who was killed has ended with all below it; and no timer is left of who is gone.
//
// J1 to J6 are those of test/turns/judge.ts.

import { isReport, reportId, taskOf } from "../../src/mail/task.ts";
import { isOneShot } from "../../src/routing/key.ts";
import { atRest, effectsOf, lettersIn } from "../turns/judge.ts";
import type { Story } from "../turns/story.ts";
import type { Effect } from "../turns/tools.ts";
import type { Seen } from "./look.ts";
import type { AgentReports } from "./reports.ts";
import { Family, steersOf, tasksOf, type Task, type Tasks } from "./tasks.ts";

interface Case {
  readonly stories: ReadonlyMap<string, Story>;
  readonly tasks: Tasks;
  readonly family: Family;
  /** Of every letter, the keys of those who have it, as often as they do. */
  readonly holders: ReadonlyMap<string, readonly string[]>;
}

export function judge(reports: AgentReports, seen: Seen): readonly string[] {
  const stories = new Map(seen.stories.map((story) => [story.row.key as string, story]));
  const given: Case = {
    stories,
    tasks: tasksOf(seen.stories, reports),
    family: new Family(stories, seen.gone),
    holders: holdersIn(seen.stories),
  };
  return [
    ...reports.problems,
    ...seen.problems,
    ...[...given.tasks].flatMap(([id, task]) => reported(given, id, task)), //  A1
    ...[...given.tasks].flatMap(([id, task]) => handedOver(given, id, task)), // A2
    ...strangers(given, steersOf(seen.stories)), //                             A1, A2
    ...marks(given, seen), //                                                   A3
    ...lettersIn(reports, stories), //                                          A4
    ...seen.stories.flatMap(({ problems }) => problems), //                     A5
    ...seen.stories.flatMap((story) => quiet(story, seen)), //                  A5
    ...seen.stories.flatMap((story) => ended(given, story)), //                 A6
    ...killed(given, reports), //                                               A6
    ...seen.timers.filter((key) => !stories.has(key)).map((key) => `A6 a timer is left of ${key}`),
  ];
}

function holdersIn(stories: readonly Story[]): ReadonlyMap<string, readonly string[]> {
  const holders = new Map<string, string[]>();
  for (const { row, letters } of stories)
    for (const [id, count] of letters)
      holders.set(id, [...(holders.get(id) ?? []), ...Array.from({ length: count }, () => row.key)]);
  return holders;
}

/** A report may have gone to one above that is gone now itself. */
function reported({ stories, family, holders }: Case, id: string, task: Task): string[] {
  const { giver, child, isTold } = task;
  const [holder, ...others] = holders.get(reportId(id)) ?? [];
  const said = `A1 ${id}, given by ${giver} to ${child},`;
  if (holder === undefined) {
    const above = [giver, ...family.above(giver), child, ...family.above(child)];
    const mayBeLost = above.some((key) => key !== child && family.isGone(key));
    return isTold && !mayBeLost ? [`${said} was not reported`] : [];
  }
  if (!isTold) return [`${said} was reported to ${holder}, and nobody should hear of it`];
  if (others.length > 0) return [`${said} was reported to ${[holder, ...others].join(", ")}`];
  if (holder === giver) return [];
  const row = stories.get(giver)?.row;
  if (row?.state.kind !== "ended" && row?.kind !== "thread")
    return [`${said} was reported to ${holder}, and ${giver} lives`];
  const heirs = [...family.above(giver), ...family.above(child), "agent:main:main"];
  return heirs.includes(holder) ? [] : [`${said} was reported to ${holder}, a stranger`];
}

function handedOver({ stories, family, holders }: Case, id: string, { giver, child }: Task): string[] {
  const found = holders.get(id) ?? [];
  if (family.isGone(child)) return found.length === 0 ? [] : [`A2 ${id}, of ${child}, is with ${found}`];
  if (!stories.has(child)) return [`A2 ${id}: ${giver} gave it to ${child}, which is not there`];
  return found.length === 1 && found[0] === child
    ? []
    : [`A2 ${id}, given by ${giver} to ${child}, is with ${found.join(", ") || "nobody"}`];
}

/** Letters of sessions that no result speaks of, and children without a task. */
function strangers({ stories, tasks, family, holders }: Case, steers: ReadonlyMap<string, string>): string[] {
  const problems: string[] = [];
  const known = new Set([...tasks.values()].map(({ child }) => child));
  for (const { row, turns } of stories.values()) {
    if (row.parent !== null && !known.has(row.key) && !family.isGone(row.parent))
      problems.push(`A2 ${row.key} is a child of ${row.parent}, which gave it no task`);
    for (const { id, isFromSession } of turns.flatMap(({ letters }) => letters)) {
      if (!isFromSession) continue;
      const task = isReport({ id }) ? taskOf({ id }) : id;
      if (!tasks.has(task) && !family.isOfGone(task) && steers.get(id) !== row.key)
        problems.push(`A2 ${row.key} has ${id}, and nobody gave or sent it`);
      if ((holders.get(id)?.length ?? 0) > 1 && !tasks.has(task)) problems.push(`A1 ${id} arrived twice`);
    }
  }
  for (const [id, key] of steers)
    if (!family.isGone(key) && holders.get(id)?.length !== 1) problems.push(`A2 ${key} was not told ${id}`);
  return problems;
}

/** Of whom nothing is left, at least nothing ran twice that must not. */
function marks({ family }: Case, { stories, effects }: Seen): string[] {
  const [left, gone]: [Effect[], Effect[]] = [[], []];
  for (const effect of effects) (family.isOfGone(effect.cause) ? gone : left).push(effect);
  const begun = gone.filter(({ what, tool }) => what === "begun" && tool !== "peek");
  const twice = begun.filter(({ cause }, at) => begun.findIndex((each) => each.cause === cause) !== at);
  const problems = twice.map(({ cause, tool }) => `A3 ${tool} ran twice for ${cause}, which is gone now`);
  return [...problems, ...effectsOf(stories, left)];
}

function quiet(story: Story, seen: Seen): string[] {
  return atRest(story, seen).filter((problem) => !problem.endsWith(" is ended"));
}

function ended({ stories, family }: Case, { row, turns }: Story): string[] {
  const { key, state, signal, settings, parent } = row;
  const problems: string[] = [];
  if (signal === "kill" && state.kind !== "ended")
    problems.push(`A6 ${key} was killed, and is ${state.kind}`);
  const isOnce = settings.oneShot ?? isOneShot(key);
  if (isOnce && parent !== null && state.kind !== "ended")
    problems.push(`A6 ${key} runs once, and is ${state.kind}`);
  if (state.kind === "ended") return problems;
  for (const each of family.above(key)) {
    const above = stories.get(each);
    if (above === undefined || !wasKilled(above)) continue;
    const { state: end } = above.row;
    const isLater = end.kind === "ended" && (turns.at(-1)?.begunAtMs ?? 0) >= end.atMs; // It was given a task since.
    if (!isLater) problems.push(`A6 ${key} lives, and ${each} above it was killed`);
  }
  return problems;
}

/** One that runs once and was aborted has ended too, but nobody has killed it. */
function wasKilled({ row, turns }: Story): boolean {
  const { state } = row;
  return state.kind === "ended" && state.outcome === "killed" && turns.at(-1)?.end?.outcome !== "aborted";
}

/** Whoever has a name may have been given a task, or written to, since. */
function killed({ stories }: Case, reports: AgentReports): string[] {
  return [...reports.killed].flatMap((key) => {
    const row = stories.get(key)?.row;
    if (row === undefined || row.state.kind === "ended" || row.kind === "thread") return [];
    return [`A6 ${key} was killed, as a person was told, and is ${row.state.kind}`];
  });
}
