// Spawn
//
// A child is given a task: it is opened, or found by its name; the task is a letter to it, its deadline a timer. All of that
// is one commit, and an agent's is that of the tool's result: so a child is there if and only if its parent knows of it.
//
//   Owns:      who may spawn what, and what a child is given.
//   Does not:  run anything. The letter is work, and its lane finds it.
//
// Invariants
//   C1. A child never may more than whoever spawned it: tools are narrowed, never widened; workspace, sight and budget are
//       its root's (sessions/inforce.ts, sessions/budget.ts).
//   C2. Generations and tasks in flight are bounded. What has reported counts for nothing.
//   C3. What became of a task is reported to who gave it, whoever opened the child.

import { createHash } from "node:crypto";
import { Fault } from "../base/fault.ts";
import type { World } from "../base/world.ts";
import type { SubagentPolicy } from "../config/config.ts";
import { PAGE_ROWS_MAX, REPEAT_LOOKBACK_ENTRIES } from "../limits.ts";
import type { Letter } from "../mail/letter.ts";
import { deadlineId, reportRoute } from "../mail/task.ts";
import { mainKey, subagentKey, type AgentId, type SessionKey } from "../routing/key.ts";
import type { Session, SessionLimits, Settings, ToolScope } from "../sessions/session.ts";
import type { Change, Store } from "../store/store.ts";
import { isAbove } from "./below.ts";
import { copyOf } from "./copy.ts";
import { isAtWork, mustBeHeldBy, mustBeResumed, namedChild } from "./named.ts";

export interface Spawning {
  readonly task: string;
  readonly agent: AgentId;
  readonly sessionKey?: string | undefined;
  readonly name?: string | undefined;
  readonly resumeIfExists: boolean;
  readonly context: "isolated" | "fork";
  readonly settings: Partial<Settings>; //   model, thinking, label and limits, where they were given
  readonly tools: ToolScope | null; //       null: as its parent's
  readonly mode: "run" | "session" | null; // null: a named one stays, another ends
  readonly cleanup: "keep" | "delete";
  readonly timeoutSeconds: number | null; // null: no deadline
}

/** Who gives the task. */
export interface Giver {
  readonly session: Session; //              the parent of a new child
  readonly isAgent: boolean; //              false: a person, in the name of that session
  readonly policy: SubagentPolicy; //        of that session's agent
  readonly inFlight: number; //              tasks that the session has given and not heard of
  readonly id: string; //                    of the letter; the same whenever this is asked again
  readonly from: Letter["from"];
  readonly class: Letter["class"];
  readonly isTold: boolean; //               whether the session hears of the end
}

export interface SpawnParts {
  readonly store: Pick<Store, "session" | "mail" | "entries">;
  readonly world: World;
  readonly workspace: string;
}

export interface Spawned {
  readonly key: SessionKey;
  readonly created: boolean; // false: it was there, and goes on
  readonly queued: boolean; //  it has other work first
  readonly changes: readonly Change[];
}

export async function spawning(parts: SpawnParts, giver: Giver, what: Spawning): Promise<Spawned> {
  mustHaveRoom(giver);
  mustMakeSense(what);
  const named = namedChild(what.agent, what);
  const key = named ?? unnamedKey(parts.world, giver, what.agent);
  if (key === giver.session.key)
    throw new Fault("bad_input", "a session gives no task to itself; just go on");
  const found = await parts.store.session(key);
  if (found === null) {
    mustBeHigh(giver);
    const opened = await opening(parts, giver, what, key);
    return { key, created: true, queued: false, changes: [opened, ...givingOf(parts, giver, what, key)] };
  }
  const repeated = { key, created: true, queued: false, changes: [posting(giver, what, key)] };
  if (named === null || (!giver.isAgent && (await hasTask(parts.store, found, giver.id)))) return repeated;
  mustBeResumed(found, what.resumeIfExists);
  if (giver.isAgent) mustBeHeldBy(found, giver.session.settings.tools);
  const { rows } = await parts.store.mail(key, { limit: 1 });
  const revived: Change = { do: "revive", key }; // Also if it has not ended: it may, before this is committed.
  const isOver = !giver.isAgent || (await isAbove(parts.store, giver.session.key, found));
  const changes = [revived, ...settingsAgain(found, what, isOver), ...givingOf(parts, giver, what, key)];
  return { key, created: false, queued: isAtWork(found, rows), changes };
}

/** A person asks again, not knowing whether it was heard: the task is the same, and is given once. */
async function hasTask(
  store: SpawnParts["store"],
  { key, transcript }: Session,
  id: string,
): Promise<boolean> {
  const { rows } = await store.mail(key, { limit: PAGE_ROWS_MAX });
  if (rows.some((mail) => mail.id === id)) return true;
  let looked = 0;
  for await (const entry of store.entries(transcript.id, { before: null })) {
    if (entry.type === "message" && entry.mailId === id) return true;
    if ((looked += 1) >= REPEAT_LOOKBACK_ENTRIES) break;
  }
  return false;
}

