// Judge: what must be so when everything has come to rest, however often it was killed.
//
//   J1. Every acknowledged letter is in its session's transcript once, and the turn that took it has ended. One that was
//       not acknowledged is there once or not at all. Whoever heard an answer finds it there.
//   J2. Turns do not overlap, each ends once, and every call has one result in its turn (story.ts).
//   J3. A tool ran only for a call that is in a transcript. One that must not be repeated began at most once, and has begun
//       and ended once if its result says so; one that may be repeated never began after its result.
//   J4. A letter between sessions arrived once if the call or the turn that it comes from says so, and else not at all.
//   J5. An answer for a door was delivered, under one id with one content, or is in the outbox; nothing else was delivered.
//   J6. Nothing runs or waits, fsck finds nothing, and what the row says was used is what the entries say.

import type { Outgoing, Route, Session } from "../../src/index.ts";
import { addTokens, NO_TOKENS, tokensOf } from "../../src/transcript/fold.ts";
import type { Seen } from "./look.ts";
import type { Reports } from "./reports.ts";
import type { Call, Story, Turn } from "./story.ts";
import type { Delivery, Effect } from "./tools.ts";

export function judge(reports: Reports, seen: Seen): readonly string[] {
  const stories = new Map(seen.stories.map((story) => [story.row.key as string, story]));
  return [
    ...reports.problems,
    ...seen.problems,
    ...lettersIn(reports, stories), //                        J1
    ...seen.stories.flatMap(({ problems }) => problems), //   J2
    ...effectsOf(seen.stories, seen.effects), //              J3
    ...between(stories), //                                   J4
    ...answersOf(seen), //                                    J5
    ...seen.stories.flatMap((story) => atRest(story, seen)), // J6
  ];
}

type Stories = ReadonlyMap<string, Story>;

export function lettersIn(reports: Pick<Reports, "acknowledged" | "heard">, stories: Stories): string[] {
  const problems: string[] = [];
  for (const { id, key } of reports.acknowledged.values()) {
    const story = stories.get(key);
    const count = story?.letters.get(id) ?? 0;
    if (count !== 1) problems.push(`J1 ${id} was acknowledged, and is ${count} times in ${key}`);
    const turn = story?.turns.find(({ letters }) => letters.some((letter) => letter.id === id));
    if (turn && turn.end === null) problems.push(`J1 ${id} in ${key} was not answered`);
  }
  for (const { row, letters } of stories.values())
    for (const [id, count] of letters)
      if (count > 1) problems.push(`J1 ${id} is ${count} times in ${row.key}`);
  for (const { id, key, seq } of reports.heard) {
    const turns = stories.get(key)?.turns ?? [];
    const turn = turns.find(({ letters }) => letters.some((letter) => letter.id === id));
    if (turn?.end?.seq !== seq)
      problems.push(`J1 the answer to ${id} was heard, and is not in ${key} at ${seq}`);
  }
  return problems;
}

const TRACED = new Set(["mark", "peek", "slow"]);

export function effectsOf(stories: readonly Story[], effects: readonly Effect[]): string[] {
  const problems: string[] = [];
  const traces = Map.groupBy(effects, ({ cause }) => cause);
  const calls = stories.flatMap(({ turns }) => turns.flatMap((turn) => turn.calls));
  for (const call of calls) {
    if (!TRACED.has(call.name)) continue;
    problems.push(...traceOf(call, traces.get(call.cause) ?? []));
    traces.delete(call.cause);
  }
  for (const [cause, [effect]] of traces)
    problems.push(`J3 ${effect?.tool} ran for ${cause}, which is in no transcript`);
  return problems;
}

function traceOf({ cause, name, results }: Call, trace: readonly Effect[]): string[] {
  const [result] = results;
  const begun = trace.filter(({ what }) => what === "begun");
  const done = trace.length - begun.length;
  const said = `${name} ${cause} began ${begun.length} and ended ${done} times`;
  const problems: string[] = [];
  if (name !== "peek" && begun.length > 1) problems.push(`J3 ${said}`);
  if (result?.isError === false) {
    if (done < 1 || (name !== "peek" && done > 1)) problems.push(`J3 ${said}, and says that it is done`);
    const late = begun.find(({ atMs }) => atMs > result.atMs);
    if (late) problems.push(`J3 ${said}, once after its result`);
  }
  if (result?.text.startsWith("It was not run") && begun.length > 0 && name !== "peek")
    problems.push(`J3 ${said}, and says that it did not run`);
  return problems;
}

