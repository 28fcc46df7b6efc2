// What becomes of a beat's answer. Nothing needs attention: it is dropped. Something does: it is told once, and not again for
// a day while it is the same. What is to be committed and what is remembered of it are one commit, so after a crash it was
// told and is known to have been, or neither.

import { createHash } from "node:crypto";
import type { Agent } from "../config/config.ts";
import { afterBeatId, HEARTBEAT_OK as OK } from "../mail/beat.ts";
import { MAILBOX_LETTERS_MAX } from "../limits.ts";
import type { Letter } from "../mail/letter.ts";
import { heartbeatKey, mainKey, type AgentId, type KeyKind } from "../routing/key.ts";
import { maySend } from "../routing/policy.ts";
import type { Session } from "../sessions/session.ts";
import type { Change } from "../store/change.ts";
import type { Block } from "../transcript/entry.ts";
import { NO_REPLY } from "../turns/replies.ts";
import type { TurnOutcome } from "../turns/where.ts";
import type { HeartbeatParts } from "./heartbeat.ts";
import {
  ALERT_HEAD_CHARS_MAX,
  ALERT_QUIET_MS,
  ALERTS_KEPT,
  BEAT_FAILURES_TOLD,
  OK_CHARS_BESIDE_MAX,
} from "./limits.ts";
import { pulseIn, pulseOf, setPulse, timerOf, type Came, type Pulse } from "./pulse.ts";

/** How the turn of a beat ended, and what was said last. */
export interface BeatEnd {
  readonly outcome: TurnOutcome;
  readonly reason: string | null; // null: done
  readonly text: string;
}

/** What is to be committed when the turn of a beat has ended. It may be asked again for the same beat: then it is nothing. */
export async function heartbeatEnded(
  parts: HeartbeatParts,
  { agent: id, beat }: { readonly agent: string; readonly beat: string },
  end: BeatEnd,
): Promise<readonly Change[]> {
  const agent = parts.config.agents.get(id as AgentId);
  const timer = await timerOf(parts.store, id);
  const before = (timer && pulseIn(timer)) ?? pulseOf(id);
  if (!agent || before.over === beat) return [];
  const { pulse, changes } = await beatOver(parts, agent, before, { beat, end });
  // One that was turned off meanwhile remembers nothing; what this beat found is told all the same.
  if (timer === null) return changes;
  return [...changes, setPulse(agent, pulse, { dueAtMs: timer.dueAtMs + 1, before: timer })]; // pulse.ts says why later
}

/** What the end of a beat comes to, and what is remembered then. */
export async function beatOver(
  parts: HeartbeatParts,
  agent: Agent,
  before: Pulse,
  { beat, end }: { readonly beat: string; readonly end: BeatEnd },
): Promise<{ readonly pulse: Pulse; readonly changes: readonly Change[] }> {
  const pulse = after(before, { beat, end, nowMs: parts.world.nowMs() });
  const { came } = pulse.last;
  if (came === "alert") {
    const changes = await alerting(parts, agent, { beat, text: end.text.trim() });
    return changes === null ? { pulse: { ...pulse, told: before.told }, changes: [] } : { pulse, changes };
  }
  if (came !== "failed") return { pulse, changes: [] };
  parts.log.warn({ agent: agent.id, beat, outcome: end.outcome, reason: end.reason }, "a heartbeat failed");
  const isTold = pulse.failures === BEAT_FAILURES_TOLD;
  return { pulse, changes: isTold ? await toMain(parts, agent, failing(agent, beat, end)) : [] };
}

/** Pure. What is remembered once a beat is over; `last.came` is what it came to. */
function after(
  before: Pulse,
  { beat, end, nowMs: atMs }: { readonly beat: string; readonly end: BeatEnd; readonly nowMs: number },
): Pulse & { readonly last: NonNullable<Pulse["last"]> } {
  const print = printOf(end.text);
  const isKnown = before.told.some((told) => told.print === print && atMs - told.atMs < ALERT_QUIET_MS);
  const came = cameOf(end, isKnown);
  const head = headOf(end.text.trim());
  const isAnswered = came === "ok" || came === "alert" || came === "repeated";
  const known = isAnswered
    ? before.told.map((each) => ({ ...each, isOver: each.print !== print }))
    : before.told;
  const told = known.filter((each) => each.print !== print);
  return {
    agent: before.agent,
    last: { beat, atMs, came },
    over: beat,
    ...failedSoFar(before, came, end),
    told: came === "alert" ? [{ print, atMs, head, isOver: false }, ...told].slice(0, ALERTS_KEPT) : known,
  };
}

function failedSoFar(
  { failures, trouble }: Pulse,
  came: Came,
  end: BeatEnd,
): Pick<Pulse, "failures" | "trouble"> {
  if (came === "skipped") return { failures, trouble };
  if (came !== "failed") return { failures: 0, trouble: null };
  return { failures: failures + 1, trouble: headOf(whyFailed(end)) };
}

/** How a text begins; what is left out is marked. */
function headOf(text: string): string {
  if (text.length <= ALERT_HEAD_CHARS_MAX) return text;
  return `${text.slice(0, ALERT_HEAD_CHARS_MAX - 1).toWellFormed()}…`;
}

