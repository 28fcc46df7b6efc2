// What is asked about children: spawn, list, steer, kill, wait and yield. What they are is in children/; here is who may.

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { below, isAbove } from "../children/below.ts";
import { limitsOf, spawning, type Giver, type Spawning } from "../children/spawn.ts";
import { inFlight, join as joinChildren, mustNotCircle, tasksOf } from "../children/waiting.ts";
import { MESSAGE_TEXT_BYTES_MAX } from "../limits.ts";
import { handedOn } from "../mail/urgency.ts";
import { mainKey, parseAgent, parseKey, type AgentId, type SessionKey } from "../routing/key.ts";
import type { Session, Settings } from "../sessions/session.ts";
import type { Change } from "../store/store.ts";
import { checked } from "../tools/tool.ts";
import type { Details } from "../turns/tasks.ts";
import { just, type Caller, type Done, type System } from "./call.ts";
import * as shape from "./child-shapes.ts";
import { configured, keyFor, reached } from "./reach.ts";
import { send, spawnedId } from "./send.ts";
import { rowOf, whyOf } from "./views.ts";

type Agent = Extract<Caller, { kind: "agent" }>;

/** How long a wait lasts that does not say. */
const WAIT_SECONDS = 600;

export async function spawn(
  system: System,
  caller: Caller,
  input: z.output<typeof shape.spawnInput>,
): Promise<Done<z.input<typeof shape.spawned>>> {
  const giver = await giverOf(system, caller, input);
  const what = spawningOf(system, giver, input);
  const workspace = system.config.agents.get(giver.session.root.split(":")[1] as AgentId)?.workspace ?? "";
  const { key, created, queued, changes } = await spawning({ ...system, workspace }, giver, what);
  const { id } = giver;
  const details: Details = { spawned: { task: id, key } };
  const output = { sessionKey: key, id, created, queued };
  return { changes, output: () => output, ...(giver.isTold ? { details } : {}) };
}

/** An agent gives tasks for itself; a person in the name of a session, main's if none is named. */
async function giverOf(
  system: System,
  caller: Caller,
  input: z.output<typeof shape.spawnInput>,
): Promise<Giver> {
  if (caller.kind === "agent") {
    if (input.parent !== undefined || input.id !== undefined)
      throw new Fault("bad_input", "parent and id are for people: your children are your own");
    const { session, agent, cause, tool } = caller;
    const tasks = await tasksOf(system, session.key);
    return {
      session,
      isAgent: true,
      policy: agent.subagents,
      inFlight: tasks.length,
      id: cause,
      from: { kind: "inter_session", source: session.key, tool },
      class: handedOn(caller.class),
      isTold: input.announce ?? true,
    };
  }
  const main = mainKey(parseAgent(input.agent ?? "main"));
  const session = await reached(system, caller, input.parent === undefined ? main : parseKey(input.parent));
  configured(system, session.agent);
  const policy = system.config.agents.get(session.agent as AgentId)?.subagents;
  if (policy === undefined) throw new Fault("not_found", `agent ${session.agent} is not configured`);
  return {
    session,
    isAgent: false,
    policy,
    inFlight: 0,
    id: spawnedId(caller, session.key, input.id ?? system.world.newId()),
    from: { kind: "external_user", channel: null, peer: null },
    class: "delegated",
    isTold: input.announce ?? input.parent !== undefined,
  };
}

