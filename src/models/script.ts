// Script
//
// What the lines of a user message tell the rehearsal to do. A script is read whole before any of it is done.
//
//   Owns:      the words, what may follow each, and what is said of a line that is none of them.
//   Does not:  do what they say (rehearsal.ts).
//
// Invariants
//   S1. Of a script with a mistake nothing is done but to name the mistake. Nothing is guessed.
//   S2. A line that does not begin with "!" is left alone: envelopes and prose may stand around a script.
//   S3. What a script can ask for is bounded, and what is said of a mistake too.

import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { jsonOf } from "../transcript/codec.ts";
import { textOf, type Message } from "../transcript/entry.ts";
import type { Answer } from "./model.ts";

/** Lines of one script: a thousand steps with some calls each fit. */
const SCRIPT_LINES_MAX = 10_000;

/** Calls of one step: more children than anybody spawns at once. */
const STEP_CALLS_MAX = 1_000;

/** Words of one `!verbose`: about a megabyte, more than an entry keeps whole. */
const VERBOSE_WORDS_MAX = 100_000;

/** One `!slow`: a day. */
const SLOW_MS_MAX = 24 * 60 * 60 * 1_000;

/** Asks that one `!fail` refuses. */
const FAIL_TIMES_MAX = 1_000_000;

/** Characters of a tool's name; no provider takes longer ones. */
const TOOL_NAME_CHARS_MAX = 128;

/** Mistakes that are named; the others are counted. */
const MISTAKES_SHOWN_MAX = 5;

/** Characters of what the reader of JSON says, which may quote the line. */
const COMPLAINT_CHARS_MAX = 120;

type Why = Extract<Answer, { kind: "failed" }>["why"];
type Arguments = Readonly<Record<string, unknown>>;

export type Deed =
  | { readonly do: "say"; readonly text: string }
  | { readonly do: "think"; readonly text: string }
  | { readonly do: "call"; readonly tool: string; readonly arguments: Arguments }
  | { readonly do: "slow"; readonly ms: number }
  | { readonly do: "verbose"; readonly words: number }
  | { readonly do: "fail"; readonly why: Why; readonly times: number | null } // null: always
  | { readonly do: "list" | "system" | "results" };

export type Step = readonly Deed[];

/** What a line means; a string says why it means nothing. */
type Meaning = Deed | { readonly do: "then" } | string;

const WORDS: ReadonlyMap<string, (rest: string) => Meaning> = new Map<string, (rest: string) => Meaning>([
  ["say", (rest) => (rest === "" ? "!say needs a text" : { do: "say", text: rest })],
  ["think", (rest) => (rest === "" ? "!think needs a text" : { do: "think", text: rest })],
  ["call", callIn],
  ["then", (rest) => alone("then", rest)],
  ["slow", slowIn],
  ["verbose", verboseIn],
  ["fail", failIn],
  ["spawn", (rest) => callOf("sessions_spawn", {}, rest)],
  ["wait", (rest) => callOf("subagents", { action: "wait" }, rest)],
  ["list", (rest) => alone("list", rest)],
  ["system", (rest) => alone("system", rest)],
  ["results", (rest) => alone("results", rest)],
]);

/**
 * What is to be done now; null when there is no script. The script is in the newest user message and those
 * directly before it. How far it has come is seen in the messages after it: one answer for each step. A child's report is no
 * message of that kind: the script that waits for it goes on. A task is one, and what stands before it is another's script.
 */
export function stepOf(messages: readonly Message[], newest: number): Step | null {
  const before = messages.findLastIndex((message, at) => at < newest && !isAsked(message));
  const asked = messages.slice(before + 1, newest + 1).map(plain);
  const steps = stepsIn(asked.slice(Math.max(0, asked.findLastIndex(isTask))).join("\n"));
  if (steps === null) return null;
  if (typeof steps === "string") return [{ do: "say", text: steps }];
  const done = messages.slice(newest + 1).filter(({ role }) => role === "assistant").length;
  const isTold = messages.slice(newest + 1).some(isReport);
  return steps[done] ?? (isTold ? null : []);
}

/** Where the newest message stands that a script can be in; -1: there is none. */
export function askedAt(messages: readonly Message[]): number {
  return messages.findLastIndex(isAsked);
}

function isAsked(message: Message): boolean {
  return message.role === "user" && !isReport(message);
}

/** As turns/reports.ts writes them, in the lines of an envelope. */
export function isReport(message: Message): boolean {
  return (
    message.role === "user" &&
    /^\[\[sessiond message from inter_session \S+ via report\]\]/.test(plain(message))
  );
}

function isTask(text: string): boolean {
  return /^\[\[sessiond message from inter_session \S+ via (?:sessions_spawn|subagents)\]\]/.test(text);
}

function plain(message: Message): string {
  return textOf({ type: "message", message });
}

