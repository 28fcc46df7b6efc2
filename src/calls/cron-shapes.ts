// What the calls about jobs take and give. Input is flat, and of texts where it can be: models fill it in, and so do shells.

import { z } from "zod";
import { LABEL_CHARS_MAX } from "../limits.ts";
import { THINKING } from "../models/model.ts";
import { JOB_FAILURES_MAX, JOB_TIMES_MAX, JOB_TIMES_TOLD } from "./limits.ts";
import { limit, MESSAGE_ID_CHARS_MAX } from "./schemas.ts";
import { limitsInput } from "./setting-shapes.ts";

/** What becomes of runs that were due while nobody was there to fire them. */
const MISSED = ["run", "skip", "coalesce"] as const;

/** How a run can have ended. */
const RUN_OUTCOMES = [
  "done",
  "failed",
  "killed",
  "timeout",
  "limit",
  "interrupted",
  "lost",
  "skipped",
] as const;

const JOB_STATES = ["waiting", "running", "disabled", "over"] as const;

// ── What is asked for ───────────────────────────────────────────────────────────────────────────────────────

const limits = limitsInput
  .omit({ turnSeconds: true })
  .describe("Of one run in a fresh session: steps, tokens, and cost in US dollars. Its time is `timeout`.");

/** In an edit: of what is not named nothing changes. */
const limitsAgain = z
  .strictObject({
    stepsPerTurn: limits.shape.stepsPerTurn.nullable(),
    tokens: limits.shape.tokens.nullable(),
    cost: limits.shape.cost.nullable(),
  })
  .describe("Of fresh sessions: those that are named; null: the agent's own, of one of them or of all.");

const spec = {
  name: z
    .string()
    .trim()
    .refine((text) => [...text].length <= LABEL_CHARS_MAX, `has at most ${LABEL_CHARS_MAX} characters`)
    .optional()
    .describe("What it is called, for people; it can be named by it. No two jobs of an agent have the same."),
  at: z
    .string()
    .optional()
    .describe("Once: a time such as 2026-10-05T09:00 (by the clock of `timezone`), or a span from now: 20m."),
  every: z.string().optional().describe("Every so often, from now on: 90s, 15m, 2h, 1d."),
  cron: z
    .string()
    .optional()
    .describe('A cron expression, "0 9 * * 1-5": five fields, or six with seconds first.'),
  timezone: z
    .string()
    .optional()
    .describe("Of `cron` and `at`: an IANA zone such as Europe/Zurich; without it, the configuration's."),
  message: z.string().describe("What is to be done, as a message to the session that does it."),
  target: z
    .string()
    .optional()
    .describe(
      "Where it runs. fresh (default): in a new session each time, which knows nothing of earlier runs. main, " +
        "thread:<name>, or the key of a session: there, and the conversation carries over.",
    ),
  model: z.string().optional().describe("Of fresh sessions; without it, the agent's own."),
  thinking: z.enum(THINKING).optional().describe("Of fresh sessions."),
  limits: limits.optional(),
  timeout: z.string().optional().describe("How long a run may take; without it, as long as a turn may."),
  delivery: z
    .string()
    .optional()
    .describe(
      "Where the answer goes. none; main or the key of a session: as a message to it; route: to where the target (a " +
        "fresh session's: main) was last written to from; webhook:<channel>:<to>. Default: of fresh sessions to your own " +
        "session (a person's: main), of others route.",
    ),
  missed: z
    .enum(MISSED)
    .optional()
    .describe(
      "What happens to runs that were due while the daemon was away: each is run, all are skipped, or one stands for all " +
        "(coalesce, the default).",
    ),
  grace: z.string().optional().describe("So late a run is not missed (60s)."),
  stagger: z
    .string()
    .optional()
    .describe("It fires up to so much later, each time the same, so that many do not fire at once (0s)."),
  keep: z.string().optional().describe("How long fresh sessions are kept after their end (3d)."),
  failuresMax: z
    .int()
    .min(0)
    .max(JOB_FAILURES_MAX)
    .optional()
    .describe("After so many failures in a row it is disabled, and main is told; 0: never (5)."),
  enabled: z.boolean().optional().describe("False: it does not fire by itself."),
};

