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
  state: z
    .enum(["idle", "running", "paused"])
    .describe(
      "running: a beat goes on. paused: somebody has paused its session; it beats when that goes on.",
    ),
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
  trouble: z
    .string()
    .nullable()
    .describe("Why the newest of them failed; null: none did, or it is not known."),
  alert: z
    .strictObject({
      at: z.string(),
      text: z.string().describe("How it begins."),
      isOver: z.boolean().describe("A later beat was answered, and did not say it again."),
    })
    .nullable()
    .describe("The one that holds, else the newest that was told; null: none is remembered."),
});

export const heartbeats = z.strictObject({ heartbeats: z.array(row).describe("By agent.") });

export const beaten = z.strictObject({
  agent,
  began: z.boolean(),
  why: z.string().nullable().describe("Why none began; null: one did."),
  sessionKey: z.string().describe("Where it runs."),
  id: z.string().nullable().describe("By which `wait` waits for its answer; null: none began."),
});
