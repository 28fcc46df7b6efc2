// A task is a letter that a child is given, and its id is the task's. What comes of it are two more letters, whose ids are
// made of it: so each comes once, whatever crashes. Ids that begin with `cause:` are made by sessiond alone.
//
// A deadline is an order: it is for the session, and no words for a model. So is the wish that a turn stops which waits for
// children: nothing of it runs that could be stopped.

import type { Letter, Route } from "./letter.ts";
import { wishOf } from "./wish.ts";

const REPORT = "cause:report:";
const DEADLINE = "cause:deadline:";
const ABORT = "cause:abort:";

/** How a report says by what it comes: nothing else that one session writes to another says so. */
export const REPORT_TOOL = "report";

/** How a task says by what a session gave it, whichever tool that was: nothing else that one writes to another says so. */
export const TASK_TOOL = "sessions_spawn";

/** What became of a task, for whoever gave it. */
export function reportId(task: string): string {
  return `${REPORT}${task}`;
}

/** The time of a task is up: for the child. */
export function deadlineId(task: string): string {
  return `${DEADLINE}${task}`;
}

export function isReport({ id }: Pick<Letter, "id">): boolean {
  return id.startsWith(REPORT);
}

export function abortId(own: string): string {
  return `${ABORT}${own}`;
}

export function isAbort({ id }: Pick<Letter, "id">): boolean {
  return id.startsWith(ABORT);
}

/** It is never written down: it is obeyed, or was meant for something that is over. */
export function isOrder(letter: Pick<Letter, "id">): boolean {
  return isDeadline(letter) || isAbort(letter) || wishOf(letter) !== null;
}

export function isDeadline({ id }: Pick<Letter, "id">): boolean {
  return id.startsWith(DEADLINE);
}

/** The task that a report or a deadline is about. */
export function taskOf({ id }: Pick<Letter, "id">): string {
  return id.slice(isReport({ id }) ? REPORT.length : DEADLINE.length);
}

/** Where the report goes: `to` is who gave the task. It is no door. */
export function reportRoute(giver: string, task: string): Route {
  return { channel: "report", to: giver, thread: task };
}

/** The task that a route reports; null: it is not that of a report. */
export function reportedBy({ channel, thread }: Route): string | null {
  return channel === "report" ? thread : null;
}

const JOB = "cause:job:";

/** What a run of a job is begun by: it is a task that a timer gave. */
export function runLetterId(job: string, run: string): string {
  return `${JOB}${job}:${run}`;
}

/** Whether a letter, or a task, is of a job: a run's, its answer, or what is told of it. */
export function isOfJob(id: string): boolean {
  return id.startsWith(JOB);
}

const TIMER = "timer";

/**
 * Where it is told how a turn ended that a timer began, however it ended: `who` wants to know, of which of its runs. It is a door
 * of our own (timers/ended.ts), and no message from outside names it.
 */
export function timerRoute(who: string, run: string): Route {
  return { channel: TIMER, to: who, thread: run };
}

export function isTimer({ channel }: Route): boolean {
  return channel === TIMER;
}
