// Heartbeat
//
// An agent looks by itself, now and then, after what a file in its workspace says. A beat is a letter to its heartbeat
// session, in the background; what comes of it is in alert.ts.
//
//   Owns:      when an agent beats, and whether anybody is asked.
//   Does not:  run the turn (turns/), read the file (task.ts), or decide what an answer means (alert.ts).
//
// Invariants
//   B1. An agent that beats has one timer, and firing it sets the next: beats that were missed are not made up for.
//   B2. That a beat is over for the clock and that its letter is posted are one commit. So a beat is begun once, whatever
//       crashes.
//   B3. An agent without a task costs a look at its folder: no session, no letter, no model.
//   B4. No two beats of an agent run at the same time: while one goes on, others are skipped.
//   B5. What a beat found is told, also when its door gave up on its end: the next beat finds that in the outbox.

import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import type { World } from "../base/world.ts";
import type { Agent, Config } from "../config/config.ts";
import { beatId, HEARTBEAT_OK } from "../mail/beat.ts";
import type { Letter } from "../mail/letter.ts";
import { heartbeatKey, type AgentId } from "../routing/key.ts";
import { isTimer } from "../mail/task.ts";
import { livingBelow } from "../sessions/below.ts";
import type { Session } from "../sessions/session.ts";
import type { Change, Receipt } from "../store/change.ts";
import type { Store } from "../store/store.ts";
import { beatOver } from "./alert.ts";
import { isWithin, nextBeat, spoken } from "./hours.ts";
import { START_TRIES_MAX } from "./limits.ts";
import { pulseIn, pulseOf, setPulse, timerId, timerOf, type Came, type Pulse } from "./pulse.ts";
import { TASK_FILE, type ReadTask } from "./task.ts";
import type { Timer } from "./timer.ts";
import { turnEndIn } from "./told.ts";

export interface HeartbeatParts {
  readonly store: Pick<Store, "session" | "sessions" | "timers" | "waiting" | "outbox">;
  readonly world: Pick<World, "nowMs" | "newId">;
  readonly log: Log;
  readonly config: Pick<Config, "agents" | "timezone" | "session">;
  readonly channels: ReadonlySet<string>; //      doors that an alert can go through
  readonly task: ReadTask;
  /** Of agents whose task cannot be read: why, so that it is logged once and not with every beat. */
  readonly troubles: Map<string, string>;
}

/**
 * At the start: every agent has the timer that its configuration asks for. Another gateway may do the same, or fire it, in the same
 * moment: then it is looked again, and a start never fails because of it.
 */
export async function fitHeartbeats(
  parts: HeartbeatParts,
  commit: (changes: readonly Change[]) => Promise<Receipt>,
): Promise<void> {
  for (const agent of parts.config.agents.values())
    for (let tries = 1; tries <= START_TRIES_MAX; tries += 1) {
      const changes = await fitting(parts, agent);
      if (changes.length === 0) break;
      try {
        await commit(changes);
        break;
      } catch (error) {
        if (!(error instanceof Fault) || error.code !== "stale_writer") throw error;
        if (tries === START_TRIES_MAX)
          parts.log.warn(
            { agent: agent.id, err: error },
            "others keep changing when an agent beats; it is left to them",
          );
      }
    }
}

/** None: it is as it should be. */
async function fitting(parts: HeartbeatParts, agent: Agent): Promise<readonly Change[]> {
  const { id, heartbeat } = agent;
  const nowMs = parts.world.nowMs();
  const timer = await timerOf(parts.store, id);
  if (heartbeat.everyMinutes === 0)
    return timer === null ? [] : [{ do: "clearTimer", id: timer.id, expectDueAtMs: timer.dueAtMs }];
  const dueAtMs = nextBeat(id, heartbeat, nowMs);
  // One that was due while nobody was there beats now, once.
  if (timer !== null && (timer.dueAtMs <= nowMs || timer.dueAtMs === dueAtMs)) return [];
  const pulse = (timer && pulseIn(timer)) ?? pulseOf(id);
  return [setPulse(agent, pulse, { dueAtMs, before: timer })];
}

/** What the timer of an agent comes to, beside its being over (B1, B2). */
export async function heartbeatDue(parts: HeartbeatParts, timer: Timer): Promise<readonly Change[]> {
  const before = pulseIn(timer);
  const agent = before && parts.config.agents.get(before.agent as AgentId);
  if (!before || !agent || agent.heartbeat.everyMinutes === 0) return []; // It is not configured any more.
  const nowMs = parts.world.nowMs();
  const beat = `${timer.dueAtMs}`;
  const { pulse, changes: found } = await givenUp(parts, agent, before);
  const { changes, came } = await comesTo(parts, agent, { beat, nowMs });
  const next = { dueAtMs: nextBeat(agent.id, agent.heartbeat, nowMs), before: null };
  return [...found, ...changes, setPulse(agent, { ...pulse, last: { beat, atMs: nowMs, came } }, next)];
}

/**
 * B5. Ends of beats that the outbox has given up, because nothing could be committed for a while: what they say is told now, and they
 * are off the list. One that still waits there comes by itself.
 */
