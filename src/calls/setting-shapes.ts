// The shapes of what can be set about a session, and of what is set.

import { z } from "zod";
import * as defaults from "../config/defaults.ts";
import { LABEL_CHARS_MAX, PINS_MAX } from "../limits.ts";
import { THINKING } from "../models/model.ts";

export const MODES = ["steer", "followup", "collect", "interrupt"] as const;

export const sessionKey = z.string().describe("The key of a session, such as agent:main:main.");

export const limitsInput = z
  .strictObject({
    stepsPerTurn: z.int().min(1).max(defaults.STEPS_PER_TURN_MAX).optional(),
    turnSeconds: z.int().min(1).max(defaults.TURN_SECONDS_MAX).optional(),
    tokens: z.int().min(1).max(defaults.BUDGET_TOKENS_MAX).optional(),
    cost: z.number().positive().max(defaults.BUDGET_COST_MAX).optional(),
  })
  .describe("Tokens, and cost in US dollars, are those of the session and all below it together.");

const settingsInput = {
  label: z
    .string()
    .trim()
    .min(1)
    .refine((text) => [...text].length <= LABEL_CHARS_MAX, `has at most ${LABEL_CHARS_MAX} characters`)
    .nullable()
    .optional()
    .describe("A name for people."),
  model: z.string().nullable().optional(),
  thinking: z.enum(THINKING).nullable().optional(),
  verbose: z
    .enum(["off", "on", "full"])
    .nullable()
    .optional()
    .describe(
      "What is told while a turn runs. off: nothing; on: what it says before tools, and each call; full: also results.",
    ),
  sendPolicy: z
    .enum(["allow", "deny"])
    .nullable()
    .optional()
    .describe("Whether answers may leave through channels."),
  queueMode: z.enum(MODES).nullable().optional(),
  nice: z.int().min(-20).max(19).optional().describe("From -20 (first) to 19 (last)."),
  pinned: z.boolean().optional().describe("True: upkeep never takes it."),
  limits: limitsInput.nullable().optional(),
};

export const setInput = z.strictObject({
  sessionKey,
  ...settingsInput,
  version: z
    .int()
    .optional()
    .describe("The settingsVersion you saw: if it is another now, nothing is changed."),
});

export const pinInput = z.strictObject({
  sessionKey,
  entry: z.string().optional().describe("The id of a message or of a tool's result."),
  seq: z.int().min(1).optional().describe("The same by its number."),
  pinned: z
    .boolean()
    .default(true)
    .describe(`True: it stays whole in every context. At most ${PINS_MAX} do.`),
});

const names = z.array(z.string()).readonly();

export const settings = z.strictObject({
  label: z.string().nullable(),
  model: z.string().nullable(),
  thinking: z.string().nullable(),
  verbose: z.string().nullable(),
  sendPolicy: z.string().nullable(),
  queueMode: z.string().nullable(),
  nice: z.number(),
  pinned: z.boolean(),
  pins: z.array(z.string()).readonly(),
  tools: z
    .array(z.strictObject({ allow: names.nullable(), deny: names }))
    .readonly()
    .describe("Of a sub-agent: each of these must let a tool through, beside its agent's policy."),
  limits: z
    .strictObject({
      stepsPerTurn: z.number().nullable(),
      turnSeconds: z.number().nullable(),
      tokens: z.number().nullable(),
      cost: z.number().nullable(),
    })
    .nullable(),
  oneShot: z.boolean().nullable(),
  deleteAtEnd: z.boolean(),
});

export const settled = z.strictObject({ sessionKey, settings });
