// What is asked about children: spawn, list, steer, kill, wait and yield. What they are is in children/; here is who may.

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import type { TurnLimits } from "../config/config.ts";
import { isAtWork } from "../children/named.ts";
import { limitsOf, spawning, type Giver, type Spawning } from "../children/spawn.ts";
import { inFlight, join as joinChildren, mustNotCircle, tasksOf } from "../children/waiting.ts";
import { MESSAGE_TEXT_BYTES_MAX } from "../limits.ts";
import { TASK_TOOL } from "../mail/task.ts";
import { handedOn } from "../mail/urgency.ts";
import { agentOf, mainKey, parseAgent, parseKey, type AgentId, type SessionKey } from "../routing/key.ts";
import { isAbove, livingBelow } from "../sessions/below.ts";
import { scopesOf } from "../sessions/inforce.ts";
import type { Session, Settings } from "../sessions/session.ts";
import type { Change, Receipt } from "../store/change.ts";
import { checked, isAllowed } from "../tools/tool.ts";
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
  const own = caller.kind === "agent" ? caller.agent.limits : null;
  const what = spawningOf(system, giver, own, input);
  const workspace = system.config.agents.get(agentOf(giver.session.root))?.workspace ?? "";
  const { key, created, queued, changes } = await spawning({ ...system, workspace }, giver, what);
  const { id } = giver;
  const details: Details = { spawned: { task: id, key, isTold: giver.isTold } };
  const output = (receipt: Receipt | null) => {
    const repeated = receipt?.posts[0]?.repeated ?? false;
    return { sessionKey: key, id, created: created && !repeated, queued, repeated };
  };
  return { changes, output, details };
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
    const { session, agent, cause } = caller;
    const isOther = input.agent !== undefined && input.agent !== session.agent;
    return {
      session,
      isAgent: true,
      policy: agent.subagents,
      sight: agent.tools.visibility,
      scopes: isOther ? scopesOf(agent.tools) : session.settings.tools, // which hold in the policy too
      inFlight: await widthOf(system, session),
      id: cause,
      isKnown: false,
      from: { kind: "inter_session", source: session.key, tool: TASK_TOOL },
      class: handedOn(caller.class),
      isTold: input.announce ?? true,
    };
  }
  const agent = parseAgent(input.agent ?? "main");
  configured(system, agent);
  const main = mainKey(agent);
  const session = await reached(system, caller, input.parent === undefined ? main : parseKey(input.parent));
  configured(system, session.agent);
  const policy = system.config.agents.get(session.agent as AgentId)?.subagents;
  if (policy === undefined) throw new Fault("not_found", `agent ${session.agent} is not configured`);
  return {
    session,
    isAgent: false,
    policy,
    sight: "all",
    scopes: session.settings.tools,
    inFlight: 0,
    isKnown: input.id !== undefined,
    id: spawnedId(caller, input.id ?? system.world.newId()),
    from: { kind: "external_user", channel: null, peer: null },
    class: "delegated",
    isTold: input.announce ?? input.parent !== undefined,
  };
}

/** Tasks in flight. Of those whose end nobody is told, the child itself says whether it is at work. */
async function widthOf(system: System, session: Session): Promise<number> {
  const tasks = await tasksOf(system, session.key);
  const untold = await Promise.all(
    tasks
      .filter(({ isTold }) => !isTold)
      .map(async ({ key }) => {
        const { rows } = await system.store.mail(key, { limit: 1 });
        const child = await system.store.session(key);
        return child !== null && isAtWork(child, rows);
      }),
  );
  return tasks.filter(({ isTold }) => isTold).length + untold.filter((isWorking) => isWorking).length;
}

