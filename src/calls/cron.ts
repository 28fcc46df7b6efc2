// Jobs: what is done at times. Adding, looking, changing, running now, removing; for people each a call, for agents one tool. What
// a job may be is in cron-spec.ts, what becomes of it at its times in timers/.

import { createHash } from "node:crypto";
import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import type { Agent } from "../config/config.ts";
import { PAGE_ROWS_MAX } from "../limits.ts";
import { mainKey, parseAgent, type AgentId } from "../routing/key.ts";
import { cursorTo, placeFrom } from "../store/cursor.ts";
import type { Change } from "../store/change.ts";
import type { Page } from "../store/store.ts";
import { runAsked } from "../timers/firing.ts";
import type { Job } from "../timers/job.ts";
import { addJob, editJob, removeJob } from "../timers/jobs.ts";
import { call, just, type Caller, type Done, type System } from "./call.ts";
import * as shape from "./cron-shapes.ts";
import { countOf, found, mustBeOnly } from "./cron-found.ts";
import { mustBeAllowed, mustBeSeldom, mustChange, ownAgent, seesJob } from "./cron-rights.ts";
import { agentMeant, changed, wanted } from "./cron-spec.ts";
import { timesCalls } from "./cron-times.ts";
import { rowOf, runOf, wholeOf, zoneOf } from "./cron-views.ts";
import { JOBS_PER_AGENT_MAX, LISTED_MAX_OF_TOOL } from "./limits.ts";
import { configured } from "./reach.ts";
import { inputOf } from "./running.ts";

/** Jobs, or runs, that are told if nobody says how many. */
const ROWS_USUALLY = 50;

// ── Adding ──────────────────────────────────────────────────────────────────────────────────────────────────

async function add(
  system: System,
  caller: Caller,
  input: z.output<typeof shape.addInput>,
): Promise<Done<z.input<typeof shape.added>>> {
  mustChange(caller);
  const agent = await agentFor(system, caller, input);
  const id = idFor(system, caller, input.id);
  const [before] = input.id === undefined ? [] : (await system.store.jobs({ id, limit: 1 })).rows;
  const nowMs = system.world.nowMs();
  const asked = input.id === undefined ? null : hashed(JSON.stringify({ ...input, id: null }));
  if (before !== undefined && before.asked !== asked)
    throw new Fault("conflict", `job ${before.id} was added under the id ${shown(input.id)}, and is another`);
  if (before !== undefined) return just({ ...wholeOf(before, nowMs), repeated: true });
  const { spec, opened } = await wanted(system, caller, agent, input);
  mustBeAllowed(caller, { ...spec, agent: agent.id, id: null }, opened);
  mustBeSeldom(caller, spec);
  await mustHaveRoom(system, agent.id);
  await mustBeOnly(system, caller, { agent: agent.id, id, name: spec.name });
  const madeBy = caller.kind === "agent" ? caller.session.key : null;
  const made = addJob(spec, { id, agent: agent.id, nowMs, madeBy, asked });
  const { job, changes } = input.enabled === false ? disabled(made.job) : made;
  return { changes: [...opened, ...changes], output: () => ({ ...wholeOf(job, nowMs), repeated: false }) };
}

/** From the first: it has no alarm. */
function disabled(made: Job): { readonly job: Job; readonly changes: readonly Change[] } {
  const job: Job = { ...made, isEnabled: false, nextAtMs: null };
  return { job, changes: [{ do: "setJob", job, expectVersion: null }] };
}

/** An agent's own; a person's as they say, or as the target does. */
async function agentFor(
  system: System,
  caller: Caller,
  input: z.output<typeof shape.addInput>,
): Promise<Agent> {
  if (caller.kind === "agent" && (input.agent ?? input.id) !== undefined)
    throw new Fault("bad_input", "agent and id are for people: your jobs are your own");
  const id =
    caller.kind === "agent" ? ownAgent(caller) : parseAgent(input.agent ?? (await agentMeant(input.target)));
  configured(system, id);
  const agent = system.config.agents.get(id);
  if (agent === undefined) throw new Fault("bug", `agent ${id} is configured, and is not there`);
  return agent;
}

/**
 * Short: it is a part of the keys of its runs. An agent's is made of its call, which is the same whenever it is run; a person's of
 * the id that they gave, if they gave one.
 */
function idFor({ world }: System, caller: Caller, given: string | undefined): string {
  if (caller.kind === "agent") return hashed(caller.cause);
  return given === undefined
    ? hashed(world.newId())
    : hashed(JSON.stringify(["job", caller.principal, given]));
}

