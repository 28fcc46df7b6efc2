// What happens while nobody looks: heartbeats, resets, upkeep. What may be written down; unattended.ts fills in the rest.

import { z } from "zod";
import * as defaults from "./defaults.ts";
import { name, names, object, oneOf, text, whole } from "./shapes.ts";

/** Zones are asked of the runtime, which has the tables. */
export const zone = text('an IANA time zone, such as "Europe/Zurich" or "UTC"').refine(isZone, {
  error: 'is no time zone that is known here; one is "Europe/Zurich", another "UTC"',
});

export function isZone(value: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: value }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

const clock = text('a time of day from "00:00" to "24:00"', /^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/);

export const heartbeat = object({
  everyMinutes: whole(0, defaults.HEARTBEAT_MINUTES_MAX)
    .describe(
      "How often an agent looks after what its HEARTBEAT.md says; 0: never. Without that file nothing is asked.",
    )
    .optional(),
  activeHours: object({
    from: clock.describe("When it begins."),
    to: clock.describe('When it ends; "24:00" is midnight. Before `from`: the next day.'),
    timezone: zone.describe("Whose hours these are; without it, `timezone`.").optional(),
  })
    .describe("The hours in which it beats; without it, all.")
    .optional(),
  model: name.describe("The model that is asked; without it, the agent's own.").optional(),
  to: oneOf("main", "route", "none")
    .describe("Where an alert goes: to the main session, to where that was last written to from, or nowhere.")
    .optional(),
});

export const reset = object({
  mode: oneOf("none", "daily", "idle").describe(
    "When a conversation begins anew: never, once a day, after a pause.",
  ),
  hour: whole(0, 23).describe("With daily: the hour of the day; without it, 4.").optional(),
  timezone: zone.describe("With daily: whose hour it is; without it, `timezone`.").optional(),
  idleMinutes: whole(1, defaults.RESET_MINUTES_MAX)
    .describe("With idle: minutes without a message of a person.")
    .optional(),
}).superRefine(({ mode, hour, timezone, idleMinutes }, found) => {
  if (mode !== "daily" && (hour ?? timezone) !== undefined)
    found.addIssue({ code: "custom", message: 'has an hour only with mode "daily"' });
  if ((mode === "idle") !== (idleMinutes !== undefined))
    found.addIssue({ code: "custom", message: 'has idleMinutes with mode "idle", and only then' });
});

/** By kind of chat; main and named sessions are left alone unless they stand here. */
export const resetByType = object({
  main: reset.describe("Main sessions.").optional(),
  named: reset.describe("Named sessions.").optional(),
  direct: reset.describe("Direct messages.").optional(),
  group: reset.describe("Groups.").optional(),
  channel: reset.describe("Channels and rooms.").optional(),
  thread: reset.describe("Threads and topics of a chat.").optional(),
});

export const resetByChannel = names(name, reset);

export const upkeep = object({
  mode: oneOf("warn", "enforce")
    .describe("Whether what is planned is only told (warn), or done (enforce).")
    .optional(),
  everyMinutes: whole(1, defaults.UPKEEP_MINUTES_MAX).describe("How often it looks.").optional(),
  staleDays: whole(0, defaults.UPKEEP_DAYS_MAX)
    .describe("Sessions without a change for so long are archived; 0: never.")
    .optional(),
  sessionsMax: whole(0, defaults.UPKEEP_SESSIONS_MAX)
    .describe("The oldest above so many sessions are archived; 0: no bound.")
    .optional(),
  subagentHours: whole(0, defaults.UPKEEP_HOURS_MAX)
    .describe("Sub-agents that ended so long ago are archived; 0: as other sessions.")
    .optional(),
  rotateMiB: whole(0, defaults.UPKEEP_MIB_MAX)
    .describe(
      "A transcript larger than this goes on in a new file, which begins with what a model is shown; 0: never.",
    )
    .optional(),
  archiveDays: whole(0, defaults.UPKEEP_DAYS_MAX)
    .describe("Archives older than this are erased for good; 0: never.")
    .optional(),
  diskMiB: whole(0, defaults.UPKEEP_MIB_MAX)
    .describe("Above it archives are erased and sessions archived, the oldest first; 0: no bound.")
    .optional(),
  highWater: z
    .number({ error: "a number from 0.5 to 1" })
    .min(0.5, { error: "a number from 0.5 to 1" })
    .max(1, { error: "a number from 0.5 to 1" })
    .describe("Once above diskMiB, it goes down to this share of it.")
    .optional(),
});
