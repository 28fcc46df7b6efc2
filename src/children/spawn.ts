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
import type { SubagentPolicy, Visibility } from "../config/config.ts";
import { PAGE_ROWS_MAX, REPEAT_LOOKBACK_ENTRIES } from "../limits.ts";
import type { Letter } from "../mail/letter.ts";
import { deadlineId, reportRoute } from "../mail/task.ts";
import { agentOf, isSubagent, mainKey, subagentKey, type AgentId, type SessionKey } from "../routing/key.ts";
import { isAbove, nextAbove } from "../sessions/below.ts";
import { tighter } from "../sessions/inforce.ts";
import type { Session, SessionLimits, Settings, ToolScope } from "../sessions/session.ts";
import type { Change } from "../store/change.ts";
import type { Store } from "../store/store.ts";
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
  readonly sight: Visibility; //             what that session may see
  readonly scopes: readonly ToolScope[]; //  that hold for all it spawns
  readonly inFlight: number; //              tasks that the session has given and not heard of
  readonly id: string; //                    of the letter; the same whenever this is asked again
  readonly isKnown: boolean; //              the id is the giver's own, and may be asked again
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
  mustMakeSense(giver, what);
  const named = namedChild(what.agent, what);
  const key = named ?? unnamedKey(parts.world, giver, what.agent);
  if (key === giver.session.key)
    throw new Fault("bad_input", "a session gives no task to itself; just go on");
  const { rows } = await parts.store.mail(key, { limit: 1 }); // First: what is read is running then, and shows so in the row.
  const found = await parts.store.session(key);
  if (found === null) {
    if (named !== null && isSubagent(named))
      throw new Fault("not_found", `there is no child ${key} to go on with`);
    mustBeHigh(giver);
    const opened = await opening(parts, giver, what, key);
    return { key, created: true, queued: false, changes: [opened, ...givingOf(parts, giver, what, key)] };
  }
  const repeated = { key, created: true, queued: false, changes: [posting(giver, what, key)] };
  if (named === null || (!giver.isAgent && (await hasTask(parts.store, found, giver.id)))) return repeated;
  mustBeResumed(found, what.resumeIfExists);
  const isOver = !giver.isAgent || (await isAbove(parts.store, giver.session.key, found));
  if (giver.isAgent) await mustBeNoWider(parts, giver, found, isOver);
  mustHaveTools(found, what.tools);
  const revived: Change = { do: "revive", key }; // Also if it has not ended: it may, before this is committed.
  const changes = [
    revived,
    ...settingsAgain(giver, found, what, isOver),
    ...givingOf(parts, giver, what, key),
  ];
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

function mustMakeSense({ session, isTold, isAgent, isKnown }: Giver, what: Spawning): void {
  const { task, mode, cleanup, sessionKey, name } = what;
  if (task.trim() === "") throw new Fault("bad_input", "task: there is nothing in it");
  if (session.state.kind === "ended")
    throw new Fault("ended", `${session.key} has ended: it has no more children`);
  const isNamed = sessionKey !== undefined || name !== undefined;
  if (what.resumeIfExists && !isNamed)
    throw new Fault("bad_input", "resumeIfExists: name the child that is to go on, by sessionKey or name");
  if (cleanup !== "delete") return;
  if (isNamed || mode === "session")
    throw new Fault("bad_input", "cleanup: only what runs once and has no name is deleted at its end");
  if (!isTold || (!isAgent && isKnown))
    throw new Fault(
      "bad_input",
      "cleanup: nobody could hear of what is deleted; name a parent, and give no id",
    );
}

/**
 * C1. Who resumes a child that it did not open must not have done by it what it may not do itself: so it is of the same agent
 * and of a root of the same agent, held by the same tool scopes, and below every budget that the giver is below.
 */
async function mustBeNoWider(
  { store }: SpawnParts,
  { session, sight }: Giver,
  found: Session,
  isOver: boolean,
): Promise<void> {
  const { key } = found;
  mustBeHeldBy(found, session.settings.tools);
  if (isOver) return;
  const isOther = (one: SessionKey, other: SessionKey): boolean => agentOf(one) !== agentOf(other);
  if (isSubagent(key) || sight === "self" || isOther(key, session.key) || isOther(found.root, session.root))
    throw new Fault("forbidden", `${key} is not yours to go on with: it did not come of ${session.key}`);
  const find = (each: SessionKey): Promise<Session | null> => store.session(each);
  for (let at: Session | null = session; at !== null; at = await nextAbove(find, at)) {
    const { limits } = at.settings;
    const isBudget = (limits?.tokens ?? limits?.cost ?? null) !== null;
    if (isBudget && at.key !== key && !(await isAbove(store, at.key, found)))
      throw new Fault(
        "forbidden",
        `${key} is not within the budget of ${at.key}, which holds for you: open one of your own`,
      );
  }
}

/** What a child was given when it was opened stays: who would narrow it further would do so for everybody. */
function mustHaveTools({ key, settings }: Session, tools: ToolScope | null): void {
  if (tools === null || settings.tools.some((scope) => JSON.stringify(scope) === JSON.stringify(tools)))
    return;
  throw new Fault(
    "bad_input",
    `tools: ${key} was given its tools when it was opened; leave them out, or name another`,
  );
}

/** A person's spawn that is asked for again, with an id, is the same child: so its key is made of that id. */
function unnamedKey(world: World, { session, isAgent, id }: Giver, agent: AgentId): SessionKey {
  const own = isAgent ? world.newId().slice(-12) : createHash("sha256").update(id).digest("hex").slice(0, 12);
  return subagentKey(agent === session.agent ? session.key : mainKey(agent), own);
}

async function opening(
  { store, world, workspace }: SpawnParts,
  { session, policy, scopes }: Giver,
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
      limits: limitsBelow(own.limits, what.settings.limits ?? null),
      tools: what.tools === null ? scopes : [...scopes, what.tools], // C1
      oneShot: what.mode === null ? null : what.mode === "run",
      deleteAtEnd: what.cleanup === "delete",
    },
    copy: what.context === "fork" ? await copyOf(store, session, null) : null,
    ifExists: "refuse",
  };
}

/** Who is above a child, and people, may give it another model or other limits from now on. For others it is as it is. */
function settingsAgain(
  { isAgent }: Giver,
  { key, settings }: Session,
  what: Spawning,
  isOver: boolean,
): readonly Change[] {
  const { limits, ...given } = what.settings;
  const again = limits ? { limits: limitsAgain(settings.limits, limits, isAgent) } : {};
  const changed: Partial<Settings> = { ...given, ...again };
  const names = Object.keys(changed);
  if (names.length === 0) return [];
  if (!isOver)
    throw new Fault(
      "forbidden",
      `${names.join(", ")}: ${key} did not come of you; it goes on as it is, leave them out`,
    );
  return [{ do: "set", key, version: null, settings: changed }];
}

/** C1. Of steps and time a child has no more than its parent was given. Budgets hold for it by themselves. */
function limitsBelow(parents: SessionLimits | null, given: SessionLimits | null): SessionLimits | null {
  return tighter(parents && { ...parents, tokens: null, cost: null }, given);
}

/** C1. An agent only narrows: a person may have set these. What is not named stays. */
function limitsAgain(
  before: SessionLimits | null,
  given: SessionLimits,
  isAgent: boolean,
): SessionLimits | null {
  if (isAgent || before === null) return tighter(before, given);
  const named = Object.entries(given).filter(([, value]) => value !== null);
  return { ...before, ...Object.fromEntries(named) };
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
