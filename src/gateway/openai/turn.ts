// A message and the turn that answers it: waited for as a whole, told as it comes, or read again later.

import { Fault } from "../../base/fault.ts";
import { alarm, CALLED_OFF } from "../../base/waiting.ts";
import type { Person } from "../../calls/call.ts";
import type { Input, Output } from "../../calls/door.ts";
import type { Event } from "../../events/bus.ts";
import { PAGE_ROWS_MAX } from "../../limits.ts";
import { TURN_READ_MS } from "../limits.ts";
import type { Mail } from "../../mail/letter.ts";
import { parseKey, type SessionKey } from "../../routing/key.ts";
import type { Page } from "../../store/store.ts";
import { isNote } from "../../transcript/note.ts";
import type { TurnOutcome } from "../../turns/where.ts";
import type { Gate } from "../gate.ts";
import { Refused } from "./errors.ts";
import { Reading, type Tokens } from "./reading.ts";
import { digest } from "./sessions.ts";

export type Sent = Output<"send">;

/** Who asks, and until when. */
export interface Asking {
  readonly gate: Gate;
  readonly caller: Person;
  readonly over: AbortSignal;
}

/** What became of a message. */
export interface Told {
  readonly outcome: TurnOutcome | "unanswered";
  readonly reason: string | null;
  readonly text: string; // of all steps
  readonly tokens: Tokens;
  readonly isCut: boolean;
}

/**
 * Which turn: the one that answers this letter. Known before it has begun, and kept nowhere: it is the id that a client gets,
 * the same however often it sends the message.
 */
export interface Named {
  readonly key: SessionKey;
  readonly letter: string; // digest of the letter's id
}

/** Where the turn is to be read. */
export interface Spot extends Named {
  readonly seq: number; // an entry before it; who sends again may be told a later one
}

export function spotOf({ sessionKey, seq, id }: Sent): Spot {
  return { key: parseKey(sessionKey), seq, letter: digest([id]) };
}

export function spotName({ key, letter }: Named): string {
  return Buffer.from(JSON.stringify([key, letter])).toString("base64url");
}

/** Null: it is no name of a turn. */
function namedBy(name: string): Named | null {
  try {
    const [key, letter] = JSON.parse(Buffer.from(name, "base64url").toString()) as unknown[];
    if (typeof key !== "string" || typeof letter !== "string") return null;
    const named = { key: parseKey(key), letter };
    return spotName(named) === name ? named : null; // base64 can be written in more than one way; a name cannot
  } catch {
    return null; // not JSON, or not a key
  }
}

function isAt({ letter }: Named): (mailId: string) => boolean {
  return (mailId) => digest([mailId]) === letter;
}

/** As long as a wait may be: whoever asks leaves before that. */
const WAIT_MS_MAX = 24 * 60 * 60 * 1_000;

/** Every request is answered by a turn of its own, also while another runs. */
const MODE = "followup";

export async function send(asking: Asking, message: Omit<Input<"send">, "mode">): Promise<Sent> {
  const { gate, caller, over } = asking;
  return await gate.door.call("send", caller, { ...message, mode: MODE }, over);
}

/** Sends, and waits for the end of the turn. The words before the last answer, and the tokens, are in the entries. */
export async function ask(
  asking: Asking,
  message: Omit<Input<"ask">, "mode">,
): Promise<{ readonly sent: Sent; readonly told: Told }> {
  const { gate, caller, over } = asking;
  const { endSeq, text, outcome, reason, ...sent } = await gate.door.call(
    "ask",
    caller,
    { ...message, mode: MODE },
    over,
  );
  const reading = await read(asking, spotOf(sent), endSeq ?? 0);
  return { sent, told: toldBy(reading, { outcome, reason, text }) };
}

/** The same of a message that is sent already. */
export async function answerTo(asking: Asking, sent: Sent): Promise<Told> {
  const { gate, caller, over } = asking;
  const { sessionKey, id } = sent;
  const { outcome, reason, text, seq } = await gate.door.call("wait", caller, { sessionKey, id }, over);
  const reading = await read(asking, spotOf(sent), seq ?? 0);
  return toldBy(reading, { outcome, reason, text });
}

function toldBy(reading: Reading, waited: Pick<Told, "outcome" | "reason" | "text">): Told {
  const { tokens, isCut } = reading;
  const { outcome, reason, text } = waited;
  return { outcome, reason, text: reading.text(outcome === "done" ? text : null), tokens, isCut };
}

/** What the transcript says of a turn, up to an entry that is there. */
async function read(asking: Asking, spot: Spot, through: number): Promise<Reading> {
  const { gate, over } = asking;
  const reading = new Reading(isAt(spot));
  if (through <= spot.seq) return reading;
  // A line that cannot be read is not told, and it may be the last one.
  const late = new AbortController();
  const callOff = alarm(gate.system.world, TURN_READ_MS, () => late.abort());
  const signal = AbortSignal.any([over, late.signal]);
  try {
    for await (const event of await following(asking, spot, spot.seq, signal)) {
      reading.hear(event);
      if (reading.end !== null || (event.type === "entry" && event.seq >= through)) break;
    }
  } finally {
    callOff();
  }
  return reading;
}

async function following(
  { gate, caller }: Asking,
  { key }: Spot,
  from: number,
  signal: AbortSignal,
): Promise<AsyncIterable<Event>> {
  return await gate.door.follow(caller, { key, from }, signal);
}

/**
 * The words of the answer as they come, and at last what became of it. Who stops listening stops nothing else: the turn goes
 * on. Who reads too slowly misses pieces, and gets them with the entry.
 */
