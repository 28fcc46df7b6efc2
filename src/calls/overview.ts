// The gateway as a whole, as people are shown it: what runs and waits, and whom it can ask.

import { z } from "zod";
import type { Load } from "../scheduler/slots.ts";
import type { System } from "./call.ts";
import { failure } from "./failures.ts";
import { today } from "./today.ts";
import { totals } from "./totals.ts";

export const nothing = z.strictObject({});

const byClass = z.strictObject({
  interactive: z.int(),
  delegated: z.int(),
  scheduled: z.int(),
  background: z.int(),
});

const slots = z.strictObject({
  total: z.int(),
  reserved: z.int().describe("Of these, for people only."),
  inUse: byClass,
  waiting: byClass,
});

export const overview = z.strictObject({
  slots: slots.describe("Model calls."),
  processes: slots.describe("Programs of agents that are waited for."),
  providers: z
    .array(
      z.strictObject({
        provider: z.string(),
        inUse: z.int(),
        limit: z.int().nullable().describe("null: as many as there are slots."),
        coolsForMs: z.number().describe("How long it is not asked, because it has too much to do."),
      }),
    )
    .describe("Those that were asked since the start."),
  programs: z
    .array(z.strictObject({ sessionKey: z.string().nullable(), pid: z.int(), startedAt: z.string() }))
    .describe(
      "Those that run now, also in the background. null: one of the gateway itself, such as a server of tools.",
    ),
  servers: z
    .array(
      z.strictObject({
        name: z.string(),
        state: z.enum(["not started", "starting", "ready", "down"]),
        why: z.string().nullable(),
        tools: z.int(),
        retryAt: z.string().nullable(),
      }),
    )
    .describe("Servers of tools."),
  upkeep: z
    .strictObject({
      mode: z.enum(["warn", "enforce"]),
      rounds: z.int().describe("Since the start."),
      lookedAt: z.string().nullable().describe("null: it has not looked yet; so are those below."),
      use: z
        .strictObject({ sessions: z.int(), transcripts: z.int(), archives: z.int(), blobs: z.int() })
        .nullable()
        .describe("How many sessions, and bytes on the disk."),
      steps: z.int().nullable().describe("How much there was to do. With mode warn nobody does it."),
      overBytes: z
        .int()
        .describe("Above upkeep.diskMiB, of what is protected, named or of today: worth a look."),
    })
    .describe("What keeps the disk bounded, at its last look."),
  totals: totals.describe("Since the start."),
  today: today.describe("Since midnight, also before the start."),
  failures: z.array(failure).describe("What went wrong since the start: the newest, newest first."),
  disk: z
    .strictObject({ freeBytes: z.number(), totalBytes: z.number() })
    .nullable()
    .describe("Of the file system that the home is on; null: not known."),
  journal: z
    .strictObject({ bytes: z.number() })
    .nullable()
    .describe(
      "The file that commits go to first. It is used again from its beginning: so it is as long as it ever was; null: not known.",
    ),
});

export const models = z.strictObject({
  models: z.array(
    z.strictObject({
      id: z.string(),
      windowTokens: z.int(),
      prices: z
        .strictObject({
          input: z.number(),
          output: z.number(),
          cacheRead: z.number(),
          cacheWrite: z.number(),
        })
        .nullable()
        .describe("Dollars for a million tokens; null: not known."),
    }),
  ),
  aliases: z.record(z.string(), z.string()),
  providers: z.array(
    z.strictObject({
      provider: z.string(),
      api: z.string(),
      hasKey: z.boolean(),
      keyFrom: z.array(z.string()).describe("Environment variables that its key is looked for in."),
    }),
  ),
});

type Overview = z.input<typeof overview>;

export async function overviewOf(system: System): Promise<Overview> {
  const { slots, processSlots, processes, mcp } = system;
  const { disk, journal } = (await system.disk?.()) ?? { disk: null, journal: null };
  const load = slots.load();
  return {
    slots: slotsOf(load),
    processes: slotsOf(processSlots.load()),
    providers: load.providers.map((each) => ({ ...each })),
    programs: processes.all().map(({ session, pid, startedAtMs }) => ({
      sessionKey: session,
      pid,
      startedAt: new Date(startedAtMs).toISOString(),
    })),
    servers: mcp.status().map(({ retryAtMs, ...server }) => ({
      ...server,
      retryAt: retryAtMs === null ? null : new Date(retryAtMs).toISOString(),
    })),
    upkeep: upkeepOf(system),
    totals: system.totals.now,
    today: system.today.now,
    failures: [...system.failures.newest],
    disk,
    journal,
  };
}

function upkeepOf({ upkeep, config }: System): Overview["upkeep"] {
  const { rounds, lookedAtMs, use, planned, over } = upkeep.standing;
  return {
    mode: config.upkeep.mode,
    rounds,
    lookedAt: lookedAtMs === null ? null : new Date(lookedAtMs).toISOString(),
    use,
    steps: planned === null ? null : Object.values(planned).reduce((sum, each) => sum + each, 0),
    overBytes: over,
  };
}

function slotsOf({ slots: total, reserved, inUse, waiting }: Load): Overview["slots"] {
  return { total, reserved, inUse: { ...inUse }, waiting: { ...waiting } };
}

export function modelsOf({ catalog, config }: System): z.input<typeof models> {
  return {
    models: catalog.known().map(({ id, windowTokens, prices }) => ({ id, windowTokens, prices })),
    aliases: { ...config.models.aliases },
    providers: [...config.models.providers.values()].map(({ id, api, apiKey, keyNames }) => ({
      provider: id,
      api,
      hasKey: apiKey !== null,
      keyFrom: [...keyNames],
    })),
  };
}
