// Children: the tasks that were given, and what must have become of each. A child may be gone by now, with its transcript: so
// what is counted was heard when it became durable (home.ts).

import { isReport, reportId, taskOf } from "../src/mail/task.ts";
import type { Story } from "../test/turns/story.ts";
import type { Home, Task } from "./home.ts";
import type { SeenAtRest } from "./look.ts";

/** Somebody paused it, or it waits for a child that is stuck: it may stay as it is, and so may its letters. */
export function isStuck(story: Story | undefined, home: Home, seen: SeenAtRest): boolean {
  if (!story) return false;
  const { key, signal, state } = story.row;
  if (signal === "pause" || state.kind === "paused") return true;
  if (state.kind !== "waiting") return false;
  return [...home.tasks].some(
    ([id, { by, to }]) =>
      by === key && !home.letters.has(reportId(id)) && isStuck(storyOf(seen, to), home, seen),
  );
}

export function storyOf({ stories }: SeenAtRest, key: string): Story | undefined {
  return stories.find(({ row }) => row.key === key);
}

export function childrenOf(home: Home, seen: SeenAtRest): string[] {
  const known = new Set([...home.tasks.values()].map(({ to }) => to));
  const orphans = seen.stories
    .filter(({ row }) => row.parent !== null && !known.has(row.key))
    .map(({ row }) => `J10 ${row.key} is a child, and no call says so`);
  const strange = [...home.letters.keys()]
    .filter((id) => isReport({ id }) && !home.tasks.has(taskOf({ id })))
    .map((id) => `J10 ${id} is of no task`);
  const given = [...home.tasks].flatMap(([id, task]) => [
    ...givenOnce(id, task, home, seen),
    ...reportedOnce(id, task, home, seen),
  ]);
  return [...orphans, ...strange, ...given, ...survivors(home, seen)];
}

function givenOnce(id: string, { to }: Task, home: Home, seen: SeenAtRest): string[] {
  const written = home.letters.get(id) ?? 0;
  const holders = holding(id, seen);
  if (written + holders.length !== 1)
    return [`J10 ${id} was given to ${to}, and is there ${written + holders.length} times`];
  return holders
    .filter((story) => !isStuck(story, home, seen))
    .map(({ row }) => `J10 ${id} waits in ${row.key}, and nobody paused it`);
}

function reportedOnce(id: string, { by, to, isTold }: Task, home: Home, seen: SeenAtRest): string[] {
  const report = reportId(id);
  const holders = holding(report, seen);
  const count = (home.letters.get(report) ?? 0) + holders.length;
  const isDue = isTold && !isStuck(storyOf(seen, to), home, seen);
  if (count > (isTold ? 1 : 0) || (isDue && count === 0))
    return [`J10 ${id}, given by ${by} to ${to}, was reported ${count} times`];
  return holders
    .filter((story) => !isStuck(story, home, seen))
    .map(({ row }) => `J10 ${report} waits in ${row.key}, and nobody paused it`);
}

function holding(id: string, { stories, mail }: SeenAtRest): Story[] {
  return stories.filter(({ row }) => mail.get(row.key)?.includes(id) === true);
}

/** Whoever is killed is killed with all below it. A child with a name may have been given another task since. */
function survivors({ revived }: Home, seen: SeenAtRest): string[] {
  return seen.stories.flatMap(({ row }) => {
    const above = row.parent === null ? undefined : storyOf(seen, row.parent)?.row;
    const isKilled = above?.signal === "kill" && !revived.has(row.key);
    if (row.signal === "kill" && row.state.kind !== "ended")
      return [`J10 ${row.key} was killed, and is ${row.state.kind}`];
    return isKilled && row.state.kind !== "ended"
      ? [`J10 ${row.key} outlived ${row.parent}, which was killed`]
      : [];
  });
}
