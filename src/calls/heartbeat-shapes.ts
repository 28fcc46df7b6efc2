// What the calls of heartbeats take and give.

import { z } from "zod";
import { CAME } from "../timers/pulse.ts";

const agent = z.string().describe("Whose heartbeat.");

export const heartbeatsInput = z.strictObject({
  agent: z.string().optional().describe("Only this agent's; without it, all."),
});

export const beatInput = z.strictObject({
  agent: z.string().optional().describe("Whose; without it, main's."),
});

const row = z.strictObject({
  agent,
  everyMinutes: z.int().describe("0: never."),
  hours: z
    .strictObject({ from: z.string(), to: z.string(), timezone: z.string() })
    .nullable()
    .describe("In which it beats, as the clock on the wall shows them; null: all day."),
  model: z.string().nullable().describe("null: the agent's own."),
  to: z.enum(["main", "route", "none"]).describe("Where an alert goes."),
  task: z
    .enum(["there", "none", "unreadable"])
    .describe("Whether HEARTBEAT.md asks for something. If not, nobody is asked when it beats."),
  nextAt: z.string().nullable().describe("null: never."),
  last: z
    .strictObject({
      at: z.string(),
      outcome: z
        .enum(CAME)
        .describe(
          "began: it goes on. ok: nothing needs attention. alert: something does. repeated: it does, and that was told less than " +
            "a day ago. failed: there was no answer. skipped: the one before went on, somebody stopped it, or it was too late. " +
            "nothing: there is nothing to do, and nobody was asked.",
        ),
    })
    .nullable()
    .describe("null: none yet."),
  failures: z.int().describe("In a row."),
  alert: z
    .strictObject({ at: z.string(), text: z.string().describe("How it begins.") })
    .nullable()
    .describe("The newest that was told; null: none is remembered."),
});

export const heartbeats = z.strictObject({ heartbeats: z.array(row).describe("By agent.") });

export const beaten = z.strictObject({
  agent,
  began: z.boolean(),
  why: z.string().nullable().describe("Why none began; null: one did."),
  sessionKey: z.string().describe("Where it runs."),
});
