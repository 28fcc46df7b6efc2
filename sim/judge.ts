// Judge: what must be so when everything has come to rest, however often it died. What the campaign of turns asks
// (test/turns/judge.ts) is asked here too; and here a session may be parked: somebody paused it, and nobody went on with it.
//
//   J1. Every acknowledged letter is in its session's transcript once, in a turn that has ended; or it waits, or its turn
//       does, in a session that is parked. One that was not acknowledged is there once or not at all.
//   J2. Turns do not overlap, each ends once, and every call has one result in its turn (test/turns/story.ts).
//   J3. No call that has a result ran again, none that must not be repeated ran twice, and none ran for nobody.
//   J4. A letter between sessions arrived once if the call or the turn that it comes from says so, and else not at all.
//   J5. An answer for a door was delivered, under one id with one content, or is in the outbox.
//   J6. Nothing runs, nothing waits but what is parked, and rows say what the entries say.
//   J7. In one session, calls of two steps never ran at once (tools.ts).
//   J8. A model is shown what is durable, and every call with its result (shown.ts).
//   J9. A class that is ready is granted a slot within its share (grants.ts).
//   J10. Every task that was given is with its child once, and reported once; nobody is a child without a task (children.ts).

import { answersOf, atRest, effectsOf, saidIn } from "../test/turns/judge.ts";
import type { Story } from "../test/turns/story.ts";
import { childrenOf, tasksIn } from "./children.ts";
import type { Home } from "./home.ts";
import type { SeenAtRest } from "./look.ts";

export function judge({ reports }: Home, seen: SeenAtRest): readonly string[] {
  return [
    ...reports.problems,
    ...acknowledged(reports, seen), //                             J1
    ...doubled(seen), //                                           J1
    ...heard(reports, seen), //                                    J1
    ...seen.stories.flatMap(turnsIn), //                           J2
    ...effectsOf(seen.stories, seen.effects), //                   J3
    ...between(seen), //                                           J4
    ...answersOf(seen), //                                         J5
    ...seen.stories.flatMap((story) => resting(story, seen)), //   J6
    ...childrenOf(seen), //                                        J10
  ];
}

export function isParked({ row }: Story): boolean {
  return row.signal === "pause" || row.state.kind === "paused";
}

function storyOf({ stories }: SeenAtRest, key: string): Story | undefined {
  return stories.find(({ row }) => row.key === key);
}

function acknowledged({ acknowledged: all }: Home["reports"], seen: SeenAtRest): string[] {
  return [...all.values()].flatMap(({ id, key }) => {
    const story = storyOf(seen, key);
    if (!story) return [`J1 ${id} was acknowledged, and there is no ${key}`];
    const parked = isParked(story);
    const count = story.letters.get(id) ?? 0;
    const waits = seen.mail.get(key)?.includes(id) === true;
    if (count + (waits ? 1 : 0) !== 1) return [`J1 ${id} was acknowledged, and is ${count} times in ${key}`];
    if (waits) return parked ? [] : [`J1 ${id} waits in ${key}, and nobody paused it`];
    const turn = story.turns.find(({ letters }) => letters.some((letter) => letter.id === id));
    return turn?.end || parked ? [] : [`J1 ${id} in ${key} was not answered`];
  });
}

function doubled({ stories }: SeenAtRest): string[] {
  return stories.flatMap(({ row, letters }) =>
    [...letters].flatMap(([id, count]) => (count > 1 ? [`J1 ${id} is ${count} times in ${row.key}`] : [])),
  );
}

function heard({ heard: all }: Home["reports"], seen: SeenAtRest): string[] {
  return all.flatMap(({ id, key, seq }) => {
    const turns = storyOf(seen, key)?.turns ?? [];
    const turn = turns.find(({ letters }) => letters.some((letter) => letter.id === id));
    return turn?.end?.seq === seq ? [] : [`J1 the answer to ${id} was heard, and is not in ${key} at ${seq}`];
  });
}

/** A turn in which somebody paused the session is open. */
function turnsIn(story: Story): readonly string[] {
  return isParked(story) ? story.problems.filter((each) => !each.endsWith("has not ended")) : story.problems;
}

function between(seen: SeenAtRest): string[] {
  const { stories, mail } = seen;
  const due = new Map<string, string>();
  for (const { row, turns } of stories)
    for (const turn of turns) {
      for (const call of turn.calls)
        if (call.name === "sessions_send" && call.results[0]?.isError === false)
          due.set(call.cause, String(call.arguments["sessionKey"]));
      for (const { route, id } of saidIn(row, turn))
        if (route.channel === "session") due.set(`cause:${id}`, route.to);
    }
  const lost = [...due].flatMap(([id, key]) => {
    const story = storyOf(seen, key);
    const waits = mail.get(key)?.includes(id) === true;
    const count = (story?.letters.get(id) ?? 0) + (waits ? 1 : 0);
    return count === 1 ? [] : [`J4 ${id} was sent to ${key}, and is there ${count} times`];
  });
  const tasks = tasksIn(seen);
  const strange = stories.flatMap(({ row, turns }) =>
    turns
      .flatMap(({ letters }) => letters)
      .filter(({ id, isFromSession }) => isFromSession && due.get(id) !== row.key && !tasks.knows(id))
      .map(({ id }) => `J4 nobody sent ${id} to ${row.key}`),
  );
  return [...lost, ...strange];
}

/** Who is parked may have letters; whose work is done has ended. */
function resting(story: Story, seen: SeenAtRest): string[] {
  const problems = atRest(story, seen);
  if (isParked(story))
    return problems.filter((each) => !/ is (?:idle|paused|ended)$| letters wait for /.test(each));
  return problems.filter((each) => !each.endsWith(" is ended"));
}
