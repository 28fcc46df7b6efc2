// The shapes of calls about children.

import { z } from "zod";
import { THINKING } from "../models/model.ts";
import { row } from "./schemas.ts";
import { limitsInput, setInput } from "./setting-shapes.ts";

/** A day, at most: what takes longer is for the clock, not for somebody who waits. */
const SECONDS_MAX = 86_400;

const names = z.array(z.string().min(1).max(256)).max(1_000);
const childKey = z.string().describe("The key of a child, as spawning it gave it.");

const spawnShape = {
  task: z.string().describe("What to do, with all that the child needs to know: it is shown nothing else."),
  sessionKey: z
    .string()
    .optional()
    .describe('A stable address, "thread:<name>": the child stays, and can be given more tasks later.'),
  name: z.string().min(1).max(200).optional().describe("The same by the name alone."),
  resumeIfExists: z
    .boolean()
    .optional()
    .describe("True: if a child of that name is there, the task goes on in its conversation."),
  agent: z.string().optional().describe("Another agent to do it, if this one may ask it."),
  model: z.string().optional(),
  thinking: z.enum(THINKING).optional(),
  context: z
    .enum(["isolated", "fork"])
    .optional()
    .describe("isolated (default): the child knows the task only. fork: it knows what you know."),
  tools: z
    .strictObject({ allow: names.optional(), deny: names.optional() })
    .optional()
    .describe('Which of your tools it may use; more it never may. "github__*" means all that begin so.'),
  limits: limitsInput.optional(),
  timeoutSeconds: z
    .int()
    .min(1)
    .max(SECONDS_MAX)
    .optional()
    .describe("When this time is over it stops, and reports what it had."),
  mode: z
    .enum(["run", "session"])
    .optional()
    .describe("run: it ends after its task (default, unless it has a name). session: it stays."),
  cleanup: z
    .enum(["keep", "delete"])
    .optional()
    .describe("delete: nothing stays of it but its report. Only of one that ends, and has no name."),
  label: setInput.shape.label,
  announce: z
    .boolean()
    .optional()
    .describe("False: its end is not reported. Default true; a person's: only if `parent` is named."),
};

export const spawnInput = z.strictObject({
  ...spawnShape,
  parent: z.string().optional().describe("For people: the session whose child it is (default: main)."),
  id: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe("For people: your own id of this task. Asked again with the same id, it is given once."),
});

export const spawned = z.strictObject({
  sessionKey: z.string(),
  id: z.string().describe("The task's id: `wait` takes it."),
  created: z.boolean().describe("True: a new child. False: one that was there goes on."),
  queued: z.boolean().describe("True: it has other work first, or is paused."),
  repeated: z.boolean().describe("True: this id was given before, and this is the same task."),
});

export const childrenInput = z.strictObject({
  sessionKey: z.string().optional().describe("Whose children; without it, your own (a person's: main's)."),
  limit: z.int().min(1).max(200).optional(),
  cursor: z.string().optional(),
});

const child = row.extend({
  why: z.string().describe("What it does or waits for, in words."),
  inFlight: z.boolean().describe("True: it has a task of this session and has not reported."),
});

export const children = z.strictObject({
  sessionKey: z.string(),
  children: z.array(child),
  next: z.string().nullable(),
});

export const steerInput = z.strictObject({
  sessionKey: childKey,
  message: z.string().describe("What it is to know or do now. It reads this before its next step."),
});

export const steered = z.strictObject({ sessionKey: z.string(), id: z.string() });

export const killInput = z.strictObject({ sessionKey: childKey });

export const killed = z.strictObject({
  sessionKey: z.string(),
  killed: z.array(z.string()).describe("It and all below it that had not ended."),
});

export const joinInput = z.strictObject({
  sessionKeys: z.array(z.string()).min(1).max(1_000).optional().describe("Of whom; without it, all."),
  timeoutSeconds: z
    .int()
    .min(1)
    .max(SECONDS_MAX)
    .optional()
    .describe("How long at most (default 600). Who has not reported then goes on."),
});

const keys = z.array(z.string());

export const joined = z.strictObject({
  reported: keys.describe("Their reports follow as messages."),
  pending: keys.describe("These go on."),
  why: z.string().describe("Why the wait is over."),
});

export const yieldInput = z.strictObject({
  sessionKeys: z
    .array(z.string())
    .min(1)
    .max(100)
    .optional()
    .describe("Of whom, at most 100; without it, all."),
});

export const yielded = z.strictObject({ waitsFor: keys, note: z.string() });

/** One tool for all of it. What belongs to which action is said by that action's own shape. */
export const subagentsInput = z.strictObject({
  action: z.enum(["spawn", "list", "steer", "kill", "wait"]),
  ...z.object(spawnShape).partial().shape,
  sessionKey: z
    .string()
    .optional()
    .describe('spawn: "thread:<name>" for one that stays. steer, kill: the key of the child.'),
  message: steerInput.shape.message.optional(),
  sessionKeys: joinInput.shape.sessionKeys,
  limit: childrenInput.shape.limit,
  cursor: childrenInput.shape.cursor,
});

export const subagentsOutput = z.union([spawned, children, steered, killed, joined]);
