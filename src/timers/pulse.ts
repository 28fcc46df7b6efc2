// What is remembered of an agent's heartbeat. It is the body of its timer: there is one for each agent that beats, and it is
// there whether or not the heartbeat session is.
//
// What a change expects of a timer is its time. So whoever changes only what is remembered moves it by a millisecond: somebody
// else who fires it in the same moment has read something older, and is refused.

import type { Agent } from "../config/config.ts";
import { mainKey } from "../routing/key.ts";
import type { Change } from "../store/change.ts";
import type { Store } from "../store/store.ts";
import type { Timer } from "./timer.ts";

/**
 * What a beat came to.
 *   began      a model is asked; what comes of it is said later
 *   ok         nothing needs attention
 *   alert      something does
 *   repeated   something does that was told less than a day ago
 *   failed     there was no answer
 *   skipped    the one before goes on, or somebody stopped it, or it came too late for the hours
 *   nothing    there is nothing to do: nobody was asked
 */
export const CAME = ["began", "ok", "alert", "repeated", "failed", "skipped", "nothing"] as const;
export type Came = (typeof CAME)[number];

export interface Pulse {
  readonly agent: string;
  readonly last: { readonly beat: string; readonly atMs: number; readonly came: Came } | null; // null: none yet
  readonly over: string | null; //          the newest beat whose end was heard of
  readonly failures: number; //             in a row
  readonly trouble: string | null; //       why the newest of them failed; null: none did
  readonly told: readonly Told[]; //        alerts, newest first
}

export interface Told {
  readonly print: string; //                of its text
  readonly atMs: number;
  readonly head: string; //                 how it begins
  readonly isOver: boolean; //              a later beat was answered, and did not say it again
}

const PREFIX = "heartbeat:";

export function pulseOf(agent: string): Pulse {
  return { agent, last: null, over: null, failures: 0, trouble: null, told: [] };
}

/** Whether a timer is that of a heartbeat, or a route leads to one. */
export function isHeartbeat(id: string): boolean {
  return id.startsWith(PREFIX);
}

/** Whose heartbeat that is. */
export function agentIn(id: string): string {
  return id.slice(PREFIX.length);
}

/** Null: it is another's. */
export function pulseIn({ id, body }: Timer): Pulse | null {
  if (!isHeartbeat(id)) return null;
  return { ...pulseOf(agentIn(id)), ...(body as Partial<Pulse> | null) };
}

export function timerId(agent: string): string {
  return `${PREFIX}${agent}`;
}

/** Null: it has none, and does not beat. */
export async function timerOf(store: Pick<Store, "timers">, agent: string): Promise<Timer | null> {
  const { rows } = await store.timers({ dueByMs: Infinity, id: timerId(agent), limit: 1 });
  return rows[0] ?? null;
}

/** `before`: the timer as it was read; null: there is none. */
export function setPulse(
  { id }: Pick<Agent, "id">,
  pulse: Pulse,
  at: { readonly dueAtMs: number; readonly before: Pick<Timer, "dueAtMs"> | null },
): Change {
  const timer = { id: timerId(id), key: mainKey(id), dueAtMs: at.dueAtMs, body: pulse };
  return { do: "setTimer", timer, expectDueAtMs: at.before?.dueAtMs ?? null };
}

/** What a commit says that a beat came to; null: nothing. For whoever counts. */
export function cameIn(change: Change): Came | null {
  if (change.do !== "setTimer") return null;
  return pulseIn(change.timer)?.last?.came ?? null;
}
