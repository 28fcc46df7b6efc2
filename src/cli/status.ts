// `status`: one session, all that is known of it, in a few lines.

import { RealWorld } from "../base/world.ts";
import type { Output } from "../calls/door.ts";
import { SESSION, type Command, type Invocation } from "./command.ts";
import { keyOf } from "./key.ts";
import {
  ago,
  count,
  dim,
  duration,
  json,
  many,
  money,
  oneLine,
  percent,
  stateColour,
  whole,
} from "./output.ts";
import { named, stateWords } from "./ps.ts";

type Status = Output<"status">;

export const status: Command = {
  name: "status",
  summary: "one session: why it waits, its model, context, usage and limits",
  arguments: [{ ...SESSION, required: false }],
  options: [],
  run,
};

async function run({ args, client: find, screen, signal }: Invocation): Promise<number> {
  const client = await find();
  const sessionKey = await keyOf(client, args[0] ?? "main", signal);
  const about = await client.call("status", { sessionKey }, signal);
  if (screen.json) {
    json(screen, about);
    return 0;
  }
  const nowMs = new RealWorld().nowMs();
  const since = (iso: string): number => Math.max(0, nowMs - Date.parse(iso));
  const state = stateColour(about.state)(screen, stateWords(about, since));
  screen.out(`${named(screen, about)}   ${state} · born ${ago(since(about.bornAt))}\n`);
  for (const [title, words] of linesOf(about, since))
    if (words !== "") screen.out(`  ${dim(screen, title.padEnd(9))} ${oneLine(words)}\n`);
  return 0;
}

type Line = readonly [title: string, words: string];

function linesOf(about: Status, since: (iso: string) => number): readonly Line[] {
  const { usage, context, settings } = about;
  const waiting = about.waitingLetters;
  return [
    ["why", about.why],
    ["mail", waiting === 0 ? "" : `${many(waiting, "letter")} waiting`],
    ["parent", about.parent ?? ""],
    ["model", modelWords(about)],
    [
      "context",
      `${percent(context.tokens, context.window)} of ${count(context.window)} tokens (${count(context.tokens)})`,
    ],
    ["usage", usageWords(usage)],
    [
      "tree",
      about.tree.cost === usage.cost && about.tree.steps === usage.steps ? "" : usageWords(about.tree),
    ],
    ["limits", limitWords(about)],
    ["settings", settingWords(settings)],
    ["exec", about.exec],
    ["route", about.route === null ? "" : `${about.route.channel} → ${about.route.to}`],
    ["last turn", lastTurnWords(about.lastTurn, since)],
    ["history", `${many(about.entries, "entry", "entries")} · transcript ${about.transcript}`],
  ];
}

function modelWords({ model, modelFrom, thinking, fallback }: Status): string {
  const from = modelFrom === "session" ? "set for this session" : "as its agent is configured";
  const spoke = fallback === null ? "" : `; the last answer is by ${fallback.spoke}`;
  return `${model} (${from})${thinking === "off" ? "" : `, thinking ${thinking}`}${spoke}`;
}

function usageWords(usage: Status["usage"]): string {
  const read = usage.input + usage.cacheRead + usage.cacheWrite;
  const parts = [
    `${count(read + usage.output)} tokens (${count(read)} in, ${percent(usage.cacheRead, read)} cached)`,
    money(usage.cost),
    many(usage.steps, "step"),
    many(usage.toolCalls, "tool call"),
    ...(usage.toolCpuMs > 0 ? [`${duration(usage.toolCpuMs)} cpu`] : []),
  ];
  return parts.join(" · ");
}

function limitWords({ limits, tree }: Status): string {
  const tokens = tree.input + tree.output + tree.cacheRead + tree.cacheWrite;
  const above = limits.above.map(
    ({ sessionKey, used, ...most }) => `${sessionKey}: ${budgetWords(used, most).join(", ")}`,
  );
  return [
    ...budgetWords({ tokens, cost: tree.cost }, limits),
    ...(above.length === 0 ? [] : [`above it ${above.join("; ")}`]),
    ...(limits.stepsPerTurn === null ? [] : [`${whole(limits.stepsPerTurn)} steps a turn`]),
    ...(limits.turnSeconds === null ? [] : [`${duration(limits.turnSeconds * 1_000)} a turn`]),
  ].join(" · ");
}

type Budget = Pick<Status["limits"], "tokens" | "cost">;

function budgetWords(used: Status["limits"]["above"][number]["used"], most: Budget): readonly string[] {
  return [
    ...(most.tokens === null ? [] : [`tokens ${count(used.tokens)} of ${count(most.tokens)}`]),
    ...(most.cost === null ? [] : [`cost ${money(used.cost)} of ${money(most.cost)}`]),
  ];
}

function settingWords(settings: Status["settings"]): string {
  return [
    ...(settings.nice === 0 ? [] : [`nice ${settings.nice}`]),
    ...(settings.pinned ? ["pinned"] : []),
    ...(settings.pins.length === 0 ? [] : [`${many(settings.pins.length, "entry", "entries")} pinned`]),
    ...(settings.queueMode === null ? [] : [`queue ${settings.queueMode}`]),
    ...(settings.sendPolicy === null ? [] : [`send policy ${settings.sendPolicy}`]),
  ].join(" · ");
}

function lastTurnWords(last: Status["lastTurn"], since: (iso: string) => number): string {
  if (last === null) return "";
  return `${last.outcome}${last.reason === null ? "" : ` (${last.reason})`}, ${ago(since(last.endedAt))}`;
}
