// Jobs, looked for: all of an agent, or the one that somebody means.

import { Fault } from "../base/fault.ts";
import { shown } from "../base/fits.ts";
import { nearest } from "../base/near.ts";
import { PAGE_ROWS_MAX } from "../limits.ts";
import { agentOf, type SessionKey } from "../routing/key.ts";
import type { Page } from "../store/store.ts";
import type { Job } from "../timers/job.ts";
import type { Caller, System } from "./call.ts";
import { ownAgent, seesJob } from "./cron-rights.ts";
import { JOB_BEGIN_CHARS_MIN, JOBS_LOOKED_MAX } from "./limits.ts";

/** Of one agent; null: of all. */
async function* pagesOf({ store }: System, agent: string | null): AsyncGenerator<readonly Job[]> {
  for (let cursor: string | null = null; ;) {
    const query = { cursor, limit: PAGE_ROWS_MAX, ...(agent === null ? {} : { agent }) };
    const page: Page<Job> = await store.jobs(query);
    yield page.rows;
    if (page.next === null) return;
    cursor = page.next;
  }
}

/** What they are called, those that run again and write to one of these sessions. */
export async function writersTo(system: System, sessions: readonly SessionKey[]): Promise<string[]> {
  const names: string[] = [];
  const keys = new Set(sessions);
  for (const agent of new Set(sessions.map(agentOf)))
    for await (const page of pagesOf(system, agent))
      for (const { id, name, target, nextAtMs } of page)
        if (nextAtMs !== null && target.kind === "session" && keys.has(target.key))
          names.push(name === "" ? id : name);
  return names;
}

/** How many an agent has; they are counted only up to `most`. */
export async function countOf(system: System, agent: string, most: number): Promise<number> {
  let count = 0;
  for await (const page of pagesOf(system, agent)) if ((count += page.length) >= most) return most;
  return count;
}

/**
 * Of one agent no two have the same name: nobody could say which is meant. Of those that the caller may not see it is not told that
 * they are there. Two that are named in the same moment may both be; then neither is meant by it.
 */
export async function mustBeOnly(
  system: System,
  caller: Caller,
  { agent, id, name }: Pick<Job, "agent" | "id" | "name">,
): Promise<void> {
  if (name === "") return;
  for await (const page of pagesOf(system, agent))
    for (const job of page)
      if (job.name === name && job.id !== id && seesJob(caller, job))
        throw new Fault("exists", `agent ${agent} has a job ${shown(name)} already: ${job.id}`, {
          todo: "call it otherwise, or edit that one",
        });
}

/** By its id, its name, or the beginning of its id. What was not looked through whole names nobody. */
export async function found(system: System, caller: Caller, text: string): Promise<Job> {
  const [exact] = (await system.store.jobs({ id: text, limit: 1 })).rows;
  if (exact !== undefined && seesJob(caller, exact)) return exact;
  const seen: Job[] = [];
  let looked = 0;
  for await (const page of pagesOf(system, caller.kind === "agent" ? ownAgent(caller) : null)) {
    if ((looked += page.length) > JOBS_LOOKED_MAX)
      throw new Fault(
        "bad_input",
        `there are more than ${JOBS_LOOKED_MAX} jobs, too many to say which one ${shown(text)} is; write its whole id`,
      );
    seen.push(...page.filter((job) => seesJob(caller, job)));
  }
  return meant(text, seen, "a list of the jobs says what they are called (`sessiond cron`)");
}

type Called = Pick<Job, "id" | "name">;

/** Of these, the one that is meant by its id, its name, or the beginning of its id. `todo` is for who means none. */
export function meant<Of extends Called>(text: string, seen: readonly Of[], todo: string): Of {
  const exact = seen.find(({ id }) => id === text);
  if (exact !== undefined) return exact;
  const named = seen.filter(({ name }) => name === text);
  const begun = text.length < JOB_BEGIN_CHARS_MIN ? [] : seen.filter(({ id }) => id.startsWith(text));
  const [only, ...others] = named.length > 0 ? named : begun;
  if (only === undefined) throw noJob(text, seen, todo);
  if (others.length === 0) return only;
  const ids = [only, ...others].map(({ id, name }) => (name === "" ? id : `${id} (${name})`));
  throw new Fault("bad_input", `${shown(text)} may be ${ids.slice(0, 8).join(", ")}; write its whole id`);
}

function noJob(text: string, seen: readonly Called[], todo: string): Fault {
  if (text.length < JOB_BEGIN_CHARS_MIN && seen.some(({ id }) => id.startsWith(text)))
    return new Fault(
      "not_found",
      `there is no job ${shown(text)}: say ${JOB_BEGIN_CHARS_MIN} characters or more of its id, or its name`,
      { todo },
    );
  const near = nearest(
    text,
    seen.flatMap(({ id, name }) => (name === "" ? [id] : [name, id])),
  );
  const hint = near === null ? "" : `; did you mean ${near}?`;
  return new Fault("not_found", `there is no job ${shown(text)}${hint}`, { todo });
}
