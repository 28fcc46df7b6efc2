// The shapes of a trace.

import { z } from "zod";
import { sessionKey } from "./setting-shapes.ts";

export const traceInput = z.strictObject({
  sessionKey: sessionKey.optional().describe("The key of a session; without it, main."),
  turn: z.string().min(1).max(256).optional().describe("The id of a turn; without it, the last."),
});

const tokens = {
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
};

const traced = z.strictObject({
  name: z.string(),
  arguments: z.string().describe("As JSON. Long ones are cut, secrets are taken out."),
  startedAt: z.string().describe("When the model had asked for it. It may have waited for others since."),
  endedAt: z.string().nullable().describe("null: there is no result yet."),
  ms: z.number().nullable(),
  isError: z.boolean().nullable().describe("null: there is no result yet."),
  child: z.string().nullable().describe("The session that it gave a task to; null: none."),
});

const step = z.strictObject({
  step: z.int().describe("Its number, from 1."),
  seq: z.int().describe("The entry of its answer."),
  model: z.string().describe("The model that spoke."),
  startedAt: z.string().describe("When all that the model was shown was there."),
  endedAt: z.string(),
  ms: z.number().describe("In between, with the wait for a slot."),
  usage: z.strictObject(tokens),
  cost: z.number().describe("In US dollars."),
  stopReason: z.string(),
  text: z.string().describe("The beginning of what it said, or why it said nothing. Secrets are taken out."),
  tools: z.array(traced).describe("What it asked for, in its order."),
});

export const trace = z.strictObject({
  sessionKey,
  turn: z.string(),
  class: z
    .enum(["interactive", "delegated", "scheduled", "background"])
    .nullable()
    .describe("How urgent it was when it began; null: that was left out."),
  startedAt: z.string().nullable().describe("null: that was left out."),
  endedAt: z.string().nullable().describe("null: it has not ended, or its end is not there."),
  outcome: z
    .string()
    .nullable()
    .describe(
      "How it ended; rewound: the session went back into it, and nobody goes on with it; lost: its end cannot be read; null: it has not ended.",
    ),
  reason: z.string().nullable(),
  now: z.string().nullable().describe("What it does or waits for, in words; null: it is over."),
  resumes: z.int().describe("How often it was gone on with, after a restart or a pause."),
  isCut: z.boolean().describe("True: it is so long that its beginning was left out, here and in the totals."),
  steps: z.array(step).describe("Model calls that were answered, oldest first."),
  totals: z.strictObject({
    steps: z.int(),
    tools: z.int(),
    failedTools: z.int(),
    ms: z
      .number()
      .nullable()
      .describe("From its start to its end; null: it has not ended, or that was left out."),
    modelMs: z.number().describe("Of all steps together, with their waits for a slot."),
    usage: z.strictObject(tokens),
    cost: z.number(),
  }),
});