/** Null: no line of the text is a script line. A string says what is wrong with the script (S1). */
function stepsIn(text: string): readonly Step[] | string | null {
  if (!text.startsWith("!") && !text.includes("\n!")) return null;
  const lines = text.split("\n").filter((line) => line.startsWith("!"));
  if (lines.length > SCRIPT_LINES_MAX)
    return complaint([`it has ${lines.length} lines, and at most ${SCRIPT_LINES_MAX} are allowed`]);
  const mistakes: string[] = [];
  const steps: Deed[][] = [[]];
  for (const line of lines) {
    const meaning = meaningOf(line);
    if (typeof meaning === "string") mistakes.push(`${shown(line)}: ${meaning}`);
    else if (meaning.do === "then") steps.push([]);
    else steps.at(-1)?.push(meaning);
  }
  for (const [at, step] of steps.entries()) {
    const calls = step.filter((deed) => deed.do === "call").length;
    if (calls > STEP_CALLS_MAX)
      mistakes.push(`step ${at + 1} has ${calls} calls, and at most ${STEP_CALLS_MAX} are allowed`);
  }
  return mistakes.length === 0 ? steps : complaint(mistakes);
}

function complaint(mistakes: readonly string[]): string {
  const named = mistakes.slice(0, MISTAKES_SHOWN_MAX);
  const others = mistakes.length - named.length;
  const more = others === 0 ? [] : [`and ${others} more`];
  return ["The script is wrong, so nothing of it was done:", ...named, ...more].join("\n");
}

function meaningOf(line: string): Meaning {
  const end = line.search(/\s|$/);
  const word = line.slice(1, end);
  const read = WORDS.get(word);
  if (read === undefined) {
    const known = [...WORDS.keys()].map((each) => `!${each}`).join(", ");
    return `this is no word of a script; the words are ${known}`;
  }
  // One blank ends the word; all that follows is what `!say` says exactly. A line may end as on Windows.
  return read(line.slice(end + 1).replace(/\r$/, ""));
}

function alone(word: "then" | "list" | "system" | "results", rest: string): Meaning {
  return rest.trim() === "" ? { do: word } : `nothing may follow !${word}`;
}

function callIn(rest: string): Meaning {
  const call = rest.trim();
  const tool = call.slice(0, call.search(/\s|$/));
  if (tool === "" || /^[[{"]/.test(tool)) return "!call needs the name of a tool: !call <tool> <json>";
  if (tool.length > TOOL_NAME_CHARS_MAX)
    return `the name of a tool has at most ${TOOL_NAME_CHARS_MAX} characters`;
  return callOf(tool, {}, call.slice(tool.length));
}

function callOf(tool: string, given: Arguments, json: string): Meaning {
  if (json.trim() === "") return { do: "call", tool, arguments: given };
  try {
    const parsed: unknown = JSON.parse(json);
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
      return `the arguments are a JSON object, not ${shown(parsed)}`;
    // As deep as they will lie in their entry: message, content, block. Deeper ones could not be kept.
    jsonOf({ message: { content: [{ arguments: parsed }] } });
    return { do: "call", tool, arguments: { ...given, ...parsed } };
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof Fault)) throw error;
    return `the arguments cannot be read: ${error.message.slice(0, COMPLAINT_CHARS_MAX)}`;
  }
}

function slowIn(rest: string): Meaning {
  const ms = wholeIn(rest.trim(), SLOW_MS_MAX);
  return ms === null ? `!slow needs whole milliseconds, at most ${SLOW_MS_MAX}` : { do: "slow", ms };
}

function verboseIn(rest: string): Meaning {
  const words = wholeIn(rest.trim(), VERBOSE_WORDS_MAX);
  return words === null || words === 0
    ? `!verbose needs a number of words from 1 to ${VERBOSE_WORDS_MAX}`
    : { do: "verbose", words };
}

function failIn(rest: string): Meaning {
  const [why = "", timesText, ...others] = rest.trim().split(/\s+/, 3);
  const times = timesText === undefined ? null : wholeIn(timesText, FAIL_TIMES_MAX);
  if (!isWhy(why) || others.length > 0 || (timesText !== undefined && times === null))
    return `!fail needs one of ${Object.keys(WHYS).join(", ")}, then perhaps times up to ${FAIL_TIMES_MAX}`;
  return { do: "fail", why, times };
}

/** A record, so that the compiler asks for a failure that is new in the union. */
const WHYS: Readonly<Record<Why, true>> = { retry: true, overflow: true, auth: true, local: true };

function isWhy(word: string): word is Why {
  return Object.hasOwn(WHYS, word);
}

/** Null: not digits alone, or more than the most. */
function wholeIn(digits: string, most: number): number | null {
  if (!/^[0-9]{1,15}$/.test(digits)) return null;
  const whole = Number(digits);
  return whole <= most ? whole : null;
}
