// Tasks that a session has given to children and not heard of yet, and what a turn rests on that was yielded. Read from the
// session's own entries: so a restart forgets no child, and there is nothing that could say otherwise.

import { detailsOf } from "../context/compaction.ts";
import type { SessionKey } from "../routing/key.ts";
import { isReport, taskOf } from "../mail/task.ts";
import type { Body, Entry } from "../transcript/entry.ts";

export interface Task {
  readonly id: string; //         of the letter that the child was given
  readonly key: SessionKey; //    the child's
  readonly givenAtMs: number;
  readonly isTold: boolean; //    false: its end is not reported, so nobody waits for it
}

/** What the result of a spawn keeps for us, and that of a yield. A model is not shown it. */
export type Details =
  | { readonly spawned: { readonly task: string; readonly key: SessionKey; readonly isTold: boolean } }
  /** Ids of the tasks that are waited for. "all": every one that was given before. It is never so much that it is spilled. */
  | { readonly yielded: readonly string[] | "all" };

/** `copied` entries are another session's, and so are the tasks in them. */
export function tasksIn(entries: readonly Entry[], copied: number): Task[] {
  const tasks = new Map<string, Task>();
  for (const entry of entries) {
    if (entry.seq <= copied) continue;
    for (const task of detailsOf(entry)?.tasks ?? []) tasks.set(task.id, task); // some were given before the context starts
    for (const task of keptIn(entry)) tasks.set(task.id, task); // or before the conversation began anew
    const report = reportIn(entry);
    if (report !== null) tasks.delete(report);
    for (const id of leftIn(entry)) tasks.delete(id);
    const details = childDetailsOf(entry);
    if (details && "spawned" in details) {
      const { task, key, isTold } = details.spawned;
      tasks.set(task, { id: task, key, givenAtMs: Date.parse(entry.timestamp), isTold });
    }
  }
  return [...tasks.values()];
}

/**
 * For the commit in which a session ends before all of its children have reported: from then on their reports go to others.
 * So one that is revived, by its name, waits for none that it will never hear of. None: nothing has to be written down.
 */
export function tasksLeft(entries: readonly Entry[], copied: number): readonly Body[] {
  return tasksLeftNote(tasksIn(entries, copied).map(({ id }) => id));
}

/** These are not waited for. */
export function tasksLeftNote(tasks: readonly string[]): readonly Body[] {
  return tasks.length === 0 ? [] : [{ type: "custom", customType: TASKS_LEFT, data: { tasks } }];
}

const TASKS_LEFT = "sessiond/tasks-left";

function leftIn(entry: Entry): readonly string[] {
  if (entry.type !== "custom" || entry.customType !== TASKS_LEFT) return [];
  const { tasks } = (entry.data ?? {}) as { readonly tasks?: unknown };
  return Array.isArray(tasks) ? tasks : [];
}

/** For the commit in which a conversation begins anew while children work: they report into the new one. */
export function tasksKeptNote(tasks: readonly Task[]): readonly Body[] {
  return tasks.length === 0 ? [] : [{ type: "custom", customType: TASKS_KEPT, data: { tasks } }];
}

const TASKS_KEPT = "sessiond/tasks-kept";

/** A file may hold anything in place of them. */
function keptIn(entry: Entry): readonly Task[] {
  if (entry.type !== "custom" || entry.customType !== TASKS_KEPT) return [];
  const { tasks } = (entry.data ?? {}) as { readonly tasks?: unknown };
  return Array.isArray(tasks) ? tasks.filter(isTask) : [];
}

function isTask(value: unknown): value is Task {
  const { id, key, givenAtMs, isTold } = (value ?? {}) as Partial<Record<keyof Task, unknown>>;
  return (
    typeof id === "string" &&
    typeof key === "string" &&
    typeof givenAtMs === "number" &&
    typeof isTold === "boolean"
  );
}

/** The tasks that the turn rests on; none: it was not yielded, everybody has reported, or somebody else has written. */
export function restsOn(entries: readonly Entry[], copied: number): readonly Task[] {
  const at = entries.findLastIndex((entry) => yieldIn(entry) !== null || breaksIn(entry)); // mostly one of the last
  const yielded = yieldIn(entries[at]);
  if (yielded === null) return [];
  const before = yielded === "all" ? tasksIn(entries.slice(0, at), copied).map(({ id }) => id) : yielded;
  const awaited = new Set(before);
  return tasksIn(entries, copied).filter(({ id, isTold }) => isTold && awaited.has(id));
}

function yieldIn(entry: Entry | undefined): readonly string[] | "all" | null {
  const awaits = detailsOf(entry)?.awaits ?? [];
  if (awaits.length > 0) return awaits; // The yield itself may have been cut off.
  const details = childDetailsOf(entry);
  return details && "yielded" in details ? details.yielded : null;
}

/** The yield is over, though nobody has reported. The model is told. */
export function brokenNote(awaited: readonly SessionKey[]): Body {
  const content = `You do not wait for ${awaited.join(", ")}: one of them waits for you. Go on; reports come by themselves.`;
  return { type: "custom_message", customType: YIELD_BROKEN, content, display: true };
}

const YIELD_BROKEN = "sessiond/yield-broken";

/** Somebody who is no child has written, the model has spoken since, or the turn has ended or was left by a rewind. */
function breaksIn(entry: Entry): boolean {
  if (entry.type === "custom") return BREAKING.has(entry.customType);
  if (entry.type === "custom_message") return entry.customType === YIELD_BROKEN;
  if (entry.type !== "message") return false;
  const { role } = entry.message;
  return role === "assistant" || (role === "user" && reportIn(entry) === null);
}

const BREAKING: ReadonlySet<string> = new Set(["sessiond/turn-ended", "sessiond/turn-started"]);

/** The task that an entry is the report of; null: of none. */
function reportIn(entry: Entry): string | null {
  if (entry.type !== "message" || typeof entry.mailId !== "string") return null;
  const letter = { id: entry.mailId };
  return isReport(letter) ? taskOf(letter) : null;
}

/** Tools whose results are about children: no other tool can have these names. */
const TOOLS: ReadonlySet<string> = new Set(["subagents", "sessions_spawn", "sessions_yield"]);

/** Null: it is no result of them, or says nothing for us. A file may hold anything in place of it. */
export function childDetailsOf(entry: Entry | undefined): Details | null {
  if (entry?.type !== "message" || entry.message.role !== "toolResult") return null;
  const { toolName, isError } = entry.message;
  if (!TOOLS.has(toolName) || isError) return null;
  const { spawned, yielded } = (entry.message.details ?? {}) as Partial<Record<string, unknown>>;
  if (yielded === "all" || isTexts(yielded)) return { yielded };
  const { task, key, isTold } = (spawned ?? {}) as Partial<Record<string, unknown>>;
  if (typeof task !== "string" || typeof key !== "string") return null;
  return { spawned: { task, key: key as SessionKey, isTold: isTold === true } };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