/** C2. Only agents spawn by themselves, over and over. */
function mustHaveRoom({ session, isAgent, policy, inFlight }: Giver): void {
  if (!isAgent || inFlight < policy.children) return;
  throw new Fault(
    "overloaded",
    `${session.key} has ${inFlight} tasks in flight, as many as agents.${session.agent}.subagents.children allows: ` +
      "wait for some of them, or do this yourself",
  );
}

function mustBeHigh({ session, policy }: Giver): void {
  if (session.depth < policy.depth) return;
  throw new Fault(
    "forbidden",
    `${session.key} is ${session.depth} generations below its root, and agents.${session.agent}.subagents.depth is ` +
      `${policy.depth}: it spawns none. Do this yourself, or report that it is left`,
  );
}

function mustMakeSense({ task, mode, cleanup, sessionKey, name }: Spawning): void {
  if (task.trim() === "") throw new Fault("bad_input", "task: there is nothing in it");
  const isNamed = sessionKey !== undefined || name !== undefined;
  if (cleanup === "delete" && (isNamed || mode === "session"))
    throw new Fault("bad_input", "cleanup: only what runs once and has no name is deleted at its end");
}

/** A person's spawn that is asked for again, with an id, is the same child: so its key is made of that id. */
function unnamedKey(world: World, { session, isAgent, id }: Giver, agent: AgentId): SessionKey {
  const own = isAgent ? world.newId().slice(-12) : createHash("sha256").update(id).digest("hex").slice(0, 12);
  return subagentKey(agent === session.agent ? session.key : mainKey(agent), own);
}

async function opening(
  { store, world, workspace }: SpawnParts,
  { session, policy }: Giver,
  what: Spawning,
  key: SessionKey,
): Promise<Change> {
  const { settings: own } = session;
  return {
    do: "open",
    key,
    transcript: world.newId(),
    cwd: workspace,
    parent: session.key,
    settings: {
      model: policy.model,
      thinking: policy.thinking,
      nice: own.nice,
      ...what.settings,
      tools: what.tools === null ? own.tools : [...own.tools, what.tools], // C1
      oneShot: what.mode === null ? null : what.mode === "run",
      deleteAtEnd: what.cleanup === "delete",
    },
    copy: what.context === "fork" ? await copyOf(store, session, null) : null,
    ifExists: "refuse",
  };
}

/** Who goes on with a child may give it another model or less to do with; what it was given before stays otherwise. */
function settingsAgain({ key, settings }: Session, what: Spawning, isOver: boolean): readonly Change[] {
  const { label: _label, limits, ...given } = what.settings;
  const tools = what.tools === null ? {} : { tools: [...settings.tools, what.tools] };
  const again = limits ? { limits: limitsAgain(settings.limits, limits, isOver) } : {};
  const changed: Partial<Settings> = { ...given, ...again, ...tools };
  return Object.keys(changed).length === 0 ? [] : [{ do: "set", key, version: null, settings: changed }];
}

/** C1. Who is not above the child only narrows: else one below it, or beside it, could give it more than it was given. */
function limitsAgain(before: SessionLimits | null, given: SessionLimits, isOver: boolean): SessionLimits {
  const again = (name: keyof SessionLimits): number | null => {
    const [old, now] = [before?.[name] ?? null, given[name]];
    if (now === null || old === null) return now ?? old;
    return isOver ? now : Math.min(old, now);
  };
  return {
    stepsPerTurn: again("stepsPerTurn"),
    turnSeconds: again("turnSeconds"),
    tokens: again("tokens"),
    cost: again("cost"),
  };
}

function givingOf({ world }: SpawnParts, giver: Giver, what: Spawning, key: SessionKey): readonly Change[] {
  if (what.timeoutSeconds === null) return [posting(giver, what, key)];
  const timer = {
    id: deadlineId(giver.id),
    key,
    dueAtMs: world.nowMs() + what.timeoutSeconds * 1_000,
    body: { deadline: giver.id, seconds: what.timeoutSeconds },
  };
  return [posting(giver, what, key), { do: "setTimer", timer, expectDueAtMs: null }];
}

/** C3. It waits its turn: one that works is not disturbed. */
function posting(
  { id, from, class: of, session, isTold }: Giver,
  { task }: Spawning,
  key: SessionKey,
): Change {
  const letter: Letter = {
    id,
    from,
    class: of,
    mode: "followup",
    content: [{ type: "text", text: task.toWellFormed() }],
    replyTo: isTold ? reportRoute(session.key, id) : null,
    origin: null,
  };
  return { do: "post", to: [key], letter };
}

/** What is not given stays as the agent's configuration says. */
export function limitsOf(given: Partial<Record<keyof SessionLimits, number | undefined>>): SessionLimits {
  const { stepsPerTurn = null, turnSeconds = null, tokens = null, cost = null } = given;
  return { stepsPerTurn, turnSeconds, tokens, cost };
}
