// What somebody asked a job to be, checked and written out: when, where it runs, and where its answer goes. Whether they may have
// it is in cron-rights.ts; of its invariants J2 is kept here.

import type { z } from "zod";
import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { namedChild } from "../children/named.ts";
import { limitsOf } from "../children/spawn.ts";
import type { Agent } from "../config/config.ts";
import * as defaults from "../config/defaults.ts";
import {
  agentOf,
  describeKey,
  isOneShot,
  mainKey,
  parseKey,
  type AgentId,
  type SessionKey,
} from "../routing/key.ts";
import type { Session, SessionLimits } from "../sessions/session.ts";
import type { Change } from "../store/change.ts";
import type { Delivery, Job, JobSpec, Target } from "../timers/job.ts";
import { JOB_FAILURES_DEFAULT } from "../timers/limits.ts";
import type { Caller, System } from "./call.ts";
import type { addInput, editInput } from "./cron-shapes.ts";
import { deliveryText } from "./cron-views.ts";
import { scheduleAgain, scheduleOf, spanOf, type Bounds } from "./cron-when.ts";
import { JOB_MESSAGE_BYTES_MAX, JOB_SPAN_MS_MAX, JOB_STAGGER_MS_MAX } from "./limits.ts";
import { reached, sees } from "./reach.ts";
import { opening } from "./send.ts";

/** Whoever says nothing of these has these. */
const USUAL = {
  /** A restart of the daemon takes seconds, and cron counts in minutes: who is that late still means the same time. */
  graceMs: 60_000,
  staggerMs: 0,
  /** Over a weekend, so that on Monday somebody can look at what ran on Friday. */
  keepMs: 3 * 24 * 60 * 60 * 1_000,
  failuresMax: JOB_FAILURES_DEFAULT,
  missed: "coalesce",
} as const;

const UP_TO_YEARS: Bounds = { minMs: 0, maxMs: JOB_SPAN_MS_MAX };
const TIMEOUT: Bounds = { minMs: 1_000, maxMs: defaults.TURN_SECONDS_MAX * 1_000 };
const STAGGER: Bounds = { minMs: 0, maxMs: JOB_STAGGER_MS_MAX };

type Added = z.output<typeof addInput>;
type Edited = z.output<typeof editInput>;

/** What is to be, and what has to be opened for it. */
export interface Wanted<Spec> {
  readonly spec: Spec;
  readonly opened: readonly Change[];
}

export async function wanted(
  system: System,
  caller: Caller,
  agent: Agent,
  input: Added,
): Promise<Wanted<JobSpec>> {
  const { target, opened } = await targetOf(system, caller, agent.id, input.target ?? "fresh");
  const delivery = await deliveryOf(system, caller, { agent: agent.id, target }, input.delivery);
  const now = { nowMs: system.world.nowMs(), zone: system.config.timezone };
  const spec: JobSpec = {
    name: input.name ?? "",
    schedule: scheduleOf(input, now),
    target,
    message: messageOf(input.message),
    model: input.model === undefined ? null : await modelNamed(system, input.model),
    thinking: input.thinking ?? null,
    limits: limitsFor(caller, target, input.limits ?? null),
    delivery,
    missed: input.missed ?? USUAL.missed,
    failuresMax: input.failuresMax ?? USUAL.failuresMax,
    timeoutMs: atMost(caller, agent.limits.turnSeconds * 1_000),
    staggerMs: USUAL.staggerMs,
    graceMs: USUAL.graceMs,
    keepMs: USUAL.keepMs,
    ...spansIn(caller, input),
  };
  mustBeOfFresh(spec, input);
  return { spec, opened };
}

/**
 * Only what is named is changed. But whoever moves a job, or says where its answer goes, has both: each is right or wrong by
 * the other. And what an agent lets a session be told it might tell it itself (J2).
 */