const agent = z.string().optional().describe("Whose; without it, main.");

export const addInput = z.strictObject({
  ...spec,
  agent: z.string().optional().describe("Who does it; without it, the target's agent, or main."),
  id: z
    .string()
    .min(1)
    .max(MESSAGE_ID_CHARS_MAX)
    .optional()
    .describe("Your own id of this request, and not the job's. Asked again with it, the job is added once."),
});

const job = z
  .string()
  .min(1)
  .max(MESSAGE_ID_CHARS_MAX)
  .describe("A job: its id, the beginning of it, or its name.");

export const listInput = z.strictObject({
  agent: agent.describe("Only jobs of this agent."),
  enabled: z
    .boolean()
    .optional()
    .describe("True: only those that fire by themselves. False: only the others."),
  limit,
  cursor: z.string().optional().describe("The `next` of the page before."),
});

export const oneJob = z.strictObject({ job });

export const editInput = z.strictObject({
  job,
  ...spec,
  message: spec.message.optional(),
  model: spec.model.nullable().describe("Of fresh sessions; null: the agent's own."),
  thinking: spec.thinking.nullable().describe("Of fresh sessions; null: the agent's own."),
  limits: limitsAgain.nullable().optional(),
  version: z.int().optional().describe("The version you saw: if it is another now, nothing is changed."),
});

export const runsInput = z.strictObject({ job, limit });

export const timesInput = z.strictObject({
  job: job
    .optional()
    .describe("Of this job, by its id or name; or else by exactly one of at, every and cron."),
  at: spec.at,
  every: spec.every,
  cron: spec.cron,
  timezone: spec.timezone,
  limit: z
    .int()
    .min(1)
    .max(JOB_TIMES_MAX)
    .optional()
    .describe(`How many at most, 1 to ${JOB_TIMES_MAX} (${JOB_TIMES_TOLD}).`),
});

/**
 * One tool for all of it. What belongs to which action is said by that action's own shape. Its words are part of every request
 * that is paid for, so they are few, and what an operator sees to (grace, stagger, keep, limits, failures) is not among them.
 */
export const cronInput = z.strictObject({
  action: z.enum(["add", "list", "show", "edit", "run", "runs", "remove"]),
  job: z.string().optional().describe("Its id or name."),
  name: z.string().optional().describe("Of a new job."),
  at: z.string().optional().describe("Once: 2026-10-05T09:00, or in 20m."),
  every: z.string().optional().describe("15m, 2h, 1d."),
  cron: z.string().optional().describe('"0 9 * * 1-5"'),
  timezone: z.string().optional().describe("IANA, of at and cron."),
  message: z.string().optional().describe("What is to be done."),
  target: z
    .string()
    .optional()
    .describe(
      "fresh (default): a new session each time. main, thread:<name> or a session key: it carries over.",
    ),
  delivery: z
    .string()
    .optional()
    .describe("Of the answer: none, a session key, main, route, webhook:<channel>:<to>. Fresh: to you."),
  model: z.string().optional().describe("Of fresh."),
  thinking: spec.thinking.describe("Of fresh."),
  timeout: z.string().optional().describe("Of a run."),
  missed: spec.missed.describe("While the daemon was away."),
  enabled: z.boolean().optional(),
  limit,
  cursor: z.string().optional(),
});

// ── What is told ────────────────────────────────────────────────────────────────────────────────────────────

const outcome = z.enum(RUN_OUTCOMES).nullable().describe("null: it goes on.");

