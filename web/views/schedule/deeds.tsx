// What can be done to a job and to a heartbeat. What destroys something asks first, and names it.

import { Fault } from "../../../src/base/fault.ts";
import { oneLine } from "../../../src/base/harmless.ts";
import { ask } from "../../parts/dialog.tsx";
import type { Deed } from "../../parts/menu.tsx";
import { tell, tried } from "../../parts/toast.tsx";
import { go, place, stillHere } from "../../state/place.ts";
import { idsByContent } from "../../state/request.ts";
import { call, faultOf } from "../../wire/call.ts";
import type { Job, JobRow } from "../../wire/jobs.ts";
import { lacking } from "../../wire/scope.ts";
import { fieldsOf, known } from "./fields.tsx";
import { addInput, clashesIn, clashText, editInput, type Given } from "./form.ts";

export function nameOf({ name, message }: Pick<JobRow, "name" | "message">): string {
  return oneLine(name === "" ? message : name);
}

/** `after` is told when something may be other than it was. */
export function deedsOf(job: JobRow, after: () => void): readonly Deed[] {
  const unless = lacking("operate");
  return [
    { name: "Run now", icon: "play", unless, run: () => void runNow(job, after) },
    {
      name: job.enabled ? "Disable" : "Enable",
      icon: job.enabled ? "pause" : "check",
      unless: unless ?? whyOver(job),
      run: () => void setEnabled(job, after),
    },
    { name: "Edit…", icon: "edit", unless, run: () => void edit(job, after) },
    { name: "Remove…", icon: "trash", isDangerous: true, unless, run: () => void remove(job, after) },
  ];
}

/** Why it cannot be enabled; undefined: it can, or need not. */
export function whyOver({ state }: Pick<JobRow, "state">): string | undefined {
  return state === "over" ? "All its times are over: edit when it is due" : undefined;
}

export async function runNow(job: JobRow, after: () => void): Promise<void> {
  await tried(call("runJob", { job: job.id }), `${nameOf(job)} runs now`);
  after();
}

export async function setEnabled({ id, enabled, ...job }: JobRow, after: () => void): Promise<void> {
  const done = enabled ? "is disabled: it does not fire by itself" : "is enabled";
  await tried(call("editJob", { job: id, enabled: !enabled }), `${nameOf(job)} ${done}`);
  after();
}

/** Asked for whole: a list has only the beginning of what is to be done. */
export async function edit({ id }: Pick<JobRow, "id">, after: () => void): Promise<void> {
  const isHere = stillHere();
  const asked = await tried(Promise.all([call("job", { job: id }), known()]));
  if (asked === null) return;
  const [job, there] = asked;
  const editing = { began: job, seen: job };
  const isDone = await ask({
    title: `Edit ${nameOf(job).slice(0, 60)}`,
    fields: fieldsOf(job, there),
    verb: "Save",
    isHere,
    run: (given) => saved(given, editing),
  });
  if (isDone) tell("Saved");
  after();
}

interface Editing {
  readonly began: Job;
  seen: Job; // as whoever edits it knows it
}

/** A job that runs all the time changes all the time: then it is tried again, and at some time given up. */
const ATTEMPTS_MAX = 5;

/** Over the version that was seen, and over no other: what somebody else has changed meanwhile, too, is told before it goes. */
async function saved(given: Given, editing: Editing): Promise<void> {
  const { began } = editing;
  const input = editInput(began, given);
  for (let attempt = 1; input !== null; attempt += 1)
    try {
      await call("editJob", { ...input, version: editing.seen.version });
      return;
    } catch (error) {
      if (faultOf(error).code !== "stale_writer" || attempt === ATTEMPTS_MAX) throw error;
      const now = await call("job", { job: began.id });
      const clashes = clashesIn({ began, seen: editing.seen, now }, given);
      editing.seen = now;
      if (clashes.size > 0)
        throw new Fault("stale_writer", clashText(clashes), {
          todo: "save again, and yours stands in its place",
        });
    }
}

export async function add(after: () => void, given: Given = {}): Promise<void> {
  const idOf = idsByContent();
  const isHere = stillHere();
  const there = await known();
  const isDone = await ask({
    title: "New job",
    text: "Something that is to be done at times, without anybody asking.",
    fields: fieldsOf(null, there, given),
    verb: "Add",
    isHere,
    run: async (typed) => await call("addJob", addInput(typed, idOf(JSON.stringify(typed)))),
  });
  if (isDone) tell("Added");
  after();
}

export async function remove(job: JobRow, after: () => void): Promise<void> {
  const isDone = await ask({
    title: "Remove this job?",
    text: (
      <>
        <strong>{oneLine(nameOf(job))}</strong> ({oneLine(job.when)}) goes for good, and the history of its
        runs with it. A run that goes on ends as it would; sessions that it ran in stay.
      </>
    ),
    verb: "Remove",
    isDangerous: true,
    run: async () => await call("removeJob", { job: job.id }),
  });
  if (!isDone) return;
  tell(`${nameOf(job)} is removed`);
  if (place.value.view === "schedule" && place.value.of === job.id) go("schedule");
  after();
}

export async function beatNow(agent: string, after: () => void): Promise<void> {
  const beaten = await tried(call("beat", { agent }));
  if (beaten !== null)
    tell(
      beaten.began ? `${agent} looks after its HEARTBEAT.md` : `No heartbeat: ${beaten.why ?? ""}`,
      !beaten.began,
    );
  after();
}