/** `own`: what the agent has that gives the task; null: a person does. */
function spawningOf(
  system: System,
  giver: Giver,
  own: TurnLimits | null,
  input: z.output<typeof shape.spawnInput>,
): Spawning {
  const { task, sessionKey, name, model, thinking, label, limits, tools } = input;
  const bytes = Buffer.byteLength(JSON.stringify(task));
  if (bytes > MESSAGE_TEXT_BYTES_MAX)
    throw new Fault("bad_input", `task: ${bytes} bytes when written down, at most ${MESSAGE_TEXT_BYTES_MAX}`);
  const settings: Partial<Settings> = {
    ...(model === undefined ? {} : { model: system.catalog.find(model).id }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(label === undefined ? {} : { label }),
    ...(limits === undefined ? {} : { limits: limitsOf(own === null ? limits : noMoreThan(own, limits)) }),
  };
  return {
    task,
    agent: agentNamed(system, giver, input.agent),
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

type LimitsGiven = NonNullable<z.output<typeof shape.spawnInput>["limits"]>;

/** What an agent gives is no more than it has itself. */
function noMoreThan(own: TurnLimits, given: LimitsGiven): LimitsGiven {
  const least = (name: keyof LimitsGiven): object =>
    given[name] === undefined ? {} : { [name]: Math.min(given[name], own[name] ?? Infinity) };
  return {
    ...least("stepsPerTurn"),
    ...least("turnSeconds"),
    ...least("tokens"),
    ...least("cost"),
  };
}

/** forbidden: the giver's agent may not ask that one. */
function agentNamed(system: System, { session, isAgent, policy }: Giver, named: string | undefined): AgentId {
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
  const key = parseKey(sessionKey);
  const { rows } = await system.store.mail(key, { limit: 1 }); // First: a letter that is taken meanwhile shows in the row.
  const session = await own(system, caller, key, "steer");
  if (session.state.kind === "ended")
    throw new Fault(
      "ended",
      `${session.key} has ended; to go on with it, spawn with its key as sessionKey and resumeIfExists: true`,
    );
  if (session.state.kind === "idle" && rows.length === 0)
    throw new Fault(
      "bad_input",
      `${session.key} does nothing that could be steered; send it a message, or give it a task`,
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
  const session = await own(system, caller, parseKey(sessionKey), "kill");
  if (session.key === mainKey(session.agent as AgentId))
    throw new Fault(
      "forbidden",
      `${session.key} is never killed; \`abort\` stops what it does, \`stop\` pauses it`,
    );
  const itself = session.state.kind === "ended" ? [] : [session];
  const living = [...itself, ...(await livingBelow(system.store, session.key))];
  const changes = living.map(({ key }): Change => ({ do: "signal", key, signal: "kill" }));
  return { changes, output: () => ({ sessionKey: session.key, killed: living.map(({ key }) => key) }) };
}

/** People may do it to any; an agent to those that came of it, and steer those that do a task of its now. */
async function own(
  system: System,
  caller: Caller,
  key: SessionKey,
  what: "steer" | "kill",
): Promise<Session> {
  if (caller.kind === "person") return await reached(system, caller, key);
  const { session } = caller;
  const found = await system.store.session(key);
  if (found && (await isAbove(system.store, session.key, found))) return found;
  const tasks = await tasksOf(system, session.key);
  const isAtMine = tasks.some(({ id }) => system.lanes.worker(key)?.has(id) === true);
  if (found && what === "steer" && isAtMine) return found;
  throw new Fault(
    "forbidden",
    `${key} is not yours to ${what}: it did not come of ${session.key}, or there is none`,
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
  const details: Details = { yielded: sessionKeys === undefined ? "all" : tasks.map(({ id }) => id) };
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
  const isDenied = action === "spawn" && !isAllowed("sessions_spawn", agentOnly(caller, action).agent.tools);
  if (isDenied) throw new Fault("forbidden", "sessions_spawn is not among your tools, by whatever name");
  const found = await checked(input, given);
  if ("problems" in found) throw new Fault("bad_input", `${action}: ${found.problems}`);
  return await run(system, caller, found.value, signal);
}
