// Whose jobs a session may see and change, and which it may make.
//
// An agent's job gives nobody more than the agent has where it asks (J1–J5):
//   J1. It is of the agent's own, and stays in the sight of who made it: another conversation neither sees nor changes it.
//   J2. Sessions that it runs in or speaks to are such as the agent may see; and nobody outside hears of it but who speaks to that
//       agent's session already. What is not there yet is opened only as a thread of its own agent (cron-spec.ts).
//   J3. Sub-agents make and change none: a run has its agent's tools, and they may have fewer.
//   J4. Nor does a session with a budget, unless the job runs in a session that has one of its own: a fresh one would be outside.
//   J5. Fresh sessions are begun at most once a minute by each of its jobs. A session that stays has one run at a time, and leaves nothing.

import { Fault } from "../base/fault.ts";
import { agentOf, describeKey, type AgentId } from "../routing/key.ts";
import type { Change } from "../store/change.ts";
import type { Job, Schedule } from "../timers/job.ts";
import type { Caller } from "./call.ts";
import { JOB_FRESH_MS_MIN } from "./limits.ts";
import { seesAgent } from "./reach.ts";

/** A child of another agent works for its root: what that agent does at times is not its business. */
export function ownAgent({ session }: Extract<Caller, { kind: "agent" }>): AgentId {
  if (session.agent === agentOf(session.root)) return session.agent as AgentId;
  throw new Fault("forbidden", `you work for ${session.root}; jobs of ${session.agent} are not yours to see`);
}

/** J1. People see all of them. */
export function seesJob(caller: Caller, { agent, id, target, delivery }: Of): boolean {
  if (caller.kind === "person") return true;
  const { session } = caller;
  if (agent !== session.agent || agent !== agentOf(session.root)) return false;
  if (seesAgent(caller) || (id !== null && describeKey(session.key).cronJob === id)) return true;
  const keys = [target, delivery].flatMap((each) => (each.kind === "session" ? [each.key] : []));
  const isTree = caller.agent.tools.visibility === "tree";
  return keys.some((key) => key === session.key || (isTree && key === session.root));
}

/** What is looked at; id null: it has none yet. */
type Of = Pick<Job, "agent" | "target" | "delivery"> & { readonly id: string | null };

/** Who has it run, now or at its times. `opened`: what would be opened for it. */
export function mustBeAllowed(caller: Caller, of: Of, opened: readonly Change[]): void {
  if (caller.kind === "person") return;
  mustChange(caller);
  const { session } = caller;
  const limits = session.settings.limits;
  const isOutside = of.target.kind === "fresh" || opened.length > 0;
  if (isOutside && (limits?.tokens ?? limits?.cost ?? null) !== null)
    throw new Fault(
      "forbidden",
      "you have a budget, and a fresh session would not be within it: let the job run in your own session, or ask a person to add it",
    ); // J4
  if (!seesJob(caller, of))
    throw new Fault(
      "forbidden",
      `it would be out of your sight (tools.visibility is ${caller.agent.tools.visibility}): deliver it to your own session`,
    ); // J1
}

/** J5. What a person made stays as often as it is, until an agent says when or where. */
export function mustBeSeldom(caller: Caller, { target, schedule }: Pick<Job, "target" | "schedule">): void {
  if (caller.kind === "person" || target.kind !== "fresh" || !isOften(schedule)) return;
  throw new Fault(
    "forbidden",
    "each run would begin a fresh session, and yours are at least a minute apart: run it in a session that stays (target), " +
      "let it be every 1m or longer, or in cron leave the field of seconds out",
  );
}

/** Of an expression with one second in the minute each time is a minute after the one before, or more. */
function isOften(schedule: Schedule): boolean {
  switch (schedule.kind) {
    case "at":
      return false;
    case "every":
      return schedule.everyMs < JOB_FRESH_MS_MIN;
    case "cron": {
      const fields = schedule.expression.split(" ");
      return fields.length > 5 && !/^\d+$/.test(fields[0] ?? "");
    }
  }
}

/** J3. A fork of a sub-agent is held by the same scopes. */
export function mustChange(caller: Caller): void {
  if (caller.kind === "person") return;
  const { depth, settings, key } = caller.session;
  if (depth > 0 || settings.tools.length > 0)
    throw new Fault(
      "forbidden",
      `${key} is a sub-agent: it may look at jobs, and neither makes nor changes any. Report what is to be done and when`,
    );
}
