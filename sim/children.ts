// Children: the tasks that sessions gave to others, as their transcripts tell of them, and what must have become of each.

import type { Story } from "../test/turns/story.ts";
import type { SeenAtRest } from "./look.ts";

/** As the result of a spawn says it. */
interface Task {
  readonly id: string;
  readonly by: string;
  readonly to: string;
}

interface Tasks {
  readonly all: readonly Task[];
  /** A letter that gives a task, or reports of one. */
  readonly knows: (mailId: string) => boolean;
}

function reportOf(task: string): string {
  return `cause:report:${task}`;
}

export function tasksIn({ entries }: SeenAtRest): Tasks {
  const all = [...entries].flatMap(([by, list]) =>
    list.flatMap((entry): Task[] => {
      if (entry.type !== "message" || entry.message.role !== "toolResult") return [];
      const { spawned } = (entry.message.details ?? {}) as {
        readonly spawned?: { readonly task: string; readonly key: string };
      };
      return spawned ? [{ id: spawned.task, by, to: spawned.key }] : [];
    }),
  );
  const ids = new Set(all.flatMap(({ id }) => [id, reportOf(id)]));
  return { all, knows: (mailId) => ids.has(mailId) };
}

export function childrenOf(seen: SeenAtRest): string[] {
  const { all } = tasksIn(seen);
  const known = new Set(all.map(({ to }) => to));
  const orphans = seen.stories
    .filter(({ row }) => row.parent !== null && row.kind === "subagent" && !known.has(row.key))
    .map(({ row }) => `J10 ${row.key} is a child, and no call says so`);
  return [...orphans, ...all.flatMap((task) => told(task, seen))];
}

/** Over all sessions: the parent may have ended, and then whoever is above it hears. */
function told(task: Task, seen: SeenAtRest): string[] {
  const problems: string[] = [];
  const child = seen.stories.find(({ row }) => row.key === task.to);
  const given = seen.stories.reduce((sum, story) => sum + timesIn(story, task.id, seen), 0);
  if (child && given !== 1)
    problems.push(`J10 ${task.id} was given to ${task.to}, and is there ${given} times`);
  const reports = seen.stories.reduce((sum, story) => sum + timesIn(story, reportOf(task.id), seen), 0);
  const isDue = child === undefined || hasDone(child, task.id);
  if (reports > 1 || (isDue && reports !== 1))
    problems.push(`J10 ${task.id} of ${task.by} was reported ${reports} times`);
  return problems;
}

/** The turn that took it has ended, or there will be none. */
function hasDone({ row, turns }: Story, task: string): boolean {
  if (row.state.kind === "ended") return true;
  return turns.some(({ letters, end }) => end !== null && letters.some(({ id }) => id === task));
}

function timesIn({ row, letters }: Story, id: string, { mail }: SeenAtRest): number {
  return (letters.get(id) ?? 0) + (mail.get(row.key)?.includes(id) === true ? 1 : 0);
}