export async function changed(
  system: System,
  caller: Caller,
  job: Job,
  input: Edited,
): Promise<Wanted<Partial<JobSpec>>> {
  const agent = job.agent as AgentId;
  const { target, opened } =
    input.target === undefined
      ? { target: job.target, opened: [] }
      : await targetOf(system, caller, agent, input.target);
  const now = { nowMs: system.world.nowMs(), zone: system.config.timezone };
  const schedule = scheduleAgain(job.schedule, input, now);
  const { name, message, model, thinking, limits, missed, failuresMax } = input;
  if (
    caller.kind === "agent" &&
    message !== undefined &&
    target.kind === "session" &&
    input.target === undefined
  )
    await reached(system, caller, target.key);
  const spec: Partial<JobSpec> = {
    ...(name === undefined ? {} : { name }),
    ...(schedule === null ? {} : { schedule }),
    ...(input.target === undefined ? {} : { target }),
    ...(message === undefined ? {} : { message: messageOf(message) }),
    ...(model === undefined ? {} : { model: model === null ? null : await modelNamed(system, model) }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(limits === undefined ? {} : { limits: limitsFor(caller, target, mergedLimits(job.limits, limits)) }),
    ...(missed === undefined ? {} : { missed }),
    ...(failuresMax === undefined ? {} : { failuresMax }),
    ...spansIn(caller, input),
  };
  mustBeOfFresh({ ...job, ...spec }, input);
  if (input.target === undefined && input.delivery === undefined) return { spec, opened };
  const said = input.delivery ?? (isFollowing(job, target) ? undefined : deliveryText(job.delivery));
  const delivery = await deliveryOf(system, caller, { agent, target }, said);
  return { spec: { ...spec, delivery }, opened };
}

function spansIn(
  caller: Caller,
  { timeout, grace, stagger, keep }: Pick<Added, "timeout" | "grace" | "stagger" | "keep">,
): Partial<JobSpec> {
  return {
    ...(timeout === undefined ? {} : { timeoutMs: atMost(caller, spanOf("timeout", timeout, TIMEOUT)) }),
    ...(grace === undefined ? {} : { graceMs: spanOf("grace", grace, UP_TO_YEARS) }),
    ...(stagger === undefined ? {} : { staggerMs: spanOf("stagger", stagger, STAGGER) }),
    ...(keep === undefined ? {} : { keepMs: spanOf("keep", keep, UP_TO_YEARS) }),
  };
}

/** A run of an agent's job takes no longer than a turn of its own may. */
function atMost(caller: Caller, ms: number): number {
  return caller.kind === "agent" ? Math.min(ms, caller.agent.limits.turnSeconds * 1_000) : ms;
}

async function modelNamed({ catalog }: System, name: string): Promise<string> {
  return await saidOf("model", () => catalog.find(name).id);
}

function messageOf(message: string): string {
  if (message.trim() === "") throw new Fault("bad_input", "message: say what is to be done");
  const bytes = Buffer.byteLength(JSON.stringify(message));
  if (bytes > JOB_MESSAGE_BYTES_MAX)
    throw new Fault(
      "bad_input",
      `message: ${bytes} bytes when written down, at most ${JOB_MESSAGE_BYTES_MAX}; put it into a file, and name that`,
    );
  return message.toWellFormed();
}

/** Null: there are none, or none any more. */
function mergedLimits(before: SessionLimits | null, given: Edited["limits"]): Added["limits"] | null {
  const named = Object.entries({ ...before, ...given }).filter(([, value]) => value != null);
  return !given || named.length === 0 ? null : Object.fromEntries(named);
}

/** What an agent gives is no more than it has itself. */
function limitsFor(caller: Caller, target: Target, given: Added["limits"] | null): SessionLimits | null {
  if (caller.kind === "person" || target.kind !== "fresh") return given ? limitsOf(given) : null;
  const own = caller.session.settings.limits?.stepsPerTurn ?? null;
  if (!given && own === null) return null;
  const steps = Math.min(given?.stepsPerTurn ?? Infinity, caller.agent.limits.stepsPerTurn);
  return limitsOf({
    ...given,
    ...(given?.stepsPerTurn === undefined && own === null ? {} : { stepsPerTurn: steps }),
  });
}

const OF_FRESH = {
  model: "set the model of that session instead (`sessiond model`)",
  thinking: "set it for that session instead",
  limits: "set those of that session instead (`sessiond limit`)",
} as const;

/** A session that is there has a model and limits, and everybody who writes to it has these. */
function mustBeOfFresh(
  spec: Pick<JobSpec, "target" | keyof typeof OF_FRESH>,
  { keep }: Pick<Added, "keep">,
): void {
  if (spec.target.kind === "fresh") return;
  for (const [name, instead] of Object.entries(OF_FRESH))
    if (spec[name as keyof typeof OF_FRESH] !== null)
      throw new Fault(
        "bad_input",
        `${name}: only of fresh sessions, and this runs in ${spec.target.key}; ${instead}`,
      );
  if (keep !== undefined)
    throw new Fault("bad_input", `keep: only of fresh sessions; ${spec.target.key} stays anyway`);
}

// ── Where it runs ───────────────────────────────────────────────────────────────────────────────────────────

/** A session that a text names, for a job of this agent. */
async function sessionNamed(what: Place, agent: AgentId, text: string): Promise<SessionKey> {
  if (text === "main") return mainKey(agent);
  return await saidOf(what, () =>
    text.startsWith("thread:") ? (namedChild(agent, { sessionKey: text }) ?? mainKey(agent)) : parseKey(text),
  );
}

type Place = "target" | "delivery";

/** A refusal begins with what it is about: a job has two places, and who fills in a form is shown which. */
async function saidOf<Of>(what: Place | "model", look: () => Of): Promise<Awaited<Of>> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Fault(error.code, `${what}: ${error.message}`, { cause: error, todo: error.todo });
  }
}

/** Who does what a target names; without one, or with one that names nobody, main. */
export async function agentMeant(target: string | undefined): Promise<string> {
  if (target?.startsWith("agent:") !== true) return "main";
  return agentOf(await saidOf("target", () => parseKey(target)));
}

