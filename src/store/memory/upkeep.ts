// What upkeep asks of the memory engine.

import { Fault } from "../../base/fault.ts";
import { CHILDREN_COUNTED_MAX } from "../archived.ts";
import { cursorTo, placeFrom } from "../cursor.ts";
import type { Collected, Holding, Page, PageOf, Use } from "../store.ts";
import { pageOf } from "./list.ts";
import type { Tables } from "./tables.ts";

export function listHoldings(tables: Tables, page: PageOf): Page<Holding> {
  const found = pageOf([...tables.sessions.values()], page, {
    placeOf: ({ n, row }) => [Math.floor(row.updatedAtMs / 1_000), n] as const,
    like: [0, 0],
  });
  const answers = [...tables.outbox.values()].filter(({ row }) => row.refused === null);
  const waits = new Set([
    ...tables.waiting.values().map(({ row }) => row.to),
    ...answers.map(({ row }) => row.key),
    ...tables.timers.values().map(({ key }) => key),
  ]);
  const parents = [...tables.sessions.values()].map(({ row }) => row.parent);
  const rows = found.rows.map(({ row }) => ({
    session: row,
    bytes: tables.bytesOf(row),
    waits: waits.has(row.key),
    children: Math.min(CHILDREN_COUNTED_MAX, parents.filter((parent) => parent === row.key).length),
  }));
  return { rows, next: found.next };
}

export function useOf(tables: Tables): Use {
  const sum = (bytes: Iterable<number>): number => [...bytes].reduce((all, each) => all + each, 0);
  return {
    sessions: tables.sessions.size,
    transcripts: sum(tables.sessions.values().map(({ row }) => tables.bytesOf(row))),
    archives: sum(tables.archives.values().map(({ bytes, packedBytes }) => packedBytes ?? bytes)),
    blobs: sum(tables.blobs.values().map(({ length }) => length)),
  };
}

/** By the first two digits of their names, as where they are files. */
const PARTS = 256;

export function collectBlobs(
  tables: Tables,
  { cursor, isDry }: { readonly cursor: string | null; readonly isDry: boolean },
  nowMs: number,
): Collected {
  const [at] = placeFrom(cursor, [0] as [number]) ?? [0];
  if (!Number.isInteger(at) || at < 0 || at >= PARTS)
    throw new Fault("bad_input", "not a cursor: pass on the `next` of the part before, unchanged");
  const part = at.toString(16).padStart(2, "0");
  const gone = [...tables.blobs].filter(
    ([sha256]) => sha256.startsWith(part) && tables.isUnnamed(sha256, nowMs),
  );
  if (!isDry) for (const [sha256] of gone) tables.collect(sha256, nowMs);
  const bytes = gone.reduce((sum, [, each]) => sum + each.length, 0);
  return { blobs: gone.length, bytes, next: at + 1 < PARTS ? cursorTo([at + 1]) : null };
}