const run = z.strictObject({
  id: z.string(),
  dueAt: z.string().describe("The time that it stands for; of one that was asked for, when that was."),
  startedAt: z.string(),
  endedAt: z.string().nullable().describe("null: it goes on."),
  durationMs: z.int().nullable().describe("null: it goes on, or was skipped."),
  asked: z.boolean().describe("True: somebody asked for it, it was not the clock."),
  stands: z.int().describe("For how many times that it was due."),
  sessionKey: z.string().nullable().describe("Where it ran; null: it was skipped."),
  outcome,
  note: z.string().nullable().describe("Why it failed or was skipped; else the beginning of its answer."),
  untold: z
    .string()
    .nullable()
    .describe("Why nobody was told who should have been; null: they were, or nobody should."),
});

/** A job as lists show it. */
const row = z.strictObject({
  id: z.string(),
  agent: z.string(),
  name: z.string().describe("Empty: it has none."),
  state: z
    .enum(JOB_STATES)
    .describe("waiting: for its time. running. disabled. over: there is no time left."),
  enabled: z.boolean(),
  why: z.string().nullable().describe("Why sessiond disabled it; null: it did not."),
  when: z.string().describe("In words: every 15m, 0 9 * * 1-5 (Europe/Zurich)."),
  timezone: z.string().nullable().describe("By whose clock; null: every so often, by all of them."),
  next: z
    .string()
    .nullable()
    .describe("When it fires next, with its stagger; null: never again, or it is disabled."),
  target: z.string().describe("fresh, or the key of the session."),
  delivery: z.string().describe("none, route, the key of a session, or webhook:<channel>:<to>."),
  message: z.string().describe("In a list, its beginning."),
  failures: z.int().describe("In a row."),
  last: z
    .strictObject({ outcome, endedAt: run.shape.endedAt })
    .nullable()
    .describe("Of the newest run that is over; null: there is none."),
});

export const listed = z.strictObject({
  jobs: z.array(row).describe("In the order of their ids, and not of their times."),
  next: z.string().nullable(),
});

export const whole = row.omit({ last: true }).extend({
  at: z.string().nullable(),
  every: z.string().nullable(),
  cron: z.string().nullable(),
  times: z.array(z.string()).describe(`When it fires next, with its stagger: ${JOB_TIMES_TOLD} times.`),
  model: z.string().nullable(),
  thinking: z.string().nullable(),
  limits: z
    .strictObject({
      stepsPerTurn: z.number().nullable(),
      tokens: z.number().nullable(),
      cost: z.number().nullable(),
    })
    .nullable(),
  timeout: z.string(),
  missed: z.enum(MISSED),
  grace: z.string(),
  stagger: z.string(),
  keep: z.string(),
  failuresMax: z.int(),
  counts: z
    .strictObject({ ran: z.int(), skipped: z.int(), coalesced: z.int() })
    .describe("What became of the times that it was due: each is counted once."),
  current: run.nullable().describe("The run that goes on; null: none."),
  last: run.nullable().describe("The newest run that is over; null: none."),
  madeAt: z.string(),
  madeBy: z.string().nullable().describe("The session that added it; null: a person did."),
  version: z.int().describe("Grows by one with every change."),
});

export const added = whole.extend({
  repeated: z.boolean().describe("True: this id was given before, and this is the same job."),
});

export const ran = z.strictObject({
  id: z.string().describe("Of the job."),
  run: z.string().describe("Of the run: `jobRuns` tells what becomes of it."),
  sessionKey: z.string().describe("Where it runs."),
});

export const history = z.strictObject({
  id: z.string(),
  name: z.string(),
  timezone: row.shape.timezone,
  runs: z.array(run).describe("Newest first; the one that goes on is the first."),
});

export const times = z.strictObject({
  when: row.shape.when,
  timezone: row.shape.timezone,
  times: z
    .array(z.string())
    .describe(
      "When it fires, soonest first, with its stagger; fewer than were asked for: there are no more.",
    ),
});

export const removed = z.strictObject({ id: z.string(), name: z.string(), removed: z.literal(true) });

export const cronOutput = z.union([added, listed, whole, ran, history, removed]);
