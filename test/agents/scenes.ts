// Scenes: what people ask for, which fans out: a session gives tasks to children, and these to children of theirs. A task is a
// script within a script, as text within JSON.

import {
  DEFAULT_AGENT,
  mainKey,
  namedKey,
  type Input,
  type SessionKey,
  type World,
} from "../../src/index.ts";
import { pick, upTo } from "../turns/scenes.ts";
import type { Asked } from "./reports.ts";

/** The sessions that people write to. */
export const ROOTS: readonly SessionKey[] = [
  mainKey(DEFAULT_AGENT),
  namedKey(DEFAULT_AGENT, "plans"),
  namedKey(DEFAULT_AGENT, "shed"),
];

/** Names of children that stay: whoever wants gives them a task. */
const NAMES = ["ann", "ben"] as const;

/** Generations below the sessions of people. */
const GENERATIONS = 2;

/** So that everybody is there from the beginning. However often, it is one message. */
export function greetings(): readonly Asked[] {
  return ROOTS.map((sessionKey) => {
    const name = `hello to ${sessionKey}`;
    return { name, by: "send", input: { sessionKey, message: "!say hello", id: name } };
  });
}

export function askedBy(dice: World, name: string): Asked {
  if (dice.random() < 0.15) {
    const input = { ...spawnOf(dice, GENERATIONS - 1, false), parent: pick(dice, ROOTS), id: name };
    return { name, by: "spawn", input };
  }
  const steps = [...work(dice, 0.3), ...delegating(dice, GENERATIONS)];
  const script = [...steps, ...work(dice, 0.3), `!results\n!say the answer to ${name}`].join(THEN);
  const message = `${name}\n${script}`;
  return { name, by: "send", input: { sessionKey: pick(dice, ROOTS), message, id: name } };
}

const THEN = "\n!then\n";

/** A step that leaves a mark outside, or none. */
function work(dice: World, chance: number): string[] {
  if (dice.random() >= chance) return [];
  const tool = pick(dice, ["mark", "mark", "peek", "slow"]);
  const ms = tool === "slow" ? 30 + upTo(dice, 100) : upTo(dice, 15);
  return [`!call ${tool} {"ms":${ms}}`];
}

/** `more`: generations that may come after this one. */
function delegating(dice: World, more: number): string[] {
  const isTop = more === GENERATIONS;
  const count = isTop ? 2 + upTo(dice, 2) : 1 + upTo(dice, 2);
  const spawns = Array.from({ length: count }, () => {
    const what = spawnOf(dice, more - 1, true);
    if (dice.random() < 0.8) return `!spawn ${JSON.stringify(what)}`;
    return `!call subagents ${JSON.stringify({ action: "spawn", ...what })}`;
  });
  return [[...spawns, ...work(dice, 0.5)].join("\n"), ...afterwards(dice)];
}

/** Rests on the children, waits for them, tells them something, ends one; or goes on, and may have ended before they report. */
function afterwards(dice: World): string[] {
  const sessionKey = namedKey(DEFAULT_AGENT, pick(dice, NAMES));
  const to = (action: string, input: object): string =>
    `!call subagents ${JSON.stringify({ action, ...input })}`;
  const rolled = dice.random();
  if (rolled < 0.4) return ["!call sessions_yield {}"];
  if (rolled < 0.55) return [`!wait {"timeoutSeconds":${1 + upTo(dice, 1)}}`];
  if (rolled < 0.6) return [to("steer", { sessionKey, message: "One thing more." })];
  if (rolled < 0.65) return [to("kill", { sessionKey }), "!call sessions_yield {}"];
  return rolled < 0.7 ? [to("list", {})] : [];
}

/** What a person asks for is asked again by its id: so it is nothing that could be gone, or be in its own way, by then. */
function spawnOf(dice: World, more: number, isAgents: boolean): Input<"spawn"> {
  const isNamed = dice.random() < 0.25;
  const isDeleted = isAgents && !isNamed && dice.random() < 0.15;
  return {
    task: taskOf(dice, more),
    ...(isNamed ? { name: pick(dice, NAMES), resumeIfExists: !isAgents || dice.random() < 0.9 } : {}),
    ...(isDeleted ? { cleanup: "delete" as const } : {}),
    ...(!isDeleted && dice.random() < 0.1 ? { mode: "session" as const } : {}),
    ...(dice.random() < 0.15 ? { timeoutSeconds: 1 + upTo(dice, 1) } : {}),
    ...(dice.random() < 0.15 ? { context: "fork" as const } : {}),
    ...(isAgents && dice.random() < 0.07 ? { announce: false } : {}),
  };
}

function taskOf(dice: World, more: number): string {
  const below = more > 0 ? delegating(dice, more) : work(dice, 0.5);
  const last = dice.random() < 0.05 ? "!fail auth" : `!slow ${upTo(dice, 20)}\n!say my report`;
  const script = [...work(dice, 0.7), ...below, ...work(dice, 0.3), last].join(THEN);
  return `Do this.\n${script}`;
}
