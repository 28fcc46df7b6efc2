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
//   J11. Who follows a session is shown every entry once, in order, and none before it is durable (follower.ts).

import { answersOf, atRest, effectsOf, saidIn } from "../test/turns/judge.ts";
import type { Story } from "../test/turns/story.ts";
import { childrenOf, isStuck, storyOf } from "./children.ts";
import type { Home } from "./home.ts";
import type { SeenAtRest } from "./look.ts";

export function judge(home: Home, seen: SeenAtRest): readonly string[] {
  const { reports, deleted } = home;
  const effects = seen.effects.filter(({ cause }) => !deleted.has(cause.split(":")[2] ?? ""));
  return [
    ...reports.problems,
    ...acknowledged(home, seen), //                                      J1
    ...doubled(home), //                                                 J1
    ...heard(home, seen), //                                             J1
    ...seen.stories.flatMap((story) => turnsIn(story, home, seen)), //   J2
    ...effectsOf(seen.stories, effects), //                              J3
    ...between(home, seen), //                                           J4
    ...answersOf(seen), //                                               J5
    ...seen.stories.flatMap((story) => resting(story, home, seen)), //   J6
    ...childrenOf(home, seen), //                                        J10
  ];
}

function acknowledged(home: Home, seen: SeenAtRest): string[] {
  return [...home.reports.acknowledged.values()].flatMap(({ id, key }) => {
    const story = storyOf(seen, key);
    const count = home.letters.get(id) ?? 0;
    const waits = seen.mail.get(key)?.includes(id) === true;
    if (count + (waits ? 1 : 0) !== 1) return [`J1 ${id} was acknowledged, and is ${count} times in ${key}`];
    if (!story) return home.deleted.has(key) ? [] : [`J1 ${id} was acknowledged, and there is no ${key}`];
    const isParked = isStuck(story, home, seen);
    if (waits) return isParked ? [] : [`J1 ${id} waits in ${key}, and nobody paused it`];
    const turn = story.turns.find(({ letters }) => letters.some((letter) => letter.id === id));
    return turn?.end || isParked ? [] : [`J1 ${id} in ${key} was not answered`];
  });
}

function doubled({ letters }: Home): string[] {
  return [...letters].flatMap(([id, count]) =>
    count > 1 ? [`J1 ${id} was written down ${count} times`] : [],
  );
}

function heard({ reports, deleted }: Home, seen: SeenAtRest): string[] {
  return reports.heard.flatMap(({ id, key, seq }) => {
    const turns = storyOf(seen, key)?.turns ?? [];
    const turn = turns.find(({ letters }) => letters.some((letter) => letter.id === id));
    if (turn?.end?.seq === seq || deleted.has(key)) return [];
    return [`J1 the answer to ${id} was heard, and is not in ${key} at ${seq}`];
  });
}

/** A turn in which somebody paused the session is open. */
function turnsIn(story: Story, home: Home, seen: SeenAtRest): readonly string[] {
  const { problems } = story;
  return isStuck(story, home, seen) ? problems.filter((each) => !each.endsWith("has not ended")) : problems;
}

/** Who sent what to whom, by the id of the letter. */
function dueIn({ stories }: SeenAtRest): Map<string, string> {
  const due = new Map(stories.flatMap(({ handedOver }) => [...handedOver]));
  for (const { row, turns } of stories)
    for (const turn of turns) {
      for (const { name, cause, results, arguments: given } of turn.calls) {
        const sends = name === "sessions_send" || (name === "subagents" && given["action"] === "steer");
        if (sends && results[0]?.isError === false) due.set(cause, String(given["sessionKey"]));
      }
      for (const { route, id } of saidIn(row, turn))
        if (route.channel === "session") due.set(`cause:${id}`, route.to);
    }
  return due;
}

/** An answer to a session that has ended is refused, and visible. */
function between(home: Home, seen: SeenAtRest): string[] {
  const { stories, mail, outbox } = seen;
  const due = dueIn(seen);
  const refused = new Set(outbox.map(({ id }) => `cause:${id}`));
  const lost = [...due].flatMap(([id, key]) => {
    const waits = mail.get(key)?.includes(id) === true;
    const count = (home.letters.get(id) ?? 0) + (waits ? 1 : 0);
    if (count === 1 || (count === 0 && refused.has(id))) return [];
    return [`J4 ${id} was sent to ${key}, and is there ${count} times`];
  });
  const strange = stories.flatMap(({ row, turns }) =>
    turns
      .flatMap(({ letters }) => letters)
      .filter(({ id, isFromSession }) => isFromSession && due.get(id) !== row.key && !isOfTask(id, home))
      .map(({ id }) => `J4 nobody sent ${id} to ${row.key}`),
  );
  return [...lost, ...strange];
}

/** What is given and reported is judged elsewhere (J10). Of a sender that is gone nobody can be asked. */
function isOfTask(id: string, { tasks, deleted }: Home): boolean {
  const isGone = deleted.has(/^cause:call:([^:]+):/.exec(id)?.[1] ?? "none");
  return isGone || tasks.has(id) || tasks.has(id.replace("cause:report:", ""));
}

/** Who is parked may have letters; whose work is done has ended. */
function resting(story: Story, home: Home, seen: SeenAtRest): string[] {
  const problems = atRest(story, seen).filter((each) => !each.endsWith(" is ended"));
  if (!isStuck(story, home, seen)) return problems;
  return problems.filter((each) => !/ is (?:paused|waiting)$| letters wait for /.test(each));
}
