// The gateway as a whole, as people are shown it: what runs and waits, and whom it can ask.

import type { z } from "zod";
import type { Load } from "../scheduler/slots.ts";
import type { System } from "./call.ts";
import type { models, overview } from "./schemas.ts";

type Overview = z.input<typeof overview>;

export function overviewOf({ slots, processSlots, mcp }: System): Overview {
  const load = slots.load();
  return {
    slots: slotsOf(load),
    processes: slotsOf(processSlots.load()),
    providers: load.providers.map((each) => ({ ...each })),
    servers: mcp.status().map(({ retryAtMs, ...server }) => ({
      ...server,
      retryAt: retryAtMs === null ? null : new Date(retryAtMs).toISOString(),
    })),
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