export async function* telling(asking: Asking, sent: Sent): AsyncGenerator<string | Told, void> {
  const spot = spotOf(sent);
  const before = sent.repeated ? await endedBefore(asking, sent) : null;
  if (before !== null) return yield* [before.text, before];
  const reading = new Reading(isAt(spot));
  const over = new AbortController();
  const waited = waiting(asking, sent, over.signal);
  try {
    yield* words(asking, spot, reading);
    const rest = reading.isLeft ? reading.complete(await waited) : "";
    if (rest !== "") yield rest;
  } finally {
    over.abort(CALLED_OFF);
  }
  const { end, tokens, isCut } = reading;
  if (end !== null) yield { outcome: end.outcome, reason: end.reason, text: reading.text(), tokens, isCut };
}

/** The last answer, whole however long it is. "": nobody knows it. */
async function waiting({ gate, caller, over }: Asking, sent: Sent, off: AbortSignal): Promise<string> {
  const { sessionKey, id } = sent;
  const signal = AbortSignal.any([over, off]);
  const waited = gate.door.call("wait", caller, { sessionKey, id, timeoutMs: WAIT_MS_MAX }, signal);
  return await waited.then(
    ({ text }) => text,
    () => "", // The entries say what there is to say.
  );
}

async function* words(asking: Asking, spot: Spot, reading: Reading): AsyncGenerator<string, void> {
  for (let from = spot.seq; reading.end === null;) {
    try {
      for await (const event of await following(asking, spot, from, asking.over)) {
        if (event.type === "entry") from = event.seq;
        const piece = reading.hear(event);
        if (piece !== "") yield piece;
        if (reading.end !== null) return;
      }
    } catch (error) {
      if (!(error instanceof Fault && error.code === "too_slow")) throw error;
      reading.lose();
      continue;
    }
    asking.over.throwIfAborted();
    throw new Fault("closed", "sessions are closed; the turn goes on after the start");
  }
}

/** Of a message that was sent before: what it came to, if that is further back than a receipt knows. */
async function endedBefore({ gate, caller, over }: Asking, sent: Sent): Promise<Told | null> {
  const { sessionKey, id } = sent;
  const waited = await gate.door.call("wait", caller, { sessionKey, id, timeoutMs: 0 }, over);
  const { outcome, reason, text, seq } = waited;
  if (seq === null || seq > sent.seq) return null;
  return { outcome, reason, text, tokens: { input: 0, cached: 0, output: 0 }, isCut: false };
}

/** What is kept of a turn. */
interface Kept {
  readonly spot: Spot;
  readonly reading: Reading;
  readonly sinceMs: number; // when its letter was taken; of one that waits, when it was posted
}

/** not_found: there is no such session any more, or nothing of it. */
export async function found(asking: Asking, name: string): Promise<Kept> {
  const { gate, caller, over } = asking;
  const named = namedBy(name);
  if (named === null) throw new Refused("not_found", NO_RESPONSE, {});
  const { key } = named;
  const waits = await mailOf(gate, named); // First: a letter goes from there into the transcript.
  const seq = waits === null ? await seqBefore(gate, named) : 0;
  if (seq === null) throw await notThere(gate, key);
  const { entries } = await gate.door
    .call("status", caller, { sessionKey: key }, over)
    .catch(async (error: unknown) => {
      throw error instanceof Fault && error.code === "not_found" ? await notThere(gate, key) : error;
    });
  const spot = { ...named, seq };
  const reading = await read(asking, spot, waits === null ? entries : 0);
  const sinceMs = waits?.postedAtMs ?? reading.sinceMs;
  if (sinceMs === null) throw await notThere(gate, key);
  return { spot, reading, sinceMs };
}

const NO_RESPONSE = "there is no response of that id";

/** What was archived, by upkeep or to begin anew, can be had back: whoever asks for it is told how. */
async function notThere({ system: { store } }: Gate, key: SessionKey): Promise<Refused> {
  const [archive] = (await store.archives({ key, newest: true, limit: 1 })).rows;
  if (archive === undefined) return new Refused("not_found", NO_RESPONSE, {});
  const isAway = (await store.session(key)) === null;
  const why = isAway
    ? `its session ${key} was archived`
    : `${key} has begun anew, and may have had it before`;
  const how = `\`sessiond restore ${archive.id}${isAway ? "" : " --swap"}\` brings that back`;
  return new Refused("not_found", `${NO_RESPONSE} now: ${why}; ${how}, or begin a new conversation`, {});
}

/** Null: it does not wait. */
async function mailOf({ system: { store } }: Gate, named: Named): Promise<Mail | null> {
  const isOurs = isAt(named);
  let cursor: string | null = null;
  do {
    const page: Page<Mail> = await store.mail(named.key, { cursor, limit: PAGE_ROWS_MAX });
    const mail = page.rows.find(({ id }) => isOurs(id));
    if (mail) return mail;
    cursor = page.next;
  } while (cursor !== null);
  return null;
}

/** The entry before the turn, looked for from the end: mostly it is the last one. Null: no turn has the letter. */
async function seqBefore({ system: { store } }: Gate, named: Named): Promise<number | null> {
  const session = await store.session(named.key);
  if (session === null) return null;
  const isOurs = isAt(named);
  let isFound = false;
  for await (const entry of store.entries(session.transcript.id, { before: null })) {
    if (entry.type === "gap") continue;
    isFound ||= entry.type === "message" && entry.mailId !== undefined && isOurs(entry.mailId);
    if (isFound && isNote(entry, "turn-started")) return entry.seq - 1;
  }
  return isFound ? 0 : null;
}
