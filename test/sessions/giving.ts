// Sessions that give tasks to others, for tests: the words they do it with, and what they heard.

import assert from "node:assert/strict";
import { isReport } from "../../src/mail/task.ts";
import { textOf, type Entry } from "../../src/transcript/entry.ts";
import { spawn } from "./family.ts";
import type { Stage } from "./stage.ts";

/** A child with a name, and how it is asked for. */
export const BUDGET = "agent:main:thread:budget-planning";
export const NAMED = { sessionKey: "thread:budget-planning", resumeIfExists: true };

/** A script that gives tasks, rests until all of them were heard of, and says what the tools and the children said. */
export function giving(...spawns: readonly string[]): string {
  return [...spawns, "!then", "!call sessions_yield", "!then", "!results"].join("\n");
}

/** Asks a session to give one task, and waits for the report. What it says is what the tools and the child said. */
export async function give(stage: Stage, from: string, task: string, more: object = NAMED): Promise<string> {
  const { outcome, text } = await stage.sessions.ask(from, giving(spawn(task, more)));
  assert.equal(outcome, "done");
  return text;
}

/** The reports that a session has read, in their order. */
export async function reportsIn(stage: Stage, key: string): Promise<string[]> {
  return reportEntries(await stage.entries(key)).map(textOf);
}

/** By their ids, which nobody else can make: what looks like a report may be anybody's words. */
export function reportEntries(entries: readonly Entry[]): Entry[] {
  return entries.filter(
    (entry) => entry.type === "message" && entry.mailId !== undefined && isReport({ id: entry.mailId }),
  );
}

interface Spawned {
  readonly sessionKey: string;
  readonly id: string;
  readonly created: boolean;
  readonly queued: boolean;
}

/** What its spawns gave a session, in their order; a refusal as the words of it. */
export async function spawnsOf(stage: Stage, key: string): Promise<(Spawned | string)[]> {
  const results = await stage.results(key);
  return results
    .filter(({ tool }) => tool === "sessions_spawn")
    .map(({ text, isError }) => (isError ? text : (JSON.parse(text) as Spawned)));
}

/** The newest of them, which has to be there and not to be refused. */
export async function lastSpawn(stage: Stage, key: string): Promise<Spawned> {
  const last = (await spawnsOf(stage, key)).at(-1);
  if (last === undefined || typeof last === "string") throw new Error(`it was refused: ${last}`);
  return last;
}

/** What a session has read when it has read so many reports and is at rest. */
export async function heardOf(stage: Stage, key: string, reports: number): Promise<string[]> {
  await stage.until(async () => (await reportsIn(stage, key)).length >= reports);
  await stage.rest(key);
  return await reportsIn(stage, key);
}