function spawningOf(system: System, giver: Giver, input: z.output<typeof shape.spawnInput>): Spawning {
  const { task, sessionKey, name, model, thinking, label, limits, tools } = input;
  const bytes = Buffer.byteLength(JSON.stringify(task));
  if (bytes > MESSAGE_TEXT_BYTES_MAX)
    throw new Fault("bad_input", `task: ${bytes} bytes when written down, at most ${MESSAGE_TEXT_BYTES_MAX}`);
  const settings: Partial<Settings> = {
    ...(model === undefined ? {} : { model: system.catalog.find(model).id }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(label === undefined ? {} : { label }),
    ...(limits === undefined ? {} : { limits: limitsOf(limits) }),
  };
  return {
    task,
    agent: agentOf(system, giver, input.agent),
    sessionKey,
    name,
    resumeIfExists: input.resumeIfExists ?? false,
    context: input.context ?? "isolated",
    settings,
    tools: tools === undefined ? null : { allow: tools.allow ?? null, deny: tools.deny ?? [] },
    mode: input.mode ?? null,
    cleanup: input.cleanup ?? "keep",
    timeoutSeconds: input.timeoutSeconds ?? null,
  };
}

/** forbidden: the giver's agent may not ask that one. */
function agentOf(system: System, { session, isAgent, policy }: Giver, named: string | undefined): AgentId {
  const agent = parseAgent(named ?? session.agent);
  configured(system, agent);
  if (agent === session.agent || !isAgent || policy.agents.includes(agent)) return agent;
  const may = [session.agent, ...policy.agents].join(", ");
  throw new Fault(
    "forbidden",
    `agents.${session.agent}.subagents.agents does not name ${agent}; there are: ${may}`,
  );
}

export async function children(
  system: System,
  caller: Caller,
  { sessionKey, limit = 50, cursor }: z.output<typeof shape.childrenInput>,
): Promise<Done<z.input<typeof shape.children>>> {
  const { key } = await reached(system, caller, keyFor(caller, sessionKey));
  const tasks = await tasksOf(system, key);
  const busy = new Set(tasks.map((task) => task.key));
  const page = await system.store.sessions({ parent: key, limit, cursor: cursor ?? null });
  const own = new Set(page.rows.map((row) => row.key));
  // A named child that another session opened is shown too, while it works for this one.
  const lent = cursor === undefined ? [...busy].filter((each) => !own.has(each)) : [];
  const others = await Promise.all(lent.map((each) => system.store.session(each)));
  const rows = [...others.filter((row) => row !== null && row.parent !== key), ...page.rows] as Session[];
  const view = (row: Session) => ({
    ...rowOf(system, row),
    why: whyOf(system, row, 0),
    inFlight: busy.has(row.key),
  });
  return just({ sessionKey: key, children: rows.map(view), next: page.next });
}

/** It reads this before its next step. Who has nothing to do would begin a turn whose answer nobody hears. */
export async function steer(
  system: System,
  caller: Caller,
  { sessionKey, message }: z.output<typeof shape.steerInput>,
): Promise<Done<z.input<typeof shape.steered>>> {
  const session = await reached(system, caller, parseKey(sessionKey));
  await mustBeBelow(system, caller, session, "steer");
  const { rows } = await system.store.mail(session.key, { limit: 1 });
  if (session.state.kind === "ended" || (session.state.kind === "idle" && rows.length === 0))
    throw new Fault(
      "ended",
      `${session.key} has nothing to do that could be steered; give it a task: spawn with its sessionKey and resumeIfExists`,
    );
  const done = await send(system, caller, { sessionKey: session.key, message, mode: "steer", reply: false });
  return { changes: done.changes, output: () => ({ sessionKey: session.key, id: done.id }) };
}

/** With everything below it. What runs is ended at once; whoever waits for it hears of it. */
export async function kill(
  system: System,
  caller: Caller,
  { sessionKey }: z.output<typeof shape.killInput>,
): Promise<Done<z.input<typeof shape.killed>>> {
  const session = await reached(system, caller, parseKey(sessionKey));
  await mustBeBelow(system, caller, session, "kill");
  if (session.key === mainKey(session.agent as AgentId))
    throw new Fault(
      "forbidden",
      `${session.key} is never killed; \`abort\` stops what it does, \`stop\` pauses it`,
    );
  const all = [session, ...(await below(system.store, session.key))];
  const living = all.filter(({ state }) => state.kind !== "ended");
  const changes = living.map(({ key }): Change => ({ do: "signal", key, signal: "kill" }));
  return { changes, output: () => ({ sessionKey: session.key, killed: living.map(({ key }) => key) }) };
}

/** People may do it to any; an agent to those that came of it, and, for a word, to those that have a task of its. */
async function mustBeBelow(
  system: System,
  caller: Caller,
  session: Session,
  what: "steer" | "kill",
): Promise<void> {
  if (caller.kind === "person" || (await isAbove(system.store, caller.session.key, session))) return;
  const tasks = await tasksOf(system, caller.session.key);
  if (what === "steer" && tasks.some(({ key }) => key === session.key)) return;
  throw new Fault(
    "forbidden",
    `${session.key} is not yours to ${what}: it did not come of ${caller.session.key}`,
  );
}

/** In the turn. Reports that came follow as messages, before the next step. */
export async function join(
  system: System,
  caller: Caller,
  { sessionKeys, timeoutSeconds = WAIT_SECONDS }: z.output<typeof shape.joinInput>,
  signal: AbortSignal,
): Promise<Done<z.input<typeof shape.joined>>> {
  const { session } = agentOnly(caller, "wait");
  const worker = system.lanes.worker(session.key);
  const tasks = await inFlight(system, session.key, keysOf(sessionKeys));
  if (worker === null || tasks.length === 0)
    return just({ reported: [], pending: [], why: "no task of yours is in flight" });
  const how = { ms: timeoutSeconds * 1_000, signal };
  const { pending, why } = await joinChildren(system, worker, tasks, how);
  const left = new Set(pending.map(({ id }) => id));
  const reported = tasks.filter(({ id }) => !left.has(id)).map(({ key }) => key);
  return just({ reported, pending: pending.map(({ key }) => key), why });
}

/** The turn rests after this step, and goes on when they have reported (turns/tasks.ts). */
export async function yieldTurn(
  system: System,
  caller: Caller,
  { sessionKeys }: z.output<typeof shape.yieldInput>,
): Promise<Done<z.input<typeof shape.yielded>>> {
  const { session } = agentOnly(caller, "yield");
  const tasks = await inFlight(system, session.key, keysOf(sessionKeys));
  if (tasks.length === 0)
    throw new Fault("bad_input", "no task of yours is in flight, so there is nobody to wait for: just go on");
  const keys = tasks.map(({ key }) => key);
  await mustNotCircle(system, session.key, keys);
  const details: Details = { yielded: tasks.map(({ id }) => id) };
  const note = "The turn rests now and goes on when they have reported; their reports come as messages.";
  return { changes: [], output: () => ({ waitsFor: keys, note }), details };
}

function agentOnly(caller: Caller, what: string): Agent {
  if (caller.kind === "agent") return caller;
  throw new Fault("forbidden", `${what} is for agents`);
}

function keysOf(given: readonly string[] | undefined): readonly SessionKey[] | null {
  return given === undefined ? null : given.map(parseKey);
}

const ACTIONS = {
  spawn: { input: shape.spawnInput, run: spawn },
  list: { input: shape.childrenInput, run: children },
  steer: { input: shape.steerInput, run: steer },
  kill: { input: shape.killInput, run: kill },
  wait: { input: shape.joinInput, run: join },
} as const;

/** One tool for all of it: each action is the call of that name, with its own shape. */
export async function subagents(
  system: System,
  caller: Caller,
  { action, ...given }: z.output<typeof shape.subagentsInput>,
  signal: AbortSignal,
): Promise<Done<z.input<typeof shape.subagentsOutput>>> {
  const { input, run } = ACTIONS[action] as {
    readonly input: z.ZodType;
    readonly run: (...args: readonly unknown[]) => Promise<Done<z.input<typeof shape.subagentsOutput>>>;
  };
  const found = await checked(input, given);
  if ("problems" in found) throw new Fault("bad_input", `${action}: ${found.problems}`);
  return await run(system, caller, found.value, signal);
}
