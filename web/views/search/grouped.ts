// Hits by the session that they are in: those that have the newest come first, and each keeps the order that it was found in.

import type { Output } from "../../../src/calls/door.ts";

export type Hit = Output<"search">["hits"][number];

export interface Group {
  readonly sessionKey: string;
  readonly hits: readonly Hit[];
}

export function grouped(hits: readonly Hit[]): readonly Group[] {
  return [...Map.groupBy(hits, ({ sessionKey }) => sessionKey)].map(([sessionKey, all]) => ({
    sessionKey,
    hits: all,
  }));
}