async function givenUp(
  parts: HeartbeatParts,
  agent: Agent,
  before: Pulse,
): Promise<{ readonly pulse: Pulse; readonly changes: readonly Change[] }> {
  const { rows } = await parts.store.outbox({ refused: true, key: heartbeatKey(agent.id) });
  let pulse = before;
  const changes: Change[] = [];
  for (const { id, route, content } of rows) {
    const end = turnEndIn({ content });
    if (!isTimer(route) || route.to !== timerId(agent.id) || route.thread === null || end === null) continue;
    if (pulse.over !== route.thread) {
      const over = await beatOver(parts, agent, pulse, { beat: route.thread, end });
      pulse = over.pulse;
      changes.push(...over.changes);
    }
    changes.push({ do: "settle", id, refused: null });
  }
  return { pulse, changes };
}

async function comesTo(
  parts: HeartbeatParts,
  agent: Agent,
  { beat, nowMs }: { readonly beat: string; readonly nowMs: number },
): Promise<{ readonly changes: readonly Change[]; readonly came: Came }> {
  const { hours } = agent.heartbeat;
  const nothing = (came: Came) => ({ changes: [], came });
  if (hours !== null && !isWithin(hours, nowMs)) return nothing("skipped"); // The machine slept, or hours were changed.
  const task = await taskOrSay(parts, agent);
  if (task === null) return nothing("nothing");
  const changes = await beatNow(parts, agent, { beat, task });
  return typeof changes === "string" ? nothing("skipped") : { changes, came: "began" };
}

/** B3. One that cannot be read is said in the log, once until it is another reason. */
async function taskOrSay({ task, troubles, log }: HeartbeatParts, agent: Agent): Promise<string | null> {
  try {
    const found = await task(agent);
    troubles.delete(agent.id);
    return found;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (troubles.get(agent.id) !== error.message)
      log.warn({ agent: agent.id, err: error }, `the agent has no heartbeat: ${TASK_FILE} cannot be read`);
    troubles.set(agent.id, error.message);
    return null;
  }
}

/** What keeps another beat from being begun (B4): one goes on, or somebody has paused its session. */
export type Busy = "running" | "paused";

/** The letter, and the session that it needs; or why there is none. */
export async function beatNow(
  parts: HeartbeatParts,
  agent: Agent,
  { beat, task }: { readonly beat: string; readonly task: string },
): Promise<readonly Change[] | Busy> {
  const { store, world } = parts;
  const key = heartbeatKey(agent.id);
  const { row, busy } = await heartOf(store, agent);
  if (busy !== null) return busy;
  const letter = beatLetter(parts, agent, { beat, task });
  return [...readied(agent, row, world.newId()), { do: "post", to: [key], letter }];
}

/** An agent's heartbeat session, and what keeps it busy; null: it was never opened, and nothing does. */
export async function heartOf(
  store: Pick<Store, "session" | "sessions" | "waiting">,
  { id }: Pick<Agent, "id">,
): Promise<{ readonly row: Session | null; readonly busy: Busy | null }> {
  const key = heartbeatKey(id);
  const mail = await store.waiting(key, 1); // First: a letter that is taken meanwhile shows in the row.
  const row = await store.session(key);
  return { row, busy: row && (await busyWith(store, row, mail)) };
}

/** What children of an earlier beat still do belongs to that beat. */
async function busyWith(
  store: Pick<Store, "sessions">,
  { key, state, signal }: Session,
  mail: number,
): Promise<Busy | null> {
  if (state.kind === "ended") return mail > 0 ? "running" : null;
  if (state.kind === "paused" || signal === "pause") return "paused";
  if (mail > 0 || state.kind !== "idle" || signal !== "none") return "running";
  return (await livingBelow(store, key)).every((child) => child.state.kind === "idle") ? null : "running";
}

/** The session is opened by the first beat. Its model is the one that the configuration says, whatever anybody set. */
function readied({ id, workspace, heartbeat }: Agent, row: Session | null, transcript: string): Change[] {
  const key = heartbeatKey(id);
  const settings = { model: heartbeat.model };
  if (row === null)
    return [
      { do: "open", key, transcript, cwd: workspace, parent: null, settings, copy: null, ifExists: "keep" },
    ];
  return [
    ...(row.state.kind === "ended" ? [{ do: "revive", key } as const] : []), // It was killed; that was another beat.
    ...(row.settings.model === heartbeat.model ? [] : [{ do: "set", key, version: null, settings } as const]),
  ];
}

function beatLetter(
  { config, world }: HeartbeatParts,
  agent: Agent,
  { beat, task }: { readonly beat: string; readonly task: string },
): Letter {
  const zone = agent.heartbeat.hours?.zone ?? config.timezone;
  const now = `It is ${spoken(zone, world.nowMs())} (${zone}).`;
  return {
    id: beatId(agent.id, beat),
    from: { kind: "internal_system", cause: "heartbeat" },
    class: "background",
    mode: "followup",
    content: [{ type: "text", text: `${now} ${ABOUT}\n\n# ${TASK_FILE}\n\n${task}` }],
    replyTo: { channel: "timer", to: timerId(agent.id), thread: beat },
    origin: null,
  };
}

const ABOUT =
  `This is your heartbeat: nobody has written, and nobody waits. Look after what ${TASK_FILE} says below, and nothing else. ` +
  `If nothing of it needs attention now, answer with exactly ${HEARTBEAT_OK}. Else answer with what a person should know, short and ` +
  "complete: it is passed on as you write it. You are not shown earlier heartbeats; the same alert is told once a day.";
