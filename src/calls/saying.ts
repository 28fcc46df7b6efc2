// Who said what was found, and when: read from its entry, one entry for each hit.

import { z } from "zod";
import { Fault } from "../base/fault.ts";
import type { Hits } from "../store/store.ts";
import type { Entry } from "../transcript/entry.ts";
import type { System } from "./call.ts";
import { SAYING_AT_ONCE, SAYING_FROM_CHARS_MAX, SEARCH_WAIT_MS } from "./limits.ts";
import { brief, writerOf } from "./views.ts";

export const saying = {
  at: z.string().nullable().describe("When it was said; null: its entry cannot be read, or not soon enough."),
  kind: z.string().nullable().describe("As in `history`: user, assistant, toolResult, compaction …"),
  from: z
    .string()
    .nullable()
    .describe("As in `history`: who wrote it, or the tool whose result it is; null: the model, or a person."),
};

type Hit = Hits["hits"][number];

export interface Said {
  readonly at: string | null;
  readonly kind: string | null;
  readonly from: string | null;
}

const UNKNOWN: Said = { at: null, kind: null, from: null };

/** The same hits, with that. Where damage makes the way to an entry long, those after it are not waited for. */
export async function saidBy(system: System, hits: readonly Hit[]): Promise<readonly (Hit & Said)[]> {
  const { world } = system;
  const untilMs = world.nowMs() + SEARCH_WAIT_MS;
  const all: (Hit & Said)[] = [];
  for (let first = 0; first < hits.length; first += SAYING_AT_ONCE) {
    const some = hits.slice(first, first + SAYING_AT_ONCE);
    const isLate = world.nowMs() > untilMs;
    const said = some.map(async (hit) => ({ ...hit, ...(isLate ? UNKNOWN : await one(system, hit)) }));
    all.push(...(await Promise.all(said)));
  }
  return all;
}

async function one({ store }: System, { transcript, seq }: Hit): Promise<Said> {
  try {
    for await (const entry of store.entries(transcript, { since: seq, through: seq }))
      if (entry.type !== "gap" && entry.seq === seq) return saidIn(entry);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "not_found") throw error; // It was put away or removed meanwhile.
  }
  return UNKNOWN;
}

function saidIn(entry: Entry): Said {
  const { timestamp: at } = entry;
  if (entry.type !== "message") return { at, kind: entry.type, from: null };
  const { message } = entry;
  if (message.role === "assistant") return { at, kind: "assistant", from: null };
  if (message.role === "toolResult") return { at, kind: "toolResult", from: shown(message.toolName) };
  const { provenance } = entry;
  return { at, kind: "user", from: provenance === undefined ? null : shown(writerOf(provenance)) };
}

function shown(from: string | null): string | null {
  return from === null ? null : brief(from, SAYING_FROM_CHARS_MAX);
}