/** The ids of letters that sessions sent, and to whom. */
function between(stories: Stories): string[] {
  const problems: string[] = [];
  const due = new Map([...stories.values()].flatMap(({ handedOver }) => [...handedOver]));
  for (const { row, turns } of stories.values())
    for (const turn of turns) {
      for (const call of turn.calls)
        if (call.name === "sessions_send" && call.results[0]?.isError === false)
          due.set(call.cause, String(call.arguments["sessionKey"]));
      for (const { route, id } of saidIn(row, turn))
        if (route.channel === "session") due.set(`cause:${id}`, route.to);
    }
  for (const [id, key] of due) {
    const count = stories.get(key)?.letters.get(id) ?? 0;
    if (count !== 1) problems.push(`J4 ${id} was sent to ${key}, and is there ${count} times`);
  }
  for (const { row, turns } of stories.values())
    for (const { id, isFromSession } of turns.flatMap(({ letters }) => letters))
      if (isFromSession && due.get(id) !== row.key) problems.push(`J4 nobody sent ${id} to ${row.key}`);
  return problems;
}

/** The answers of a turn, by the rules of src/turns/replies.ts. */
export function saidIn(
  { transcript }: Session,
  turn: Turn,
): { readonly route: Route; readonly id: string }[] {
  if (turn.end === null || turn.end.outcome === "aborted") return [];
  const [only, ...others] = turn.words;
  const isDone = turn.end.outcome === "done";
  if (isDone && only === undefined) return [];
  if (isDone && others.length === 0 && only?.type === "text" && only.text.trim() === "NO_REPLY") return [];
  const routes = turn.letters.flatMap(({ replyTo }) => (replyTo === null ? [] : [replyTo]));
  const distinct = new Map(routes.map((route) => [JSON.stringify(route), route]));
  return [...distinct.values()].map((route, at) => ({
    route,
    id: `${transcript.id}:${turn.id}:answer:${at}`,
  }));
}

export function answersOf({ stories, deliveries, outbox }: Seen): string[] {
  const problems: string[] = [];
  const delivered = Map.groupBy(deliveries, ({ id }) => id);
  const waiting = new Map(outbox.map((outgoing) => [outgoing.id, outgoing]));
  const due = new Set<string>();
  const turns = new Set<string>();
  for (const { row, turns: all } of stories)
    for (const turn of all) {
      turns.add(`${row.transcript.id}:${turn.id}`);
      for (const { route, id } of saidIn(row, turn)) {
        if (route.channel === "session") continue;
        due.add(id);
        if (!delivered.has(id) && !waiting.has(id))
          problems.push(`J5 the answer ${id} of ${row.key} to ${route.channel} is lost`);
      }
    }
  for (const [id, same] of delivered) problems.push(...deliveredWell(id, same, { due, turns, waiting }));
  return problems;
}

function deliveredWell(
  id: string,
  same: readonly Delivery[],
  known: {
    readonly due: ReadonlySet<string>;
    readonly turns: ReadonlySet<string>;
    readonly waiting: ReadonlyMap<string, Outgoing>;
  },
): string[] {
  const problems: string[] = [];
  const [transcript = "", turn = "", what = ""] = id.split(":");
  if (new Set(same.map(({ hash }) => hash)).size > 1)
    problems.push(`J5 ${id} was delivered with two contents`);
  const isDue = what === "answer" ? known.due.has(id) : known.turns.has(`${transcript}:${turn}`);
  if (!isDue) problems.push(`J5 ${id} was delivered, and no turn said it`);
  return problems;
}

export function atRest({ row, turns }: Story, { entries, waiting, outbox }: Seen): string[] {
  const problems: string[] = [];
  if (row.state.kind !== "idle") problems.push(`J6 ${row.key} is ${row.state.kind}`);
  const letters = waiting.get(row.key) ?? 0;
  if (letters > 0) problems.push(`J6 ${letters} letters wait for ${row.key}`);
  const stuck = outbox.filter(({ key, refused }) => key === row.key && refused === null);
  if (stuck.length > 0) problems.push(`J6 ${stuck.length} answers of ${row.key} wait`);
  const used = (entries.get(row.key) ?? []).map(tokensOf).reduce(addTokens, NO_TOKENS);
  for (const kind of ["input", "output", "cacheRead", "cacheWrite", "cost"] as const)
    if (Math.abs(row.usage[kind] - used[kind]) > 1e-6)
      problems.push(`J6 ${row.key}: the row has ${row.usage[kind]} ${kind}, and the entries ${used[kind]}`);
  const ran = turns.flatMap(({ calls }) => calls).flatMap(({ results }) => results);
  // One that was skipped did not run; of one that was interrupted nobody knows.
  const paid = ran.filter(({ text }) => !isInterrupted(text) && !text.startsWith("It was not run: ")).length;
  if (row.usage.toolCalls !== paid)
    problems.push(`J6 ${row.key}: the row has ${row.usage.toolCalls} tool calls, and the entries ${paid}`);
  return problems;
}

/** Of a call that was running when its process died. */
export function isInterrupted(text: string): boolean {
  return text.startsWith("The process stopped while this ran.");
}
