// Heartbeats, for people: how those of the agents stand, and one more now.

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import type { ActiveHours, Agent } from "../config/config.ts";
import { DEFAULT_AGENT, heartbeatKey, type AgentId } from "../routing/key.ts";
import { beatId } from "../mail/beat.ts";
import { beatNow, heartOf, type Busy } from "../timers/heartbeat.ts";
import { pulseIn, timerOf } from "../timers/pulse.ts";
import { noTask } from "../timers/task.ts";
import { call, just, type Caller, type Done, type System } from "./call.ts";
import * as shape from "./heartbeat-shapes.ts";
import { configured } from "./reach.ts";
import { iso } from "./views.ts";

type Row = z.input<typeof shape.heartbeats>["heartbeats"][number];

async function look(
  system: System,
  _caller: Caller,
  { agent }: z.output<typeof shape.heartbeatsInput>,
): Promise<Done<z.input<typeof shape.heartbeats>>> {
  const agents = agent === undefined ? [...system.config.agents.values()] : [agentNamed(system, agent)];
  const sorted = agents.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return just({ heartbeats: await Promise.all(sorted.map((each) => rowOf(system, each))) });
}

async function rowOf({ heartbeat: parts, store }: System, agent: Agent): Promise<Row> {
  const { everyMinutes, hours, model, to } = agent.heartbeat;
  const timer = await timerOf(store, agent.id);
  const pulse = timer && pulseIn(timer);
  const task = await parts.task(agent).then(
    (text) => (text === null ? "none" : "there"),
    () => "unreadable" as const, // `beat` says why, and so does the log.
  );
  const { busy } = await heartOf(store, agent);
  const told = pulse?.told ?? [];
  const alert = told.find(({ isOver }) => !isOver) ?? told[0];
  return {
    agent: agent.id,
    everyMinutes,
    hours: hours && hoursShown(hours),
    model,
    to,
    task,
    state: busy ?? "idle",
    nextAt: timer && iso(timer.dueAtMs),
    last: pulse?.last ? { at: iso(pulse.last.atMs), outcome: pulse.last.came } : null,
    failures: pulse?.failures ?? 0,
    trouble: pulse?.trouble ?? null,
    alert: alert ? { at: iso(alert.atMs), text: alert.head, isOver: alert.isOver === true } : null,
  };
}

function hoursShown({ fromMinute, toMinute, zone }: ActiveHours): NonNullable<Row["hours"]> {
  return { from: clock(fromMinute), to: clock(toMinute), timezone: zone };
}

function clock(minute: number): string {
  return [Math.floor(minute / 60), minute % 60].map((part) => `${part}`.padStart(2, "0")).join(":");
}

/** Also outside of the hours: somebody wants it. */
async function beat(
  system: System,
  _caller: Caller,
  input: z.output<typeof shape.beatInput>,
): Promise<Done<z.input<typeof shape.beaten>>> {
  const agent = agentNamed(system, input.agent ?? DEFAULT_AGENT);
  const { id, heartbeat } = agent;
  if (heartbeat.everyMinutes === 0)
    throw new Fault("bad_input", `the heartbeat of ${id} is off: set agents.${id}.heartbeat.everyMinutes`);
  const of = { agent: id, sessionKey: heartbeatKey(id) };
  const none = (why: string) => just({ ...of, began: false, why, id: null });
  const task = await system.heartbeat.task(agent);
  if (task === null) return none(await noTask(agent));
  const own = system.world.newId();
  const changes = await beatNow(system.heartbeat, agent, { beat: own, task });
  if (typeof changes === "string") return none(WHY_NOT[changes](of.sessionKey));
  return { changes, output: () => ({ ...of, began: true, why: null, id: beatId(id, own) }) };
}

const WHY_NOT: Readonly<Record<Busy, (key: string) => string>> = {
  running: (key) => `the one before goes on, in ${key}`,
  paused: (key) => `its session is paused: \`sessiond cont ${key}\` lets it go on`,
};

function agentNamed(system: System, id: string): Agent {
  configured(system, id);
  const agent = system.config.agents.get(id as AgentId);
  if (!agent) throw new Fault("not_found", `there is no agent ${id}`);
  return agent;
}

export const heartbeatCalls = {
  heartbeats: call({
    about: "The heartbeats of the agents: how often, when next, and what came of the last one.",
    who: "person",
    tool: null,
    scope: "read",
    http: "GET /heartbeats",
    input: shape.heartbeatsInput,
    output: shape.heartbeats,
    idempotent: true,
    run: look,
  }),
  beat: call({
    about:
      "Has an agent look after its HEARTBEAT.md now, also outside of its hours. It says why not when there is nothing to do.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "POST /agents/:agent/heartbeat",
    input: shape.beatInput,
    output: shape.beaten,
    idempotent: false,
    run: beat,
  }),
};