/** That it has failed is said by whoever tells it; any other end is named. */
function whyFailed({ outcome, reason }: Pick<BeatEnd, "outcome" | "reason">): string {
  if (reason === null) return outcome;
  return outcome === "failed" ? reason : `${outcome}: ${reason}`;
}

function cameOf({ outcome, text }: BeatEnd, isKnown: boolean): Came {
  if (outcome === "aborted" || outcome === "killed") return "skipped"; // Somebody wanted that: it is no failure.
  if (outcome !== "done") return "failed";
  if (isNothing(text)) return "ok";
  return isKnown ? "repeated" : "alert";
}

/** Whether an answer says that nothing needs attention. Models like to decorate the word, or to add another. */
export function isNothing(text: string): boolean {
  const bare = text.replaceAll(/^[\s*_`"']+|[\s*_`"'.!]+$/g, "");
  if (bare === "" || bare === NO_REPLY) return true;
  if (!bare.startsWith(OK) && !bare.endsWith(OK)) return false;
  return bare.length - OK.length <= OK_CHARS_BESIDE_MAX;
}

/** The same for the same words. */
function printOf(text: string): string {
  const words = text.trim().replaceAll(/\s+/g, " ");
  return createHash("sha256").update(words).digest("base64url");
}

/** Null: nobody can be told now; it is when it is found again. */
async function alerting(
  parts: HeartbeatParts,
  agent: Agent,
  { beat, text }: { readonly beat: string; readonly text: string },
): Promise<readonly Change[] | null> {
  const { to } = agent.heartbeat;
  if (to === "none") return [];
  const main = await parts.store.session(mainKey(agent.id));
  const content: readonly Block[] = [{ type: "text", text }];
  const id = afterBeatId(agent.id, beat, "alert");
  const spokenTo = to === "route" ? await lastSpokenTo(parts, agent, main) : null;
  const route = spokenTo && openRoute(parts, spokenTo);
  // It is the heartbeat's answer: its owner delivers it, right after this.
  if (route !== null) return [{ do: "send", outgoing: { id, key: heartbeatKey(agent.id), route, content } }];
  if ((await parts.store.waiting(mainKey(agent.id), MAILBOX_LETTERS_MAX)) >= MAILBOX_LETTERS_MAX) {
    const many = `${MAILBOX_LETTERS_MAX} letters wait for ${mainKey(agent.id)} already`;
    parts.log.warn({ agent: agent.id, beat }, `an alert was not told: ${many}`);
    return null;
  }
  return await toMain(parts, agent, {
    id,
    from: { kind: "inter_session", source: heartbeatKey(agent.id), tool: null },
    class: "scheduled", // A person should hear of it, and nobody waits.
    mode: "followup",
    content: [{ type: "text", text: `${ABOUT}\n\n${text}` }],
    replyTo: main?.route ?? null, // where main answers whoever wrote last
    origin: null,
  });
}

const ABOUT =
  "Your heartbeat found something that needs attention. Do what you can about it and should, and answer with what the person you " +
  `talk with should know. If they need not hear of it, answer with exactly ${NO_REPLY}.`;

/** Conversations of one person with the agent. What everybody in a group reads is for no alert. */
const PERSONAL: ReadonlySet<KeyKind> = new Set(["main", "direct", "thread"]);

/** Main, if anybody wrote to it from somewhere; else the one of the newest that a person wrote to last. Null: nobody ever did. */
async function lastSpokenTo(
  { store }: HeartbeatParts,
  { id }: Agent,
  main: Session | null,
): Promise<Session | null> {
  if (main?.route) return main;
  const { rows } = await store.sessions({ agent: id });
  const spoken = rows.filter(
    ({ kind, route, interactedAtMs, state }) =>
      PERSONAL.has(kind) && route !== null && interactedAtMs > 0 && state.kind !== "ended",
  );
  return spoken.toSorted((a, b) => b.interactedAtMs - a.interactedAtMs)[0] ?? null;
}

/** Where it was last written to from, if its answers may go there now. */
function openRoute(
  { config, channels }: HeartbeatParts,
  { key, route, settings }: Session,
): Session["route"] {
  if (route === null || !channels.has(route.channel)) return null;
  const { sendPolicy } = config.session;
  const may = maySend(sendPolicy, { key, channel: route.channel, override: settings.sendPolicy });
  return may.allowed ? route : null;
}

/** A main session that was killed goes on, as with any message. */
async function toMain(
  { store }: Pick<HeartbeatParts, "store">,
  { id }: Agent,
  letter: Letter,
): Promise<readonly Change[]> {
  const key = mainKey(id);
  const main = await store.session(key);
  const isOver = main?.state.kind === "ended";
  return [...(isOver ? [{ do: "revive", key } as const] : []), { do: "post", to: [key], letter }];
}

/** Once, until one succeeds. Main's answer goes to where it last answered. */
function failing({ id }: Agent, beat: string, end: BeatEnd): Letter {
  const text =
    `The heartbeat of the agent ${id} has failed ${BEAT_FAILURES_TOLD} times in a row (${whyFailed(end)}). It goes on trying, and this is not ` +
    "said again until it has succeeded. Tell the person you talk with.";
  return {
    id: afterBeatId(id, beat, "failing"),
    from: { kind: "internal_system", cause: "heartbeat" },
    class: "scheduled",
    mode: "followup",
    content: [{ type: "text", text }],
    replyTo: null,
    origin: null,
  };
}
