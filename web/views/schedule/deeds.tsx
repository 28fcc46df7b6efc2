// What can be done to a job and to a heartbeat. What destroys something asks first, and names it.

import { oneLine } from "../../../src/base/harmless.ts";
import { ask } from "../../parts/dialog.tsx";
import type { Deed } from "../../parts/menu.tsx";
import { tell, tried } from "../../parts/toast.tsx";
import { go, place } from "../../state/place.ts";
import { requestId } from "../../state/request.ts";
import { call } from "../../wire/call.ts";
import { addInput, editInput, fieldsOf } from "./form.ts";
import type { JobRow } from "../../wire/jobs.ts";

export function nameOf({ name, message }: Pick<JobRow, "name" | "message">): string {
  return oneLine(name === "" ? message : name);
}

/** `after` is told when something may be other than it was. */
export function deedsOf(job: JobRow, after: () => void): readonly Deed[] {
  return [
    { name: "Run now", icon: "play", run: () => void runNow(job, after) },
    {
      name: job.enabled ? "Disable" : "Enable",
      icon: job.enabled ? "pause" : "check",
      run: () => void setEnabled(job, after),
    },
    { name: "Edit…", icon: "edit", run: () => void edit(job, after) },
    { name: "Remove…", icon: "trash", isDangerous: true, run: () => void remove(job, after) },
  ];
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
export async function edit({ id }: JobRow, after: () => void): Promise<void> {
  const job = await tried(call("job", { job: id }));
  if (job === null) return;
  const isDone = await ask({
    title: `Edit ${nameOf(job).slice(0, 60)}`,
    fields: fieldsOf(job),
    verb: "Save",
    run: async (given) => {
      const input = editInput(job, given);
      if (input !== null) await call("editJob", input);
    },
  });
  if (isDone) tell("Saved");
  after();
}

export async function add(after: () => void, given: Readonly<Record<string, string>> = {}): Promise<void> {
  const id = requestId();
  const isDone = await ask({
    title: "New job",
    text: "Something that is to be done at times, without anybody asking.",
    fields: fieldsOf(null).map((field) => ({ ...field, value: given[field.name] ?? field.value ?? "" })),
    verb: "Add",
    run: async (typed) => await call("addJob", addInput(typed, id)),
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