async function targetOf(
  system: System,
  caller: Caller,
  agent: AgentId,
  text: string,
): Promise<{ readonly target: Target; readonly opened: readonly Change[] }> {
  if (text === "fresh") return { target: { kind: "fresh" }, opened: [] };
  const key = await sessionNamed("target", agent, text);
  const target: Target = { kind: "session", key };
  if (agentOf(key) !== agent)
    throw new Fault(
      "bad_input",
      `target: ${key} is of agent ${agentOf(key)}, and the job of ${agent}; a job runs in sessions of its own agent`,
    );
  const found = await system.store.session(key);
  mustStay("target", key, found);
  if (found === null && (caller.kind === "person" || describeKey(key).kind === "thread"))
    return { target, opened: [await opening(system, key)] }; // J2
  await saidOf("target", () => reached(system, caller, key));
  return { target, opened: [] };
}

function mustStay(what: string, key: SessionKey, found: Session | null): void {
  const isOver = isOneShot(key) || found?.settings.oneShot === true;
  if (isOver || describeKey(key).kind === "heartbeat")
    throw new Fault("bad_input", `${what}: ${key} is not one that stays; name main, a thread or a chat`);
}

// ── Where its answer goes ───────────────────────────────────────────────────────────────────────────────────

interface Whose {
  readonly agent: AgentId;
  readonly target: Target;
}

async function deliveryOf(
  system: System,
  caller: Caller,
  { agent, target }: Whose,
  text: string | undefined,
): Promise<Delivery> {
  if (text === "route" || (text === undefined && target.kind === "session"))
    return { kind: "route", of: await spokenFor(system, caller, { agent, target }) };
  if (text === undefined) {
    // Where it was asked for, somebody waits for it.
    const key = caller.kind === "agent" ? caller.session.key : mainKey(agent);
    mustStay("delivery", key, caller.kind === "agent" ? caller.session : null);
    return { kind: "session", key };
  }
  if (text === "none") return { kind: "none" };
  if (text.startsWith("webhook:")) return webhookIn(system, caller, text);
  const key = await sessionNamed("delivery", agent, text);
  const found = await saidOf("delivery", () => reached(system, caller, key));
  mustStay("delivery", key, found);
  const delivery: Delivery = { kind: "session", key };
  mustSpeakElsewhere(target, delivery);
  return delivery;
}

/** Nobody said where the answer goes: it went where it usually does, and does so of the other kind of target, too. */
function isFollowing(job: Job, target: Target): boolean {
  if (job.target.kind === target.kind) return false;
  if (job.target.kind === "session") return job.delivery.kind === "route";
  const usual = job.madeBy ?? mainKey(job.agent as AgentId);
  return job.delivery.kind === "session" && job.delivery.key === usual;
}

/** J2. Main's people hear of it where nobody speaks with the target, but only from who may see main. */
async function spokenFor(
  system: System,
  caller: Caller,
  { agent, target }: Whose,
): Promise<readonly SessionKey[]> {
  const main = mainKey(agent);
  if (target.kind === "fresh") return [(await reached(system, caller, main)).key];
  if (target.key === main) return [main];
  const found = await system.store.session(main);
  const isSeen = caller.kind === "person" || (found !== null && sees(caller, found));
  return isSeen ? [target.key, main] : [target.key];
}

function mustSpeakElsewhere(target: Target, delivery: Delivery): void {
  if (target.kind === "session" && delivery.kind === "session" && target.key === delivery.key)
    throw new Fault(
      "bad_input",
      `delivery: it runs in ${target.key}, so the answer is there; say none or route`,
    );
}

function webhookIn(system: System, caller: Caller, text: string): Delivery {
  const [, channel = "", to = ""] = /^webhook:([^:]*):(.+)$/s.exec(text) ?? [];
  const found = system.config.webhooks.get(channel);
  const names = [...system.config.webhooks.values()]
    .filter(({ url }) => url !== null)
    .map(({ name }) => name);
  if (to === "" || to.length > TO_CHARS_MAX)
    throw new Fault("bad_input", `delivery: webhook:<channel>:<to>, with whom it is for, not ${shown(text)}`);
  if (found === undefined || found.url === null)
    throw new Fault(
      "bad_input",
      `delivery: ${found === undefined ? `there is no webhook ${shown(channel)}` : `webhooks.${channel} has no url`}; ` +
        (names.length === 0 ? "none is configured that takes answers" : `there are: ${names.join(", ")}`),
    );
  const own = caller.kind === "agent" ? caller.session.route : null;
  if (caller.kind === "agent" && (own?.channel !== channel || own.to !== to))
    throw new Fault(
      "forbidden",
      `delivery: nobody wrote to you from ${shown(text)}; say route, or ask a person to add the job`,
    ); // J2
  return { kind: "webhook", channel, to };
}

/** Characters of whom a channel speaks to: as long as a key. */
const TO_CHARS_MAX = 256;
