// The form of a job: what stands in it, and what of it is said to the daemon. Pure: what is refused, the daemon refuses in its words.

import type { Input } from "../../../src/calls/door.ts";
import { whenIn } from "../../../src/calls/cron-words.ts";
import type { Field } from "../../parts/dialog.tsx";
import type { Job } from "../../wire/jobs.ts";

export type Given = Readonly<Record<string, string>>;

const MISSED = [
  ["coalesce", "one run stands for all of them"],
  ["run", "each is made up for"],
  ["skip", "they are skipped"],
] as const;

/** As it is now; of a new one empty. */
function valuesOf(job: Job | null): Given {
  if (job === null) return { target: "fresh", missed: "coalesce" };
  return {
    name: job.name,
    when: whenOf(job),
    timezone: job.timezone ?? "",
    message: job.message,
    target: job.target,
    delivery: job.delivery,
    model: job.model ?? "",
    timeout: job.timeout,
    missed: job.missed,
  };
}

function whenOf({ at, every, cron }: Job): string {
  return cron ?? (every === null ? `at ${at ?? ""}` : `every ${every}`);
}

export function fieldsOf(job: Job | null): readonly Field[] {
  const values = valuesOf(job);
  const field = (name: string, label: string, more: Partial<Field> = {}): Field => ({
    name,
    label,
    value: values[name] ?? "",
    ...more,
  });
  return [
    field("name", "Name", { hint: "What it is called; no two jobs of an agent have the same." }),
    field("when", "When", {
      isNeeded: true,
      hint: "0 9 * * 1-5 · @daily · every 15m · in 20m · at 2026-10-05T09:00",
    }),
    field("message", "What is to be done", { kind: "lines", isNeeded: true }),
    field("timezone", "Time zone", { hint: "By whose clock, such as Europe/Zurich. Empty: the daemon's." }),
    field("target", "Runs in", {
      hint: "fresh: a new session each time. Or main, thread:<name>, the key of a session.",
    }),
    field("delivery", "The answer goes to", {
      hint: "main, route, none, the key of a session, webhook:<channel>:<to>. Empty: as is usual.",
    }),
    field("model", "Model", { hint: "Of fresh sessions. Empty: the agent's own." }),
    field("timeout", "A run may take", { hint: "Such as 10m. Empty: as long as a turn." }),
    field("missed", "Runs that were missed", { kind: "choice", choices: MISSED }),
  ];
}

/** `id` names the request: sent again, the job is there once. Fault bad_input: its time says none. */
export function addInput(given: Given, id: string): Input<"addJob"> {
  const said = Object.fromEntries(
    ["name", "timezone", "target", "delivery", "model", "timeout"].flatMap((name) => {
      const value = (given[name] ?? "").trim();
      return value === "" ? [] : [[name, value]];
    }),
  );
  return {
    ...said,
    ...whenIn([given["when"] ?? ""]).when,
    message: given["message"] ?? "",
    missed: missedOf(given),
    id,
  };
}

/** Only what is other than it was: so nobody takes back what somebody else changed meanwhile. Null: nothing is. */
export function editInput(job: Job, given: Given): Input<"editJob"> | null {
  const before = valuesOf(job);
  const changed = Object.keys(before).filter((name) => (given[name] ?? "") !== before[name]);
  if (changed.length === 0) return null;
  const has = (name: string): boolean => changed.includes(name);
  const text = (name: string): string => (given[name] ?? "").trim();
  const said = Object.fromEntries(
    ["name", "timezone", "target", "delivery", "timeout"].filter(has).map((name) => [name, text(name)]),
  );
  if (said["timezone"] === "") delete said["timezone"]; // It was taken out with a cron expression: `every` has none.
  return {
    job: job.id,
    ...said,
    ...(has("when") ? whenIn([text("when")]).when : {}),
    ...(has("message") ? { message: given["message"] ?? "" } : {}),
    ...(has("model") ? { model: text("model") === "" ? null : text("model") } : {}),
    ...(has("missed") ? { missed: missedOf(given) } : {}),
  };
}

function missedOf(given: Given): (typeof MISSED)[number][0] {
  return MISSED.find(([each]) => each === given["missed"])?.[0] ?? "coalesce";
}
