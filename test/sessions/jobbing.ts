// Jobs, as people and agents ask for them in tests.

import assert from "node:assert/strict";
import type { Input, Output } from "../../src/index.ts";
import { lines, THEN } from "./family.ts";
import type { Stage } from "./stage.ts";

export type Job = Output<"job">;
export type Added = Output<"addJob">;

export function say(given: object): string {
  return `!call cron ${JSON.stringify(given)}`;
}

/** What the tool gave, in a turn of that session. */
export async function made<Of>(stage: Stage, key: string, given: object): Promise<Of> {
  const { text } = await stage.sessions.ask(key, lines([say(given), THEN, "!say done"]));
  assert.equal(text, "done");
  const result = (await stage.results(key)).at(-1);
  assert.equal(result?.isError, false, result?.text);
  return JSON.parse(result?.text ?? "") as Of;
}

/** Why the tool refused. */
export async function refused(stage: Stage, key: string, given: object): Promise<string> {
  await stage.sessions.ask(key, lines([say(given), THEN, "!say done"]));
  const result = (await stage.results(key)).at(-1);
  assert.equal(result?.isError, true, result?.text);
  return result?.text ?? "";
}

export async function add(stage: Stage, given: Partial<Input<"addJob">>): Promise<Added> {
  return await stage.sessions.call("addJob", { message: "!say hi", ...given });
}

/** The runs of a job, once so many of them are over. */
export async function overRuns(stage: Stage, job: string, count: number): Promise<Output<"jobRuns">["runs"]> {
  return await stage.until(async () => {
    const { runs } = await stage.sessions.call("jobRuns", { job });
    const over = runs.filter(({ outcome }) => outcome !== null);
    return over.length >= count && over;
  });
}

export const NIGHTLY = { cron: "30 2 * * *", timezone: "Europe/Zurich" } as const;