function hashed(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

async function mustHaveRoom(system: System, agent: AgentId): Promise<void> {
  if ((await countOf(system, agent, JOBS_PER_AGENT_MAX)) < JOBS_PER_AGENT_MAX) return;
  throw new Fault("overloaded", `agent ${agent} has ${JOBS_PER_AGENT_MAX} jobs, as many as it may`, {
    todo: "remove some that are over",
  });
}

// ── Looking ─────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Whole pages are looked through, also for one more than is told: so who may not see the rest is not told that there is one. A
 * cursor says in which page the last that was told is, and which it is.
 */
async function list(
  system: System,
  caller: Caller,
  { agent: named, enabled, limit = ROWS_USUALLY, cursor: from }: z.output<typeof shape.listInput>,
): Promise<Done<z.input<typeof shape.listed>>> {
  const agent = caller.kind === "agent" ? ownAgent(caller) : named;
  if (agent !== undefined) configured(system, agent);
  const most = caller.kind === "agent" ? Math.min(limit, LISTED_MAX_OF_TOOL) : limit;
  const [first, after] = placeFrom(from, ["", ""] as const) ?? ["", ""];
  const isWanted = (job: Job): boolean =>
    job.id > after && (enabled === undefined || job.isEnabled === enabled) && seesJob(caller, job);
  const found: { readonly job: Job; readonly at: string }[] = [];
  for (let at: string | null = first; at !== null && found.length <= most;) {
    const query = {
      cursor: at === "" ? null : at,
      limit: PAGE_ROWS_MAX,
      ...(agent === undefined ? {} : { agent }),
    };
    const page: Page<Job> = await system.store.jobs(query);
    for (const job of page.rows) if (isWanted(job)) found.push({ job, at });
    at = page.next;
  }
  const nowMs = system.world.nowMs();
  const told = found.slice(0, most);
  const last = found.length > most ? told.at(-1) : undefined;
  return just({
    jobs: told.map(({ job }) => rowOf(job, nowMs)),
    next: last === undefined ? null : cursorTo([last.at, last.job.id]),
  });
}

async function show(
  system: System,
  caller: Caller,
  input: z.output<typeof shape.oneJob>,
): Promise<Done<z.input<typeof shape.whole>>> {
  return just(wholeOf(await found(system, caller, input.job), system.world.nowMs()));
}

async function runs(
  system: System,
  caller: Caller,
  { job: text, limit = ROWS_USUALLY }: z.output<typeof shape.runsInput>,
): Promise<Done<z.input<typeof shape.history>>> {
  const job = await found(system, caller, text);
  const { id, name, current } = job;
  const most = caller.kind === "agent" ? Math.min(limit, LISTED_MAX_OF_TOOL) : limit;
  const all = [...(current === null ? [] : [current]), ...job.runs];
  return just({ id, name, timezone: zoneOf(job), runs: all.slice(0, most).map(runOf) });
}

// ── Changing ────────────────────────────────────────────────────────────────────────────────────────────────

async function edit(
  system: System,
  caller: Caller,
  { version, enabled, ...input }: z.output<typeof shape.editInput>,
): Promise<Done<z.input<typeof shape.whole>>> {
  mustChange(caller);
  const job = await found(system, caller, input.job);
  if (version !== undefined && version !== job.version)
    throw new Fault("stale_writer", `job ${job.id} is at version ${job.version}, not at ${version}`);
  const { spec, opened } = await changed(system, caller, job, input);
  const patch = { ...spec, ...(enabled === undefined ? {} : { isEnabled: enabled }) };
  const isOnlyStopped = enabled === false && Object.keys(spec).length === 0;
  if (!isOnlyStopped) mustBeAllowed(caller, { ...job, ...spec }, opened);
  if (spec.schedule !== undefined || spec.target !== undefined) mustBeSeldom(caller, { ...job, ...spec });
  if (Object.keys(patch).length === 0)
    throw new Fault("bad_input", "edit: name at least one thing that is to be changed");
  if (spec.name !== undefined) await mustBeOnly(system, caller, { ...job, name: spec.name });
  const nowMs = system.world.nowMs();
  const made = editJob(job, patch, nowMs);
  return { changes: [...opened, ...made.changes], output: () => wholeOf(made.job, nowMs) };
}

async function remove(
  system: System,
  caller: Caller,
  input: z.output<typeof shape.oneJob>,
): Promise<Done<z.input<typeof shape.removed>>> {
  mustChange(caller);
  const job = await found(system, caller, input.job);
  const { id, name } = job;
  return { changes: removeJob(job), output: () => ({ id, name, removed: true }) };
}

async function run(
  system: System,
  caller: Caller,
  input: z.output<typeof shape.oneJob>,
): Promise<Done<z.input<typeof shape.ran>>> {
  mustChange(caller);
  const job = await found(system, caller, input.job);
  mustBeAllowed(caller, job, []);
  const { run: begun, changes } = await runAsked(system.jobs, job);
  const sessionKey = begun.key ?? mainKey(job.agent as AgentId);
  return { changes, output: () => ({ id: job.id, run: begun.id, sessionKey }) };
}

// ── One tool ────────────────────────────────────────────────────────────────────────────────────────────────

const ACTIONS = {
  add: { input: shape.addInput, run: add },
  list: { input: shape.listInput, run: list },
  show: { input: shape.oneJob, run: show },
  edit: { input: shape.editInput, run: edit },
  run: { input: shape.oneJob, run },
  runs: { input: shape.runsInput, run: runs },
  remove: { input: shape.oneJob, run: remove },
} as const;

/** Each action is the call of that name, with its own shape. */
async function cron(
  system: System,
  caller: Caller,
  { action, ...given }: z.output<typeof shape.cronInput>,
): Promise<Done<z.input<typeof shape.cronOutput>>> {
  const { input, run: act } = ACTIONS[action] as {
    readonly input: z.ZodType;
    readonly run: (...args: readonly unknown[]) => Promise<Done<z.input<typeof shape.cronOutput>>>;
  };
  return await act(system, caller, await inputOf(action, input, given));
}

/** Their rows in the table. */
export const cronCalls = {
  addJob: call({
    about:
      "Adds a job: a message that is given at times to a fresh session, or to one that is there. Say when by exactly one of " +
      "at, every and cron.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "POST /jobs",
    input: shape.addInput,
    output: shape.added,
    idempotent: false, // with an id of the caller's it is
    run: add,
  }),
  jobs: call({
    about: "Jobs by their ids, with when they are due next and how they went last.",
    who: "person",
    tool: null,
    scope: "read",
    http: "GET /jobs",
    input: shape.listInput,
    output: shape.listed,
    idempotent: true,
    run: list,
  }),
  job: call({
    about: "All about one job: what, when, for whom, its next times, and what became of it so far.",
    who: "person",
    tool: null,
    scope: "read",
    http: "GET /jobs/:job",
    input: shape.oneJob,
    output: shape.whole,
    idempotent: true,
    run: show,
  }),
  editJob: call({
    about:
      "Changes a job, enables or disables it. What is not named stays; a run that goes on is not changed.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "PATCH /jobs/:job",
    input: shape.editInput,
    output: shape.whole,
    idempotent: true,
    run: edit,
  }),
  runJob: call({
    about: "Runs a job now, whenever it is due, also one that is disabled. Its times stay as they are.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "POST /jobs/:job/run",
    input: shape.oneJob,
    output: shape.ran,
    idempotent: false,
    run,
  }),
  jobRuns: call({
    about:
      "The runs of a job, newest first, with the one that goes on: where, how they ended, how long they took.",
    who: "person",
    tool: null,
    scope: "read",
    http: "GET /jobs/:job/runs",
    input: shape.runsInput,
    output: shape.history,
    idempotent: true,
    run: runs,
  }),
  ...timesCalls,
  removeJob: call({
    about: "Removes a job with its history. A run that goes on ends as it would; its session stays.",
    who: "person",
    tool: null,
    scope: "operate",
    http: "DELETE /jobs/:job",
    input: shape.oneJob,
    output: shape.removed,
    idempotent: false, // the second time there is nothing to be removed
    run: remove,
  }),
  cron: call({
    about:
      "What you do at times, without being asked: reminders, reports, checks. add: a message for a time (at, every or cron), " +
      "done in a fresh session whose answer comes back to this one, or in a session that stays. list, show, runs: what there is and " +
      "how it went. edit: changes what you name; enabled switches it off and on. run: now. remove: for good.",
    who: "agent",
    tool: "cron",
    scope: "operate",
    http: null,
    input: shape.cronInput,
    output: shape.cronOutput,
    idempotent: false,
    run: cron,
  }),
};
