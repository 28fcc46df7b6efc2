// Scenes: what people write in the campaign, and to whom. Most messages are scripts for the rehearsal.

import type { World } from "../../src/base/world.ts";
import type { Input } from "../../src/calls/door.ts";
import type { Mode } from "../../src/mail/letter.ts";
import {
  channelKey,
  DEFAULT_AGENT,
  directKey,
  mainKey,
  namedKey,
  threadKey,
  type SessionKey,
} from "../../src/routing/key.ts"; // The simulator has these scenes too, and loads neither threads nor files.
import type { Message } from "./reports.ts";

const chat = { agent: DEFAULT_AGENT, channel: "door" } as const;
const GARDEN = channelKey({ ...chat, peer: "garden" });

/** The sessions of the campaign. Those that a channel opens are there with its first message. */
export const KEYS: readonly SessionKey[] = [
  mainKey(DEFAULT_AGENT),
  directKey({ ...chat, account: null, peer: "ada" }),
  namedKey(DEFAULT_AGENT, "plans"),
  namedKey(DEFAULT_AGENT, "shed"),
  GARDEN,
  threadKey(GARDEN, "roses"),
];

export const MODES: readonly (Mode | undefined)[] = [
  undefined,
  undefined,
  undefined,
  "steer",
  "followup",
  "followup",
  "collect",
  "interrupt",
];

type From = Pick<Input<"receive">, "channel" | "chatType" | "peer" | "sender" | "thread">;

/** Nowhere is no door: what is answered there is refused, and stays visible. */
export const ENVELOPES: readonly From[] = [
  { channel: "door", chatType: "direct", peer: "ada" },
  { channel: "door", chatType: "channel", peer: "garden", sender: "ada" },
  { channel: "door", chatType: "channel", peer: "garden", sender: "bob" },
  { channel: "door", chatType: "channel", peer: "garden", sender: "bob", thread: "roses" },
  { channel: "nowhere", chatType: "direct", peer: "eve" },
];

const SETTINGS: readonly Omit<Input<"set">, "sessionKey">[] = [
  { queueMode: "collect" },
  { queueMode: "followup" },
  { queueMode: null },
  { queueMode: null },
  { verbose: "full" },
  { verbose: "on" },
  { verbose: null },
  { sendPolicy: "deny" },
  { sendPolicy: null },
  { sendPolicy: null },
  { thinking: "high" },
  { thinking: null, model: null },
  { nice: 5, label: "a label" },
];

export function pick<Of>(dice: World, from: readonly Of[]): Of {
  const at = Math.floor(dice.random() * from.length);
  return from[at] as Of;
}

export function upTo(dice: World, most: number): number {
  return Math.floor(dice.random() * (most + 1));
}

export function messageOf(dice: World, name: string): Message {
  const mode = pick(dice, MODES);
  const what = { message: `${name}\n${textOf(dice, name)}`, id: name, ...(mode ? { mode } : {}) };
  if (dice.random() < 0.5) return { name, by: "send", input: { sessionKey: pick(dice, KEYS), ...what } };
  return { name, by: "receive", input: { ...pick(dice, ENVELOPES), ...what } };
}

export function settingOf(dice: World): Input<"set"> {
  return { sessionKey: pick(dice, KEYS), ...pick(dice, SETTINGS) };
}

/** One to three steps with calls, and then the answer; or something that is no script. */
function textOf(dice: World, name: string): string {
  const rolled = dice.random();
  if (rolled < 0.06) return "Just a word.";
  if (rolled < 0.1) return "!fail auth";
  if (rolled < 0.12) return "!verbose 4000";
  const steps = Array.from({ length: 1 + upTo(dice, 2) }, () => stepOf(dice));
  const last = dice.random() < 0.1 ? "!say NO_REPLY" : `!slow ${upTo(dice, 10)}\n!say the answer to ${name}`;
  return [...steps, last].join("\n!then\n");
}

function stepOf(dice: World): string {
  const lines = Array.from({ length: 1 + upTo(dice, 3) }, () => callOf(dice));
  if (dice.random() < 0.3) lines.unshift("!say I will look.");
  if (dice.random() < 0.5) lines.unshift(`!slow ${dice.random() < 0.1 ? 300 : upTo(dice, 15)}`);
  return lines.join("\n");
}

function callOf(dice: World): string {
  const rolled = dice.random();
  const call = (tool: string, input: object): string => `!call ${tool} ${JSON.stringify(input)}`;
  const ms = upTo(dice, 15);
  if (rolled < 0.4) return call("mark", dice.random() < 0.05 ? { ms, chars: 30_000 } : { ms });
  if (rolled < 0.6) return call("peek", { ms: dice.random() < 0.1 ? 300 : ms });
  if (rolled < 0.65) return call("slow", { ms: 30 + upTo(dice, 120) });
  if (rolled < 0.75)
    return call("session_status", { model: pick(dice, ["default", "rehearsal/large", "rehearsal/default"]) });
  if (rolled < 0.94) return call("sessions_send", letterOf(dice, ms));
  return pick(dice, [
    call("sessions_list", { limit: 3 }),
    call("sessions_history", { limit: 3 }),
    call("mark", { ms: "soon" }),
    call("nothing", {}),
  ]);
}

/** A script for another session. It sends nothing itself: so no letter has grandchildren. */
function letterOf(dice: World, ms: number): Input<"send"> {
  const script = `!call ${pick(dice, ["mark", "peek"])} {"ms":${ms}}\n!then\n!say as you wish`;
  const message = pick(dice, ["A word from another.", "!say yes", `Please:\n${script}`]);
  const more = dice.random() < 0.3 ? { reply: false } : {};
  return { sessionKey: pick(dice, KEYS), message, ...more };
}
