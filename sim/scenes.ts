// Scenes: what people write, and to whom. Most messages are scripts for the rehearsal.

import type { World } from "../src/base/world.ts";
import type { Input } from "../src/calls/door.ts";
import { DEFAULT_AGENT, namedKey, type SessionKey } from "../src/routing/key.ts";
import { ENVELOPES, KEYS, MODES, pick, upTo } from "../test/turns/scenes.ts";
import type { Message } from "../test/turns/reports.ts";

/** The sessions that only the system writes to. */
export const QUIET_KEYS: readonly SessionKey[] = ["attic", "cellar", "loft"].map((name) =>
  namedKey(DEFAULT_AGENT, name),
);

/** Names of children that stay. */
const NAMES = ["ann", "ben"] as const;

export function personsSpawn(dice: World, id: string): Input<"spawn"> {
  const more = dice.random() < 0.5 ? { parent: pick(dice, KEYS) } : {};
  return { ...spawnOf(dice, 1), ...more, id };
}

/** `more`: generations that may come after it. */
function spawnOf(dice: World, more: number): Input<"spawn"> {
  const isNamed = dice.random() < 0.35;
  const isDeleted = !isNamed && dice.random() < 0.2;
  return {
    task: taskOf(dice, more, isDeleted),
    ...(isNamed ? { name: pick(dice, NAMES), resumeIfExists: dice.random() < 0.8 } : {}),
    ...(isDeleted ? { cleanup: "delete" as const } : {}),
    ...(dice.random() < 0.2 ? { timeoutSeconds: 1 + upTo(dice, 2) } : {}),
    ...(dice.random() < 0.15 ? { context: "fork" as const } : {}),
  };
}

/** One of whom nothing stays writes to nobody: who got the letter could not be asked where it came from. */
function taskOf(dice: World, more: number, isAlone: boolean): string {
  const call = (): string => `!call ${pick(dice, ["mark", "peek", "slow"])} {"ms":${upTo(dice, 200)}}`;
  const steps = Array.from({ length: upTo(dice, 2) }, () =>
    more > 0 && dice.random() < 0.2 ? delegating(dice, more - 1) : isAlone ? call() : stepOf(dice),
  );
  if (dice.random() < 0.1) steps.push("!fail auth");
  return [...steps, `!slow ${upTo(dice, 100)}\n!say my report`].join("\n!then\n");
}

/** Gives tasks; then waits for them, rests on them, tells them something, ends one, or just goes on. */
function delegating(dice: World, more: number): string {
  const spawns = Array.from({ length: 1 + upTo(dice, 2) }, () => {
    const quiet = dice.random() < 0.1 ? { announce: false } : {};
    return `!spawn ${JSON.stringify({ ...spawnOf(dice, more), ...quiet })}`;
  });
  const sessionKey = namedKey(DEFAULT_AGENT, pick(dice, NAMES));
  const to = (action: string, input: object): string =>
    `!call subagents ${JSON.stringify({ action, ...input })}`;
  const next = pick(dice, [
    "!wait {}",
    `!wait {"timeoutSeconds":1}`,
    "!call sessions_yield {}",
    "!call sessions_yield {}",
    "!call sessions_yield {}",
    to("list", {}),
    to("steer", { sessionKey, message: "One thing more." }),
    to("kill", { sessionKey }),
    `!call peek {"ms":5}`,
  ]);
  return `${spawns.join("\n")}\n!then\n${next}`;
}

export function messageOf(dice: World, name: string): Message {
  const mode = pick(dice, MODES);
  const what = { message: `${name}\n${textOf(dice, name)}`, id: name, ...(mode ? { mode } : {}) };
  if (dice.random() < 0.6) return { name, by: "send", input: { sessionKey: pick(dice, KEYS), ...what } };
  return { name, by: "receive", input: { ...pick(dice, ENVELOPES), ...what } };
}

/** One to three steps with calls, and then the answer; or something that is no script. */
export function textOf(dice: World, name: string): string {
  const rolled = dice.random();
  if (rolled < 0.08) return "Just a word.";
  if (rolled < 0.12) return "!fail auth";
  if (rolled < 0.18) return `!fail retry ${1 + upTo(dice, 2)}\n!say after some failures`;
  const steps = Array.from({ length: 1 + upTo(dice, 2) }, () =>
    dice.random() < 0.25 ? delegating(dice, 1) : stepOf(dice),
  );
  const last = dice.random() < 0.1 ? "!say NO_REPLY" : `!slow ${upTo(dice, 40)}\n!say the answer to ${name}`;
  return [...steps, last].join("\n!then\n");
}

/** Many short steps: whoever runs it asks for a slot again and again. */
export function longTextOf(dice: World, name: string): string {
  const steps = Array.from(
    { length: 3 + upTo(dice, 4) },
    () => `!slow ${5 + upTo(dice, 30)}\n!call peek {"ms":1}`,
  );
  return [name, ...steps, `!say the answer to ${name}`].join("\n!then\n");
}

function stepOf(dice: World): string {
  const lines = Array.from({ length: 1 + upTo(dice, 2) }, () => callOf(dice));
  if (dice.random() < 0.3) lines.unshift("!say I will look.");
  if (dice.random() < 0.6) lines.unshift(`!slow ${dice.random() < 0.1 ? 2_000 : upTo(dice, 50)}`);
  return lines.join("\n");
}

function callOf(dice: World): string {
  const rolled = dice.random();
  const call = (tool: string, input: object): string => `!call ${tool} ${JSON.stringify(input)}`;
  const ms = upTo(dice, 40);
  if (rolled < 0.35) return call("mark", { ms });
  if (rolled < 0.6) return call("peek", { ms: dice.random() < 0.1 ? 1_000 : ms });
  if (rolled < 0.65) return call("slow", { ms: 100 + upTo(dice, 2_000) });
  if (rolled < 0.72)
    return call("session_status", { model: pick(dice, ["default", "rehearsal/large", "rehearsal/default"]) });
  if (rolled < 0.94) return call("sessions_send", letterOf(dice, ms));
  return pick(dice, [call("sessions_list", { limit: 3 }), call("mark", { ms: "soon" }), call("nothing", {})]);
}

/** A script for another session. It sends nothing itself: so no letter has grandchildren. */
function letterOf(dice: World, ms: number): Input<"send"> {
  const script = `!call ${pick(dice, ["mark", "peek"])} {"ms":${ms}}\n!then\n!say as you wish`;
  const message = pick(dice, ["A word from another.", "!say yes", `Please:\n${script}`]);
  const more = dice.random() < 0.3 ? { reply: false } : {};
  return { sessionKey: pick(dice, KEYS), message, ...more };
}
